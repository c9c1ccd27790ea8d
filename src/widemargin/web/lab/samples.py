"""The user's own examples on the plane: two of their columns, or a projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.data.encode.labels import check_label_count
from widemargin.errors import DataError
from widemargin.markup.words import short
from widemargin.web.lab.points import MOST_CLASSES

#: The number of rows shown of a larger table: enough to see its shape, few enough to move.
SHOWN = 300
#: The number of columns named in the description of a projection.
_NAMED = 3


@dataclass(frozen=True)
class Table:
    """Examples from outside the lab.

    They have any number of columns, of which the page shows two, or a projection.

    Attributes
    ----------
    X : array (n, d)
    codes : array (n,)
        Their classes, as indices into `labels`.
    labels : list
        Whole numbers, or strings, in ascending order.
    names : list of str
        The columns.
    source : str
        The source of the examples, for the page.
    """

    X: np.ndarray
    codes: np.ndarray
    labels: list[Any]
    names: list[str]
    source: str

    def about(self) -> dict[str, Any]:
        """Describe the table for the page."""
        return {"source": self.source, "names": self.names, "rows": len(self.X)}


def make_table(X: Any, y: Any, names: Sequence[str] | None, source: str) -> Table:
    """Validate the user's examples."""
    columns = getattr(X, "columns", None)
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    if X.ndim != 2 or X.shape[1] < 2:
        raise DataError(f"the lab shows examples of two features or more, found {X.shape}")
    if not np.all(np.isfinite(X)):
        row, column = np.argwhere(~np.isfinite(X))[0]
        raise DataError(f"row {row}, column {column}: {X[row, column]} is not a finite number")
    values, codes = np.unique(np.asarray(y), return_inverse=True)
    check_label_count(len(X), len(codes))
    if not 2 <= len(values) <= MOST_CLASSES:
        raise DataError(f"the lab shows 2 to {MOST_CLASSES} classes, found {len(values)}")
    labels: list[Any] = values.tolist()
    if not all(isinstance(label, int) and not isinstance(label, bool) for label in labels):
        labels = [short(str(label), 60) for label in labels]
    if labels != sorted(set(labels)):  # such as 10.0 before 9.0, as words
        order = np.argsort(np.array(labels, dtype=object), kind="stable")
        codes, labels = np.argsort(order)[codes], [labels[i] for i in order]
    if names is None:
        names = [f"x{j}" for j in range(X.shape[1])] if columns is None else list(columns)
    return Table(X, codes.astype(np.int64), labels, [str(name) for name in names], source)


def sample(table: Table, given: Any) -> dict[str, Any]:
    """Some rows of a table as points, and a sentence that describes them.

    Parameters
    ----------
    table : Table
    given : dict
        "columns": two numbers, or None for a projection onto the two directions along which the
        standardised columns vary most; "standardised": whether to standardise two columns.
    """
    columns, standardised = given.get("columns"), given.get("standardised", True)
    which, shown = _some_rows(len(table.X))
    X = table.X[which]
    if columns is None:
        places, story = _projected(X, table.names)
    else:
        d = len(table.names)
        fine = isinstance(columns, list) and len(columns) == 2
        fine = fine and all(type(one) is int and 0 <= one < d for one in columns)
        if not fine or columns[0] == columns[1]:
            raise DataError(f"columns must be two different numbers from 0 to {d - 1}")
        places = X[:, columns]
        story = f"{table.names[columns[0]]} across, {table.names[columns[1]]} upwards"
        if standardised:
            places = _standardised(places)[0]
            story += ", each minus its mean, in standard deviations"
    points = [
        [float(f"{x:.6g}"), float(f"{y:.6g}"), int(code)]
        for (x, y), code in zip(places.tolist(), table.codes[which].tolist(), strict=True)
    ]
    return {"points": points, "classes": table.labels, "story": f"{shown}{story}."}


def _some_rows(n: int) -> tuple[np.ndarray, str]:
    """The rows to show, in order, and how they were chosen."""
    if n <= SHOWN:
        return np.arange(n), ""
    chosen = np.random.default_rng(0).choice(n, SHOWN, replace=False)
    return np.sort(chosen), f"{SHOWN} of {n:,} rows, drawn at random: "


def _standardised(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standardise each column; also return which columns vary at all."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0), spread > 0.0


def _projected(X: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, str]:
    """Project onto the two directions of largest variance, and describe these."""
    scaled, varies = _standardised(X)
    if np.count_nonzero(varies) < 2:
        raise DataError("fewer than two columns vary: there is nothing to project")
    values, directions = np.linalg.svd(scaled, full_matrices=False)[1:]
    directions = directions[:2]
    # The sign of a direction is arbitrary, so its largest component is made positive.
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[np.arange(2), largest])[:, None]
    shares = values[:2] ** 2 / np.sum(values**2)
    parts = []
    for word, direction, share in zip(("across", "upwards"), directions, shares, strict=True):
        strongest = np.argsort(-np.abs(direction))[:_NAMED]
        sum_of = " ".join(f"{direction[j]:+.2f} {short(names[j], 20)}" for j in strongest)
        more = " ..." if len(names) > _NAMED else ""
        parts.append(f"{word} {sum_of}{more} ({100 * share:.0f} % of the variance)")
    story = "the two main directions of the standardised columns: "
    return scaled @ directions.T, story + "; ".join(parts)
