"""Tokenizers: text becomes sentences, tokens and words, and nothing of it is lost."""

from __future__ import annotations

import io
import os
import unicodedata
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import run

from widemargin import load
from widemargin.data.readers.conll_writer import conll_text
from widemargin.errors import DataError, ModelFileError
from widemargin.structured import Tagger, Tokenizer, load_tokenizer, read_conll
from widemargin.structured.tokenizer import boundaries, cuts
from widemargin.structured.tokenizer.boundaries import GOES_ON
from widemargin.structured.tokenizer.measures import Word, align_words, measure_text
from widemargin.structured.tokenizer.splits import rule_of, split
from widemargin.structured.tokenizer.surroundings import COLUMNS, describe_characters
from widemargin.structured.tokenizer.treebank import paragraphs_of, read_paragraphs
from widemargin.training.history import Epoch, History
from widemargin.training.progress import watched
from widemargin.training.run import Moment

LABELS = (cuts.BEGIN, cuts.INSIDE, cuts.END, cuts.SINGLE, cuts.SENTENCE, cuts.SPACE)
#: A text whose tokens need no more than what they look like; a bar stands between tokens.
SENTENCES = (
    "The dog barks|.",
    "It does|n't sleep|!",
    "Mr. Bell|, who|'s old|, sleeps|.",
    "Il parle du chat|.",
    "3.5 cats (|or so|) sleep|.",
)
TEXT = "It doesn't sleep! The dog sleeps."


def conllu(sentence: str) -> str:
    """A sentence, its tokens separated by blanks and bars, as CoNLL-U."""
    lines, number = [f"# text = {sentence.replace('|', '')}"], 0
    for chunk in sentence.split(" "):
        several = next((end for end in ("n't", "'s") if chunk.endswith(f"|{end}")), None)
        if several or chunk == "du":
            words = chunk.split("|") if several else ["de", "le"]
            lines.append(line(f"{number + 1}-{number + len(words)}", chunk.replace("|", "")))
            for word in words:
                number += 1
                lines.append(line(str(number), word))
            continue
        tokens = chunk.split("|")
        for token in tokens:
            number += 1
            lines.append(line(str(number), token, "_" if token is tokens[-1] else "SpaceAfter=No"))
    return "\n".join([*lines, "", ""])


def line(number: str, form: str, misc: str = "_") -> str:
    """A line of CoNLL-U."""
    return "\t".join([number, form, *"_______", misc])


def treebank(times: int = 1) -> str:
    """All sentences as paragraphs of one text."""
    return "".join("# newpar\n" + "".join(map(conllu, SENTENCES)) for _ in range(times))


def read(text: str):
    """A corpus of CoNLL-U."""
    return read_conll(io.StringIO(text), format="conllu")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(epochs=6, random_state=0).fit(read(treebank(4)))


# Cutting


def test_labels_of_a_treebank_give_its_tokens_back() -> None:
    for paragraph in read_paragraphs(read(treebank(2))):
        characters, labels = cuts.label_paragraph(paragraph)
        found = cuts.cut(characters, cuts.number_labels(labels))
        tokens = [token for sentence in paragraph.sentences for token in sentence]
        assert list(zip(found.begins, found.ends, strict=True)) == [t[:2] for t in tokens]
        assert np.diff(found.starts).tolist() == [len(one) for one in paragraph.sentences]


@given(st.text(max_size=60), st.data())
def test_no_character_is_lost_whatever_the_labels_are(text: str, data: st.DataObject) -> None:
    characters = cuts.read_characters(text)
    n = len(characters.text)
    labels = data.draw(st.lists(st.sampled_from(LABELS), min_size=n, max_size=n))
    found = cuts.cut(characters, cuts.number_labels(labels))
    covered = np.zeros(len(text), int)
    for a, b in zip(found.begins.tolist(), found.ends.tolist(), strict=True):
        assert a < b
        assert not text[a].isspace()
        assert not text[b - 1].isspace()
        covered[a:b] += 1
    assert covered.max(initial=0) <= 1
    assert all(covered[k] for k, one in enumerate(text) if not one.isspace())
    assert found.starts[-1] == len(found.begins)
    assert np.all(np.diff(found.starts) > 0)
    assert len(found.paragraphs) == len(found.starts) - 1


