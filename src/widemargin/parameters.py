"""Validation of parameters. An error names the parameter and the value in one line.

Booleans do not count as numbers here, numpy's numbers do, and NaN is rejected wherever a number is
expected. Every error is a ValueError, which the shell program prints with exit code 2.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar, get_args

import numpy as np

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
_Settings = TypeVar("_Settings", bound="_CanBeChecked")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class _CanBeChecked(Protocol):
    """Settings that can be validated."""

    def check(self) -> None:
        """Raise a ValueError unless all settings are valid."""


def is_number(value: Any) -> bool:
    """Whether a value is a real number; infinity is one, booleans, NaN and 10**400 are not.

    Examples
    --------
    >>> is_number(2.5), is_number(True), is_number("2"), is_number(float("nan"))
    (True, False, False, False)
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:  # an integer that no float can hold
        return False


def is_whole(value: Any) -> bool:
    """Whether a value is of an integer type: 3 is, 3.0 and True are not.

    Examples
    --------
    >>> is_whole(3), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_choice(name: str, value: Any, choices: Iterable[Any], other: str = "") -> None:
    """Reject a value that is not one of the choices; the error suggests the nearest one.

    Parameters
    ----------
    name : str
        The name of the parameter, as the user knows it.
    choices : iterable of str, bool, int or None
        The allowed values.
    other : str
        What else is allowed, in words.

    Examples
    --------
    >>> check_choice("rule", "perceptron", ("perceptron", "margin"))
    >>> check_choice("rule", "perceptrn", ("perceptron", "margin"))
    Traceback (most recent call last):
    ValueError: rule='perceptrn' is unknown; did you mean 'perceptron'? Choose one of \
