"""Kernels, and how to make one from the user's parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.kernels.strings import NGrams
from widemargin.modelfile.checks import check_kinds
from widemargin.parameters.effects import Use, refuse_unused, used_with
from widemargin.parameters.values import (
    check_choice,
    check_not_negative,
    check_positive,
    check_whole,
)

#: The kernels with names.
KERNELS = ("linear", "poly", "rbf", "laplace", "laplacian", "ngrams", "precomputed")
#: Kernels of distances, which accept sigma instead of gamma.
_DISTANCES = ("rbf", "laplace", "laplacian")
#: The highest degree of poly: loops take whole numbers of 64 bits, and even 1.0001 to the power of
#: this is infinite.
_HIGHEST_DEGREE = 1 << 31


@dataclass(frozen=True)
class Kernel:
    """A kernel function as a name and numbers.

        linear       x . z
        poly         (gamma x . z + coef0) ^ degree
        rbf          exp(-gamma |x - z|^2)
        laplace      exp(-gamma |x - z|), the Euclidean distance, not squared
        laplacian    exp(-gamma sum_j |x_j - z_j|)
        precomputed  the values are given instead of examples
        function     the value of `function(x, z)`, for vectors or any objects

    Attributes
    ----------
    name : str
        One of the above.
    degree : int
        The power of "poly".
    gamma, coef0 : float
        As in the formulas.
    function : callable or None
        The user's function, or the kernel on strings. If it has a method `block(A, B)` that
        returns the matrix of values for two lists of objects, many values are computed at once.
    called : str
        The name of the function, which is all that a file stores of it.
    """

    name: str
    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0
    function: Callable[[Any, Any], float] | None = None
    called: str = ""

    @property
    def on_objects(self) -> bool:
        """Whether the examples may be any objects."""
        return self.name == "function"

    @property
    def by_products(self) -> bool:
        """Whether a value follows from x . z and the lengths of x and z."""
        return self.name in ("linear", "poly", "rbf", "laplace")

    @property
    def is_precomputed(self) -> bool:
        """Whether a matrix of values is given instead of examples."""
        return self.name == "precomputed"

    def to_dict(self) -> dict[str, Any]:
        """The kernel for JSON. Of a user's function, only the name is stored."""
        plain = {"name": self.name, "degree": self.degree}
        plain |= {"gamma": self.gamma, "coef0": self.coef0, "called": self.called}
        if isinstance(self.function, NGrams):
            plain["ngrams"] = [self.function.n, self.function.normalize]
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Kernel:
        """Undo `to_dict`."""
        names = ("name", "degree", "gamma", "coef0", "called")
        check_kinds(plain, name=str, degree=int, gamma=float, coef0=float, called=str)
        check_choice("kernel", plain["name"], (*KERNELS, "function"))
        check_whole("degree", plain["degree"], least=1, most=_HIGHEST_DEGREE)
        function = NGrams(*plain["ngrams"]) if "ngrams" in plain else None
        if function is not None:
            check_whole("ngrams", function.n, least=0)
        return cls(**{name: plain[name] for name in names}, function=function)

    def __str__(self) -> str:
        if self.name == "function":
            return self.called
        if self.name == "poly":
            shown = "x.z" if self.gamma == 1.0 else f"{self.gamma:.6g} x.z"
            inner = shown if self.coef0 == 0.0 else f"{shown} + {self.coef0:.6g}"
            return f"({inner})^{self.degree}"
        if self.name in _DISTANCES:
            shown = {"rbf": "|x-z|^2", "laplace": "|x-z|", "laplacian": "|x-z|_1"}[self.name]
            return f"exp(-{self.gamma:.6g} {shown})"
        return "x.z" if self.name == "linear" else self.name


#: The kernels that use each parameter.
_USED_BY = {
    "degree": ("poly",),
    "gamma": ("poly", *_DISTANCES),
    "coef0": ("poly",),
    "sigma": _DISTANCES,
}


def uses_of_kernel(kernel: str | Callable[[Any, Any], float] | Kernel) -> dict[str, Use]:
    """Which parameters a kernel uses; a function or a ready-made `Kernel` uses none."""
    uses = {name: used_with("kernel", kernel, *known) for name, known in _USED_BY.items()}
    if isinstance(kernel, str):
        return uses
    now = f"with kernel={getattr(kernel, '__qualname__', type(kernel).__name__)}"
    return {name: use._replace(now=now) for name, use in uses.items()}


#: The parameters of `make_kernel` that users may set, besides the kernel.
KERNEL_PARAMETERS = ("degree", "gamma", "coef0", "sigma")


