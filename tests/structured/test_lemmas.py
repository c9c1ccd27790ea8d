"""Lemmas and morphology: choices among candidates, learned from mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import run

from widemargin import Lemmatizer, Morphologizer, load
from widemargin.data.readers.corpus import Corpus
from widemargin.data.rows import frozen
from widemargin.errors import DataError, ModelFileError
from widemargin.loops.sequences import choices
from widemargin.structured import load_lemmatizer, load_morphologizer
from widemargin.structured.choices.candidates import CandidateLists
from widemargin.structured.lemmas.scripts import apply_script, script_of

VERBS = ("walk", "talk", "bark", "jump", "climb", "clean", "rest", "wait")
NOUNS = ("dog", "cat", "bird", "rat", "cow", "duck", "horse", "goat")


def sentences() -> dict[str, list[list[str]]]:
    """Sentences whose lemmas and features follow from endings and tags."""
    found: dict[str, list[list[str]]] = {
        name: [] for name in ("word", "lemma", "upos", "xpos", "feats")
    }
    for k, (noun, verb) in enumerate(zip(NOUNS * 3, VERBS * 3, strict=True)):
        many, past = k % 2, k % 3 == 0
        found["word"].append(["The", noun + "s" * many, verb + ("ed" if past else "s")])
        found["lemma"].append(["the", noun, verb])
        found["upos"].append(["DET", "NOUN", "VERB"])
        found["xpos"].append(["DT", "NNS" if many else "NN", "VBD" if past else "VBZ"])
        number, tense = ("Plur" if many else "Sing"), ("Past" if past else "Pres")
        found["feats"].append(["_", f"Number={number}", f"Tense={tense}|VerbForm=Fin"])
    return found


NEW = {"word": [["Kings", "sailed"]], "upos": [["NOUN", "VERB"]]}


@given(st.text(min_size=1, max_size=8), st.text(min_size=1, max_size=8))
def test_the_script_of_a_word_makes_its_lemma(word: str, lemma: str) -> None:
    if "\t" not in word + lemma:
        assert apply_script(script_of(word, lemma), word) == lemma


SCRIPTS = ("tries try flies fly", "Dogs dog CATS cat", "PARIS Paris ROME Rome", "NASA NASA UNO UNO")


@pytest.mark.parametrize("words", [*SCRIPTS, "gespielt spielen gesagt sagen"])
def test_scripts_fit_other_words(words: str) -> None:
    word, lemma, other, expected = words.split()
    assert apply_script(script_of(word, lemma), other) == expected


def test_a_script_that_takes_too_much_leaves_the_word() -> None:
    assert apply_script(script_of("unhappily", "happy"), "at") == "at"


def test_a_word_has_the_labels_it_was_seen_with_and_rare_ones_those_of_their_ending() -> None:
    words = ["as", "bs", "cs", "ds", "es", "xs"]
    lists = CandidateLists.of_training(words, ["N"] * 6, [0, 0, 0, 1, 1, 2], often=1)
    numbers = lists.of_words(["xs", "zs", "z"], ["N", "N", "V"])
    shown = [
        lists.labels[int(lists.starts[k]) : int(lists.starts[k + 1])].tolist() for k in numbers
    ]
    assert shown == [[2], [0, 1, 2], [0, 1, 2]]
    rare = CandidateLists.of_training(words, ["N"] * 6, [0, 0, 0, 1, 1, 2], often=2)
    number = int(rare.of_words(["xs"], ["N"])[0])
    assert rare.labels[int(rare.starts[number]) : int(rare.starts[number + 1])].tolist()[0] == 2


def naive_scores(ids, parts_of, W, mixed, shift, candidates):  # type: ignore[no-untyped-def]
    """Sums of weights over features and parts, by the definition."""
    prime, mask = 0x9E3779B97F4A7C15, (1 << 64) - 1
    return [
        sum(
            float(W[(((int(mixed[part]) ^ int(feature)) * prime) & mask) >> int(shift)])
            for part in parts_of[z]
            for feature in ids
        )
        for z in candidates
    ]


def candidates(*arrays):
    """Candidates as the loops are given them, so that nothing is compiled again."""
    return choices.Candidates(*map(frozen, arrays))


def words_of(*arrays):
    return choices.Words(*map(frozen, arrays))


def test_the_compiled_choice_is_the_best_by_the_definition() -> None:
    rng = np.random.default_rng(0)
    W = frozen(rng.normal(size=64).astype(np.float32))
    parts_of = [[0, 1], [0, 2], [1, 2, 3]]
    flat = np.array([part for parts in parts_of for part in parts], np.uint32)
    mixed = rng.integers(1 << 62, size=4).astype(np.uint64)
    among = candidates(
        np.array([0, 3], np.uint64),
        np.arange(3, dtype=np.uint32),
        np.array([0, 2, 4, 7], np.uint64),
        flat,
        mixed,
    )
    ids = rng.integers(1 << 31, size=20 * 5).astype(np.uint32)
    words = words_of(ids, np.array([0, 20], np.uint64), np.zeros(20, np.uint32))
    labels = np.zeros(20, np.uint32)
    shift = np.uint64(64 - 6)
    choices.choose_labels(words, among, W, shift, np.zeros(0, np.uint64), labels)
    for i in range(20):
        scores = naive_scores(ids[5 * i : 5 * i + 5], parts_of, W, mixed, shift, range(3))
        assert labels[i] == int(np.argmax(scores))


def test_a_step_reaches_the_margin_and_shared_parts_stay() -> None:
    W, U, clock = np.zeros(1 << 10, np.float32), np.zeros(1 << 10), np.ones(1)
    among = candidates(
        np.array([0, 2], np.uint64),
        np.array([0, 1], np.uint32),
        np.array([0, 2, 4], np.uint64),
        np.array([0, 1, 0, 2], np.uint32),
        np.array([11 << 40, 7 << 50, 5 << 45], np.uint64),
    )
    words = words_of(
        np.array([3, 9], np.uint32), np.array([0, 1], np.uint64), np.zeros(1, np.uint32)
    )
    given = words, frozen(np.array([1], np.uint32)), frozen(np.zeros(1, np.uint64)), among
    tally = choices.choosing_pass(
        *given, 1.0, np.inf, W, U, clock, np.uint64(54), np.zeros(0, np.uint64)
    )
    assert (tally.words, tally.mistakes, tally.updates) == (1, 1, 1)
    shift, ids = 54, words.ids
    right, wrong = naive_scores(ids, [[0, 1], [0, 2]], W, among.mixed, shift, (1, 0))
    assert right - wrong == pytest.approx(1.0)
    assert np.count_nonzero(W) == 4
    again = choices.choosing_pass(
        *given, 1.0, np.inf, W, U, clock, np.uint64(54), np.zeros(0, np.uint64)
    )
    assert again.updates == 0


def test_unseen_words_are_lemmatized_by_their_endings() -> None:
    lemmatizer = Lemmatizer(tags="upos", random_state=0).fit(sentences())
    assert lemmatizer.predict(NEW) == [["king", "sail"]]
    assert lemmatizer.score(sentences()) == 1.0
    assert lemmatizer.model_.lemma("ducks", "NOUN") == "duck"


def test_morphology_of_unseen_words() -> None:
    morphologizer = Morphologizer(random_state=0).fit(sentences())
    assert morphologizer.predict(NEW) == {
        "xpos": [["NNS", "VBD"]],
        "feats": [["Number=Plur", "Tense=Past|VerbForm=Fin"]],
    }
    assert morphologizer.score(sentences()) == 1.0


@pytest.mark.parametrize("learner", [Lemmatizer, Morphologizer])
def test_same_seed_same_model_and_files_keep_it(learner, tmp_path) -> None:  # type: ignore[no-untyped-def]
    first, second = (learner(random_state=1).fit(sentences()) for _ in range(2))
    assert np.array_equal(first.model_.chooser.W, second.model_.chooser.W)
    path = tmp_path / "model.wm"
    first.save(path)
    again = load(path)
    assert again.get_params() == {**first.get_params(), "tags": again.tags} | (
        {"columns": again.columns} if learner is Morphologizer else {}
    )
    asked = {**NEW, "feats": [["_", "_"]]}
    assert again.predict(asked) == first.predict(asked)
    assert np.array_equal(again.model_.chooser.W, first.model_.chooser.W)
    other = load_morphologizer if learner is Lemmatizer else load_lemmatizer
    with pytest.raises(ModelFileError, match="is not a"):
        other(path)


@pytest.mark.parametrize("learner", [Lemmatizer, Morphologizer])
def test_a_smaller_model_is_the_same_from_its_file(learner, tmp_path) -> None:  # type: ignore[no-untyped-def]
    params = {"tags": "upos"} if learner is Lemmatizer else {"columns": "feats"}
    whole = learner(random_state=0, **params).fit(sentences()).model_
    small = whole.smaller(bits=3, share=0.3)
    assert small.chooser.weights < whole.chooser.weights
    whole.save(tmp_path / "whole.wm")
    small.save(tmp_path / "small.wm")
    assert (tmp_path / "small.wm").stat().st_size < (tmp_path / "whole.wm").stat().st_size
    assert load(tmp_path / "small.wm").predict(NEW) == small.predict(NEW)


def test_what_cannot_be_learned_is_refused() -> None:
    empty = {"word": [["a"]], "lemma": [["_"]], "upos": [["X"]], "feats": [["_"]], "xpos": [["_"]]}
    with pytest.raises(DataError, match="'_' everywhere"):
        Lemmatizer().fit(empty)
    with pytest.raises(DataError, match="'_' everywhere"):
        Morphologizer().fit(empty)
    with pytest.raises(DataError, match="no column 'lemma'"):
        Lemmatizer().fit({"word": [["a"]], "upos": [["X"]]})
    with pytest.raises(DataError, match="no token"):
        Lemmatizer().fit(Corpus.of({"word": [], "lemma": [], "upos": [], "feats": []}))


def test_a_time_limit_is_kept_and_something_is_learned() -> None:
    model = Morphologizer(max_seconds=1e-9, random_state=0).fit(sentences()).model_
    assert model.history.stopped == "deadline"
    assert len(model.history) == 1


def test_columns_may_be_given_by_number(tmp_path) -> None:  # type: ignore[no-untyped-def]
    row = "1\tdogs\tdog\tNOUN\t_\tNumber=Plur\t0\troot\t_\t_\n\n"
    path = tmp_path / "t.conllu"
    path.write_text(row * 3)
    morphologizer = Morphologizer(columns="6", tags="4", random_state=0).fit(path)
    assert (morphologizer.model_.columns, morphologizer.model_.tags) == (("feats",), ("upos",))
    lemmatizer = Lemmatizer(tags=["4", "feats"], random_state=0).fit(path)
    assert lemmatizer.model_.tags == ("upos", "feats")
    with pytest.raises(ValueError, match="several different ones"):
        Lemmatizer(tags=["4", "upos"]).fit(path)
    morphologizer.save(tmp_path / "m.wm")
    assert run("tag", tmp_path / "m.wm", path).stdout == row * 3
    run("train", "--learner", "tagger", path, "--column", "4", "--model", tmp_path / "t.wm")
    told = run("tag", tmp_path / "t.wm", path, "--column", "5").stdout
    assert told == row.replace("NOUN\t_", "NOUN\tNOUN") * 3


def test_the_shell_trains_both_and_fills_columns(tmp_path) -> None:  # type: ignore[no-untyped-def]
    lines = []
    columns = sentences()
    for k in range(len(columns["word"])):
        cells = zip(*(columns[name][k] for name in columns), strict=True)
        for number, (word, lemma, *tags) in enumerate(cells, 1):
            lines.append("\t".join([str(number), word, lemma, *tags, *"____"]))
        lines.append("")
    path = tmp_path / "train.conllu"
    path.write_text("\n".join([*lines, ""]))
    for learner, column in (("lemmatizer", 2), ("morphologizer", 5)):
        model = tmp_path / f"{learner}.wm"
        done = run("train", "--learner", learner, path, "--model", model, "--valid", path)
        assert "token accuracy  1.0000" in done.stdout
        cells = [line.split("\t") for line in lines]
        for line in cells:
            line[column : column + 1] = ["_"] if len(line) > 1 else []
        asked = tmp_path / "asked.conllu"
        asked.write_text("\n".join(["\t".join(line) for line in cells] + [""]))
        assert run("tag", model, asked).stdout == path.read_text()
        assert "1.0000" in run("test", model, path).stdout
        run("inspect", model)
    refused = run("tag", model, asked, "--margins", code=2)
    assert "--margins has no effect for a morphologizer" in refused.stderr