'perceptron', 'margin'
    """
    choices = tuple(choices)
    if any(_is_choice(value, choice) for choice in choices):
        return
    listed = ", ".join(map(repr, choices)) + (f", or {other}" if other else "")
    likely = nearest(value, choices)
    if likely is None:
        raise ValueError(f"{_said(name, value)} is unknown; choose one of {listed}")
    raise ValueError(
        f"{_said(name, value)} is unknown; did you mean {likely!r}? Choose one of {listed}"
    )


def check_whole(
    name: str, value: Any, least: int, most: int | None = None, other: str = ""
) -> None:
    """Reject a value that is not a whole number from `least` to `most`.

    Examples
    --------
    >>> check_whole("epochs", 10, least=1)
    >>> check_whole("batch", 0, least=1, other="'full'")
    Traceback (most recent call last):
    ValueError: batch=0 must be a whole number of at least 1, or 'full'
    >>> check_whole("bits", 40, least=4, most=30)
    Traceback (most recent call last):
    ValueError: bits=40 must be a whole number from 4 to 30
    """
    if is_whole(value) and least <= value and (most is None or value <= most):
        return
    allowed = f"of at least {least}" if most is None else f"from {least} to {most}"
    _refuse(name, value, f"a whole number {allowed}", other)


def check_positive(name: str, value: Any, *, infinite: bool = False, other: str = "") -> None:
    """Reject a value that is not a positive number; infinity only if `infinite`.

    Examples
    --------
    >>> check_positive("C", 0.5)
    >>> check_positive("C", -1)
    Traceback (most recent call last):
    ValueError: C=-1 must be a positive number
    >>> check_positive("C", 0.0, infinite=True)
    Traceback (most recent call last):
    ValueError: C=0.0 must be a positive number, or infinity
    """
    if is_number(value) and value > 0 and (infinite or value < math.inf):
        return
    _refuse(name, value, "a positive number", "infinity" if infinite else other)


def check_not_negative(name: str, value: Any, *, infinite: bool = False, other: str = "") -> None:
    """Reject a value that is not a number of at least zero; infinity only if `infinite`.

    Examples
    --------
    >>> check_not_negative("l2", 0.0)
    >>> check_not_negative("l2", -0.1)
    Traceback (most recent call last):
    ValueError: l2=-0.1 must be a number of at least 0
    """
    if is_number(value) and value >= 0 and (infinite or value < math.inf):
        return
    _refuse(name, value, "a number of at least 0", other)


def check_fraction(name: str, value: Any) -> None:
    """Reject a value that is not a number of at least 0 and less than 1.

    Examples
    --------
    >>> check_fraction("validation", 0.1)
    >>> check_fraction("validation", 1.0)
    Traceback (most recent call last):
    ValueError: validation=1.0 must be a fraction: at least 0 and less than 1
    """
    if not (is_number(value) and 0 <= value < 1):
        _refuse(name, value, "a fraction: at least 0 and less than 1")


def check_probability(name: str, value: Any) -> None:
    """Reject a value that is not a number from 0 to 1, inclusive.

    Examples
    --------
    >>> check_probability("explore", 1.0)
    >>> check_probability("explore", 1.5)
    Traceback (most recent call last):
    ValueError: explore=1.5 must be a probability: a number from 0 to 1
    """
    if not (is_number(value) and 0 <= value <= 1):
        _refuse(name, value, "a probability: a number from 0 to 1")


def check_patience(value: Any) -> None:
    """Reject a patience that is neither None nor a positive whole number.

    Examples
    --------
    >>> check_patience(None)
    >>> check_patience(0)
    Traceback (most recent call last):
    ValueError: patience=0 must be a whole number of at least 1, or None
    """
    if value is not None:
        check_whole("patience", value, least=1, other="None")


def check_seconds(name: str, value: Any) -> None:
    """Reject a value that is neither None nor a positive number; infinity is allowed.

    Examples
    --------
    >>> check_seconds("max_seconds", None)
    >>> check_seconds("max_seconds", 0)
    Traceback (most recent call last):
    ValueError: max_seconds=0 must be a positive number, or None
    """
    if value is not None and not (is_number(value) and value > 0):
        _refuse(name, value, "a positive number", "None")


def seconds_limit(max_seconds: float | None) -> float:
    """The number of seconds after which to stop; infinity if there is no limit.

    Examples
    --------
    >>> seconds_limit(None), seconds_limit(3)
    (inf, 3.0)
    """
    return math.inf if max_seconds is None else float(max_seconds)


def make_generator(random_state: Any) -> np.random.Generator:
    """Return the random generator of a seed, of a generator or, with None, an unpredictable one.

    Raises
    ------
    ValueError
        If it is none of these.
    """
    seed = random_state
    if isinstance(seed, np.random.RandomState):
        seed = seed.randint(2**31)
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        _refuse("random_state", random_state, "an integer of at least 0, a Generator or None")
        raise


def check_constant(name: str, value: Any, *words: str) -> None:
    """Reject a value other than True (1), False (none), a number, or one of the words.

    Examples
    --------
    >>> check_constant("fit_intercept", True)
    >>> check_constant("fit_intercept", "auto", "auto")
    >>> check_constant("fit_intercept", -1.0)
    Traceback (most recent call last):
    ValueError: fit_intercept=-1.0 must be True, False or a number of at least 0
    """
    if isinstance(value, str) and value in words:
        return
    is_bool = isinstance(value, (bool, np.bool_))
    if not is_bool and not (is_number(value) and 0 <= value < math.inf):
        listed = ", ".join(["True", "False", *map(repr, words)])
        _refuse(name, value, f"{listed} or a number of at least 0")


def parse_bytes(name: str, value: int | float | str) -> int:
    """Convert a number of bytes, or a size such as "500MB", to bytes.

    Examples
    --------
    >>> parse_bytes("max_memory", "2GB") == 2 * 1024**3
    True
    >>> parse_bytes("max_memory", "plenty")
    Traceback (most recent call last):
    ValueError: max_memory='plenty' must be a positive size such as '500MB' or '2GB'
    """
    size: Any = value
    if isinstance(value, str):
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", value.strip().upper())
        size = float(found[1]) * _UNITS[found[2]] if found else 0
    if not (is_number(size) and 1 <= size < math.inf):
        _refuse(name, value, "a positive size such as '500MB' or '2GB'")
    return int(size)


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


class Use(NamedTuple):
    """Whether a parameter has an effect, and the condition for it, in words for the error."""

    here: bool
    #: The current condition, such as "with rule='pa'".
    now: str
    #: The condition under which it has an effect, such as "with rule='pa1' or 'pa2'".
    needs: str


def used_with(name: str, value: Any, *values: Any) -> Use:
    """The use of a parameter that has an effect only with some values of another one.

    Examples
    --------
    >>> used_with("rule", "pa", "pa1", "pa2")
    Use(here=False, now="with rule='pa'", needs="with rule='pa1' or 'pa2'")
    """
    *most, last = map(repr, values)
    listed = f"{', '.join(most)} or {last}" if most else last
    return Use(value in values, f"with {name}={value!r}", f"with {name}={listed}")


def uses_of_held_out(validation: Any, given: bool) -> dict[str, Use]:
    """The uses of `validation` and `patience`; `given` if `fit` got held-out examples."""
    return {
        "validation": Use(not given, "if X_val is given", "without it"),
        "patience": Use(
            given or bool(validation), "if nothing is held out", "with held-out examples"
        ),
    }


def changed(learner: Any) -> dict[str, Any]:
    """The parameters of a learner that differ from the defaults of its class.

    Parameters are attributes of the same names, as in scikit-learn and dataclasses.
    """
    kind: type = type(learner)
    return {
        name: getattr(learner, name)
        for name, default in _defaults_of(kind).items()
        if not _equal(getattr(learner, name), default)
    }


def are_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether parameters have the same values as before, of those that were known then.

    Examples
    --------
    >>> are_same({"C": 1.0}, {"C": 1, "l2": 0.0}), are_same({"C": 1.0}, {"C": 2.0})
    (True, False)
    """
    return before is now or all(_equal(before.get(name, now[name]), now[name]) for name in now)


