"""The errors kfeat raises on purpose; the command line prints them as one sentence and exits with 2.

A message states what was expected, what was met, and what to do next.
"""


class KfeatError(Exception):
    """Base of every error that a user can cause and remedy."""


class ConfigError(KfeatError, ValueError):
    """An experiment file or an option is not valid."""


class ParameterError(KfeatError, ValueError):
    """A constructor parameter of a kernel, map or solver is not valid."""


class UnsupportedKernelError(KfeatError, ValueError):
    """A map or solver cannot handle this kernel."""


class DataError(KfeatError, ValueError):
    """A file, an array or a dataset's content is not valid."""


class DownloadError(KfeatError):
    """A file could not be had from any of its places, or is not the file that was expected."""


class SolverError(KfeatError):
    """A solver cannot take this problem, or gave up on it."""


class StoreError(KfeatError):
    """Rows on disk cannot be read, written or understood."""


class ModelError(KfeatError, ValueError):
    """A trained model, or the file of one, cannot be written, read, understood or used."""


class EngineError(KfeatError):
    """What carries out the trials cannot start, or was lost."""
