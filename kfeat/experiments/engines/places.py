"""Which of a cluster's workers takes the next trial."""

from collections import Counter
from collections.abc import Collection, Mapping
from urllib.parse import urlsplit


def free_worker(
    threads: Mapping[str, int], taken: Collection[str], avoided: Collection[str], exclusive: bool
) -> str | None:
    """Return the address of the worker that takes the next trial; None where none is free.

    `threads` are the workers' threads by address, each for one trial, and `taken` is the address of each
    trial that runs. With `exclusive` a machine has one trial at a time; all addresses with the same host are
    one machine. Machines with an address that is to be `avoided` come last, then workers with less room.
    """
    load = Counter(taken)
    busy = set(map(_host, taken)) if exclusive else set()
    free = [address for address, n in threads.items() if load[address] < n and _host(address) not in busy]
    bad = set(map(_host, avoided))
    return min(free, key=lambda one: (_host(one) in bad, load[one] / threads[one]), default=None)


def _host(address: str) -> str:
    """Return the machine in an address such as tcp://10.0.0.7:40321."""
    return urlsplit(address).hostname or address
