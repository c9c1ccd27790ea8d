"""Bad sentences are skipped if that is asked for, counted, and told with their lines."""

from __future__ import annotations

import io
import json
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import run

from widemargin.errors import DataError
from widemargin.structured import read_conll
from widemargin.structured.annotator.annotator import check_annotated

GOOD = [
    ["# text = dogs bark", "1 dogs dog NOUN _ _ 2 nsubj _ _", "2 bark bark VERB _ _ 0 root _ _"],
    ["1 old old ADJ _ _ 2 amod _ _", "2 cats cat NOUN _ _ 0 root _ _"],
]
#: What is bad, with the line of the sentence that is told and what is said about it.
BAD = {
    "columns": (["1 dogs dog", "2 bark bark VERB _ _ 0 root _ _"], 1, "3 columns"),
    "number": (["# text = x", "2 x x X _ _ 0 root _ _"], 2, "token number is 2"),
    "range": (["2-1 x _ _ _ _ _ _ _ _", "1 x x X _ _ 0 root _ _"], 1, "the range 2-1"),
    "cycle": (["1 a a X _ _ 2 dep _ _", "2 b b X _ _ 1 dep _ _"], 1, "cycle"),
    "roots": (["1 a a X _ _ 0 root _ _", "2 b b X _ _ 0 root _ _"], 2, "second root"),
    "label": (["1 a a X _ _ 0 _ _ _"], 1, "has no label"),
    "text": (["# text = other", "1 a a X _ _ 0 root _ _"], 2, "the text of this sentence"),
}


def written(sentences: list[list[str]]) -> str:
    lines = [line for sentence in sentences for line in [*sentence, ""]]
    return "\n".join(
        line if line.startswith("#") else line.replace(" ", "\t") for line in [*lines, ""]
    )


def read(text: str, **more):
    return read_conll(io.StringIO(text), format="conllu", **more)


@given(st.lists(st.sampled_from([0, 1, *BAD]), min_size=1, max_size=12))
def test_good_sentences_stay_as_they_are_and_bad_ones_are_told(chosen):
    text = written([GOOD[one] if isinstance(one, int) else BAD[one][0] for one in chosen])
    bad = sum(one in BAD for one in chosen)
    corpus = read(text, skip_bad=max(bad, 1), check=check_annotated)
    kept = [one for one in chosen if one not in BAD]
    assert corpus.sentences() == read(written([GOOD[one] for one in kept])).sentences()
    lines, at = text.split("\n"), 1
    told = []
    for one in chosen:
        if one in BAD:
            sentence, line, what = BAD[one]
            told.append((at + line - 1, what))
        at += len(GOOD[one] if one not in BAD else sentence) + 1
    assert len(corpus.skipped) == bad
    for flaw, (line, what) in zip(corpus.skipped, told, strict=True):
        assert flaw.startswith(f"sentences:{line}: ")
        assert what in flaw
    # The lines of tokens are those of the file as it is.
    cells = [lines[line - 1].split("\t")[1] for line in corpus.lines.tolist()]
    assert cells == [word for sentence in corpus.sentences() for word in sentence]


def test_one_too_many_is_an_error_that_says_so():
    text = written([BAD["columns"][0], GOOD[0], BAD["number"][0], BAD["range"][0]])
    with pytest.raises(DataError, match=r"sentences:11: .*2-1.*\(2 bad sentences skipped before\)"):
        read(text, skip_bad=2)
    with pytest.raises(DataError, match="sentences:1: 3 columns"):
        read(text)
    with pytest.raises(ValueError, match="skip_bad=-1"):
        read(text, skip_bad=-1)


