"""One page about a model: what was trained, on what data, and how well it performs."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin import __version__
from widemargin.certificates.certificate import RunCertificate
from widemargin.errors import DataError
from widemargin.evaluate.measures import Measures
from widemargin.evaluate.predictions import Exam, Mistake
from widemargin.markup.charts import bar_chart
from widemargin.markup.html import Markup, facts, joined, page, section, table, tag
from widemargin.markup.words import several, short
from widemargin.pages.ranking import ranked
from widemargin.pages.reportable import Subject, exam_of, subject_of, training_code
from widemargin.pages.sentences import scores_of, sentence_sections
from widemargin.pages.verdicts import meaning, verdict
from widemargin.stores.writing import write_text
from widemargin.structured.examination import SentenceExam
from widemargin.training.history import History

#: The largest number of classes shown with their features, their F1 and their confusions.
_TOP_CLASSES, _CLASSES, _CONFUSION = 24, 60, 25
#: The largest number of rows in the table of epochs.
_EPOCHS = 40
_NAME = 60


def report(
    model: Any,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    *,
    certificate: Any = None,
    data: str = "",
    title: str | None = None,
) -> None:
    """Write one self-contained HTML page about a trained model.

    The page states what was trained and on what data, gives a verdict in plain words, and shows the
    history, the certificate and its meaning, and the strongest features; with labelled examples
    also the scores, the confusion matrix and the worst mistakes. It needs no network and runs no
    scripts; it follows the reader's light or dark theme and can be printed.

    Parameters
    ----------
    model : fitted estimator or model
        Anything with a history; `widemargin.pages.reportable` lists what else is shown if present.
    path : path
        Where to write.
    X, y : optional
        Labelled examples to evaluate it on, preferably not the training examples. For a tagger or a
        parser, X are sentences, and y may be left out if they include the gold tags or trees.
    certificate : optional
        The result of `widemargin.certify`, instead of the certificate of the fit.
    data : str
        The name of the examples.
    title : str, optional
        The heading.

    Examples
    --------
    >>> import os, tempfile
    >>> from widemargin import Perceptron, report
    >>> p = Perceptron(random_state=0).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report(p, os.path.join(folder, "p.html"), [[2.0, 0.0]], ["b"])
    """
    if X is None and y is not None:
        raise DataError("to evaluate the model a report needs both X and y")
    subject = subject_of(model)
    exam = None if X is None else exam_of(model, X, y)
    write_report(path, subject, exam, certificate=certificate, data=data, title=title)


def write_report(
    path: str | os.PathLike[str],
    subject: Subject,
    exam: Exam | SentenceExam | None,
    *,
    certificate: Any = None,
    data: str = "",
    title: str | None = None,
    commands: Sequence[str] = (),
) -> None:
    """Write the page of a model that has already been evaluated.

    `commands` are shell commands that reproduce the page.
    """
    if certificate is not None:
        subject.certificate = certificate
    heading = title or f"{subject.learner}: {_classes(subject)}"
    told = tag("div", *(tag("p", line) for line in verdict(subject, exam)), kind="verdict")
    parts = [
        tag("h1", heading),
        tag("p", f"widemargin {__version__}, {datetime.date.today().isoformat()}", kind="soft"),
        section("verdict", "Verdict", told),
        section("trained", "What was trained", _trained(subject, data, exam)),
        section("history", "How it learned", _history(subject.history)),
    ]
    if subject.certificate is not None:
        parts.append(section("certificate", "What is certain", _certificate(subject.certificate)))
    if isinstance(exam, SentenceExam):
        parts += sentence_sections(exam)
    elif exam is not None:
        parts.append(section("answers", "How good the answers are", _answers(exam.measures)))
        ranking = exam.curves
        if ranking is not None:
            heading = f"How well class {short(ranking.positive, 40)} is found"
            parts.append(section("ranking", heading, ranked(ranking, subject.model)))
        parts.append(section("mistakes", "The worst mistakes", _mistakes(exam)))
    if subject.top is not None:
        parts.append(section("features", "What it looks at", _features(subject)))
    parts.append(section("timings", "Timings", _timings(subject.history)))
    parts.append(section("again", "How to do it again", _again(subject, commands)))
    text = page(heading, tag("main", *parts))
    write_text(path, text)


def _classes(subject: Subject) -> str:
    if not subject.classes:
        return "a trained model"
    names = ", ".join(short(label, 20) for label in subject.classes[:4])
    return names + (f" and {len(subject.classes) - 4} more" if len(subject.classes) > 4 else "")


def _trained(subject: Subject, data: str, exam: Exam | SentenceExam | None) -> Markup:
    lines: list[tuple[str, Any]] = [("model", subject.name)]
    examples = subject.history.examples_per_epoch
    if subject.learns_from == "sentence":  # a parser's history counts its decisions
        examples = getattr(subject.certificate, "n", None) or 0
    if examples:
        lines.append(("trained on", several(examples, subject.learns_from)))
    if subject.classes is not None:
        some = ", ".join(short(label, 30) for label in subject.classes[:_TOP_CLASSES])
        more = ", …" if len(subject.classes) > _TOP_CLASSES else ""
        lines.append((subject.class_word, f"{len(subject.classes):,}: {some}{more}"))
    lines += [(name, short(value, 400)) for name, value in subject.facts]
    if exam is not None:
        rows = exam.report.sentences if isinstance(exam, SentenceExam) else exam.rows
        told = several(rows, subject.learns_from)
        lines.append(("examined on", told + (f" of {data}" if data else "")))
    return facts(lines)


def _history(history: History) -> Markup:
    return joined([history.charts(), _epochs(history)])


def _epochs(history: History) -> Markup:
    """The table of epochs, collapsed until it is clicked."""
    few = history.epochs
    if len(few) > _EPOCHS:
        few = few[: _EPOCHS // 2] + few[-_EPOCHS // 2 :]
    names = ["epoch", "mistakes", "updates", "loss", "change", "held_out", "gap", "seconds"]
    cells = [["" if v is None else _short(v) for v in (getattr(e, n) for n in names)] for e in few]
    used = [j for j in range(len(names)) if any(row[j] for row in cells)]
    heads = [names[j].replace("_", " ") for j in used]
    listed = table(heads, [[row[j] for j in used] for row in cells])
    left = len(history) - len(few)
    note = [tag("p", f"{left:,} epochs in the middle are left out.", kind="soft")] if left else []
    return tag("details", tag("summary", "every epoch as a table"), listed, *note)


def _certificate(certificate: Any) -> Markup:
    figures, words = meaning(certificate)
    parts = [facts(figures)]
    if words:
        parts.insert(0, tag("p", words))
    if isinstance(certificate, RunCertificate) and certificate.progress is not None:
        words = "The proof, followed on this run: no curve ever crosses the one above it."
        parts.append(tag("figure", certificate.chart(), tag("figcaption", words)))
    return joined(parts)


def _answers(measures: Measures) -> Markup:
    low, high = measures.accuracy_interval
    mean, each = measures.f1_intervals()
    top = facts(
        [
            ("accuracy", f"{measures.accuracy:.4f} (95 % interval {low:.4f} to {high:.4f})"),
            ("right", f"{measures.right:,} of {measures.n:,}"),
            (
                "mean F1",
                f"{measures.macro_f1:.4f} (95 % interval {mean[0]:.4f} to {mean[1]:.4f})",
            ),
        ]
    )
    order = np.argsort([-s for s in measures.support], kind="stable")[:_CLASSES]
    rows = [
        [
            short(measures.labels[i], _NAME),
            *scores_of(measures, i),
            f"{each[i][0]:.3f} to {each[i][1]:.3f}",
            f"{int(measures.support[i]):,}",
        ]
        for i in (sorted(order.tolist()) if len(measures.labels) <= _CLASSES else order.tolist())
    ]
    heads = ["class", "precision", "recall", "F1", "95 % interval", "examples"]
    parts = [top, tag("h3", "Each class"), table(heads, rows)]
    unknown = int(measures.confusion[-1].sum())
    if unknown:
        words = f"{several(unknown, 'example')} had a label that the model does not know."
        parts.append(tag("p", words + " They count as mistakes.", kind="soft"))
    parts += [tag("h3", "What was taken for what"), _confusion(measures)]
    return joined(parts)


def _confusion(measures: Measures) -> Markup:
    """The confusion matrix; with many classes, only the most frequent mistakes."""
    counts = measures.confusion[:-1]
    if len(counts) > _CONFUSION:
        wrong = counts.copy()
        np.fill_diagonal(wrong, 0)
        rows = []
        for at in np.argsort(-wrong, axis=None, kind="stable")[:20]:
            i, j = np.unravel_index(at, wrong.shape)
            if wrong[i, j]:
                labels = (short(measures.labels[n], _NAME) for n in (i, j))
                rows.append([*labels, f"{wrong[i, j]:,}"])
        return table(["right answer", "taken for", "times"], rows)
    names = [short(label, 20) for label in measures.labels]
    parts = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))

    def cell(i: int, j: int) -> Markup:
        # Mixed with the colours of the page, so that it is also readable in dark mode.
        colour = "--one" if i == j else "--two"
        shade = (
            f"background: color-mix(in srgb, var({colour}) {60 * parts[i, j]:.0f}%, transparent)"
        )
        return tag("td", f"{counts[i, j]:,}", kind="shade", style=shade)

    head = tag(
        "tr",
        tag("th", "right ↓  predicted →"),
        *(tag("th", n, scope="col", kind="number") for n in names),
    )
    lines = [
        tag("tr", tag("th", name, scope="row"), *(cell(i, j) for j in range(len(names))))
        for i, name in enumerate(names)
    ]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *lines)), kind="wide")


def _mistakes(exam: Exam) -> Markup:
    if not exam.mistakes:
        return tag("p", "There are none: every answer was right.")
    words = (
        "The mistakes that the model was most certain of, worst first. Look at them: they may be"
        " wrong labels, hard cases, or something that the features do not show."
    )
    return joined([tag("p", words), *(_mistake(mistake) for mistake in exam.mistakes)])


def _mistake(mistake: Mistake) -> Markup:
    what = (
        f"{mistake.place}: {short(mistake.right, _NAME)} taken for"
        f" {short(mistake.predicted, _NAME)}, behind by {-mistake.lead:.4g}"
    )
    parts = [tag("p", tag("strong", what))]
    if mistake.text:
        parts.append(tag("pre", mistake.text))
    if mistake.reasons:
        rows = [[short(n, _NAME), f"{v:.4g}", f"{s:+.4g}"] for n, v, s in mistake.reasons]
        parts.append(table(["feature", "value", "spoke for the answer by"], rows))
    return tag("div", *parts, kind="mistake")


def _features(subject: Subject) -> Markup:
    assert subject.top is not None
    shown = list(subject.top.items())[:_TOP_CLASSES]
    charts = [
        tag(
            "figure",
            bar_chart(short(label, 40), found, kind="two" if code == 0 else "one"),
        )
        if found
        else tag("p", f"{short(label, 40)}: no feature speaks for it", kind="soft")
        for code, (label, found) in enumerate(shown)
    ]
    words = subject.top_words
    if len(subject.top) > len(shown):
        words += f" The first {len(shown)} of {len(subject.top):,} classes are shown."
    return joined([tag("p", words), tag("div", *charts, kind="row")])


def _timings(history: History) -> Markup:
    if not len(history):
        return tag("p", "No times were recorded.", kind="soft")
    total = history.epochs[-1].seconds
    examples = sum(epoch.examples for epoch in history)
    lines: list[tuple[str, Any]] = [("training", f"{total:.3f} s")]
    epochs = history.epochs_run
    lines.append(("per epoch", f"{total / epochs:.4f} s on average"))
    if examples and total > 0.0:
        lines.append(("speed", f"{examples / total:,.0f} examples per second"))
    return facts(lines)


def _again(subject: Subject, commands: Sequence[str]) -> Markup:
    parts = [tag("pre", training_code(subject))]
    if commands:
        parts.append(tag("pre", "\n".join(commands)))
    if subject.params.get("random_state", 0) is None:
        words = "No seed was given (random_state), so another run may differ slightly."
        parts.append(tag("p", words, kind="soft"))
    versions = (
        f"widemargin {__version__}, Python {platform.python_version()}, NumPy {np.__version__}"
    )
    parts.append(tag("p", versions, kind="soft"))
    return joined(parts)


def _short(value: float) -> str:
    return str(value) if isinstance(value, (int, np.integer)) else f"{value:.4g}"
