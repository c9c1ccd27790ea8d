"""Text: a hashing transformer and a classifier for strings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from widemargin.data.encode.table import TableEncoder
from widemargin.data.encode.text import TextEncoder, texts_of
from widemargin.data.readers.chunk import Texts
from widemargin.data.readers.columns import MISSING
from widemargin.data.readers.frames import arrow_table, conform, is_frame
from widemargin.data.readers.table import texts_of_column
from widemargin.data.rows import Rows, Stack
from widemargin.errors import DataError
from widemargin.estimators.encoded import EncodedClassifier
from widemargin.estimators.linear_svm import LinearSVM
from widemargin.estimators.passive_aggressive import PassiveAggressive
from widemargin.loops.background_compiling import compile_ahead
from widemargin.models.explanation import Explanation
from widemargin.models.text_defaults import NGRAMS, WHOLE, TextDefault
from widemargin.parameters.effects import changed, refuse_unused, used_with
from widemargin.parameters.names import NamedParameters
from widemargin.threads import thread_count


@dataclass(eq=False, repr=False, kw_only=True)
class _TextOptions:
    """Options for converting documents to rows, documented in `HashedText`."""

    analyzer: str = "word"
    ngrams: int | tuple[int, int] = 1
    lowercase: bool = True
    min_length: int = 2
    bits: int = 22
    signed: bool = False
    weighting: str = "sublinear"
    idf: bool | str | None = False
    norm: str | None = "l2"
    errors: str = "strict"
    names: int = 1 << 18


@dataclass(eq=False, repr=False, kw_only=True)
class HashedText(  # type: ignore[call-arg]
    NamedParameters,
    TransformerMixin,
    BaseEstimator,
    _TextOptions,
    auto_wrap_output_keys=None,  # because its rows are sparse
):
    """Convert documents to sparse rows of hashed words or n-grams.

    Documents are strings in a list, an array or a Series, or a frame (pandas, Polars, Arrow) with
    one column of them.

    With equivalent options, the result is that of scikit-learn's HashingVectorizer, in float32:
    `n_features=2**bits`, `ngram_range=ngrams`, `alternate_sign=signed`, and `binary` is
    weighting="binary"; with weighting="sublinear" or `idf`, that of a TfidfTransformer after it.
    It is an order of magnitude faster and stores feature names.

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb"}
        What n-grams consist of: words; characters; or characters within words, each word with a
        blank before and after it.
    ngrams : int or (int, int)
        Length of the longest n-gram, or of the shortest and the longest; at most 5. A single number
        n means 1 to n for words, and exactly n for characters.
    lowercase : bool
        Whether to convert to lower case.
    min_length : int
        Words with fewer characters are ignored. (Only for "word".)
    bits : int
        The number of columns is 2 ** bits. With fewer columns some words share one; more columns
        cost little, as the learners store weights only for columns that occur.
    signed : bool
        Whether the sign of the hash decides if a feature adds 1 or -1.
    weighting : {"count", "binary", "sublinear"}
        Value of a feature that occurs c times in a document: c, 1, or 1 + log c.
    idf : bool or "seen"
        Whether to multiply by the inverse document frequency in the documents given to `fit`. With
        "seen", features that occur in none of them are ignored, as with a TfidfVectorizer.
    norm : {"l2", None}
        Whether to scale rows to length 1.
    errors : {"strict", "replace"}
        What to do with bytes that are not UTF-8. (Has no effect on strings.)
    names : int
        Maximum number of feature names that `fit` stores; 0 stores none.
    n_jobs : int or None
        Number of threads; -1 means all cores.

    Attributes
    ----------
    encoder_ : TextEncoder
        Gives the names of columns: `encoder_.feature_name(column)`.

    Examples
    --------
    >>> from widemargin import HashedText
    >>> hashed = HashedText(ngrams=2, weighting="count", norm=None)
    >>> X = hashed.fit_transform(["to be or not to be"])
    >>> {hashed.encoder_.feature_name(j): X[0, j] for j in X.indices if X[0, j] > 1}
    {'be': np.float32(2.0), 'to be': np.float32(2.0), 'to': np.float32(2.0)}

    References
    ----------
    K. Weinberger, A. Dasgupta, J. Langford, A. Smola and J. Attenberg (2009), Feature hashing for
    large scale multitask learning, ICML.
    """

    n_jobs: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Count document frequencies if `idf` is set, and record feature names."""
        if self.names:
            self._learn(X)
            return self
        self.encoder_ = _encoder(self)
        self.encoder_.observe(texts_of(X), thread_count(self.n_jobs))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit and transform, with one pass fewer over the documents."""
        return _sorted_matrix(self._learn(X))

    def transform(self, X: Any) -> Any:
        """Convert documents to a CSR matrix. Without `idf` this needs no `fit`."""
        encoder = vars(self).get("encoder_")
        if encoder is None:
            if self.idf:
                raise NotFittedError("this HashedText has counted no documents yet: call fit first")
            encoder = _encoder(self)
        return _sorted_matrix(encoder.encode(texts_of(X), 0.0, thread_count(self.n_jobs)))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of all 2 ** bits columns, as far as `fit` stored them.

        A name with "~" shares its column with others; a column without a name is "#" and its
        number.
        """
        encoder = vars(self).get("encoder_") or _encoder(self)
        names = np.array([f"#{column}" for column in range(encoder.width)], dtype=object)
        for column in () if encoder.names is None else encoder.names.columns:
            names[column] = encoder.feature_name(column)
        return names

    def set_output(self, *, transform: str | None = None) -> Self:
        """Accept only "default": the rows are sparse, and no data frame can hold them."""
        if transform not in (None, "default"):
            raise ValueError(
                f"set_output(transform={transform!r}): HashedText makes a sparse matrix of"
                f" {_encoder(self).width} columns, which a data frame cannot hold; it can only be"
                " 'default'"
            )
        return self

    def _learn(self, X: Any) -> Rows:
        threads = thread_count(self.n_jobs)
        self.encoder_ = _encoder(self)
        texts = texts_of(X)
        self.encoder_.observe(texts, threads)
        return self.encoder_.encode(texts, 0.0, threads, note=True)

    def __sklearn_is_fitted__(self) -> bool:
        return not self.idf or hasattr(self, "encoder_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags


@dataclass(eq=False, repr=False)
class TextClassifier(EncodedClassifier, _TextOptions):
    """Text classifier: hashed text and a linear learner in one model, saved in one file.

    Documents are strings in a list, an array or a Series, or a frame (pandas, Polars, Arrow) with
    one column of them. `widemargin train` makes the same model from the same documents.

    Parameters
    ----------
    learner : LinearSVM, Perceptron, PassiveAggressive, OnlineLogistic or None
        The learner. None means LinearSVM(C=2, loss="squared_hinge"), or if documents arrive in
        pieces (`partial_fit` without `fit`) PassiveAggressive(rule="pa2", C=0.5, epochs=5,
        fit_intercept="auto").
    idf : bool, "seen" or None
        As for `HashedText`. None means "seen" if the default learner is given all documents at
        once, and False otherwise.
    analyzer, ngrams, lowercase, min_length, bits, signed, weighting, norm, errors, names
        As for `HashedText`.
    class_weight : dict, "balanced" or None
        Cost of an error on each class, for the default learner.
    validation : float
        Fraction of the documents that the default learner holds out, chosen by `random_state`. They
        only serve to measure: the accuracy on them is in the last row of `history_`.
    n_jobs : int or None
        Threads for hashing and for the default learner; -1 means all cores.
    random_state : int, Generator, RandomState or None
        Seed of the default learner.

    Attributes
    ----------
    learner_ : estimator
        The fitted learner.
    encoder_ : TextEncoder
        Converts documents to rows.
    classes_, history_
        Those of the learner.

    Examples
    --------
    >>> from widemargin import TextClassifier
    >>> texts = ["cheap pills", "win money now", "see you at lunch", "how is the family"]
    >>> spam = TextClassifier(random_state=0).fit(texts, ["spam", "spam", "ham", "ham"])
    >>> spam.predict(["lunch with the family", "money, cheap"])
    array(['ham', 'spam'], dtype='<U4')
    """

    _learners: ClassVar[tuple[type, ...]] = (LinearSVM, PassiveAggressive)

    learner: Any = None
    _: KW_ONLY
    ngrams: int | tuple[int, int] = NGRAMS
    idf: bool | str | None = None
    class_weight: Mapping[Any, float] | str | None = None
    validation: float = 0.0
    n_jobs: int | None = None
    random_state: Any = None

    def restore(self, model: Any) -> Self:
        """Adopt a model that was read from a file; it may have learned from a column of a table."""
        table = model.encoder if isinstance(model.encoder, TableEncoder) else None
        super().restore(model if table is None else replace(model, encoder=table.text))
        self._table = table
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to one file; `widemargin.load` reads it back."""
        model = self._fitted()
        (model if self._table is None else replace(model, encoder=self._table)).save(path)

    # Training

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on documents.

        Parameters
        ----------
        X : list, array or Series of strings, or a frame with one column of them
            The documents.
        y : array of labels
            Their labels.
        sample_weight : array of numbers, optional
            Cost of an error on each document.
        """
        learner, encoder = self._fresh_learner(WHOLE), self._encoder(WHOLE)
        self._table = None
        texts, threads = texts_of(X), thread_count(self.n_jobs)
        if not len(texts.starts):
            raise DataError("X: there are no documents to learn from")
        compile_ahead("TextClassifier")
        stack = Stack(1)
        encoder.encode_first(texts, stack, threads, note=True)
        rows = stack.rows(encoder.width)
        encoder.finish(rows, threads)
        return self._learn(learner, encoder, rows, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue training with one epoch over more documents.

        Document frequencies are those counted by `fit`, so with `idf` the first call must be `fit`.
        An SVM, which needs all documents at once, continues with passive-aggressive steps.
        """
        texts, threads = self._texts(X), thread_count(self.n_jobs)
        if not self.__sklearn_is_fitted__():
            if self.idf:
                raise ValueError(f"idf={self.idf!r} needs all documents at once: call fit first")
            default = self._piecewise(WHOLE)
            learner, encoder = self._fresh_learner(default), self._encoder(default)
        else:
            learner, encoder = self._learner_to_continue(), self.encoder_
        rows = encoder.encode(texts, 0.0, threads, note=True)
        learner.partial_fit(rows, y, classes=classes, sample_weight=sample_weight)
        self.learner_, self.encoder_ = learner, encoder
        return self

    def explain(self, text: str, top: int = 10) -> Explanation:
        """Return the words that decided the prediction for one document, strongest first."""
        return self._fitted().explain(texts_of([text]), top)

    # Internals

    #: The encoder of the table from whose column of texts the shell program trained the model.
    _table = cast("TableEncoder | None", None)

    def _default(self) -> TextDefault:
        return WHOLE

    def _encoder(self, default: TextDefault) -> TextEncoder:
        unsaid = default.idf if self.learner is None else False
        return _encoder(self, idf=unsaid if self.idf is None else self.idf)

    def _rows_of(self, X: Any) -> Iterator[Rows]:
        bias = self.learner_.model_.bias
        yield self.encoder_.encode(self._texts(X), bias, thread_count(self.n_jobs))

    def _texts(self, X: Any) -> Texts:
        """Documents; those of a table are in the column that was learned from, if it has it."""
        column = None if self._table is None else self._table.text_columns[0]
        if column is None or not is_frame(X):
            return texts_of(X)
        assert self._table is not None
        names = X if isinstance(X, Mapping) else getattr(X, "column_names", None) or X.columns
        if column not in list(names):
            return texts_of(X)
        schema = self._table.schema
        assert schema is not None
        table = conform(arrow_table({column: X[column]}), schema, MISSING)
        return texts_of_column(table, column)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.sparse = tags.input_tags.two_d_array = False
        return tags


def _encoder(options: Any, **chosen: Any) -> TextEncoder:
    refuse_unused(changed(options), {"min_length": used_with("analyzer", options.analyzer, "word")})
    return TextEncoder(
        **{field.name: getattr(options, field.name) for field in fields(_TextOptions)} | chosen
    )


def _sorted_matrix(rows: Rows) -> Any:
    """Convert rows to a matrix with sorted columns, as scikit-learn returns it."""
    matrix = rows.to_matrix().copy()
    matrix.sort_indices()
    matrix.indptr = matrix.indptr.astype(matrix.indices.dtype)
    matrix.has_canonical_format = True
    return matrix
