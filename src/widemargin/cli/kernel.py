"""`widemargin train --learner kernel-perceptron` and `kernel-svm`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from widemargin.cli.row_trainer import RowTrainer
from widemargin.cli.trainer import Job, Section
from widemargin.kernel_machines.perceptron.fit import HeldOutPoints, fit_kernel_perceptron
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernel_machines.svm.fit import KernelSVMSettings, fit_kernel_svm
from widemargin.models.kernel import KernelModel
from widemargin.parameters.effects import Use
from widemargin.training.checkpoints import Checkpoints
from widemargin.training.progress import Watcher


class KernelTrainer(RowTrainer):
    """Trains a kernel learner."""

    def _solve(self, fit: Callable[..., Any], rows: Any, **how: Any) -> Any:
        """Learn from these rows, with the labels and weights of the examples."""
        examples = self.examples
        given = rows, examples.classes.values, examples.data.codes, self.settings, self.rng
        return fit(*given, sample_weight=examples.data.weights, **how)

    def _fitted(self, model: KernelModel) -> KernelModel:
        """The model, with its learner, parameters and encoder."""
        return replace(
            model,
            learner=self.estimator,
            params={**self.params, "random_state": self.seed},
            encoder=self.examples.encoder,
        )

    def describe_learner(self, model: Any) -> Section:
        """The kernel, the step rule, and which weights predict."""
        figures = {"kernel": str(model.kernel), "rule": model.rule, "keep": model.keep}
        line = f"{self.estimator}, {model.rule} rule, {model.keep} kept, kernel {model.kernel}"
        return Section(figures, [line])


class KernelPerceptronTrainer(KernelTrainer):
    """Trains a kernel perceptron."""

    def __init__(self, learner: str, given: Mapping[str, Any], job: Job) -> None:
        super().__init__(learner, given, job)
        self.settings = KernelSettings(
            **self.params, n_jobs=self.reading.threads, max_memory=job.memory
        )
        self.settings.check()

    def uses(self) -> dict[str, Use]:
        """Which parameters have an effect."""
        return self.settings.uses(held_out=self.job.valid is not None or self.job.measures)

    @property
    def epochs(self) -> int:
        """The largest number of epochs."""
        return max(1, round(self.settings.epochs))

    def fit(self, watch: Watcher, checkpoints: Checkpoints | None) -> KernelModel:
        """Learn, from the start or from a checkpoint."""
        examples = self.examples
        rows, asked = examples.data.rows.with_bias(0.0), None
        if examples.held_out is not None:
            held_rows = examples.held_out.rows.with_bias(0.0)
            width = max(rows.width, held_rows.width)
            asked = HeldOutPoints(held_rows.widened(width), examples.held_out.codes)
        how = {"held_out": asked, "watch": watch, "checkpoints": checkpoints}
        return self._fitted(self._solve(fit_kernel_perceptron, rows, **how))

    def describe_result(self, model: Any) -> Section:
        """The number of support vectors."""
        rest, vectors = super().describe_result(model), model.support.n
        lines = [f"support vectors: {vectors:,}", *rest.lines]
        return Section({"support_vectors": vectors, **rest.figures}, lines)


class KernelSVMTrainer(KernelTrainer):
    """Trains a kernel SVM."""

    shows_mistakes = False

    def __init__(self, learner: str, given: Mapping[str, Any], job: Job) -> None:
        super().__init__(learner, given, job)
        self.settings = KernelSVMSettings(
            **self.params, n_jobs=self.reading.threads, max_memory=job.memory
        )
        self.settings.check()

    def uses(self) -> dict[str, Use]:
        """Which parameters have an effect."""
        return self.settings.uses()

    @property
    def epochs(self) -> int:
        """One, because it does not learn in epochs: its history has one row."""
        return 1

    def fit(self, watch: Watcher, checkpoints: Checkpoints | None) -> KernelModel:
        """Solve the problem."""
        rows = self.examples.data.rows.with_bias(0.0)
        return self._fitted(self._solve(fit_kernel_svm, rows, watch=watch).model)

    def describe_result(self, model: Any) -> Section:
        """The duality gap, and the number of support vectors."""
        found, rest = model.certificate, super().describe_result(model)
        figures = {"primal": found.primal, "dual": found.dual, "gap": found.gap}
        figures |= {"support_vectors": model.support.n, **rest.figures}
        return Section(figures, [*str(found).split("\n"), *rest.lines])