@cache
def _defaults_of(kind: type) -> dict[str, Any]:
    """The defaults of the parameters of a class by name; looking them up is slow."""
    from inspect import signature

    return {name: one.default for name, one in signature(kind).parameters.items()}


def settings_from(kind: type[_Settings], params: Mapping[str, Any], **more: Any) -> _Settings:
    """The settings that are among the parameters of a learner, and `more`; they are validated.

    Parameters
    ----------
    kind : type
        A dataclass whose fields are settings, with a method `check`.
    params : dict
        The parameters; those that are not fields of `kind` are left out.
    """
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    given = {name: plain(params[name]) for name in params if name in names}
    settings = kind(**{**given, **more})
    settings.check()
    return settings


def plain(value: Any) -> Any:
    """A boolean of numpy or a number as one of Python's own types; all else as it is.

    Examples
    --------
    >>> from fractions import Fraction
    >>> plain(np.True_), plain(Fraction(1, 2)), plain(np.float32(0.5)), plain("auto")
    (True, 0.5, 0.5, 'auto')
    """
    if isinstance(value, np.bool_):
        return bool(value)
    if not isinstance(value, Real) or isinstance(value, int | float):
        return value
    with contextlib.suppress(OverflowError):  # a fraction may be too large
        return int(value) if isinstance(value, Integral) else float(value)
    return value


