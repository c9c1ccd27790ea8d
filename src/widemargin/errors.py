"""Exceptions and warnings; the shell program turns exceptions into exit codes."""


class DataError(ValueError):
    """The examples are invalid: the message says where, and what was found."""


class ModelFileError(ValueError):
    """The file is not a model, is damaged, or was written by a newer version."""


class DataWarning(UserWarning):
    """The examples were read or learned in a way that may not be what was meant."""


class NotSeparableWarning(UserWarning):
    """No hyperplane was found that separates the classes."""


class ClusterError(RuntimeError):
    """The cluster cannot do the work: the message says what is wrong with it."""