@given(st.text(" \n\ta.", max_size=40))
def test_runs_of_white_space_are_one_space_and_blank_lines_end_paragraphs(text: str) -> None:
    characters = cuts.read_characters(text)
    paragraphs = [" ".join(part.split()) for part in cuts.BLANK_LINE.split(text)]
    assert characters.text == "".join(paragraphs)
    assert int(characters.closes.sum()) == sum(map(bool, paragraphs))
    assert [text[k] if not text[k].isspace() else " " for k in characters.places] == list(
        characters.text
    )


def test_a_long_paragraph_is_searched_in_pieces_and_stays_one_paragraph() -> None:
    words = "word " * 10_000
    characters = cuts.read_characters(words)
    assert len(characters.starts) > 3
    assert np.diff(characters.starts).max() <= 2 * cuts._LONGEST
    assert all(characters.text[a - 1] == " " for a in characters.starts[1:-1])
    assert characters.closes.sum() == 1
    without_spaces = cuts.read_characters("a" * 50_000)
    assert np.diff(without_spaces.starts).max() <= 2 * cuts._LONGEST


# Multiword tokens


@given(st.lists(st.text("abcdé", min_size=1, max_size=4), min_size=2, max_size=3))
def test_a_rule_gives_the_words_of_its_token_back(words: list[str]) -> None:
    token = "".join(words)
    assert split(token, rule_of(token, words)) == words
    assert split("x", rule_of("x", words)) == words or "".join(words).startswith("x")


@pytest.mark.parametrize(
    ("token", "words", "rule"),
    [
        ("don't", ["do", "n't"], "-3"),
        ("dámelo", ["dá", "me", "lo"], "-4-2"),
        ("du", ["de", "le"], "1:e le"),
        ("aux", ["à", "les"], "3:à les"),
        ("dog", ["dog"], "="),
    ],
)
def test_rules(token: str, words: list[str], rule: str) -> None:
    assert rule_of(token, words) == rule
    assert split(token, rule) == words


def test_rules_keep_capitals_and_leave_tokens_that_are_too_short() -> None:
    assert split("DON'T", "-3") == ["DO", "N'T"]
    assert split("Du", "1:e le") == ["De", "le"]
    assert split("DU", "1:e le") == ["DE", "LE"]
    assert split("Aux", "3:à les") == ["À", "les"]
    assert split("n't", "-3") == ["n't"]
    assert split("a", "3:à les") == ["a"]


# Measures: cases by hand, of the shared task's definition


def words_of(*spans: tuple[int, int, str]) -> list[Word]:
    """Words; those whose span is that of another word belong to a multiword token."""
    ends = [span[:2] for span in spans]
    return [Word(a, b, form, ends.count((a, b)) > 1) for a, b, form in spans]


def test_words_are_aligned_by_span_or_within_multiword_tokens() -> None:
    right = words_of((0, 2, "it"), (3, 8, "do"), (3, 8, "n't"), (9, 10, "."))
    assert list(align_words(right, right)) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    whole = words_of((0, 2, "it"), (3, 8, "don't"), (9, 10, "."))
    assert list(align_words(right, whole)) == [(0, 0), (3, 2)]
    apart = words_of((0, 2, "it"), (3, 5, "do"), (5, 8, "n't"), (9, 10, "."))
    assert list(align_words(right, apart)) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    other = words_of((0, 2, "it"), (3, 8, "DO"), (3, 8, "not"), (9, 10, "."))
    assert list(align_words(right, other)) == [(0, 0), (1, 1), (3, 3)]
    assert list(align_words(right, [])) == []


def test_a_text_that_is_not_cut_scores_nothing_and_one_cut_right_scores_all() -> None:
    right = paragraphs_of(read(treebank()))
    same = measure_text(right, lambda _: right)
    assert [ratio.f1 for ratio in same] == [1.0, 1.0, 1.0]
    assert same.words.wanted == same.tokens.wanted + 3


# Learning


def test_it_learns_sentences_tokens_and_words(tokenizer: Tokenizer) -> None:
    found = tokenizer("Mr. Bell sleeps. It doesn't sleep! Il parle du\nchat.\n\nThe dog barks.")
    assert found.sentences() == [
        ["Mr.", "Bell", "sleeps", "."],
        ["It", "does", "n't", "sleep", "!"],
        ["Il", "parle", "de", "le", "chat", "."],
        ["The", "dog", "barks", "."],
    ]
    assert tokenizer.score(read(treebank())) == 1.0


