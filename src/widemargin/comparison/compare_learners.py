"""Train and test several learners on shared folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from widemargin.comparison.contenders import Contender, choose
from widemargin.comparison.names import uses_of
from widemargin.comparison.paired import compare_pairs
from widemargin.comparison.results import Comparison, Entry
from widemargin.comparison.usage import cheap_collections, measured
from widemargin.data.encode.labels import check_label_count, encode_labels
from widemargin.errors import DataError
from widemargin.evaluate.folds import stratified_folds
from widemargin.markup.reprs import brief
from widemargin.markup.words import several
from widemargin.models.text_defaults import WHOLE
from widemargin.parameters.effects import refuse_unused
from widemargin.parameters.values import check_whole

#: Number of rows on which every learner is run before it is timed, so that loops are compiled.
_TRIED = 60

Watch = Callable[[int, int, str], None]


def compare(
    X: Any,
    y: Any,
    *,
    learners: Mapping[str, Any] | Sequence[str] | None = None,
    folds: int = 5,
    repeats: int = 2,
    C: float | None = None,
    epochs: int = 10,
    random_state: int | None = 0,
    watch: Watch | None = None,
) -> Comparison:
    """Compare learners on the same folds: accuracy, significance of differences, time, memory.

    The learners are the perceptron (last, averaged, voted), passive-aggressive learning, the linear
    and the kernel SVM, and scikit-learn's logistic regression, all untuned. Each pair is compared
    by the corrected resampled t-test on paired folds (Nadeau and Bengio 2003), with Holm's
    correction for multiple comparisons.

    Parameters
    ----------
    X : array, sparse matrix, or list of texts
        The examples. Texts are encoded as `TextClassifier` does by default: hashed words and pairs
        of words with idf, whose document frequencies are those of all texts.
    y : array of labels
        Their labels.
    learners : list of names or dict of estimators, optional
        Some of the learners above by name, also by the names of `widemargin train` ("svm", "pa");
        or a dict of other unfitted estimators by name. By default all, except the kernel SVM if it
        would take more than about a minute.
    folds, repeats : int
        Number of cross-validation folds, and number of times to repeat it with different folds.
    C : float, optional
        Cost of an error, for learners that have one. By default 1, and 2 for texts, as in
        `TextClassifier`.
    epochs : int
        Number of epochs of the online learners.
    random_state : int or None
        Seed of the folds and of the learners.
    watch : callable, optional
        Called with the number of finished training runs, their total number, and the next learner.

    Returns
    -------
    Comparison
        A printable table that also states which differences are significant; `report(path)` writes
        an HTML page.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare(X, y, learners=["linear SVM", "logistic regression"])
    >>> [entry.name for entry in found.entries if entry.accuracy > 0.9]
    ['logistic regression', 'linear SVM']
    """
    given = [("C", C, None), ("epochs", epochs, 10)]
    changed = {name: value for name, value, default in given if value != default}
    refuse_unused(changed, uses_of(learners))
    if C is None:
        C = WHOLE.parameters["C"] if _are_texts(X) else 1.0
    X, y = _examples(X), np.asarray(y)
    n = X.shape[0]
    classes, codes = encode_labels(y)
    _check(n, classes, codes, folds, repeats)
    asked = choose(learners, X, folds * repeats, C, epochs, random_state)
    taking_part = [one for one in asked if not one.left_out]
    if not taking_part:
        raise ValueError("there are no learners to compare")
    records = {one.name: _Record() for one in taking_part}
    narrow = _without_empty_columns(X)
    rows = {one.name: narrow if one.weighs_every_column else X for one in taking_part}
    _try_out(taking_part, rows, y, codes)
    rng = np.random.RandomState(random_state)
    cuts = [fold for _ in range(repeats) for fold in stratified_folds(codes, folds, rng)]
    done, of = 0, len(cuts) * len(taking_part)
    with cheap_collections():
        for train, test in cuts:
            for one in taking_part:
                if watch is not None:
                    watch(done, of, one.name)
                X_train, X_test = rows[one.name][train], rows[one.name][test]
                records[one.name].run(one, X_train, y[train], X_test, y[test])
                done += 1
    if watch is not None:
        watch(done, of, "done")
    entries = [records[one.name].entry(one) for one in taking_part]
    entries.sort(key=lambda entry: -entry.accuracy)
    entries += [Entry(one.name, note=one.left_out) for one in asked if one.left_out]
    scores = {entry.name: entry.scores for entry in entries if len(entry.scores)}
    return Comparison(
        entries=entries,
        pairs=compare_pairs(scores, 1.0 / (folds - 1)),
        rows=n,
        features=X.shape[1],
        classes=classes.tolist(),
        folds=folds,
        repeats=repeats,
        settings={"C": C, "epochs": epochs, "random_state": random_state},
        commonest=float(np.bincount(codes).max()) / n,
    )


class _Record:
    """The results of one learner, fold by fold."""

    def __init__(self) -> None:
        self.scores: list[float] = []
        self.fits: list[float] = []
        self.answers: list[float] = []
        self.memory: list[int] = []
        self.notes: set[str] = set()

    def run(self, one: Contender, X: Any, y: Any, X_test: Any, y_test: Any) -> None:
        """Train and test the learner once."""
        assert one.make is not None
        model = one.make()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            with measured() as fit:
                model.fit(X, y)
            with measured() as answer:
                found = model.predict(X_test)
        self.notes |= {str(warning.message).split("\n")[0] for warning in said}
        self.scores.append(float(np.mean(found == y_test)))
        self.fits.append(fit.seconds)
        self.answers.append(answer.seconds)
        peaks = [used for used in (fit.memory, answer.memory) if used is not None]
        self.memory += [max(peaks)] if peaks else []

    def entry(self, one: Contender) -> Entry:
        """The learner's row of the table."""
        said = min(self.notes)[:120] if self.notes else ""
        return Entry(
            one.name,
            np.array(self.scores),
            float(np.mean(self.fits)),
            float(np.mean(self.answers)),
            max(self.memory) if self.memory else None,
            "; ".join(note for note in (one.note, said) if note),
        )


