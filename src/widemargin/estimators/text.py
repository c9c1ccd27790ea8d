"""Text: a hashing transformer, and a classifier of strings."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from widemargin.data.encode.text import TextEncoder, texts_of
from widemargin.data.rows import Rows, Stack
from widemargin.errors import DataWarning
from widemargin.estimators.fitted import FittedClassifier
from widemargin.estimators.linear_svm import LinearSVM
from widemargin.estimators.passive_aggressive import PassiveAggressive
from widemargin.models.explanation import Explanation
from widemargin.models.linear import LinearModel
from widemargin.models.text_defaults import (
    NGRAMS,
    PIECEWISE,
    SAY_GOING_ON,
    SAY_PIECEWISE,
    WHOLE,
    TextDefault,
    go_on_online,
)
from widemargin.parameters import NamedParameters, Use, changed, refuse_unused, used_with
from widemargin.threads import thread_count

_OPTIONS = (
    "analyzer",
    "ngrams",
    "lowercase",
    "min_length",
    "bits",
    "signed",
    "weighting",
    "idf",
    "norm",
    "errors",
    "names",
)
#: The default learners.
_LEARNERS: dict[str, Any] = {
    learner.__name__: learner for learner in (LinearSVM, PassiveAggressive)
}


class HashedText(  # type: ignore[call-arg]
    NamedParameters,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,  # because its rows are sparse
):
    """Convert documents to sparse rows of hashed words or n-grams.

    Documents are strings in a list, an array or a Series, or a frame (pandas, Polars, Arrow) with
    one column of them.

    Where the options coincide, the result is that of scikit-learn's HashingVectorizer, in float32:
    `n_features=2**bits`, `ngram_range=ngrams`, `alternate_sign=signed`, and `binary` is
    weighting="binary"; with weighting="sublinear" or `idf`, that of a TfidfTransformer after it.
    It is an order of magnitude faster and keeps feature names.

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
        The number of columns is 2 ** bits.
    signed : bool
        Whether the sign of the hash decides if a feature adds 1 or -1.
    weighting : {"count", "binary", "sublinear"}
        Value of a feature that occurs c times in a document: c, 1, or 1 + log c.
    idf : bool or "seen"
        Whether to multiply by the inverse document frequency in the documents given to `fit`. With
        "seen", features that none of them had count nothing, as with a TfidfVectorizer.
    norm : {"l2", None}
        Whether rows are scaled to length 1.
    errors : {"strict", "replace"}
        What to do with bytes that are not UTF-8. (Does not concern strings.)
    names : int
        Maximum number of feature names that `fit` keeps; 0 keeps none.
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
    {'to': np.float32(2.0), 'be': np.float32(2.0), 'to be': np.float32(2.0)}

    References
    ----------
    K. Weinberger, A. Dasgupta, J. Langford, A. Smola and J. Attenberg (2009), Feature hashing for
    large scale multitask learning, ICML.
    """

    def __init__(
        self,
        *,
        analyzer: str = "word",
        ngrams: int | tuple[int, int] = 1,
        lowercase: bool = True,
        min_length: int = 2,
        bits: int = 20,
        signed: bool = False,
        weighting: str = "sublinear",
        idf: bool | str = False,
        norm: str | None = "l2",
        errors: str = "strict",
        names: int = 1 << 18,
        n_jobs: int | None = None,
    ) -> None:
        self.analyzer = analyzer
        self.ngrams = ngrams
        self.lowercase = lowercase
        self.min_length = min_length
        self.bits = bits
        self.signed = signed
        self.weighting = weighting
        self.idf = idf
        self.norm = norm
        self.errors = errors
        self.names = names
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Count document frequencies if `idf` is set, and record feature names."""
        if self.names:
            self._learn(X)
            return self
        self.encoder_ = _encoder(self)
        self.encoder_.observe(texts_of(X), thread_count(self.n_jobs))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Do `fit` and `transform` with one pass fewer over the documents."""
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
        """Return the names of all 2 ** bits columns, as far as `fit` has kept them.

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


def _has_probabilities(classifier: TextClassifier) -> bool:
    learner = vars(classifier).get("learner_", classifier.learner)
    return hasattr(learner, "predict_proba")


class TextClassifier(FittedClassifier):
    """Text classifier: hashed text and a linear learner in one model, saved in one file.

    Documents are strings in a list, an array or a Series, or a frame (pandas, Polars, Arrow) with
    one column of them. `widemargin train` makes the same model of the same documents.

    Parameters
    ----------
    learner : LinearSVM, Perceptron, PassiveAggressive, OnlineLogistic or None
        The learner. None means LinearSVM(C=2, loss="squared_hinge"), or where documents come in
        pieces (`partial_fit` without `fit`) PassiveAggressive(rule="pa2", C=0.5, epochs=5,
        fit_intercept="auto").
    idf : bool, "seen" or None
        As for `HashedText`. None means "seen" if the default learner is given all documents at
        once, and False otherwise.
    analyzer, ngrams, lowercase, min_length, bits, signed, weighting, norm, errors, names
        As for `HashedText`.
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

    def __init__(
        self,
        learner: Any = None,
        *,
        analyzer: str = "word",
        ngrams: int | tuple[int, int] = NGRAMS,
        lowercase: bool = True,
        min_length: int = 2,
        bits: int = 20,
        signed: bool = False,
        weighting: str = "sublinear",
        idf: bool | str | None = None,
        norm: str | None = "l2",
        errors: str = "strict",
        names: int = 1 << 18,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.analyzer = analyzer
        self.ngrams = ngrams
        self.lowercase = lowercase
        self.min_length = min_length
        self.bits = bits
        self.signed = signed
        self.weighting = weighting
        self.idf = idf
        self.norm = norm
        self.errors = errors
        self.names = names
        self.n_jobs = n_jobs
        self.random_state = random_state

    learner_: Any
    encoder_: Any

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
        learner, encoder, texts = self._learner(WHOLE), self._encoder(WHOLE), texts_of(X)
        threads = thread_count(self.n_jobs)
        stack = Stack(1)
        encoder.encode_first(texts, stack, threads, note=True)
        rows = stack.rows(encoder.width)
        encoder.finish(rows, threads)
        self.learner_, self.encoder_ = learner, encoder
        learner.fit(rows, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue training with one epoch over more documents.

        Document frequencies are those counted by `fit`, so with `idf` the first call must be `fit`.
        An SVM, which needs all documents at once, goes on with passive-aggressive steps.
        """
        texts, threads = texts_of(X), thread_count(self.n_jobs)
        if not hasattr(self, "learner_"):
            if self.idf:
                raise ValueError(f"idf={self.idf!r} needs all documents at once: call fit first")
            if self.learner is None:
                warnings.warn(
                    f"partial_fit has only some of the documents: {SAY_PIECEWISE}; fit takes all",
                    DataWarning,
                    stacklevel=2,
                )
            self.learner_, self.encoder_ = self._learner(PIECEWISE), self._encoder(PIECEWISE)
        elif isinstance(self.learner_, LinearSVM):
            warnings.warn(SAY_GOING_ON, DataWarning, stacklevel=2)
            model = go_on_online(self.learner_.model_)
            self.learner_ = PassiveAggressive(**model.params).restore(model)
        rows = self.encoder_.encode(texts, 0.0, threads, note=True)
        self.learner_.partial_fit(rows, y, classes=classes, sample_weight=sample_weight)
        return self

    # Prediction

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the scores of all documents, as the learner does."""
        return self._fitted_learner().decision_function(self._rows(X))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of every document."""
        return self._fitted_learner().predict(self._rows(X))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimate the probability of every class, if the learner supports it."""
        return self._fitted_learner().predict_proba(self._rows(X))

    def explain(self, text: str, top: int = 10) -> Explanation:
        """Return the words that decided the prediction for one document, strongest first."""
        return self.model_.explain(texts_of([text]), top)

    def top_features(self, n: int = 10) -> dict[Any, list[tuple[str, float]]]:
        """Return for each class the n features with the largest weights for it.

        With two classes, the first has the weights of the second with opposite signs. A name with
        "~" shares its column with others; a column without a name is "#" and its number.
        """
        return self.model_.top_features(n)

    def __sklearn_is_fitted__(self) -> bool:
        return "learner_" in vars(self)

    def restore(self, model: LinearModel) -> Self:
        """Adopt a model that was read from a file."""
        self.learner_ = clone(self.learner).restore(model)
        self.encoder_ = model.encoder
        return self

    # Learned attributes

    @property
    def model_(self) -> LinearModel:
        """Encoder and weights as one model."""
        return replace(self._fitted_learner().model_, encoder=self.encoder_)

    @property
    def certificate_(self) -> Any:
        """The certificate of the learner."""
        return self._fitted_learner().certificate_

    # Internals

    def _fitted_learner(self) -> Any:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this TextClassifier is not fitted yet: call fit first")
        return self.learner_

    def _learner(self, default: TextDefault) -> Any:
        if self.learner is not None:
            own = Use(False, "if a learner is given", "without one; give the learner its own")
            refuse_unused(changed(self), {"random_state": own})
            return clone(self.learner)
        more = {"n_jobs": self.n_jobs, "random_state": self.random_state}
        return _LEARNERS[default.learner](**default.parameters, **more)

    def _encoder(self, default: TextDefault) -> TextEncoder:
        unsaid = default.idf if self.learner is None else False
        return _encoder(self, idf=unsaid if self.idf is None else self.idf)

    def _rows(self, X: Any) -> Rows:
        bias = self._fitted_learner().model_.bias
        return self.encoder_.encode(texts_of(X), bias, thread_count(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.sparse = tags.input_tags.two_d_array = False
        return tags


def _encoder(options: Any, **chosen: Any) -> TextEncoder:
    refuse_unused(changed(options), {"min_length": used_with("analyzer", options.analyzer, "word")})
    return TextEncoder(**{name: getattr(options, name) for name in _OPTIONS} | chosen)


def _sorted_matrix(rows: Rows) -> Any:
    """Convert rows to a matrix with sorted columns, as scikit-learn returns it."""
    matrix = rows.to_matrix().copy()
    matrix.sort_indices()
    matrix.indptr = matrix.indptr.astype(matrix.indices.dtype)
    matrix.has_canonical_format = True
    return matrix
