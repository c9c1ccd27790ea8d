"""The scikit-learn estimator interface for structured learners, without importing scikit-learn."""

from __future__ import annotations

import os
from inspect import signature
from numbers import Real
from typing import Any, Generic, Protocol, Self, TypeVar

from widemargin.certificates.certificate import RunCertificate
from widemargin.markup.reprs import brief
from widemargin.modelfile.packing import pack_value, unpack_value
from widemargin.parameters.effects import changed
from widemargin.parameters.names import NamedParameters
from widemargin.structured.sentence_training import Spread
from widemargin.training.checkpoints import as_text
from widemargin.training.history import History


class _Parameters:
    """Gets and sets the parameters of `__init__`, and those of parts such as `tagger__epochs`."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name; with `deep`, also those of parts, as `part__name`."""
        names = list(signature(type(self).__init__).parameters)[1:]
        found = {name: getattr(self, name) for name in names}
        for name, part in list(found.items()) if deep else ():
            if hasattr(part, "get_params") and not isinstance(part, type):
                found.update({f"{name}__{key}": x for key, x in part.get_params().items()})
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; those of parts are named `part__name`."""
        for name in sorted(params, key=lambda name: "__" in name):  # parts may be replaced first
            part, _, rest = name.partition("__")
            if rest:
                owner: Any = getattr(self, part, None)
                if not hasattr(owner, "set_params"):
                    raise ValueError(
                        f"{name}: {part} is {owner!r}, which has no parameters; set {part} first"
                    )
                owner.set_params(**{rest: params[name]})
            else:
                setattr(self, name, params[name])
        return self


class StructuredEstimator(NamedParameters, _Parameters):
    """A learner with `fit`, `predict` and `score` that scikit-learn can clone, search and score.

    It has what `clone`, `cross_val_score` and `GridSearchCV` require. Its tags do not call it a
    classifier, because it does not predict one label per example; folds are therefore not
    stratified.
    """

    #: Runs the training on sentences elsewhere; set by a cluster.
    _spread: Spread | None = None

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={brief(value)}" for name, value in changed(self).items())
        return f"{type(self).__name__}({told})"

    def _written(self) -> dict[str, str]:
        """The parameters as text, to recognise the same training when it is resumed."""
        told = as_text(self.get_params(deep=False))
        return told if self._spread is None else {**told, "spread": repr(self._spread.about)}

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        inputs = InputTags(two_d_array=False, string=True)
        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=inputs)


class Trained(Protocol):
    """A trained model that can be saved."""

    @property
    def history(self) -> History:
        """What happened while learning."""

    def save(self, path: str | os.PathLike[str], /) -> None:
        """Save the model to a file."""


class _Certified(Trained, Protocol):
    @property
    def certificate(self) -> RunCertificate | None: ...


Model = TypeVar("Model", bound=Trained)
Certified = TypeVar("Certified", bound=_Certified)


class SentenceEstimator(StructuredEstimator, Generic[Model]):
    """A learner whose model, `model_`, is a separate object that does the work."""

    model_: Model

    def restore(self, model: Model) -> Self:
        """Use an existing model, such as one loaded from a file."""
        self.model_ = model
        return self

    @property
    def _fitted(self) -> Model:
        """The model; raises scikit-learn's error if there is none yet."""
        if "model_" not in vars(self):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self.model_

    @property
    def history_(self) -> History:
        """What happened in each epoch."""
        return self._fitted.history

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to a file; load it with `widemargin.load`."""
        self._fitted.save(path)

    def _plain_params(self) -> dict[str, Any]:
        """The parameters as a file keeps them: no objects, and no held-out examples."""
        params = self.get_params(deep=False)
        if not isinstance(params.get("validation"), (str, Real)):
            params["validation"] = None
        return {name: unpack_value(pack_value(value)) for name, value in params.items()}


class CertifiedEstimator(SentenceEstimator[Certified]):
    """A learner whose model has a certificate of its training."""

    @property
    def certificate_(self) -> RunCertificate | None:
        """The number of mistakes, and what theory says about it."""
        return self._fitted.certificate