def test_ranges_put_the_text_together_again(tokenizer: Tokenizer) -> None:
    text = "  Mr.  Bell\tsleeps.\nIt doesn't\u00a0bark!\n\n\n3.5 dogs  "
    pieces, at = [], 0
    for row in tokenizer.model_.conllu(text).splitlines():
        if "TokenRange=" in row:
            a, b = map(int, row.rpartition("TokenRange=")[2].split(":"))
            assert text[a:b] == row.split("\t")[1]
            assert text[at:a].strip() == ""
            glued = b < len(text) and not text[b].isspace()
            assert ("SpaceAfter=No" in row) == glued
            pieces += [text[at:a], text[a:b]]
            at = b
    assert "".join([*pieces, text[at:]]) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\n ",
        "🙂👍🏽 e\u0301",
        "שלום עולם.",
        "\x00\x07\x1b[0m",
        "x" * 40_000,
        "\u2029a\u2028b",
    ],
)
def test_odd_texts(tokenizer: Tokenizer, text: str) -> None:
    found = tokenizer(text)
    assert "".join(found.words) == "".join(text.split())


def test_threads_files_and_seeds_do_not_change_what_is_found(tokenizer, tmp_path) -> None:
    text = "Mr. Bell sleeps. " * 3000
    written = tokenizer.model_.conllu(text)
    assert tokenizer.model_.conllu(text, n_jobs=3) == written
    tokenizer.save(tmp_path / "words.wm")
    assert load_tokenizer(tmp_path / "words.wm").conllu(text) == written
    loaded = load(tmp_path / "words.wm")
    assert isinstance(loaded, Tokenizer)
    assert loaded.get_params() == tokenizer.get_params()
    assert loaded.model_.conllu(text) == written
    again = Tokenizer(epochs=6, random_state=0).fit(read(treebank(4)))
    assert np.array_equal(again.model_.cutter.W, tokenizer.model_.cutter.W)


def test_ends_of_sentences_follow_from_tokens(tokenizer: Tokenizer) -> None:
    model = tokenizer.model_
    text = "Mr. Bell sleeps. It doesn't sleep!\n\nThe dog barks. Il parle du chat."
    found = model.cuts(text)
    assert found.starts.tolist() == [0, 4, 8, 12, 17]
    assert found.paragraphs.tolist() == [False, True, False, True]
    again = cuts.cut(*model.labels(text))
    assert all(np.array_equal(a, b) for a, b in zip(found, again, strict=True))
    # Tokens end sentences only where their tagger says so, and at the end of a paragraph.
    tagger = model.boundaries
    silent = replace(tagger, tags=[GOES_ON] * len(tagger.tags))
    found = replace(model, boundaries=silent).cuts(text)
    assert found.starts.tolist() == [0, 8, 17]
    assert model.cuts(text, lines=True).starts.tolist() == [0, 8, 17]


def test_a_long_paragraph_is_divided_into_pieces_of_tokens() -> None:
    starts = np.array([0, 3, 10_000])
    pieces = boundaries._pieces(starts)
    assert set(starts.tolist()) <= set(pieces.tolist())
    assert np.diff(pieces).min() > 0
    assert np.diff(pieces).max() <= boundaries._LONGEST


def test_comments_at_the_end_belong_to_no_sentence() -> None:
    after = "# newpar\n# text = Another sentence.\n"
    corpus = read(treebank() + after)
    assert len(read_paragraphs(corpus)) == 1
    assert conll_text(corpus, {}).endswith(after)


def test_paragraphs_of_one_sentence_leave_sentences_to_characters() -> None:
    alone = "".join("# newpar\n" + conllu(one) for one in SENTENCES) * 4
    model = Tokenizer(epochs=2, random_state=0).fit(read(alone)).model_
    assert model.boundaries is None
    assert model("The dog barks.").sentences() == [["The", "dog", "barks", "."]]
    assert dict(model.facts())["sentences"] == "those of characters"


@pytest.mark.skipif(
    "WIDEMARGIN_TEST_THREADS" in os.environ,
    reason="with several threads, the log follows the first member",
)
def test_the_log_names_the_stages_and_the_members_of_committees() -> None:
    seen: list[str] = []

    def watch(moment) -> bool:
        seen.append(moment.stage)
        return False

    Tokenizer(epochs=2, committee=2, random_state=0).fit(read(treebank(4)), watch=watch)
    assert list(dict.fromkeys(seen)) == [
        "characters, member 1 of 2",
        "characters, member 2 of 2",
        "multiword tokens",
        "sentences",
    ]


