"""The sections of a report about the results of a tagger, a parser or an annotator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from widemargin.evaluate.measures import Measures
from widemargin.markup.html import Markup, facts, joined, section, table, tag
from widemargin.markup.trees import Arc, draw_tree
from widemargin.markup.words import several, short
from widemargin.structured.examination import (
    DrawnTree,
    Line,
    SentenceExam,
    Stage,
    TokenMistake,
)
from widemargin.structured.report import Confusion, Report
from widemargin.structured.resample import Ratio

#: Limits: tags or labels, kinds of errors, and characters of a feature and of a context.
_TAGS, _ERRORS, _NAME, _AROUND = 60, 20, 60, 160
#: Kinds of errors to show per stage of an annotator, and the titles of the stages.
_OF_STAGE = 8
_STAGES = {
    "sentence": "Sentences",
    "word": "Words",
    "upos": "Tags (UPOS)",
    "xpos": "Finer tags (XPOS)",
    "feats": "Morphology (FEATS)",
    "lemma": "Lemmas",
    "deprel": "Trees",
}
#: The measures of an annotator in the summary.
_TOLD = ("Tokens", "Sentences", "UPOS", "LAS")
_TITLES = {"accuracy": "accuracy", "unseen_accuracy": "on unseen words", "uas": "UAS", "las": "LAS"}
#: The text above the worst trees and mistakes, and the text if there are none.
_TREES = (
    "The sentences of moderate length with the most wrong heads. Predicted arcs are above the"
    " words, wrong ones in another colour; the right ones are below.",
    "No sentence of moderate length has a wrong head.",
)
_MISTAKES = (
    "The mistakes that the model was most certain of, worst first. Look at them: they may be wrong"
    " tags in the data, hard cases, or something that the features do not show.",
    "There are none: every answer was right.",
)


def summarise_sentences(exam: SentenceExam) -> str:
    """A summary of the results in one paragraph."""
    report = exam.report
    where = f"On the {several(report.sentences, 'sentence')} given ({report.tokens:,} tokens)"
    if "LAS" in report.figures:
        known = [name for name in _TOLD if name in report.figures]
        told = (f"{name} {_percent(report.figures[name])}" for name in known)
        return f"{where} its F1, from raw text, is: {'; '.join(told)}."
    if "uas" in report.figures:
        uas, las = report.figures["uas"], report.figures["las"]
        return (
            f"{where} it finds {_percent(uas)} of the heads (UAS), and {_percent(las)} with the"
            " right label (LAS)."
        )
    accuracy = report.figures["accuracy"]
    words = f"{where} it gives {_percent(accuracy)} of the tokens the right tag"
    if report.spans is not None:
        words += f", and finds spans with an F1 of {_percent(report.spans.overall)}"
    common = int(np.argmax(report.confusion.support))
    guess = float(report.confusion.support[common]) / max(1, report.tokens)
    return (
        f"{words}. Always answering {report.confusion.labels[common]} would be right in"
        f" {100 * guess:.2f} %."
    )


def _percent(ratio: Ratio) -> str:
    low, high = ratio.interval()
    return f"{100 * ratio.f1:.2f} % (95 % interval {100 * low:.2f} to {100 * high:.2f})"


def sentence_sections(exam: SentenceExam) -> list[Markup]:
    """The sections about an evaluation."""
    report = exam.report
    if "LAS" in report.figures:
        return _annotation_sections(exam)
    parts = [section("answers", "How good the answers are", _answers(exam))]
    if exam.distances:
        parts.append(section("arcs", "Which arcs it finds", _arcs(exam)))
        parts.append(section("trees", "The worst trees", _list(*_TREES, map(_tree, exam.trees))))
    if report.mistakes:
        words = "What was taken for what"
        parts.append(section("confusions", words, _confusions(report.mistakes)))
    if "uas" not in report.figures:
        parts.append(
            section(
                "mistakes", "The worst mistakes", _list(*_MISTAKES, map(_mistake, exam.mistakes))
            )
        )
    return parts


def _annotation_sections(exam: SentenceExam) -> list[Markup]:
    """The sections about an annotator: its measures, and the errors of each stage."""
    measures = [Line(name, ratio) for name, ratio in exam.report.figures.items()]
    words = (
        "The measures of the CoNLL 2018 shared task, from raw text: a word counts only if it was"
        " found at all."
    )
    answers = joined([tag("p", words, kind="soft"), _both_ways("measure", measures)])
    parts = [section("answers", "How good the answers are", answers)]
    words = (
        "Each stage builds on the results of those before it. The word or character is in brackets."
    )
    stages = [_stage(stage) for stage in exam.stages]
    told = [tag("p", words), *stages] if stages else [tag("p", _MISTAKES[1])]
    return [*parts, section("stages", "What goes wrong, stage by stage", joined(told))]


def _stage(stage: Stage) -> Markup:
    """The most frequent errors of a stage, with examples."""
    shown = stage.mistakes[:_OF_STAGE]
    parts = [tag("h3", f"{_STAGES[stage.name]}: {stage.wrong:,} wrong")]
    for one in shown:
        what = f"{short(one.right, _NAME)} taken for {short(one.found, _NAME)}"
        examples = (tag("li", short(example, _AROUND)) for example in one.examples)
        told = tag("strong", f"{what}, {several(one.times, 'time')}")
        parts.append(tag("div", told, tag("ul", *examples)))
    left = len(stage.mistakes) - len(shown)
    if left:
        parts.append(tag("p", f"{several(left, 'rarer kind')} left out.", kind="soft"))
    return joined(parts)


def _answers(exam: SentenceExam) -> Markup:
    report = exam.report
    lines = [
        (_TITLES.get(name, name.replace("_", " ")), f"{_percent(ratio)}, {_of(ratio)}")
        for name, ratio in report.figures.items()
        if ratio.wanted
    ]
    if report.spans is not None:
        overall = report.spans.overall
        lines[:0] = [
            ("span F1", _percent(overall)),
            ("precision, recall", f"{overall.precision:.4f}, {overall.recall:.4f}"),
        ]
    parts = [facts(lines)]
    if report.notes:
        parts += [tag("p", note, kind="soft") for note in report.notes]
    if report.spans is not None:
        kinds = [Line(kind, ratio) for kind, ratio in report.spans.by_kind.items()]
        parts += [tag("h3", "Each kind of span"), _both_ways("spans", kinds)]
    if "uas" not in report.figures:
        parts += [tag("h3", "Each tag"), _tags(report)]
    if exam.words:
        parts += [tag("h3", "Known and unknown words"), _accuracies("words", exam.words)]
    words = (
        "The tokens in groups of equal size, the least certain first. A margin is how far the"
        " answer leads the next best one; if margins are meaningful, the accuracy rises from line"
        " to line."
    )
    parts += [
        tag("h3", "By margin"),
        tag("p", words, kind="soft"),
        _accuracies("margin", exam.certainty),
    ]
    return joined(parts)


def _of(ratio: Ratio) -> str:
    return f"{ratio.right:,} of {ratio.wanted:,}"


def scores_of(measures: Measures, i: int) -> list[str]:
    """Precision, recall and F1 of a class, as cells of a table."""
    return [f"{score[i]:.4f}" for score in (measures.precision, measures.recall, measures.f1)]


def _tags(report: Report) -> Markup:
    measures = report.confusion
    order = np.argsort(-measures.support, kind="stable")[:_TAGS].tolist()
    rows = [
        [short(measures.labels[i], _NAME), *scores_of(measures, i), f"{measures.support[i]:,}"]
        for i in order
    ]
    left = len(measures.labels) - len(order)
    note = [tag("p", f"{several(left, 'rarer tag')} left out.", kind="soft")] if left else []
    return joined([table(["tag", "precision", "recall", "F1", "tokens"], rows), *note])


def _both_ways(name: str, lines: Sequence[Line]) -> Markup:
    rows = [
        [
            short(line.name, _NAME),
            f"{line.ratio.precision:.4f}",
            f"{line.ratio.recall:.4f}",
            f"{line.ratio.f1:.4f}",
            f"{line.ratio.wanted:,}",
        ]
        for line in lines[:_TAGS]
    ]
    return table([name, "precision", "recall", "F1", "expected"], rows)


def _accuracies(name: str, lines: Sequence[Line]) -> Markup:
    rows = []
    for line in lines:
        if line.ratio.wanted:
            low, high = line.ratio.interval()
            rows.append(
                [
                    line.name,
                    f"{line.ratio.f1:.4f}",
                    f"{low:.3f} to {high:.3f}",
                    f"{line.ratio.wanted:,}",
                ]
            )
    return table([name, "accuracy", "95 % interval", "tokens"], rows)


def _arcs(exam: SentenceExam) -> Markup:
    words = "For each relation; the head and the label must be right."
    return joined(
        [
            tag("h3", "By relation"),
            tag("p", words, kind="soft"),
            _both_ways("relation", exam.relations),
            tag("h3", "By distance of the head"),
            tag("p", "In words; only the head must be right.", kind="soft"),
            _both_ways("distance", exam.distances),
        ]
    )


def _list(words: str, otherwise: str, shown: Iterable[Markup]) -> Markup:
    """A paragraph above what is shown, or another one if there is nothing to show."""
    parts = list(shown)
    return joined([tag("p", words), *parts]) if parts else tag("p", otherwise)


def _tree(one: DrawnTree) -> Markup:
    above, below, wrong = [], [], 0
    found = zip(one.heads, one.labels, one.right_heads, one.right_labels, strict=True)
    for word, (head, label, right_head, right_label) in enumerate(found, 1):
        same_label = label.partition(":")[0] == right_label.partition(":")[0]
        good = head == right_head and same_label
        wrong += head != right_head
        above.append(Arc(head, word, label, "one" if good else "two"))
        if not good:
            below.append(Arc(right_head, word, right_label, "three"))
    title = f"{_near(one.place)}: {wrong} of {several(len(one.words), 'head')} wrong"
    drawn = draw_tree(title, one.words, above, below)
    return tag("figure", tag("figcaption", title), tag("div", drawn, kind="wide drawn"))


def _confusions(mistakes: Sequence[Confusion]) -> Markup:
    words = "The most frequent errors, with examples: the word is in brackets."
    return joined([tag("p", words), *(_confusion(mistake) for mistake in mistakes[:_ERRORS])])


def _confusion(mistake: Confusion) -> Markup:
    right, found = short(mistake.right, _NAME), short(mistake.found, _NAME)
    what = f"{right} taken for {found}, {several(mistake.times, 'time')}"
    examples = (tag("li", *_example(example)) for example in mistake.examples)
    return tag("div", tag("strong", what), tag("ul", *examples))


def _example(example: str) -> tuple[str, Markup]:
    """An example in its context, and its position, with the name of the file without folders."""
    words, _, place = example.rpartition(" (")
    return short(words, _AROUND), tag("span", f" {_near(place.rstrip(')'))}", kind="soft")


def _near(place: str) -> str:
    return place.rpartition("/")[2]


def _mistake(mistake: TokenMistake) -> Markup:
    told = mistake.told
    what = (
        f"{mistake.place}: {mistake.right} taken for {mistake.found}, margin {mistake.margin:.4g}"
    )
    before, word, after = mistake.words
    text = tag(
        "p", short(before[-_AROUND:], _AROUND), " ", tag("mark", word), " ", short(after, _AROUND)
    )
    parts = [tag("p", tag("strong", what)), text]
    if told.reasons:
        rows = [[short(reason.feature, _NAME), f"{reason.share:+.4g}"] for reason in told.reasons]
        if told.rest:
            rows.append(["all others", f"{told.rest:+.4g}"])
        heads = ["feature", f"spoke for {told.prediction} rather than {told.instead_of} by"]
        parts.append(table(heads, rows))
    return tag("div", *parts, kind="mistake")
