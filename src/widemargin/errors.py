"""Exceptions and warnings; the shell program turns exceptions into exit codes."""


class DataError(ValueError):
    """The examples are invalid: the message says where, and what was found.

    Examples
    --------
    >>> from widemargin import Perceptron
    >>> Perceptron().fit([[1.0], [float("nan")]], ["a", "b"])
    Traceback (most recent call last):
    ...
    widemargin.errors.DataError: Input X contains NaN (row 1, column 0): only finite numbers ...
    """


class ModelFileError(ValueError):
    """The file is not a model, is damaged, or was written by a newer version.

    Examples
    --------
    >>> import pathlib, widemargin
    >>> _ = pathlib.Path("notes.txt").write_text("no model")
    >>> widemargin.load("notes.txt")
    Traceback (most recent call last):
    ...
    widemargin.errors.ModelFileError: notes.txt: not a widemargin model, or cut short
    """


class DataWarning(UserWarning):
    """The examples were read or learned in a way that may not be intended.

    Examples
    --------
    >>> import warnings
    >>> from widemargin import Perceptron
    >>> X, y = [[float(i)] for i in range(3000)], [0] * 1500 + [1] * 1500
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = Perceptron(shuffle=False).fit(X, y)  # sorted by class, and not shuffled
    >>> print(caught[0].category.__name__, caught[0].message)
    DataWarning 1500 consecutive rows have the label 0: rows sorted by class are learned ...
    """


class NotSeparableWarning(UserWarning):
    """No hyperplane was found that separates the classes.

    Examples
    --------
    >>> import warnings
    >>> from widemargin import Perceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = Perceptron(keep="last", shuffle=False).fit(X, y)
    >>> print(caught[0].category.__name__, caught[0].message)
    NotSeparableWarning the weights after epoch 1 are the same as after epoch 0: ...
    """


class CacheWarning(RuntimeWarning):
    """Compiled loops cannot be cached, or what was cached is damaged: they are compiled again."""


class ClusterError(RuntimeError):
    """The cluster cannot do the work: the message says what is wrong with it.

    Examples
    --------
    >>> raise ClusterError("there is no current Dask client: give client=...")
    Traceback (most recent call last):
    ...
    widemargin.errors.ClusterError: there is no current Dask client: give client=...
    """