def test_a_watch_stops_all_later_stages_too() -> None:
    stages: list[str] = []

    def watch(moment) -> bool:  # type: ignore[no-untyped-def]
        stages.append(moment.stage)
        return True

    tokenizer = Tokenizer(committee=1, random_state=0).fit(read(treebank(4)), watch=watch)
    assert stages == ["characters"]
    assert tokenizer.model_.splitter is not None
    assert tokenizer.model_.splitter.history.stopped == "interrupted"


def test_every_epoch_of_every_stage_is_shown_below_its_name(capsys) -> None:
    with watched(True, 2, table=True) as watch:
        watch._began -= 10.0
        for stage in ("member 1 of 2", "member 2 of 2"):
            history = History()
            for epoch in (1, 2):
                watch(Moment(epoch, 0.0, 0, 0.0, history, stage=stage))
                history.add(Epoch(epoch, 10 * epoch, epoch, 0.5, None, None, 0.1))
    told = [row.split()[:2] for row in capsys.readouterr().err.splitlines() if row.strip()]
    wanted = [["member", "1"], ["1", "10"], ["2", "20"], ["member", "2"], ["1", "10"], ["2", "20"]]
    assert [row for row in told if row in wanted] == wanted


def test_held_out_sections_are_not_learned_from_and_stop_the_learning() -> None:
    held = Tokenizer(epochs=30, validation=0.25, patience=2, random_state=0)
    held.fit(read(treebank(12)))
    assert len(held.history_) < 30
    assert np.all(np.isfinite(held.history_["held_out"]))
    other = Tokenizer(epochs=3, validation=read(treebank()), random_state=0)
    assert other.fit(read(treebank(4))).history_["held_out"][-1] == 1.0


def test_what_it_cannot_learn_from_is_refused(tmp_path) -> None:
    with pytest.raises(DataError, match="conll; a tokenizer learns from CoNLL-U"):
        Tokenizer().fit(read_conll(io.StringIO("a B\nb C\n"), format="conll"))
    with pytest.raises(DataError, match="there are no sentences"):
        Tokenizer().fit(read(""))
    wrong = conllu("It barks|.").replace("# text = It barks.", "# text = He barks.")
    with pytest.raises(DataError, match=r":2: the text of this sentence is 'He barks\.'"):
        Tokenizer().fit(read(wrong))
    with pytest.raises(DataError, match="takes no y"):
        Tokenizer().fit(read(treebank()), ["x"])
    with pytest.raises(DataError, match="a single string"):
        Tokenizer(epochs=1).fit(read(treebank())).predict("text")
    with pytest.raises(DataError, match="a text must be a string, not 3"):
        Tokenizer(epochs=1).fit(read(treebank()))(3)
    with pytest.raises(DataError, match="lone surrogate, half a character, at 1"):
        Tokenizer(epochs=1).fit(read(treebank()))("a\ud800")
    with pytest.raises(ValueError, match="validation=2 must be a share from 0 up to 1"):
        Tokenizer(validation=2).fit(read(treebank()))


# In the shell


@pytest.fixture
def folder(tmp_path, monkeypatch, tokenizer):
    """A folder with a tokenizer, a tagger and a text, which is the current one."""
    monkeypatch.chdir(tmp_path)
    tokenizer.save("words.wm")
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    sentences = tokenizer(TEXT).sentences()
    tags = [["A"] * len(words) for words in sentences]
    Tagger(epochs=1, bits=10).fit(sentences, tags).model_.save("tags.wm")
    return tmp_path


def test_the_shell_learns_and_measures(folder) -> None:
    (folder / "train.conllu").write_text(treebank(40), encoding="utf-8")
    (folder / "test.conllu").write_text(treebank(), encoding="utf-8")
    told = run("train", "--learner", "tokenizer", "train.conllu", "--model", "new.wm").output
    assert "word F1         1.0000" in told
    assert "held out: 20 of 200 sentences" in told
    same = Tokenizer(validation=0.1, patience=None, random_state=0).fit("train.conllu")
    assert np.array_equal(same.model_.cutter.W, load_tokenizer("new.wm").cutter.W)
    assert "sentence F1     1.0000" in run("test", "new.wm", "test.conllu").output
    assert "multiword tokens: 3 rules" in run("inspect", "new.wm").output


