"""`widemargin train --learner svm`: a linear SVM, with its duality gap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import numpy as np

from widemargin.cli.row_trainer import RowTrainer
from widemargin.cli.trainer import Job, Section
from widemargin.linear_svm.fit import SVMSettings, fit_svm
from widemargin.linear_svm.scaling import scale_columns, unscale_weights
from widemargin.markup.words import several
from widemargin.models.linear import LinearModel
from widemargin.online.state import State
from widemargin.parameters.effects import Use
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.history import History
from widemargin.training.progress import Watcher


class SVMTrainer(RowTrainer):
    """Trains a linear SVM."""

    # Its epochs skip examples that look settled, so the number of mistakes means little.
    shows_history = shows_mistakes = False

    def __init__(self, learner: str, given: Mapping[str, Any], job: Job) -> None:
        super().__init__(learner, given, job)
        self.settings = SVMSettings(**self.params, n_jobs=self.reading.threads)
        self.settings.check()

    def uses(self) -> dict[str, Use]:
        """Which parameters have an effect."""
        return self.settings.uses()

    @property
    def epochs(self) -> int:
        """The largest number of epochs."""
        return self.settings.epochs

    def also_of(self, format: str) -> tuple[str, ...]:
        """`--scale` for vectors, but without a shift, which would fill in their zeros."""
        scale = self.given.get("scale")
        if format != "svmlight" or scale is None:
            return ()
        if scale == "standard":
            raise click.UsageError(
                "--scale standard would fill in the zeros of vectors; give --scale maxabs"
            )
        if scale == "maxabs" and (self.given.get("folds") or self.given.get("tune")):
            raise click.UsageError("--scale of vectors cannot be combined with --folds or --tune")
        return ("scale",)

    def fit(self, watch: Watcher, checkpoints: Checkpoints | None) -> LinearModel:
        """Solve the problem."""
        examples, settings = self.examples, self.settings
        data, classes = examples.data, examples.classes.values
        rows, factors = data.rows, None
        if (
            self.given.get("scale") == "maxabs"
            and getattr(examples.encoder, "kind", "") == "numbers"
        ):
            rows, factors = scale_columns(rows)
        trained = fit_svm(
            rows.with_bias(settings.constant),
            classes,
            data.codes,
            settings,
            self.rng,
            sample_weight=data.weights,
            watch=watch,
        )
        if factors is not None:
            unscale_weights(trained.state, factors)
        found = trained.state, trained.history, trained.certificate
        return self.make_model(classes, *found, examples.encoder)

    def make_model(
        self, classes: np.ndarray, state: State, history: History, certificate: Any, encoder: Any
    ) -> LinearModel:
        """Make the model of a solution."""
        return LinearModel(
            classes=classes,
            state=state,
            keep="last",
            rule=self.settings.rule,
            bias=self.settings.weighted,
            learner=self.estimator,
            params={**self.params, "random_state": self.seed},
            history=history,
            certificate=certificate,
            encoder=encoder,
        )

    def describe_learner(self, model: Any) -> Section:
        """The loss and C, the number of epochs, and why training stopped."""
        settings, history = self.settings, model.history
        epochs = several(len(history), "epoch")
        line = f"{self.estimator}, {settings.rule} loss, C = {settings.C:g}, {epochs}"
        return Section(
            {"loss": settings.rule, "C": settings.C}, [f"{line}; stopped: {history.stopped}"]
        )

    def describe_result(self, model: Any) -> Section:
        """The duality gap."""
        found, rest = model.certificate, super().describe_result(model)
        figures = {
            "primal": found.primal,
            "dual": found.dual,
            "gap": found.gap,
            "support_vectors": found.support_vectors,
        }
        return Section({**figures, **rest.figures}, [*str(found).split("\n"), *rest.lines])