def make_kernel(
    kernel: str | Callable[[Any, Any], float] | Kernel = "rbf",
    *,
    degree: int = 3,
    gamma: float | str | None = None,
    coef0: float = 1.0,
    sigma: float | None = None,
    rows: Rows | None = None,
) -> Kernel:
    """Make a kernel from the user's parameters.

    Parameters
    ----------
    kernel : str, callable or Kernel
        "linear", "poly", "rbf", "laplace" (Euclidean distance), "laplacian" (sum of absolute
        differences, as in scikit-learn), "ngrams" (on strings), "precomputed", or a function of
        two examples, which may be vectors or any other objects.
    degree : int
        The power of "poly".
    gamma : float, "scale", "auto" or None
        The factor in the formulas of `Kernel`. "scale" is 1 / (features x variance of all values),
        "auto" is 1 / features; both need `rows`. None means 1 for "poly" and "scale" for distances.
    coef0 : float
        The constant that "poly" adds before taking the power.
    sigma : float, optional
        Replaces gamma for the kernels of distances: gamma = 1 / (2 sigma^2).
    rows : Rows, optional
        The examples from which "scale" and "auto" are computed.

    Raises
    ------
    ValueError
        If the kernel is unknown, or a parameter makes it illegal.

    Examples
    --------
    >>> print(make_kernel("poly", degree=4))
    (x.z + 1)^4
    >>> print(make_kernel("rbf", sigma=0.5))
    exp(-2 |x-z|^2)
    """
    if sigma is not None:
        refuse_unused({"sigma": sigma}, uses_of_kernel(kernel))
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        called = getattr(kernel, "__qualname__", type(kernel).__name__)
        return Kernel("function", function=kernel, called=called)
    check_choice("kernel", kernel, KERNELS, other="a function")
    if kernel == "ngrams":
        return Kernel("function", function=NGrams(), called="NGrams")
    if sigma is not None:
        gamma = _gamma_of_sigma(gamma, sigma)
    if kernel in ("linear", "precomputed"):
        return Kernel(kernel)
    if gamma is None:
        gamma = 1.0 if kernel == "poly" else "scale"
    factor = _number_of_gamma(gamma, rows)
    if kernel != "poly":
        return Kernel(kernel, gamma=factor)
    check_whole("degree", degree, least=1, most=_HIGHEST_DEGREE)
    check_not_negative("coef0", coef0)  # if negative, the function is not a kernel
    return Kernel("poly", int(degree), factor, float(coef0))


def _gamma_of_sigma(gamma: float | str | None, sigma: float) -> float:
    """Turn sigma into gamma; raise an error if gamma was given too."""
    if gamma is not None:
        raise ValueError(
            f"gamma={gamma!r} and sigma={sigma!r} mean the same, as gamma is 1 / (2 sigma^2): give"
            " one of them, not both"
        )
    check_positive("sigma", sigma)
    found = 1.0 / (2.0 * float(sigma) ** 2) if float(sigma) ** 2 > 0.0 else math.inf
    if not 0.0 < found < math.inf:
        raise ValueError(f"sigma={sigma!r} makes 1 / (2 sigma^2) overflow; scale the features")
    return found


def _number_of_gamma(gamma: float | str, rows: Rows | None) -> float:
    """Gamma as a number, computed from the examples for "scale" and "auto"."""
    if not isinstance(gamma, str):
        check_positive("gamma", gamma, other="'scale' or 'auto'")
        return float(gamma)
    check_choice("gamma", gamma, ("scale", "auto"), other="a positive number")
    if rows is None:
        raise ValueError(f"gamma={gamma!r} needs vectors to compute it from; give a number")
    if gamma == "auto":
        return 1.0 / max(1, rows.width)
    rows.check_finite()
    spread = _variance(rows)
    found = 1.0 / (rows.width * spread) if spread > 0.0 else 1.0
    if not 0.0 < found < math.inf:
        raise DataError(
            f"gamma='scale' is 1 / (features x variance), which is not finite for a variance of"
            f" {spread:.3g}; scale the features"
        )
    return found


def _variance(rows: Rows) -> float:
    """The variance of all values, including zeros that are not stored."""
    rows = rows.without_duplicates()
    count = rows.n * rows.width
    values = rows.stored.values if not rows.is_sparse else rows.to_matrix().data
    if not count:
        return 0.0
    with np.errstate(over="ignore"):
        mean = float(np.sum(values, dtype=np.float64)) / count
        spread = float(np.sum(np.square(values - mean, dtype=np.float64)))
    return (spread + (count - values.size) * mean * mean) / count