def test_the_shell_cuts_text(folder, tokenizer) -> None:
    told = run("tokenize", "words.wm", "text.txt", "--write", "text").output
    assert told == "It does n't sleep !\nThe dog sleeps .\n"
    assert run("tokenize", "words.wm", "text.txt").output == tokenizer.model_.conllu(TEXT)
    tagged = run("tag", "tags.wm", "text.txt", "--tokenizer", "words.wm", "--column", "upos").output
    assert "2-3\tdoesn't\t_" in tagged
    assert "3\tn't\t_\tA\t_" in tagged


def test_the_shell_refuses_what_has_no_effect(folder) -> None:
    told = run("predict", "words.wm", "text.txt", code=1).output
    assert "is a tokenizer: use widemargin tokenize" in told
    for command in (["tag"], ["parse"], ["explain"], ["report", "-o", "x.html"]):
        told = run(*command, "words.wm", "text.txt", code=1).output
        assert "made by the learner Tokenizer" in told
    asked = ("tag", "tags.wm", "text.txt", "--tokenizer")
    told = run(*asked, "words.wm", "--format", "text", code=2).output
    assert "--format has no effect with --tokenizer" in told
    assert "is not a tokenizer" in run(*asked, "tags.wm", code=1).output
    (folder / "bad.txt").write_bytes(b"a\n\xff\n")
    told = run("tokenize", "words.wm", "bad.txt", code=1).output
    assert "bad.txt:2: the byte 0xff is not utf-8" in told
    with pytest.raises(ModelFileError, match=r"is not a tokenizer but a tagger$"):
        load_tokenizer("tags.wm")


# What stands around characters


def naive_surroundings(paragraph: str) -> dict[str, list[str]]:
    """What stands around the characters of one paragraph, one by one."""
    inside = [unicodedata.category(c)[0] in "LMN" for c in paragraph]
    found: dict[str, list[str]] = {"before": [], "after": [], "chunk": []}
    for i, here in enumerate(paragraph):
        before = after = ""
        if not inside[i]:
            left = i
            while left and not inside[left - 1]:
                left -= 1
            end = left
            while left and inside[left - 1]:
                left -= 1
            before = paragraph[left:end][-16:].lower()
            right = i
            while right < len(paragraph) and not inside[right]:
                right += 1
            start = right
            while right < len(paragraph) and inside[right]:
                right += 1
            after = paragraph[start:right][:16]
        a = paragraph.rfind(" ", 0, i) + 1
        b = paragraph.find(" ", i) if " " in paragraph[i:] else len(paragraph)
        signs = (
            {c for c in paragraph[a:b] if unicodedata.category(c)[0] not in "LMN"}
            if here != " "
            else {" "}
        )
        found["before"].append(before)
        found["after"].append(after)
        found["chunk"].append("".join(sorted(signs)) if len(signs) <= 4 else "many")
    return found


@given(st.lists(st.text('aB1 .-"(\u0301\u4e2d', min_size=1, max_size=30), max_size=4))
def test_surroundings_are_those_of_each_paragraph(paragraphs: list[str]) -> None:
    text = "".join(paragraphs)
    closes = np.zeros(len(text), bool)
    closes[np.cumsum([len(one) for one in paragraphs], dtype=int) - 1] = True
    found = describe_characters(text, closes)
    assert set(found) == set(COLUMNS)
    assert {len(column) for column in found.values()} == {len(text)}
    for name in ("before", "after", "chunk"):
        assert found[name] == [cell for one in paragraphs for cell in naive_surroundings(one)[name]]


def test_kinds_of_words_and_signs() -> None:
    text = "Mr. X\u201d is NATO, 7 a.\u00bb"
    found = describe_characters(text, np.arange(len(text)) == len(text) - 1)
    at = text.index
    # A capital letter and a capital word differ, a number is neither; length counts up to four.
    kinds = [found["left"][at(sign)] for sign in (". X", "\u201d", ", 7", " a.", ".\u00bb")]
    assert len(set(kinds)) == 5
    # Closing quotation marks of any language are of one category.
    assert found["class"][at("\u201d")] == found["class"][at("\u00bb")] != found["class"][at(".")]


def test_a_model_that_sees_characters_only_still_answers(tokenizer: Tokenizer) -> None:
    plain = Tagger(templates=["word[0]", "word[1]"], bits=10, scheme=None, random_state=0)
    labelled = cuts.training_corpus(paragraphs_of(read(treebank(4))), 100, np.random.default_rng(0))
    older = replace(tokenizer.model_, cutter=plain.fit(labelled, column="cut").model_)
    assert [len(words) for words in older("It barks. It barks.").sentences()]
