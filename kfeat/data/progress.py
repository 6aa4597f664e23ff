"""A rich progress bar in the shape pooch's downloader expects."""

from typing import Any


class Bar:
    """One file's bar in a `rich.progress.Progress`, with pooch's protocol: total, update, reset, close."""

    def __init__(self, progress: Any, description: str) -> None:
        self.progress = progress
        self.task = progress.add_task(description, total=None)

    @property
    def total(self) -> float | None:
        """The number of bytes expected; 0 from the downloader means unknown."""
        return next(task.total for task in self.progress.tasks if task.id == self.task)

    @total.setter
    def total(self, n_bytes: int) -> None:
        self.progress.update(self.task, total=n_bytes or None)

    def update(self, n_bytes: int) -> None:
        """Add bytes that have arrived."""
        self.progress.advance(self.task, n_bytes)

    def reset(self) -> None:
        """Set the bar back to its start, as the downloader does before it fills it."""
        self.progress.update(self.task, completed=0)

    def close(self) -> None:
        """Take the bar away."""
        if any(task.id == self.task for task in self.progress.tasks):
            self.progress.remove_task(self.task)
