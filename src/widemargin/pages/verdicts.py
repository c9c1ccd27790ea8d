"""The result of a training run, in plain words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from widemargin.certificates.certificate import Certificate, CertificateTable, RunCertificate
from widemargin.certificates.gap import GapCertificate
from widemargin.certificates.kernel_gap import KernelCertificate
from widemargin.evaluate.predictions import Exam
from widemargin.markup.words import several
from widemargin.pages.reportable import Subject
from widemargin.pages.sentences import summarise_sentences
from widemargin.structured.examination import SentenceExam
from widemargin.training.history import History


def verdict(subject: Subject, exam: Exam | SentenceExam | None) -> list[str]:
    """Sentences that summarise what was trained and how far it can be trusted."""
    sentences = [_what(subject)]
    told = _training(subject.history)
    if told:
        sentences.append(told)
    if isinstance(subject.certificate, GapCertificate):
        sentences.append(_gap(subject.certificate))
    elif isinstance(subject.certificate, KernelCertificate):
        sentences.append(_kernel_gap(subject.certificate))
    elif isinstance(subject.certificate, RunCertificate) and subject.certificate.bound is not None:
        made, bound = subject.certificate.mistakes, math.floor(subject.certificate.bound)
        sentences.append(
            f"It made {several(made, 'mistake')} while learning; theory allows at most {bound:,}."
        )
    if subject.history.cycle is not None and subject.history.cycle.proof:
        sentences.append(
            "Its weights returned to an earlier value, in exact arithmetic: this proves that no"
            " hyperplane separates the examples it was trained on."
        )
    scores = subject.history["held_out"]
    if len(scores) and np.any(np.isfinite(scores)):
        best = subject.history.best
        tail = (
            ""
            if best is None
            else f" (epoch {best}, chosen because it was best, so slightly optimistic)"
        )
        sentences.append(
            f"On examples held out during training it reached {np.nanmax(scores):.4f}{tail}."
        )
    if isinstance(exam, SentenceExam):
        sentences.append(summarise_sentences(exam))
    else:
        sentences.append(_exam(exam) if exam is not None else _NOT_EXAMINED)
    return sentences


_NOT_EXAMINED = (
    "No labelled examples were given for this report, so it does not say how well the model"
    " predicts new ones."
)


def _what(subject: Subject) -> str:
    epochs = subject.history.epochs_run
    classes = (
        "" if subject.classes is None else f" for {len(subject.classes):,} {subject.class_word}"
    )
    seconds = subject.history.epochs[-1].seconds if epochs else 0.0
    how = f", trained in {several(epochs, 'epoch')} and {seconds:.2f} s" if epochs else ""
    article = "an" if subject.name[0].lower() in "aeio" else "a"
    return f"This is {article} {subject.name}{classes}{how}."


def _training(history: History) -> str:
    if not len(history):
        return ""
    last = history.epochs[-1]
    made = "no mistake" if not last.mistakes else f"still {several(last.mistakes, 'mistake')}"
    part = f" in {several(last.examples, 'example')}" if last.examples else ""
    back = "" if history.best is None else f" The weights after epoch {history.best} were kept."
    said = {
        "no mistakes": "It stopped after a whole epoch without a mistake: its last weights get"
        " all training examples right.",
        "small change": "It stopped because the weights hardly moved any more.",
        "epochs": f"It used all its epochs; in the last it made {made}{part}.",
        "deadline": "It was stopped by its time limit.",
        "no improvement": "It stopped because the held-out score no longer improved.",
        "interrupted": "It was interrupted, and keeps what it had learned so far.",
        "gap reached": "It stopped because it was as close to the optimum as requested.",
        "not separable": "It stopped because no hyperplane separates the examples.",
        "no progress": "It stopped because floating-point precision allows no better answer.",
    }
    return said[history.stopped] + back if history.stopped in said else ""


def _gap(found: GapCertificate) -> str:
    if found.margin is not None:
        low, high = found.margin
        if low > 0.0:
            return (
                f"It separates its examples with a margin of {low:.6g}; no hyperplane has a margin"
                f" above {high:.6g}."
            )
        return f"No hyperplane separates its examples with a margin above {high:.3g}."
    return _close(found.gap)


def _kernel_gap(found: KernelCertificate) -> str:
    if found.separates is None:
        return _close(found.gap)
    if found.separates:
        return (
            f"It separates its examples in feature space with a margin of {found.margin:.6g}; no"
            f" plane has a margin above {found.bound:.6g}."
        )
    margin = "" if found.proved else f" with a margin above {found.bound:.3g}"
    return f"No plane in feature space separates its examples{margin}."


def _close(gap: float) -> str:
    most = 100 * max(gap, 0.0)
    return f"No other weights can have an objective that is lower by more than {most:.2g} %."


def _exam(exam: Exam) -> str:
    measures = exam.measures
    low, high = measures.accuracy_interval
    common = int(np.argmax(measures.support))
    guess = float(measures.support[common]) / max(1, measures.n)
    words = (
        f"On the {several(measures.n, 'example')} given it is right in"
        f" {100 * measures.accuracy:.2f} % (95 % interval {100 * low:.2f} to {100 * high:.2f})."
        f" Always answering {measures.labels[common]} would be right in {100 * guess:.2f} %:"
    )
    if low > guess:
        return f"{words} the model has clearly learned something."
    if high < guess:
        return f"{words} the model does worse than that."
    return f"{words} it is not certain that the model does better."


def meaning(certificate: Any) -> tuple[list[tuple[str, Any]], str]:
    """The figures of a certificate, and what they mean."""
    if isinstance(certificate, GapCertificate):
        return _gap_figures(certificate)
    if isinstance(certificate, KernelCertificate):
        return _kernel_figures(certificate)
    if isinstance(certificate, RunCertificate):
        return _run_figures(certificate)
    if isinstance(certificate, Certificate):
        figures: list[tuple[str, Any]] = [("verdict", certificate.verdict)]
        if certificate.margin is not None:
            figures.append(("margin", str(certificate.margin)))
        if math.isfinite(certificate.bound):
            figures.append(
                ("most mistakes a perceptron can make", f"{math.floor(certificate.bound):,}")
            )
        return figures, (
            "Whether a hyperplane has all examples of each class on its own side, proved in exact"
            " arithmetic; `verify` checks the proof again."
        )
    if isinstance(certificate, CertificateTable):
        listed = [
            (" / ".join(map(str, which)) if isinstance(which, tuple) else str(which), one.verdict)
            for which, one in list(certificate.parts.items())[:50]
        ]
        return [("all together", certificate.verdict), *listed], (
            "Whether a hyperplane separates each pair of classes, or each class from the rest."
        )
    return [("it says", str(certificate))], ""


def _gap_figures(found: GapCertificate) -> tuple[list[tuple[str, Any]], str]:
    figures = _objectives(found, f"{found.support_vectors:,}")
    if found.margin is not None:
        low, high = found.margin
        figures.append(("margin", f"{low:.9g}; none is larger than {high:.9g}"))
    return figures, _DUALITY + " Both were recomputed from scratch after training."


_DUALITY = (
    "The primal objective is the cost of these weights. The dual objective is a cost that no"
    " weights can undercut. The optimum lies between them, so the gap is the most that could"
    " still be gained."
)


def _kernel_figures(found: KernelCertificate) -> tuple[list[tuple[str, Any]], str]:
    vectors = f"{found.support_vectors:,}, {found.bounded:,} of them at their bounds"
    figures = _objectives(found, vectors)
    margin = f"{found.margin:.6g}"
    if found.separates:
        margin += f"; none is larger than {found.bound:.6g}"
    figures.append(("margin in feature space", margin))
    figures += [
        (part.problem, f"relative gap {part.gap:.3g}, margin {part.margin:.6g}")
        for part in found.parts
    ]
    words = _DUALITY
    if found.low_rank is not None:
        figures.append(("landmarks", f"{found.low_rank.landmarks:,}"))
        words += " Both are those of an approximation of the kernel by landmarks."
    return figures, words


def _objectives(
    found: GapCertificate | KernelCertificate, support_vectors: str
) -> list[tuple[str, Any]]:
    return [
        ("primal objective", f"{found.primal:.9g}"),
        ("dual objective", f"{found.dual:.9g}"),
        ("relative gap", f"{found.gap:.3g}"),
        ("support vectors", support_vectors),
        ("largest violation", f"{found.violation:.3g}"),
    ]


def _run_figures(run: RunCertificate) -> tuple[list[tuple[str, Any]], str]:
    figures: list[tuple[str, Any]] = [
        ("mistakes while learning", f"{run.mistakes:,} in {several(run.epochs, 'epoch')}")
    ]
    if run.margin is not None:
        figures.append(("margin on the examples", f"{run.margin:.6g}"))
    if run.R is not None:
        figures.append(("longest example, R", f"{run.R:.6g}"))
    if run.gamma is not None:
        figures.append(("best margin, γ", str(run.gamma)))
    if run.bound is not None:
        figures.append(("mistake bound", f"{math.floor(run.bound):,}"))
    if run.hinge_bound is not None:
        figures.append(("bound by the hinge loss", f"{math.floor(run.hinge_bound):,}"))
    if run.inequalities_held is not None:
        figures.append(("the proof's inequalities", "held" if run.inequalities_held else "failed"))
    words = (
        "On separable examples a perceptron makes at most (R/γ)² mistakes, in any order of the"
        " examples (Block, Novikoff 1962); twice as many if several classes are learned together."
    )
    if run.no_bound:
        words += f" This does not apply to this run: {run.no_bound}."
    elif run.bound is None:
        words += (
            " The bound depends on the training examples: widemargin.certify(model, X, y) computes"
            " it, and a report takes the result as certificate=."
        )
    return figures, words
