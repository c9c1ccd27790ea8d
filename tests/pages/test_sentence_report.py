"""Reports about taggers, parsers and kernel machines: what they count, draw and explain."""

import re
from collections import Counter

import numpy as np
import pytest
from reading_pages import EVIL, Page, read
from shell import run_shell
from small_language import made_corpus

from widemargin import DataError, KernelPerceptron, KernelSVM, Parser, Tagger, report
from widemargin.data.readers.conll_writer import write_conll
from widemargin.data.readers.corpus import Corpus
from widemargin.markup.trees import Arc, draw_tree
from widemargin.structured.examination import examine_sentences
from widemargin.structured.parser.trees import heads_of

CORPUS, FRESH = made_corpus(60), made_corpus(60, seed=5)
SOME = CORPUS[:2]
TAGGER = Tagger(bits=12, epochs=1, random_state=0).fit(SOME, column="upos")
PARSER = Parser(bits=12, epochs=1, tags="upos", random_state=0).fit(SOME)


def test_a_tagger_is_examined_token_by_token():
    exam = examine_sentences(TAGGER.model_, FRESH, "upos")
    found, right = TAGGER.model_.flat_tags(FRESH), FRESH.column("upos")
    hits = [a == b for a, b in zip(found, right, strict=True)]
    assert 0 < sum(hits) < len(hits)
    assert exam.report.figures["accuracy"].right == sum(hits)
    known = set(SOME.words)
    seen = [word in known for word in FRESH.words]
    assert [line.ratio.wanted for line in exam.words] == [sum(seen), len(seen) - sum(seen)]
    assert exam.words[0].ratio.right == sum(h for h, s in zip(hits, seen, strict=True) if s)
    assert sum(line.ratio.wanted for line in exam.certainty) == FRESH.tokens
    assert sum(line.ratio.right for line in exam.certainty) == sum(hits)
    margins = np.concatenate(TAGGER.margins(FRESH))
    worst = max(margin for margin, hit in zip(margins, hits, strict=True) if not hit)
    assert exam.mistakes[0].margin == worst
    assert [m.margin for m in exam.mistakes] == sorted([m.margin for m in exam.mistakes])[::-1]
    for mistake in exam.mistakes:
        assert mistake.told.prediction == mistake.found != mistake.right
        assert mistake.told.score == pytest.approx(mistake.margin)


def test_a_parser_is_examined_arc_by_arc():
    exam = examine_sentences(PARSER.model_, FRESH)
    trees, heads = PARSER.predict(FRESH), heads_of(FRESH)
    labels = [label.partition(":")[0] for label in FRESH.column("deprel")]
    given, wanted = [label.partition(":")[0] for label in trees.labels], Counter(labels)
    assert {line.name: line.ratio.wanted for line in exam.relations} == wanted
    for line in exam.relations:
        right = [
            a == b and c == d == line.name
            for a, b, c, d in zip(trees.heads, heads, given, labels, strict=True)
        ]
        assert line.ratio.right == sum(right)
        assert line.ratio.found == given.count(line.name)
    far = Counter()
    for sentence, a in zip(FRESH, FRESH.starts.tolist(), strict=False):
        for word in range(1, len(sentence) + 1):
            head = int(heads[a + word - 1])
            far["root" if head == 0 else abs(head - word)] += 1
    named = {line.name: line.ratio.wanted for line in exam.distances}
    assert named["root"] == far["root"]
    assert named["1"] == far[1]
    assert sum(named.values()) == FRESH.tokens
    for tree in exam.trees:
        wrong = sum(a != b for a, b in zip(tree.heads, tree.right_heads, strict=True))
        assert wrong > 0
    assert sum(line.ratio.right for line in exam.certainty) == int((trees.heads == heads).sum())


def test_the_page_of_a_tagger(tmp_path):
    path = tmp_path / "t.html"
    tags = FRESH.sentences("upos")
    report(TAGGER, path, FRESH.sentences(), tags)
    text, found = read(path)
    assert {"verdict", "answers", "confusions", "mistakes", "features"} <= set(found.ids)
    words = "".join(found.words)
    assert f"{100 * TAGGER.score(FRESH.sentences(), tags):.2f} %" in words
    assert "tagger of 'upos' for" in words
    assert "tags" in words
    assert "not seen in training" in words
    assert re.search(r"[A-Z]+ taken for [A-Z]+, \d+ times?", words)
    assert "fit(sentences)" in words
    assert text.count("<mark>") == len(examine_sentences(TAGGER.model_, FRESH, "upos").mistakes)
    report(TAGGER, path, FRESH)
    assert "".join(read(path)[1].words).count("taken for") == words.count("taken for")
    report(TAGGER.model_, path)
    assert "answers" not in read(path)[1].ids


