"""Certificates: proofs that examples are or are not separable, and figures about a training run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from widemargin.certificates.verifier import NOT_SEPARABLE, SEPARABLE, check_certificate
from widemargin.markup.charts import Curve, line_chart
from widemargin.markup.html import Markup, ShownAsLines, fragment, lines_of, tag
from widemargin.markup.reprs import brief_repr
from widemargin.markup.words import several


class Bracket(NamedTuple):
    """A lower and an upper bound on a number."""

    low: float
    high: float

    @property
    def gap(self) -> float:
        """The distance between the bounds, as a fraction of the upper one."""
        if self.low == self.high:
            return 0.0
        return (self.high - self.low) / self.high if 0.0 < self.high < math.inf else math.inf

    def __str__(self) -> str:
        if self.low == -math.inf and self.high == math.inf:
            return "unknown"
        if self.gap < 1e-5:
            return f"{self.low:.6g}"
        return f"{self.low:.6g} to {self.high:.6g}"


def mistake_bound(R: float, gamma: float) -> float:
    """The most mistakes a perceptron can make, (R / gamma)^2; infinity if it overflows.

    Examples
    --------
    >>> mistake_bound(1.0, 0.25), mistake_bound(1.0, 1e-200)
    (16.0, inf)
    """
    ratio = R / gamma
    return ratio * ratio  # unlike a power, a product does not raise OverflowError


class Evidence(NamedTuple):
    """The evidence that a margin lies in its bracket.

    The hyperplane w.x + b = 0 attains the lower end. The convex combination of examples bounds the
    margin from above: no hyperplane is farther from all examples than from a convex combination of
    them.
    """

    w: np.ndarray
    b: float | Fraction
    examples: np.ndarray
    shares: np.ndarray

    def __repr__(self) -> str:
        return brief_repr(self)


@dataclass(frozen=True, eq=False)
class Certificate(ShownAsLines):
    """Whether a hyperplane separates two classes, with the proof.

    Attributes
    ----------
    verdict : {"separable", "not separable", "undecided"}
        With `asked`, whether some hyperplane separates the classes with at least that margin.
    classes : array
        The labels; the last is on the positive side of the hyperplane.
    w, b
        Separable: the hyperplane. With a Gram matrix, w holds the weights of the examples.
        They are fractions (in an array of objects) if no floats separate the classes.
    margin : Bracket or None
        A bracket around the largest distance that a hyperplane can keep from all examples (L19 of
        the lectures).
    extended : Bracket or None
        The same for the examples extended by the constant feature, whose weight counts as part
        of w: the margin that the mistake bound uses (L20). Without a bias the two are the same.
    R : float
        The length of the longest extended example.
    examples, shares
        Not separable: at most d + 2 examples from both classes, and exact fractions as their convex
        weights, which show that the hulls of the classes meet. (If a margin was requested, they
        show that the hulls come too close. Without a constant feature, they show that the hull of
        all y x contains the origin, or comes too close to it.)
    support : array
        Separable: the examples that determine the margin, if it was measured.
    found_by, seconds
        The step that decided, and the total time.
    """

    verdict: str
    classes: np.ndarray
    n: int
    width: int
    constant: float
    R: float
    asked: float | None = None
    w: np.ndarray | None = None
    b: float | Fraction = 0.0
    margin: Bracket | None = None
    extended: Bracket | None = None
    examples: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    shares: tuple[Fraction, ...] = ()
    support: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    gram: bool = False
    margin_evidence: Evidence | None = None
    extended_evidence: Evidence | None = None
    found_by: str = ""
    seconds: float = 0.0

    @property
    def bound(self) -> float:
        """The most mistakes a perceptron can make, (R / gamma)^2; infinite if unknown.

        This is a perceptron whose constant feature is `constant`: 1 if nothing else was requested,
        as with `fit_intercept=True`.
        """
        if self.extended is None or not self.extended.low > 0.0:
            return math.inf
        return mistake_bound(self.R, self.extended.low)

    @property
    def bound_in_words(self) -> str:
        """Which perceptron makes at most how many mistakes; empty if unknown."""
        if not math.isfinite(self.bound):
            return ""
        whose = "a kernel perceptron" if self.gram else "a perceptron"
        if self.constant:
            whose += f" with a constant feature of {self.constant:g}"
        elif not self.gram:
            whose += " without bias"
        return f"{whose} makes at most {several(math.floor(self.bound), 'mistake')}"

    @property
    def proof_in_words(self) -> str:
        """What the convex combination of `examples` proves, if they are not separable."""
        if self.constant:
            meets = "meet" if self.asked is None else f"come closer than twice {self.asked:g}"
            return f"the hulls of the classes {meets}"
        where = "contains the origin"
        if self.asked is not None:
            where = f"comes closer to the origin than {self.asked:g}"
        return f"with one class negated, the hull of the examples {where}"

    def verify(self, X: Any, y: Any) -> bool:
        """Recheck every claim about these examples in exact arithmetic.

        Parameters
        ----------
        X : array or scipy sparse matrix of shape (n, d), or the Gram matrix of shape (n, n)
            The same numbers that were certified.
        y : array of n labels

        Returns
        -------
        bool
            Always True; a failed check raises. (An undecided certificate claims only its brackets.)

        Raises
        ------
        CertificateError
            If a claim does not hold.
        """
        return check_certificate(self, X, y)

    def __repr__(self) -> str:
        what = self.verdict
        if self.asked is not None:
            what += f" with a margin of {self.asked:g}"
        size = f"{several(self.n, 'example')}, {several(self.width, 'feature')}"
        lines = [f"{what} ({size}; by {self.found_by})"]
        if self.verdict == NOT_SEPARABLE:
            lines.append(f"{self.proof_in_words}: {_some(self.examples, self.shares)}")
        if self.margin is not None:
            lines.append(f"margin {self.margin}")
        if self.verdict == SEPARABLE:
            if self.constant and self.extended is not None:
                lines.append(f"extended margin {self.extended}, R {self.R:.6g}")
            if self.bound_in_words:
                lines.append(self.bound_in_words)
            if len(self.support):
                lines.append(f"support: {_some(self.support)}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class CertificateTable(ShownAsLines):
    """One certificate for every pair of classes, or for every class against the rest.

    Attributes
    ----------
    verdict : str
        "separable" if all parts are, "not separable" if some part is proved not to be, else
        "undecided".
    parts : dict
        Certificates by pair of labels, or by label.
    """

    verdict: str
    parts: Mapping[Any, Certificate]

    def __getitem__(self, which: Any) -> Certificate:
        return self.parts[which]

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)

    def verify(self, X: Any, y: Any) -> bool:
        """Recheck every certificate against its own examples."""
        X = X if hasattr(X, "tocsr") else np.asarray(X)
        y = np.asarray(y)
        for which, certificate in self.parts.items():
            if isinstance(which, tuple):
                chosen = np.flatnonzero((y == which[0]) | (y == which[1]))
                part = X[chosen][:, chosen] if certificate.gram else X[chosen]
                certificate.verify(part, y[chosen])
            else:
                certificate.verify(X, y == which)
        return True

    def __repr__(self) -> str:
        lines = [self.verdict]
        for which, one in self.parts.items():
            name = " / ".join(map(str, which)) if isinstance(which, tuple) else f"{which} / rest"
            tail = "" if one.margin is None else f", margin {one.margin}"
            lines.append(f"{name}: {one.verdict}{tail}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class RunCertificate:
    """What is known about the training of a linear learner or a kernel perceptron.

    These figures are measured in floating point, not proved like those of a `Certificate`.

    Attributes
    ----------
    mistakes, epochs : int
        The number of mistakes made during training, and the number of epochs.
    no_bound : str
        Why the theorem does not apply to this training; empty if it does.
    n : int or None
        The number of examples that the first epoch learned from. None if they were not new to the
        weights: if they were drawn with replacement or weighted, or training began with weights
        that may come from the same examples.
    R : float or None
        The length of the longest example, extended by the constant feature.
    margin, extended_margin : float or None
        The smallest signed distance from an example to the learned hyperplane, without and with
        the constant feature: negative if some example is on the wrong side. With `keep="vote"` this
        is the hyperplane of the average. (With several classes: the smallest lead of the right
        class, divided by the length of all weights together.)
    gamma : Bracket or None
        A bracket around the largest extended margin of these examples, if they are separable.
    bound : float or None
        The most mistakes that the theorem allows (L20): (R / gamma)^2, or 2 (R / gamma)^2 for
        several classes learned together.
    hinge_bound : float or None
        A bound from the total hinge loss (L25), for the learned weights and the margin that gives
        the smallest bound; the examples need not be separable.
    progress : array of shape (mistakes, 4), or None
        After each mistake k: w_k . w*, k gamma, |w_k|^2 and k R^2. The proof's two inequalities
        say that the first is at least the second, and the third at most the fourth. Needs the
        mistake log (`keep="vote"`) and a known gamma.
    weighted_mistakes : float or None
        If partitions were trained in parallel and mixed uniformly: the mistakes divided by the
        number of partitions, which is what the theorem bounds (McDonald, Hall and Mann 2010).
    """

    mistakes: int
    epochs: int
    no_bound: str = ""
    n: int | None = None
    R: float | None = None
    margin: float | None = None
    extended_margin: float | None = None
    gamma: Bracket | None = None
    bound: float | None = None
    hinge_bound: float | None = None
    progress: np.ndarray | None = None
    weighted_mistakes: float | None = None

    @property
    def strict_margin(self) -> float | None:
        """The margin if the hyperplane separates the classes, else minus infinity."""
        if self.margin is None or self.margin > 0.0:
            return self.margin
        return -math.inf

    @property
    def inequalities_held(self) -> bool | None:
        """Whether both inequalities of the proof held after every mistake; None if unknown."""
        if self.progress is None:
            return None
        along, least, square, most = self.progress.T
        slack = 1e-9
        return bool(np.all(along >= least * (1 - slack)) and np.all(square <= most * (1 + slack)))

    def risk(self, delta: float = 0.05) -> float | None:
        """Return a bound on the average error of the hypotheses (L25 of the lectures).

        It is M / n + sqrt(2 ln(1 / delta) / n) and holds with probability 1 - delta for the mean
        risk of the weights before each of n examples, after one pass over examples drawn
        independently from one distribution, with settings that do not depend on them. None after
        several passes, or if `n` is None.
        """
        if self.epochs != 1 or not self.n:
            return None
        return self.mistakes / self.n + math.sqrt(2.0 * math.log(1.0 / delta) / self.n)

    def chart(self) -> Markup:
        """Draw both inequalities of the proof during training, as HTML; needs `progress`."""
        assert self.progress is not None
        along, least, square, most = self.progress.T
        k = list(range(1, len(along) + 1))
        curves = [
            Curve("R √k", k, np.sqrt(most).tolist()),
            Curve("|w_k|", k, np.sqrt(square).tolist()),
            Curve("w_k·w*", k, along.tolist()),
            Curve("k γ", k, least.tolist()),
        ]
        return line_chart("the mistake bound's proof", curves, x_name="mistake k", from_zero=True)

    def _repr_html_(self) -> str:
        drawn = [] if self.progress is None else [tag("figure", self.chart())]
        return fragment(lines_of(repr(self)), *drawn)

    def __repr__(self) -> str:
        lines = [f"{several(self.mistakes, 'mistake')} in {several(self.epochs, 'epoch')}"]
        counted = ""
        if self.weighted_mistakes is not None:
            counted = " weighted by the mixture"
            lines.append(f"{self.weighted_mistakes:.6g} mistakes{counted}: at most (R / gamma)^2")
        if self.margin is not None:
            lines.append(f"margin on these examples {self.margin:.6g}, R {self.R:.6g}")
        if self.bound is not None and math.isfinite(self.bound):
            most = several(math.floor(self.bound), "mistake")
            lines.append(f"at most {most}{counted}, gamma {self.gamma}")
        elif self.no_bound:
            lines.append(f"no bound: {self.no_bound}")
        if self.hinge_bound is not None and math.isfinite(self.hinge_bound):
            most = several(math.floor(self.hinge_bound), "mistake")
            lines.append(f"at most {most} by the hinge loss")
        if self.inequalities_held is not None:
            held = "held" if self.inequalities_held else "did not hold"
            lines.append(f"the two inequalities of the proof {held} after every mistake")
        return "\n".join(lines)


def _some(items: Any, shares: Sequence[Fraction] = ()) -> str:
    """List the first few examples, with their weights."""
    shown = [
        f"{item} ({float(shares[k]):.4g})" if len(shares) else f"{item}"
        for k, item in enumerate(items[:6])
    ]
    return ", ".join(shown) + (f", ... ({len(items):,})" if len(items) > 6 else "")
