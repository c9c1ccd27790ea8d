"""Forged files of models of sentences: refused when they are loaded, before a loop follows them."""

import json

import numpy as np
import pytest
from annotated_language import annotated_corpus
from forging import forged_model

import widemargin
from widemargin import Annotator, Lemmatizer, ModelFileError, Morphologizer
from widemargin.modelfile.files import read_model_file
from widemargin.modelfile.packing import pack_strings
from widemargin.structured import load_annotator
from widemargin.structured.annotator import model

QUESTION = {"word": [["Dogs", "bark"]], "upos": [["NOUN", "VERB"]], "feats": [["_", "_"]]}
MAKERS = {
    "lemmas": lambda: Lemmatizer(random_state=0, bits=8),
    "feats": lambda: Morphologizer(random_state=0, bits=8),
    "annotator": lambda: Annotator(jackknife=0, random_state=0, tagger=widemargin.Tagger(bits=10)),
    "parser": lambda: widemargin.Parser(epochs=1, bits=8, random_state=0, tags="upos"),
    "trees": lambda: widemargin.Parser(epochs=1, bits=8, random_state=0, system="eisner"),
}


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    """What files of models hold, by the name of the model; read once."""
    folder, found = tmp_path_factory.mktemp("models"), {}

    def read(name):
        if name not in found:
            path = folder / f"{name}.wm"
            MAKERS[name]().fit(annotated_corpus()).save(path)
            found[name] = read_model_file(path)
        arrays, about = found[name]
        return {key: array.copy() for key, array in arrays.items()}, json.loads(json.dumps(about))

    return read


def strings(name, of):
    """A change of a list of strings."""

    def change(arrays, about):
        arrays.update(pack_strings(name, of))

    return change


def array(name, of):
    """A change of an array, of which `of` makes another."""

    def change(arrays, about):
        arrays[name] = of(arrays[name])

    return change


def told(where, value):
    """A change of the description: at a path of names."""

    def change(arrays, about):
        *path, last = where.split("/")
        for name in path:
            about = about[name]
        about[last] = value

    return change


def without(part):
    def change(arrays, about):
        del about["parts"][part]

    return change


def cut(one):
    return one[:-1]


def no_list(arrays, about):
    """No list of candidates at all, so that even the first one is missing."""
    for name in ("words", "endings"):
        arrays[f"candidates.{name}"] = np.zeros(0, np.uint32)
        arrays.update(pack_strings(f"candidates.{name}.keys", []))
    arrays["candidates.labels"] = np.zeros(0, np.uint32)
    arrays["candidates.starts"] = np.zeros(1, np.uint64)


def one_weight(arrays, about):
    """A hash that is shifted by 64 bits stays as it was, and leads anywhere."""
    for name in [key for key in arrays if key.startswith("W.")]:
        del arrays[name]
    arrays |= {"W.rows": np.zeros(1, np.uint8), "W.cells": np.zeros(0, np.uint8)}
    arrays["W.float16"] = np.zeros(0, np.uint8)
    about["chooser"]["shape"] = [1, 1]


def empty_list(arrays, about):
    """The first list has no label."""
    arrays["candidates.starts"][1] = 0


FORGED = [
    ("lemmas", array("sizes", cut)),
    ("lemmas", array("sizes", lambda sizes: sizes + 1)),
    ("lemmas", array("sizes", lambda sizes: sizes.astype(np.float32))),
    ("lemmas", strings("parts", ["x"])),
    ("lemmas", array("candidates.starts", cut)),
    ("lemmas", array("candidates.labels", lambda labels: labels + 1000)),
    ("lemmas", array("candidates.endings", lambda lists: lists + 1000)),
    ("lemmas", empty_list),
    ("lemmas", no_list),
    ("lemmas", one_weight),
    ("lemmas", told("tags", [])),
    ("lemmas", told("tags", "upos")),
    ("lemmas", told("chooser/earlier", 7)),
    ("lemmas", told("chooser/templates", [])),
    ("lemmas", told("chooser/shape", [1 << 40, 1 << 20])),
    ("feats", array("sizes", cut)),
    ("feats", told("columns", ["xpos"])),
    ("feats", told("columns", ["xpos", "feats", "misc"])),
    ("feats", told("columns", [["xpos"], 1])),
    ("annotator", without("parser")),
    ("annotator", without("tagger")),
    ("annotator", without("tokenizer")),
    ("annotator", without("morphology")),
    ("annotator", told("parts/lemmas/tags", ["upos", "xpos", "deprel"])),
    ("annotator", told("parts/parser/columns", ["upos", "misc", "feats"])),
    ("annotator", told("parts/guesser", {})),
    ("annotator", array("lemmas.sizes", cut)),
    ("parser", told("certificate", {"mistakes": "1", "epochs": 1})),
    ("parser", told("certificate", 7)),
    ("parser", told("history", {"epochs": [], "stopped": [], "best": None, "cycle": None})),
    ("lemmas", told("chooser/history", {"epochs": [[1]], "stopped": "", "best": 0, "cycle": None})),
    ("annotator", told("parts/parser/certificate", {"mistakes": 1.5, "epochs": 1})),
    ("parser", array("kind", lambda kind: kind * 0 + 1)),
    ("parser", array("kind", lambda kind: kind * 0)),
    ("parser", array("allowed", lambda allowed: allowed * 0)),
    ("parser", told("columns", [])),
    ("parser", told("columns", ["a", "b", "c", "d"])),
    ("parser", told("features", "s0.m b0.m\n")),
    ("parser", told("label_features", "d.m\n")),
    ("parser", told("features", "d.t h.t\n")),
    ("parser", told("features", 7)),
    ("trees", told("features", "s0.t b0.t\n")),
    ("trees", told("label_features", "nothing\n")),
]


@pytest.mark.parametrize(("model", "change"), FORGED, ids=lambda given: str(given)[:9])
def test_what_does_not_fit_is_refused(model, change, contents, tmp_path):
    arrays, about = contents(model)
    change(arrays, about)
    (tmp_path / "x.wm").write_bytes(forged_model(arrays, about))
    with pytest.raises(ModelFileError, match="does not fit") as caught:
        widemargin.load(tmp_path / "x.wm")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("model", MAKERS)
def test_what_is_forged_without_a_change_answers(model, contents, tmp_path):
    (tmp_path / "x.wm").write_bytes(forged_model(*contents(model)))
    learner = widemargin.load(tmp_path / "x.wm")
    learner.predict(["Dogs bark."] if model == "annotator" else annotated_corpus(1))


@pytest.mark.parametrize(
    "script", ["lower", "lower\t-1+", "loud\t-0+\t-0+", "same\t-x+\t-0+", "same\t--5+\t-0+", ""]
)
def test_a_lemmatizer_with_a_label_that_is_no_script_is_refused(script, contents, tmp_path):
    arrays, about = contents("lemmas")
    labels = [script] * len(arrays["labels.ends"])
    (tmp_path / "x.wm").write_bytes(forged_model(arrays | pack_strings("labels", labels), about))
    with pytest.raises(ModelFileError, match="is no edit script"):
        widemargin.load(tmp_path / "x.wm")


# Learning from what is odd


def test_words_of_many_letters_do_not_take_long():
    """The time to find a script must not grow with the third power of the length."""
    long, url = "ab" * 20_000, "http://" + "xy" * 20_000
    words = [[long, url, "dogs"]] * 3
    lemmas = [["cd" * 20_000, url, "dog"]] * 3
    given = {"word": words, "lemma": lemmas, "upos": [["X", "X", "NOUN"]] * 3}
    found = Lemmatizer(tags="upos", random_state=0).fit(given).predict(given)
    assert found == lemmas


def test_a_lemma_may_have_a_tab():
    given = {"word": [["dogs"]] * 3, "lemma": [["do\tg"]] * 3, "upos": [["NOUN"]] * 3}
    lemmatizer = Lemmatizer(tags="upos", random_state=0).fit(given)
    assert lemmatizer.predict(given) == given["lemma"]


def test_a_cell_of_morphology_may_have_no_tab():
    given = {"word": [["dogs"]], "upos": [["NOUN"]], "feats": [["A=1\tB=2"]]}
    with pytest.raises(widemargin.DataError, match=r"feats has a tab in it \('A=1\\tB=2'\)"):
        Morphologizer(columns="feats").fit(given)


@pytest.mark.parametrize("columns", [[], (), "", ["feats", "feats"], [1], None, 3], ids=repr)
@pytest.mark.parametrize("name", ["columns", "tags"])
def test_names_of_columns_are_looked_at(name, columns):
    with pytest.raises(ValueError, match=f"{name}=.* must be a column or several different ones"):
        Morphologizer(**{name: columns}).fit(QUESTION)
    if name == "tags":
        with pytest.raises(ValueError, match=r"tags=.* must be a column"):
            Lemmatizer(tags=columns).fit({**QUESTION, "lemma": QUESTION["word"]})


# Streams


def test_a_long_paragraph_in_small_pieces_is_looked_through_once(monkeypatch, contents, tmp_path):
    (tmp_path / "a.wm").write_bytes(forged_model(*contents("annotator")))
    annotator, sizes = load_annotator(tmp_path / "a.wm"), []
    complete = model._complete
    monkeypatch.setattr(
        model, "_complete", lambda text, input: sizes.append(len(text)) or complete(text, input)
    )
    text = "The dogs bark. \n" * 200 + "\n \nA dog barks. \n" * 3
    pieces = [text[k : k + 7] for k in range(0, len(text), 7)]
    for input in ("text", "sentences", "tokens"):
        sizes.clear()
        found = "".join(document.conllu() for document in annotator.stream(pieces, input))
        assert found == annotator.document(text, input).conllu()
        assert sum(sizes) < 2 * len(text)


def test_names_of_features_that_do_not_unpack_are_told_when_they_are_needed(tmp_path):
    words, tags = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    widemargin.Tagger(bits=8, epochs=1, random_state=0).fit(words, tags).save(tmp_path / "t.wm")
    arrays, about = read_model_file(tmp_path / "t.wm")
    assert len(arrays["names.bytes"])
    for damage in (
        {"names.bytes": arrays["names.bytes"] ^ np.uint8(255)},
        {"names.lengths": arrays["names.lengths"] * [0, 1]},
        {"names.lengths": arrays["names.lengths"] - [1, 0]},
    ):
        (tmp_path / "forged.wm").write_bytes(forged_model(arrays | damage, about))
        tagger = widemargin.load(tmp_path / "forged.wm")
        assert len(tagger.tag(["the", "cat"])) == 2
        with pytest.raises(ModelFileError, match="the names of the features are damaged"):
            tagger.save(tmp_path / "again.wm")
