"""Names of parameters: an unknown one is rejected, and the right one suggested."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, ClassVar, Self

from widemargin.parameters.values import nearest

#: Names of parameters in other libraries (scikit-learn, CRFsuite, VW), and their names here, of
#: which the first that the learner has is suggested.
_OUR_NAMES = {
    "max_iter": ("epochs", "max_seconds"),
    "max_iterations": ("epochs",),
    "n_iter": ("epochs",),
    "passes": ("epochs",),
    "eta0": ("eta",),
    "learning_rate": ("eta",),
    "power_t": ("eta=(eta0, power)",),
    "alpha": ("l2",),
    "penalty": ("l2=0.0001",),
    "verbose": ("progress",),
    "early_stopping": ("validation=0.1",),
    "n_iter_no_change": ("patience",),
    "validation_fraction": ("validation",),
    "average": ("keep='average'",),
    "intercept_scaling": ("fit_intercept",),
    "multi_class": ("multiclass",),
    "cache_size": ("max_memory",),
    "seed": ("random_state",),
    "threads": ("n_jobs",),
    "algorithm": ("rule",),
    "ngram_range": ("ngrams",),
    "n_features": ("bits",),
    "alternate_sign": ("signed",),
    "binary": ("weighting='binary'",),
    "sublinear_tf": ("weighting='sublinear'",),
    "use_idf": ("idf",),
    "estimator": ("learner",),
}
#: What to say if the learner has no such parameter.
_OTHERWISE = {
    "alpha": "it has no penalty: OnlineLogistic has 'l2', and SVMs have 'C'",
    "penalty": "it has no penalty: OnlineLogistic has 'l2', and SVMs have 'C'",
}


class NamedParameters:
    """Base of estimators, which suggests our name for a parameter named as in another library.

    The parameters are those of `__init__`, as in scikit-learn. `__new__` sees the arguments before
    Python rejects unknown ones, so signatures can stay explicit.

    Examples
    --------
    >>> class Learner(NamedParameters):
    ...     def __init__(self, *, epochs=10):
    ...         self.epochs = epochs
    >>> Learner(max_iter=5)
    Traceback (most recent call last):
    TypeError: Learner has no parameter 'max_iter'; here it is called 'epochs'
    """

    #: The learners that an estimator may have as its parameter `learner`, the default first.
    _learners: ClassVar[tuple[type, ...]] = ()
    #: The parameters that have no effect unless another parameter is set, too.
    _conditional: ClassVar[tuple[str, ...]] = ()

    def __new__(cls, *args: Any, **params: Any) -> Self:
        """Make an estimator; unknown parameters are rejected."""
        for name in params:
            said = _unknown(cls, name)
            if said:
                raise TypeError(said)
        return super().__new__(cls)

    def set_params(self, **params: Any) -> Self:
        """Change parameters; names such as `learner__epochs` change those of a part."""
        for name in params:
            whole, nested, _ = name.partition("__")
            said = _unknown(type(self), whole)
            if said:
                raise ValueError(said)
            if nested and self._learners and params.get(whole, getattr(self, whole)) is None:
                kind, learner = type(self).__name__, self._learners[0].__name__
                raise ValueError(
                    f"{name} sets a parameter of the {whole}, but {whole}=None: give one, as in"
                    f" {kind}({learner}())"
                )
        super().set_params(**params)  # type: ignore[misc]
        return self


def refuse_unknown(where: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Reject names that are not among the known ones; the error suggests the right one.

    Parameters
    ----------
    where : str
        The name of the function or class with the parameters.
    given, known : iterable of str
        The names that were given, and all allowed names.

    Examples
    --------
    >>> refuse_unknown("read", ["label"], ["label", "text"])
    >>> refuse_unknown("read", ["lable"], ["label", "text"])
    Traceback (most recent call last):
    TypeError: read has no parameter 'lable'; did you mean 'label'?
    """
    known = tuple(known)
    for name in given:
        if name not in known:
            raise TypeError(_suggestion(where, name, known))


def _unknown(kind: type, name: str) -> str:
    """The error message for a parameter that a class does not have; empty if it has it."""
    names, anything = _parameters_of(kind)
    if anything or name in names:
        return ""
    return _suggestion(kind.__name__, name, names, getattr(kind, "_learners", ()))


@cache
def _parameters_of(kind: type) -> tuple[tuple[str, ...], bool]:
    """The parameters of a class, and whether it takes others, too; looking them up is slow."""
    from inspect import Parameter, signature

    found = list(signature(kind.__init__).parameters.values())[1:]  # type: ignore[misc]
    anything = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in found)
    return tuple(parameter.name for parameter in found), anything


def _suggestion(
    where: str, name: str, known: tuple[str, ...], learners: tuple[type, ...] = ()
) -> str:
    """The error message for an unknown name, with a suggestion."""
    said = f"{where} has no parameter {name!r}"
    ours = _our_name(name, known)
    if ours:
        return f"{said}; here it is {ours if '=' in ours else f'called {ours!r}'}"
    for learner in learners:
        its = _parameters_of(learner)[0]
        theirs = name if name in its else _our_name(name, its)
        if theirs and theirs not in getattr(learner, "_conditional", ()):
            example = theirs if "=" in theirs else f"{theirs}=..."
            return f"{said}; give it to the learner: {where}({learner.__name__}({example}))"
    if name in _OTHERWISE:
        return f"{said}; {_OTHERWISE[name]}"
    likely = nearest(name, known)
    if likely is not None:
        return f"{said}; did you mean {likely!r}?"
    return f"{said}; it has {', '.join(sorted(known, key=str.lower))}"


def _our_name(name: str, known: tuple[str, ...]) -> str:
    """Our name for another library's parameter; empty if there is no such parameter."""
    ours = (one for one in _OUR_NAMES.get(name, ()) if one.partition("=")[0] in known)
    return next(ours, "")
