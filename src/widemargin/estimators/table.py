"""A classifier for tables: data frames, Arrow tables, dicts of columns, and files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d

from widemargin.data.datasets import Classes, Source, read_all
from widemargin.data.encode.interactions import pairs_of
from widemargin.data.encode.labels import codes_of
from widemargin.data.encode.table import TableEncoder
from widemargin.data.encode.text import TextEncoder
from widemargin.data.readers.columns import TableOptions, TableSchema, listed
from widemargin.data.readers.files import ReadOptions
from widemargin.data.readers.formats import TABLES
from widemargin.data.readers.table_sources import in_memory, one_row, open_table
from widemargin.data.reading import matrix_of
from widemargin.data.rows import Rows
from widemargin.errors import DataError
from widemargin.estimators.encoded import EncodedClassifier, can_go_on
from widemargin.models.explanation import Explanation
from widemargin.models.text_defaults import BESIDE, WHOLE, TextDefault
from widemargin.parameters.effects import Use, changed, refuse_unused
from widemargin.threads import thread_count

_TEXTS = ("analyzer", "ngrams", "bits", "weighting", "idf")
_COLUMNS = ("text", "columns", "drop", "categories")
_FILES = ("format", "encoding", "header", "delimiter", "decimal", "skip_bad")


@dataclass(eq=False, repr=False)
class TableClassifier(EncodedClassifier):
    """Table classifier: an encoder of columns and a learner in one model, saved in one file.

    It takes pandas and Polars data frames, Arrow tables, dicts of columns, arrays (whose columns
    are then called x0, x1, ...) and files (CSV, TSV, Parquet, JSON lines; a path, a pattern such as
    "logs/*.csv.gz", or a list of them). `widemargin train` makes the same model from a table: with
    `random_state=0` and the same options the weights are the same, and `widemargin.load` reads
    models of both.

    A column holds numbers, which are scaled; booleans; strings, which become one feature for each
    value seen in training; or, if named in `text`, documents. Missing cells are None, null, NaN,
    and strings such as "", "NA" and "?"; if a column has any in training, "column is missing"
    becomes a feature. Dates, nested values and columns of mostly distinct strings (probably
    identifiers) raise an error that names the column. Categorical columns of data frames are
    categories, whatever their values.

    At prediction, columns are found by name, in any order. Other columns are ignored. A missing
    column raises an error that names it. A value that was not seen in training has no feature;
    `encoder_.unseen` counts such values. Numbers may be of any type. A column of another kind than
    in training raises an error that names it; but whole numbers stand for the category of the same
    digits, 0 and 1 for booleans, and booleans for the numbers 0 and 1.

    Parameters
    ----------
    learner : Perceptron, PassiveAggressive, OnlineLogistic, LinearSVM, KernelPerceptron, KernelSVM
        The learner. None means the default of the shell program: an averaged perceptron with
        `fit_intercept="auto"`, or if texts are the only features, the default learner of
        `TextClassifier`.
    label : str or int, optional
        The column of the labels, if `fit` is not given any; it is never used as a feature. In a
        file the default is the column called "label", "class", "target" or "y", else the last. Here
        and below a column is given by its name or by its number from 0 (negative: from the end).
    weight : str or int, optional
        The column that holds the cost of an error on each example, instead of `sample_weight` in
        `fit`; it is never used as a feature.
    class_weight : dict, "balanced" or None
        Cost of an error on each class, for the default learner.
    text : column, or list of columns
        Columns that hold documents. Other columns are then used only if they are in `columns`.
    columns : column, or list of columns
        If given, only these are used (and those in `text`).
    drop : column, or list of columns
        Columns to leave out.
    categories : column, or list of columns
        Columns of numbers that are categories, such as postcodes.
    scale : {"standard", "maxabs", "none"}
        How to scale numbers: to mean 0 and standard deviation 1, by the largest absolute value, or
        not at all.
    interactions : list of pairs of columns
        Columns to multiply, such as [("age", "hours")], or as strings "age*hours"; ":" means any.
        Numbers (scaled) are multiplied; with a category, each of its values has a separate product.
        Only combinations that occur in training have features.
    analyzer, ngrams, bits, weighting, idf
        For texts, as for `HashedText`. If texts are the only features, ngrams=None means 2, and
        idf=None "seen" with the default learner; otherwise they mean 1 and False.
    format : str, optional
        The format of files, if it cannot be recognised.
    encoding : str
        The character encoding of files, such as "latin-1".
    header : bool, optional
        Whether the first line of a file names the columns; None decides by its content.
    delimiter : str, optional
        What separates the cells of CSV and TSV files; None detects a comma, semicolon, tab or
        vertical bar from the first lines. With " ", two blanks in a row enclose an empty cell.
    decimal : {".", ","}
        The decimal sign of numbers in CSV and TSV files.
    skip_bad : int
        Skip up to this many bad lines of files; one more is an error.
    validation, n_jobs, random_state
        As for `TextClassifier`.

    Attributes
    ----------
    learner_ : estimator
        The fitted learner.
    encoder_ : TableEncoder
        Converts tables to rows; `encoder_.feature_name(j)` names a feature.
    classes_, history_
        Those of the learner.
    feature_names_in_, n_features_in_
        The columns used, and their number.

    Examples
    --------
    >>> from widemargin import TableClassifier
    >>> pets = {
    ...     "weight": [4.0, 30.0, 3.5, None, 25.0, 5.0],
    ...     "indoor": [True, False, True, True, False, True],
    ...     "food": ["fish", "meat", "fish", "fish", "bone", "milk"],
    ...     "kind": ["cat", "dog", "cat", "cat", "dog", "cat"],
    ... }
    >>> clf = TableClassifier(random_state=0).fit(pets, "kind")
    >>> clf.predict({"food": ["bone", "hay"], "indoor": [False, True], "weight": [28, 4]})
    array(['dog', 'cat'], dtype='<U3')
    >>> clf.encoder_.unseen
    1
    """

    learner: Any = None
    _: KW_ONLY
    label: str | int | None = None
    weight: str | int | None = None
    class_weight: Mapping[Any, float] | str | None = None
    text: Any = ()
    columns: Any = ()
    drop: Any = ()
    categories: Any = ()
    scale: str = "standard"
    interactions: Any = ()
    analyzer: str = "word"
    ngrams: int | tuple[int, int] | None = None
    bits: int = 22
    weighting: str = "sublinear"
    idf: bool | str | None = None
    format: str | None = None
    encoding: str = "utf-8"
    header: bool | None = None
    delimiter: str | None = None
    decimal: str = "."
    skip_bad: int = 0
    validation: float = 0.0
    n_jobs: int | None = None
    random_state: Any = None

    # Training

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on a table.

        Parameters
        ----------
        X : data frame, Arrow table, dict of columns, array, or path
            The examples, one per row.
        y : str, or array of n labels
            The name of the label column, or the labels themselves. The labels of a file are in one
            of its columns. None means the column `label`, or for a file its default.
        sample_weight : array of n numbers, optional
            Cost of an error on each example.
        """
        self._check_unused(X)
        default = self._default()
        learner, encoder = self._fresh_learner(default), self._encoder(default)
        if y is not None and not isinstance(y, str) and not hasattr(y, "name"):
            y = column_or_1d(y, warn=True)
        rows, labels, own = self._read(self._source(X, y), encoder, observe=True)
        return self._learn(learner, encoder, rows, labels, self._weights(own, sample_weight))

    @available_if(can_go_on)
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Continue training with one epoch over more examples.

        Scaling, categories and document frequencies are those of the first call: a value that
        appears later has no feature. An SVM of texts, which needs all of them at once, continues
        with passive-aggressive steps.
        """
        first = not self.__sklearn_is_fitted__()
        if first:
            self._check_unused(X)
            default = self._piecewise(self._default())
            learner, encoder = self._fresh_learner(default), self._encoder(default)
        else:
            learner, encoder = self._learner_to_continue(), self.encoder_
        source = self._source(X, y, schema=encoder.schema)
        rows, labels, own = self._read(source, encoder, observe=first)
        sample_weight = self._weights(own, sample_weight)
        learner.partial_fit(rows, labels, classes=classes, sample_weight=sample_weight)
        self.learner_, self.encoder_ = learner, encoder
        return self

    # Prediction

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Compute the accuracy on a table.

        Parameters
        ----------
        X, y
            As for `fit`; without y, the labels are in the column of the same name as in training.
        sample_weight : array of n numbers, optional
            The weight of each example.
        """
        right, found, labels = [], [], []
        classes = Classes(self._fitted().classes)
        for chunk in self._source(X, y, schema=self.encoder_.schema).chunks():
            assert chunk.labels is not None  # `_source` requires labels
            labels.append(chunk.labels.values)
            right.append(classes.codes(chunk.labels))
            answers = self.learner_.predict(self._encode(chunk.raw))
            found.append(codes_of(answers, classes.values))
        if not found:
            raise DataError("there are no examples")
        codes = np.concatenate(right)
        if np.all(codes < 0):
            raise DataError(
                f"no label is a class of the model: found labels such as {labels[0].tolist()[0]!r},"
                f" and classes such as {classes.values.tolist()[0]!r}"
            )
        return float(accuracy_score(codes, np.concatenate(found), sample_weight=sample_weight))

    def encode(self, X: Any) -> Any:
        """Convert a table to the matrix that the learner sees: an array, or a CSR matrix.

        `encoder_.feature_name(j)` names column j. The matrix can be passed on, as in
        `widemargin.certify(model.learner_, model.encode(X), y)`.
        """
        self._fitted()
        data = read_all(self._asked(X), self.encoder_, Classes(), learn=False)
        assert data is not None
        return matrix_of(data.rows)

    def explain(self, x: Any, top: int = 10) -> Explanation:
        """Return the columns that decided the prediction for one example, strongest first.

        For a kernel machine, these are rows of the training data.

        Parameters
        ----------
        x : dict from column to cell, row of a data frame, or table with one row
            The example.
        top : int
            Maximum number of features to return.
        """
        model = self._fitted()
        return model.explain(next(self._asked(one_row(x)).chunks()).raw, top)

    def report(
        self, path: str | os.PathLike[str], X: Any = None, y: Any = None, **options: Any
    ) -> None:
        """Write an HTML page about the model; see `widemargin.report`.

        X and y are as for `score`.
        """
        if X is None:
            super().report(path, X, y, **options)
            return
        model = self._fitted()
        rows, labels, _ = self._read(
            self._source(X, y, schema=self.encoder_.schema), self.encoder_, observe=False
        )
        super().report(path, rows.with_bias(model.bias), labels, **options)

    def _scores_and_labels(self, X: Any, y: Any) -> tuple[np.ndarray, Any]:
        """The scores of a table, and its labels."""
        source = self._source(X, y, schema=self.encoder_.schema)
        rows, labels, _ = self._read(source, self.encoder_, observe=False)
        rows = rows.with_bias(self._fitted().bias)
        return self.learner_.decision_function(rows), labels

    @classmethod
    def of(cls, learner: Any, encoder: TableEncoder) -> Self:
        """Make a classifier that uses the same columns in the same way."""
        if encoder.schema is None:
            raise ValueError("the columns of the table are not described")
        kinds = [(c.name, c.kind) for c in encoder.schema.columns if c.kind != "text"]
        text = {} if encoder.text is None else encoder.text.options
        return cls(
            learner,
            label=encoder.schema.label,
            text=encoder.text_columns,
            columns=tuple(name for name, _ in kinds),
            categories=tuple(name for name, kind in kinds if kind == "category"),
            scale=encoder.scale,
            interactions=tuple(encoder.products.pairs),
            **{name: text[name] for name in _TEXTS if name in text},
        )

    # Learned attributes

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The names of the columns used."""
        self._fitted()
        schema = self.encoder_.schema
        assert schema is not None
        return np.array([column.name for column in schema.columns], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """Number of columns used."""
        return len(self.feature_names_in_)

    # Internals

    def _check_unused(self, X: Any) -> None:
        """Refuse parameters that have no effect on these examples."""
        texts = Use(bool(listed(self.text)), "without text columns", "with them (text)")
        files = Use(not in_memory(X), "for tables in memory", "for files")
        refuse_unused(changed(self), dict.fromkeys(_TEXTS, texts) | dict.fromkeys(_FILES, files))

    def _default(self) -> TextDefault:
        return WHOLE if listed(self.text) and not listed(self.columns) else BESIDE

    def _encoder(self, default: TextDefault) -> TableEncoder:
        """Make a new encoder."""
        columns, text = [str(name) for name in listed(self.text)], None
        if columns:
            usual = {"ngrams": default.ngrams, "idf": self.learner is None and default.idf}
            given = {name: getattr(self, name) for name in _TEXTS}
            text = TextEncoder(**given | {k: v for k, v in usual.items() if given[k] is None})
        encoder = TableEncoder(self.scale, text, columns, pairs_of(self.interactions))
        encoder.by_name = True
        return encoder

    def _source(
        self, X: Any, y: Any, *, schema: TableSchema | None = None, need_label: bool = True
    ) -> Source:
        """A source of chunks, from files or from a table in memory."""
        # The columns of an array are identified by position, unless the user selected some.
        chosen = schema is None or listed(self.columns) or listed(self.drop)
        reading = self._reading(y, schema=schema, need_label=need_label)
        return open_table(X, y, reading, None if chosen else self.n_features_in_)

    def _reading(
        self, y: Any, *, schema: TableSchema | None = None, need_label: bool = True
    ) -> ReadOptions:
        """The options for reading a table."""
        columns: dict[str, Any] = {name: listed(getattr(self, name)) for name in _COLUMNS}
        if isinstance(y, str) and self.label not in (None, y):
            raise ValueError(f"y={y!r} and label={self.label!r} name different columns")
        table = TableOptions(
            **columns,
            label=y if isinstance(y, str) else self.label,
            weight=self.weight,
            header=self.header,
            delimiter=self.delimiter,
            decimal=self.decimal,
            need_label=need_label,
            schema=schema,
        )
        return ReadOptions(
            format=self.format,
            among=TABLES,
            encoding=self.encoding,
            table=table,
            skip_bad=self.skip_bad,
            threads=thread_count(self.n_jobs),
        )

    def _asked(self, X: Any) -> Source:
        """A table to predict; it need not have labels."""
        return self._source(X, None, schema=self.encoder_.schema, need_label=False)

    def _read(
        self, source: Source, encoder: TableEncoder, *, observe: bool
    ) -> tuple[Rows, np.ndarray, np.ndarray | None]:
        """The rows of a table, their labels and weights; with `observe`, the encoder is fitted."""
        classes = Classes()
        data = read_all(source, encoder, classes, learn=True, observe=observe)
        assert data is not None
        return data.rows, classes.values[data.codes], data.weights

    def _weights(self, own: np.ndarray | None, given: Any) -> Any:
        """The weights of the examples: those of a column, or those given to `fit`."""
        if self.weight is not None and given is not None:
            raise ValueError(
                f"sample_weight and weight={self.weight!r} both set the cost of errors: give one"
            )
        return given if own is None else own

    def _encode(self, table: Any) -> Rows:
        return self.encoder_.encode(table, self.learner_.model_.bias, thread_count(self.n_jobs))

    def _rows_of(self, X: Any) -> Iterator[Rows]:
        source, chunk = self._asked(X), None
        for chunk in source.chunks():
            yield self._encode(chunk.raw)
        if chunk is None:
            raise DataError(f"{', '.join(source.paths)}: there are no examples")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags
