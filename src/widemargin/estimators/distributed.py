"""Training of estimators on a cluster."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from widemargin.data.datasets import Classes, read_all
from widemargin.data.encode.labels import codes_of
from widemargin.data.readers.files import Files, ReadOptions
from widemargin.data.rows import Rows
from widemargin.distribute.clusters import open_engine
from widemargin.distribute.fit import MixedFit, Source, check_distributes, resumed_state
from widemargin.distribute.mixing import MIXTURES
from widemargin.distribute.sentences import fit_sentences
from widemargin.distribute.svm_fit import SVMFit
from widemargin.estimators.cluster_sources import find_source
from widemargin.estimators.encoded import EncodedClassifier
from widemargin.estimators.files import estimator_of
from widemargin.estimators.linear import LinearLearner
from widemargin.estimators.linear_svm import LinearSVM, warn_of_gap
from widemargin.estimators.table import TableClassifier
from widemargin.estimators.text import TextClassifier
from widemargin.linear_svm.fit import SVMSettings
from widemargin.models.linear import LinearModel
from widemargin.online.held_out import HeldOut
from widemargin.online.state import State
from widemargin.parameters.effects import changed, refuse_unused
from widemargin.parameters.names import NamedParameters, refuse_unknown
from widemargin.parameters.values import check_choice, check_whole
from widemargin.structured.parser.parser import Parser
from widemargin.structured.tagger.tagger import Tagger
from widemargin.training.checkpoints import as_text, digest_of, open_checkpoints
from widemargin.training.history import History
from widemargin.training.progress import watched

#: Learners that cannot be distributed, and what to use instead.
_INSTEAD = {
    "KernelPerceptron": "Perceptron, with features that make the classes separable",
    "KernelSVM": "LinearSVM, or KernelSVM on a sample that fits into one machine",
    "StructuredPerceptron": "Tagger or Parser, or StructuredPerceptron on one machine",
    "Tokenizer": "Tokenizer on one machine",
}
_LINEAR = "Perceptron, PassiveAggressive, OnlineLogistic, LinearSVM"
_SENTENCES = (Tagger, Parser)


@dataclass(eq=False, repr=False)
class Distributed(NamedParameters):
    """Train an estimator on a Dask cluster, on partitions of the examples.

        for each epoch:
            each partition learns, from the same weights
            the next weights are a mixture of theirs

    The result depends only on the partitions and the seed of the estimator. It is the same, bit for
    bit, whatever the number of workers, their speed, or which of them were lost.

    Parameters
    ----------
    estimator : Perceptron, PassiveAggressive, OnlineLogistic, LinearSVM, TextClassifier, \
            TableClassifier, Tagger or Parser
        The estimator, with its parameters. An SVM is solved by dual ascent in all partitions at the
        same time, until the duality gap of all examples together is at most its `tol`.
    client : distributed.Client, str or None
        The cluster: a client, the address of a scheduler, "local" for a cluster on this machine
        that exists only during the fit, or None for the current client.
    partitions : int or None
        Approximate number of partitions to cut files into; None for one per 64 MB (for less than
        512 MB up to eight of at least 8 MB), and for sentences one per 200,000 words. Dask
        collections have their own partitions.
    mix : {"touched", "uniform"}
        "touched" divides the change of each feature by the number of partitions that changed it;
        "uniform" by the number of all partitions. Only "uniform" has the mistake bound; "touched"
        learns faster from sparse rows.
    progress : bool or None
        Whether to show a progress line; None: only on a terminal.

    Attributes
    ----------
    model_ : LinearModel, TaggerModel or ParserModel
        The trained model.

    Examples
    --------
    >>> from widemargin import Distributed, Perceptron
    >>> from distributed import Client  # doctest: +SKIP
    >>> with Client("tcp://scheduler:8786") as client:  # doctest: +SKIP
    ...     learner = Distributed(Perceptron(random_state=0), client=client).fit("logs/*.svm.gz")
    >>> learner.to_local().save("logs.wm")  # doctest: +SKIP

    References
    ----------
    R. McDonald, K. Hall and G. Mann (2010), Distributed training strategies for the structured
    perceptron, NAACL.
    C. Ma, V. Smith, M. Jaggi, M. I. Jordan, P. Richtarik and M. Takac (2015), Adding vs. averaging
    in distributed primal-dual optimization, ICML.
    """

    estimator: Any
    _: KW_ONLY
    client: Any = None
    partitions: int | None = None
    mix: str = "touched"
    progress: bool | None = None

    def __repr__(self) -> str:
        """The call that makes it, without the client, which is a connection."""
        given = ((field, getattr(self, field.name)) for field in fields(self)[1:])
        named = [
            f"{field.name}={value!r}"
            for field, value in given
            if value != field.default and field.name != "client"
        ]
        return f"Distributed({', '.join([repr(self.estimator), *named])})"

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        X_val: Any = None,
        y_val: Any = None,
        **reading: Any,
    ) -> Self:
        """Train on partitions.

        Parameters
        ----------
        X : path, pattern, list of them, Dask Array, Dask DataFrame or Dask Bag of texts
            The examples. Files may have any format that `widemargin.read` reads; workers open them
            by the same names. Taggers and parsers take what their own `fit` takes; the sentences
            are read here and sent to the workers.
        y : Dask Array, Dask Bag or str, optional
            The labels of an array or a bag; the name of the label column of a data frame. The
            labels of files are in the files. For a tagger, the tags.
        X_val, y_val : optional
            Held-out examples to score after each epoch: a file (without y_val), or arrays.
        checkpoint : path, optional
            Folder for checkpoints. If it contains one of the same training, training resumes from
            it and gives exactly the same result as without the interruption.
        **reading
            Options for reading files, as for `widemargin.read`: `format`, `encoding`, `zero_based`,
            `dtype`, `skip_bad`, and options for tables and texts; for data frames, the options for
            tables; for a tagger, `column`. A `TableClassifier` and a `TextClassifier` have such
            options themselves.

        Returns
        -------
        self
            After Ctrl-C the tasks are cancelled, and the model of the last complete epoch is stored
            before KeyboardInterrupt is raised.
        """
        estimator = self._estimator()
        if isinstance(estimator, _SENTENCES):
            return self._fit_sentences(estimator, X, y, checkpoint, X_val, reading)
        learner = estimator
        if isinstance(estimator, EncodedClassifier):
            learner = estimator._fresh_learner(estimator._default())
            self._check_learner(learner)
        settings = self._settings(learner, X_val)
        source, options = find_source(estimator, X, y, self.partitions, reading)
        rng = learner._generator()
        svm = isinstance(settings, SVMSettings)

        def model(state: State, history: History, certificate: Any = None) -> LinearModel:
            return LinearModel(
                classes=fit.classes,
                state=state,
                keep="last" if svm else settings.keep,
                rule=settings.rule,
                bias=fit.bias,
                learner=type(learner).__name__,
                params=learner.get_params(deep=False),
                history=history,
                certificate=certificate,
                generator_state=None if svm else rng.bit_generator.state,
                encoder=fit.encoder,
                mixture=None if svm else (self.mix, fit.partitions),
            )

        with (
            open_engine(self.client) as engine,
            watched(self.progress, settings.epochs) as watch,
            open_checkpoints(checkpoint, lambda: self._task(learner, source)) as checkpoints,
        ):
            if svm:
                fit: Any = SVMFit(engine, source, settings, rng, watch.check)
            else:
                fit = MixedFit(engine, source, settings, self.mix, rng, watch.check)
            more: dict[str, Any] = {"state": resumed_state(checkpoints, model)}
            if X_val is not None or y_val is not None:
                more["held_out"] = self._held_out(X_val, y_val, fit, options)
            learned = fit.learn(watch=watch, checkpoints=checkpoints, **more)
        self.model_ = model(*learned)
        if watch.interrupted:
            raise KeyboardInterrupt
        if svm:
            warn_of_gap(learned[2], learned[1])
        return self

    def to_local(self) -> Any:
        """Return an ordinary estimator, which can predict, explain, save and continue to learn."""
        if "model_" not in vars(self):
            raise NotFittedError("this Distributed is not fitted yet: call fit first")
        return estimator_of(self.model_)

    @property
    def history_(self) -> History:
        """The training history, one row per epoch."""
        return self.to_local().history_

    @property
    def certificate_(self) -> Any:
        """The certificate of the fit, as for the ordinary estimator."""
        return self.to_local().certificate_

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of every example, here and not on the cluster."""
        return self.to_local().predict(X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to one file; `widemargin.load` reads it back."""
        self.to_local().save(path)

    # Internals

    def _estimator(self) -> Any:
        """A fresh copy of the estimator, if it can be distributed."""
        if not isinstance(self.estimator, (*_SENTENCES, TextClassifier, TableClassifier)):
            self._check_learner(self.estimator)
        if self.partitions is not None:
            check_whole("partitions", self.partitions, least=1, other="None")
        return clone(self.estimator)

    @staticmethod
    def _check_learner(learner: Any) -> None:
        """Refuse a learner that cannot be distributed."""
        name = type(learner).__name__
        if not isinstance(learner, (LinearLearner, LinearSVM)):
            raise TypeError(f"{name} cannot be distributed: use {_INSTEAD.get(name, _LINEAR)}")
        if getattr(learner, "warm_start", False):
            raise ValueError("warm_start=True has no effect on a cluster: every fit starts anew")

    def _fit_sentences(
        self, learner: Any, X: Any, y: Any, checkpoint: Any, X_val: Any, reading: dict[str, Any]
    ) -> Self:
        """Train a tagger or a parser."""
        check_choice("mix", self.mix, MIXTURES)
        name = type(learner).__name__
        if X_val is not None:
            raise ValueError(f"X_val has no effect for {name}: set its validation instead")
        tagger = isinstance(learner, Tagger)
        refuse_unknown("Distributed.fit", reading, ["column"] if tagger else [])
        if y is not None and not tagger:
            raise ValueError(f"y has no effect for {name}: trees are in the sentences")
        given = (X, y) if tagger else (X,)
        with (
            open_engine(self.client) as engine,
            watched(self.progress, learner.epochs or 0) as watch,
        ):
            how = {**reading, "watch": watch, "checkpoint": checkpoint}
            self.model_ = fit_sentences(learner, engine, self.partitions, self.mix, *given, **how)
        if watch.interrupted:
            raise KeyboardInterrupt
        return self

    def _settings(self, learner: Any, X_val: Any) -> Any:
        """The parameters as settings, if they can be used on partitions."""
        if isinstance(learner, LinearSVM):
            if "mix" in changed(self):
                raise ValueError(f"mix={self.mix!r} has no effect for LinearSVM: leave it out")
            if X_val is not None:
                raise ValueError("X_val has no effect for LinearSVM: set its validation instead")
            return learner._settings()
        settings = learner._settings()
        check_distributes(settings, self.mix)
        refuse_unused(changed(settings), settings.uses(held_out=X_val is not None))
        return settings

    def _task(self, learner: Any, source: Source) -> dict[str, Any]:
        """Describe the training, so that only a checkpoint of the same training is resumed."""
        params = as_text(learner.get_params(deep=False))
        return {
            "learner": [type(learner).__name__, params],
            "mix": self.mix,
            # A digest, because addresses may contain secrets.
            "partitions": digest_of([repr(one) for one in source.partitions]),
        }

    @staticmethod
    def _held_out(X_val: Any, y_val: Any, fit: MixedFit, options: ReadOptions) -> HeldOut:
        """The user's held-out examples."""
        if fit.encoder is None:
            if X_val is None or y_val is None:
                raise ValueError("give both X_val and y_val, or neither")
            rows = Rows.of(X_val, bias=fit.bias)
            rows.check_finite()
            return HeldOut(rows, rows.everything, codes_of(np.asarray(y_val), fit.classes))
        if y_val is not None:
            raise ValueError("y_val has no effect: X_val must be files, which contain the labels")
        data = read_all(Files(X_val, options), fit.encoder, Classes(fit.classes), learn=False)
        assert data is not None
        rows = data.rows.with_bias(fit.bias)
        return HeldOut(rows, rows.everything, data.codes)