def test_the_page_of_a_tagger_of_spans(tmp_path):
    sentences = [["a", "b", "c", EVIL], ["c", "a", "d"], ["b", "c"]] * 3
    tags = [["B-X", "I-X", "O", "O"], ["O", "B-X", "B-Y"], ["B-X", "O"]] * 3
    tagger = Tagger(epochs=3, random_state=0).fit(sentences, tags)
    report(tagger, tmp_path / "s.html", [["a", EVIL, "c"]], [["B-Y", "B-X", "O"]])
    text, found = read(tmp_path / "s.html")
    assert "span F1" in text
    assert "Each kind of span" in text
    assert "IOB2, learned as IOBES" in text
    assert "script" not in found.tags
    nameless = tmp_path / "n.wm"
    tagger.save(nameless, names=False)
    run_shell(tmp_path, "report", "n.wm", "-o", "n.html")
    assert "features" not in read(tmp_path / "n.html")[1].ids


def test_the_page_of_a_parser(tmp_path):
    report(PARSER, tmp_path / "p.html", FRESH)
    text, found = read(tmp_path / "p.html")
    assert {"answers", "arcs", "trees", "confusions"} <= set(found.ids)
    measured = PARSER.attachment(FRESH)
    words = "".join(found.words)
    assert f"{100 * measured.uas.f1:.2f} %" in words
    assert f"{100 * measured.las.f1:.2f} %" in words
    assert "2 sentences" in words
    drawn = examine_sentences(PARSER.model_, FRESH).trees
    assert text.count('class="wide drawn"') == len(drawn) > 0
    with pytest.raises(DataError, match="leave out y"):
        report(PARSER, tmp_path / "p.html", FRESH, [1])


def test_trees_hold_whatever_words_there_are():
    words = [EVIL, "b", "c", "d"]
    above = [Arc(2, 1, EVIL, "one"), Arc(0, 2, "root", "two"), Arc(4, 3, "x", "one")]
    drawn = draw_tree(EVIL, words, above, [Arc(1, 4, "y", "three")])
    found = Page(drawn)
    assert found.tags.count("path") == 4
    assert "script" not in found.tags
    low = draw_tree("t", words, [Arc(2, 1, "x", "one")])
    assert float(re.search(r'height="(\d+)"', low)[1]) < float(
        re.search(r'height="(\d+)"', drawn)[1]
    )


@pytest.mark.parametrize("learner", [KernelSVM(), KernelPerceptron(keep="vote", random_state=0)])
def test_the_page_of_a_kernel_machine(learner, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)) + np.repeat(np.eye(3), 30, axis=0)
    y = np.repeat(["apple", "pear", "plum"], 30)
    learner.fit(X[::2], y[::2])
    report(learner, tmp_path / "k.html", X[1::2], y[1::2])
    text, found = read(tmp_path / "k.html")
    words = "".join(found.words)
    assert f"{learner.score(X[1::2], y[1::2]):.4f}" in words
    assert "support vectors" in words
    assert "rows of the training data with the largest coefficients" in words
    assert re.search(r"row \d+ \((apple|pear|plum)\)", text)


def test_the_shell_writes_pages_and_explains(tmp_path):
    corpus = Corpus.of({n: CORPUS.sentences(n) for n in ("word", "upos", "head", "deprel")})
    write_conll(corpus, tmp_path / "t.conllu", format="conllu")
    TAGGER.save(tmp_path / "t.wm")
    PARSER.save(tmp_path / "p.wm")
    for model, section in (("t.wm", "mistakes"), ("p.wm", "trees")):
        run_shell(tmp_path, "report", model, "t.conllu", "-o", "x.html")
        assert section in read(tmp_path / "x.html")[1].ids
        told = run_shell(
            tmp_path, "explain", model, "t.conllu", "--row", "2", "--token", "1"
        ).stdout
        assert "rather than" in told
        assert "margin" in told.splitlines()[1]
        assert "(requested)" in told
        told = run_shell(tmp_path, "explain", model, "t.conllu").stdout
        assert "(the least certain)" in told
        for words in (["--row", "99"], ["--token", "99"]):
            said = run_shell(tmp_path, "explain", model, "t.conllu", *words, code=1).stderr
            assert "99" in said
        for command in (["explain"], ["report", "-o", "x.html"]):
            said = run_shell(tmp_path, *command, model, "t.conllu", "--label", "x", code=2).stderr
            assert "--label has no effect for taggers and parsers" in said
    by_python = str(TAGGER.explain(corpus[1], 0, 10))
    told = run_shell(tmp_path, "explain", "t.wm", "t.conllu", "--row", "2", "--token", "1").stdout
    assert by_python in told