def _are_texts(X: Any) -> bool:
    """Whether examples are a list or an array of strings."""
    if hasattr(X, "dtype"):
        return X.ndim == 1 and len(X) > 0 and isinstance(np.asarray(X)[0], str)
    return not hasattr(X, "shape") and len(X) > 0 and isinstance(X[0], str)


def _examples(X: Any) -> Any:
    """Convert examples to a matrix; texts are hashed."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    if _are_texts(X):
        from widemargin.estimators.text import HashedText

        return HashedText(ngrams=WHOLE.ngrams, idf=WHOLE.idf).fit_transform(list(X))
    X = np.asarray(X)
    if X.ndim != 2:
        raise DataError(f"examples must form a matrix with 2 dimensions, found {X.ndim}")
    return X


def _without_empty_columns(X: Any) -> Any:
    """The same rows in the columns that occur: hashed texts have millions of empty ones."""
    if not hasattr(X, "tocsr") or X.shape[1] <= X.nnz:
        return X
    used, places = np.unique(X.indices, return_inverse=True)
    return type(X)((X.data, places, X.indptr), shape=(X.shape[0], len(used)))


def _check(n: int, classes: np.ndarray, codes: np.ndarray, folds: int, repeats: int) -> None:
    check_label_count(n, len(codes))
    if len(classes) < 2:
        raise DataError("only one class is present, nothing to learn")
    check_whole("folds", folds, least=2)
    check_whole("repeats", repeats, least=1)
    counts = np.bincount(codes)
    rarest = int(np.argmin(counts))
    if counts[rarest] < folds:
        raise DataError(
            f"class {brief(classes[rarest])} has {several(counts[rarest], 'example')}, fewer than"
            f" {folds} folds: use fewer folds or remove the class"
        )


def _try_out(
    some: list[Contender], rows: Mapping[str, Any], y: np.ndarray, codes: np.ndarray
) -> None:
    """Run every learner on a few rows of every class, to compile loops and load modules."""
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.unique(codes))
    few = max(2, _TRIED // len(starts))
    which = np.sort(np.concatenate([order[start : start + few] for start in starts.tolist()]))
    for one in some:
        assert one.make is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X = rows[one.name][which]
            one.make().fit(X, y[which]).predict(X)
