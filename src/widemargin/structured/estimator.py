"""scikit-learn's manners for learners of structures, without importing scikit-learn."""

from __future__ import annotations

from inspect import signature
from typing import Any, Self

from widemargin.markup.brief import brief
from widemargin.parameters import NamedParameters, changed
from widemargin.structured.sentence_training import Spread


class _Parameters:
    """Reads and sets the parameters of `__init__`, and those of parts such as `tagger__epochs`."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name; with `deep`, also those of parts, as `part__name`."""
        names = list(signature(type(self).__init__).parameters)[1:]
        found = {name: getattr(self, name) for name in names}
        for name, part in list(found.items()) if deep else ():
            if hasattr(part, "get_params") and not isinstance(part, type):
                found.update({f"{name}__{key}": x for key, x in part.get_params().items()})
        return found

    def set_params(self, **params: Any) -> Self:
        """Change parameters."""
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

    It has what `clone`, `cross_val_score` and `GridSearchCV` ask for. Its tags do not say that it
    is a classifier, because what it predicts is not one label per example: folds are then cut
    without looking at the answers.
    """

    #: Has sentences learned from elsewhere; a cluster sets it.
    _spread: Spread | None = None

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={brief(value)}" for name, value in changed(self).items())
        return f"{type(self).__name__}({told})"

    def _written(self) -> dict[str, str]:
        """The parameters as text, to recognise the same training."""
        told = {name: repr(value) for name, value in self.get_params(deep=False).items()}
        return told if self._spread is None else {**told, "spread": repr(self._spread.about)}

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        inputs = InputTags(two_d_array=False, string=True)
        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=inputs)
