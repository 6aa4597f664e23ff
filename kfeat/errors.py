"""The errors kfeat raises on purpose; the command line prints them as one sentence and exits with 2.

A message states what was expected, what was found, and what to do next.
"""


class KfeatError(Exception):
    """Base of every error that a user can cause and correct."""


class ConfigError(KfeatError, ValueError):
    """An experiment file or an option is not valid."""


class ParameterError(KfeatError, ValueError):
    """A constructor parameter of a kernel, map or solver is not valid."""


class UnsupportedKernelError(KfeatError, ValueError):
    """A map or solver cannot handle this kernel."""


class DataError(KfeatError, ValueError):
    """A file, an array or a dataset's content is not valid."""


class DownloadError(KfeatError):
    """A file could not be fetched from any of its sources, or is not the expected file."""


class SolverError(KfeatError):
    """A solver does not accept this problem, or failed to solve it."""


class CodeError(KfeatError):
    """A class that a config names by its place failed, or returned what it must not."""


class StoreError(KfeatError):
    """Rows on disk cannot be read or written."""


class ModelError(KfeatError, ValueError):
    """A trained model or its file cannot be written, read or used."""


class Terminated(SystemExit):
    """Raised on SIGTERM, which `kill` sends, and a queue at the end of a job."""


class EngineError(KfeatError):
    """The engine that runs the trials cannot start, or the connection to it was lost."""
