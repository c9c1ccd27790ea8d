"""What can be wrong, as types that the shell turns into exit codes."""


class DataError(ValueError):
    """The examples cannot be learned from: the message says where, and what was found."""


class ModelFileError(ValueError):
    """The file is not a model, or is damaged, or was written by a newer version."""


class NotSeparableWarning(UserWarning):
    """The weights came back to where they were: no hyperplane separates the classes."""