def test_columns_and_bytes():
    content = io.BytesIO(b"-DOCSTART- -X-\n\na X\nb Y\n\nc\n\nd\xff Z\n\ne  W\n")
    content.name = "bad.conll"
    corpus = read_conll(content, format="conll", skip_bad=2)
    assert corpus.sentences() == [["a", "b"], ["e"]]
    assert corpus.column("ner") == ["X", "Y", "W"]
    assert corpus.lines.tolist() == [3, 4, 10]
    assert corpus.skipped == (
        "bad.conll:6: 1 column between blanks, where the first line has 2",
        "bad.conll:8: the byte 0xff is not in the encoding",
    )
    text = io.BytesIO(b"a b\n\xffc\nd")
    assert read_conll(text, format="text", skip_bad=1).sentences() == [["a", "b"], ["d"]]


@pytest.mark.parametrize("text", ["", "a b\n", "a\n\nb", "\n", "a\n\n"])
def test_plain_text_has_as_many_sentences_with_nothing_to_skip(text):
    strict, patient = (
        read_conll(io.StringIO(text), format="text", skip_bad=most).sentences() for most in (0, 1)
    )
    assert strict == patient


def test_a_byte_order_mark_hides_no_line():
    text = "\ufeff-DOCSTART- -X- O\n\nthe DT B-NP\n"
    found = [read_conll(io.StringIO(text), skip_bad=most).sentences() for most in (0, 9)]
    assert found == [[["the"]], [["the"]]]


@pytest.mark.parametrize("text", ["\ufeff\ufeff", "\ufeff\ufeffa\n\nb\n", "a\n\n\ufeffb\n"])
def test_only_the_first_byte_order_mark_is_left_out(text):
    strict, patient = (read_conll(io.StringIO(text), skip_bad=most) for most in (0, 9))
    assert strict.sentences() == patient.sentences()
    assert sum(text.count("\ufeff") for text in strict.words) == text.count("\ufeff", 1)


def test_what_is_wrong_with_all_sentences_is_not_skipped():
    with pytest.raises(DataError, match="whose words are in a fixed column"):
        read_conll(io.StringIO(""), format="conllu", words=2, skip_bad=1)


def test_files_are_counted_together(tmp_path):
    for name in ("a.conllu", "b.conllu"):
        (tmp_path / name).write_text(written([GOOD[0], BAD["columns"][0], GOOD[1]]))
    corpus = read_conll(str(tmp_path / "*.conllu"), skip_bad=2)
    assert len(corpus) == 4
    assert len(corpus.skipped) == 2
    assert corpus.where(6).endswith("b.conllu:8")
    with pytest.raises(DataError, match=r"b.conllu:5: .*\(1 bad sentence skipped before\)"):
        read_conll(str(tmp_path / "*.conllu"), skip_bad=1)


def test_the_shell_skips_counts_and_tells(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sentences = [GOOD[k % 2] for k in range(12)]
    pathlib.Path("bad.conllu").write_text(
        written([*sentences, BAD["columns"][0], BAD["cycle"][0], *sentences])
    )
    run("train", "--learner", "parser", "--tags", "upos", "bad.conllu", code=1)
    run("train", "--learner", "parser", "--tags", "upos", "bad.conllu", "--skip-bad", "1", code=1)
    given = ("--epochs", "1", "--no-holdout", "--skip-bad", "2", "--model", "m.wm")
    done = run("train", "--learner", "parser", "--tags", "upos", "bad.conllu", *given, "--json")
    assert json.loads(done.stdout)["skipped_sentences"] == 2
    done = run("test", "m.wm", "bad.conllu", "--skip-bad", "2", "--json")
    assert json.loads(done.stdout)["skipped_sentences"] == 2
    assert "skipped: bad.conllu:" in done.stderr
    assert "cycle" in done.stderr
    # What is to be parsed needs no good tree, only the right form.
    done = run("parse", "m.wm", "bad.conllu", "--skip-bad", "1")
    assert done.stderr.count("skipped: ") == 1
    assert read(done.stdout).tokens == 2 * 24 + 2
    run("train", "--learner", "tagger", "bad.conllu", *given[:-1], "t.wm")
    assert "skipped: " in run("tag", "t.wm", "bad.conllu", "--skip-bad", "1").stderr
    run("tag", "t.wm", "bad.conllu", "--tokenizer", "m.wm", "--skip-bad", "1", code=2)