def refuse_unused(given: Mapping[str, Any], uses: Mapping[str, Use]) -> None:
    """Reject parameters that were given but have no effect.

    Parameters that affect only speed or display, never what is learned (`n_jobs`, `progress`), are
    always allowed, and so is an unused seed.

    Parameters
    ----------
    given : dict
        The parameters given by the user: `changed(learner)`, or the options of the command line.
    uses : dict
        The use of every parameter that does not always have an effect.

    Examples
    --------
    >>> refuse_unused({"rule": "pa1", "C": 3}, {"C": used_with("rule", "pa1", "pa1", "pa2")})
    >>> refuse_unused({"C": 3}, {"C": used_with("rule", "perceptron", "pa1", "pa2")})
    Traceback (most recent call last):
    ValueError: C=3 has no effect with rule='perceptron', only with rule='pa1' or 'pa2'
    """
    for name, use in uses.items():
        if name in given and not use.here:
            said = _said(name, given[name])
            raise ValueError(f"{said} has no effect {use.now}, only {use.needs}")


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


def _equal(value: Any, default: Any) -> bool:
    same = value == default
    return value is default or (isinstance(same, (bool, np.bool_)) and bool(same))


def _is_choice(value: Any, choice: Any) -> bool:
    """Whether the value equals the choice; 1 does not equal True."""
    if isinstance(choice, str):
        return isinstance(value, str) and value == choice
    return value is choice or (is_whole(value) and is_whole(choice) and value == choice)


def nearest(value: Any, choices: tuple[Any, ...]) -> str | None:
    """The choice that a misspelt word most likely means.

    Examples
    --------
    >>> nearest("lable", ("label", "text"))
    'label'
    >>> nearest("c", ("class_weight", "C"))
    'C'
    """
    from difflib import get_close_matches

    if not isinstance(value, str) or not value:
        return None
    words = [choice for choice in choices if isinstance(choice, str)]
    same = [word for word in words if word.lower() == value.lower()]
    shortened = [word for word in words if word.startswith(value)]
    found = same or shortened or get_close_matches(value, words, n=1)
    return found[0] if found else None


def _refuse(name: str, value: Any, allowed: str, other: str = "") -> None:
    also = f", or {other}" if other else ""
    raise ValueError(f"{_said(name, value)} must be {allowed}{also}")


def _said(name: str, value: Any) -> str:
    """The parameter as the user would write it; numpy numbers look like Python numbers."""
    return f"{name}={value.item() if isinstance(value, np.number) else value!r}"


def check_kinds(about: Mapping[str, Any], **kinds: Any) -> None:
    """Raise a ValueError unless values of a description are of these types.

    JSON does not distinguish 1.0 from 1, so a whole number that a float represents exactly also is
    a float. A kind may be a union.

    Examples
    --------
    >>> check_kinds({"epoch": 7, "best": None}, epoch=int, best=int | None)
    >>> check_kinds({"epoch": "7"}, epoch=int)
    Traceback (most recent call last):
        ...
    ValueError: epoch is '7'
    """
    for name, kind in kinds.items():
        allowed = get_args(kind) or (kind,)
        value = about[name]
        if type(value) not in allowed and not (float in allowed and _is_count(_size(value))):
            raise ValueError(f"{name} is {value!r:.40}")


def check_counts(about: Mapping[str, Any], *names: str) -> None:
    """Raise a ValueError unless values of a description count something.

    Examples
    --------
    >>> check_counts({"done": -1}, "done")
    Traceback (most recent call last):
        ...
    ValueError: done is -1
    """
    for name in names:
        if not _is_count(about[name]):
            raise ValueError(f"{name} is {about[name]!r:.40}")


def check_lengths(about: Mapping[str, Any], name: str, total: int) -> None:
    """Raise a ValueError unless a value of a description lists the lengths of parts of a whole."""
    lengths = about[name]
    if not (isinstance(lengths, list) and all(map(_is_count, lengths)) and sum(lengths) == total):
        raise ValueError(f"{name} does not cut {total} entries into parts")


def _size(value: Any) -> Any:
    """The absolute value of a whole number; anything else as it is."""
    return abs(value) if type(value) is int else value


def _is_count(value: Any) -> bool:
    """Whether a value of a description is a whole number that a float represents exactly."""
    return type(value) is int and 0 <= value <= 1 << 53
