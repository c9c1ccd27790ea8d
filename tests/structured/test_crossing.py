"""Trees with crossing arcs: lifted to trees without, learned, and lowered again."""

import naive_trees as naive
import numpy as np
import pytest

from widemargin.errors import DataError
from widemargin.structured import Corpus
from widemargin.structured.parser.crossing import (
    MARK,
    choose_system,
    lift,
    lift_trees,
    lower,
    share_crossing,
)
from widemargin.structured.parser.model import load_parser
from widemargin.structured.parser.parser import Parser

TREES = [heads for n in range(1, 6) for heads in naive.all_trees(n) if heads.count(0) == 1]
#: Word b hangs on d, across the arc from c to a.
CROSSING = {
    "word": [["a", "b", "c", "d"]] * 12,
    "upos": [["A", "B", "C", "D"]] * 12,
    "head": [["3", "4", "0", "3"]] * 12,
    "deprel": [["x", "y", "root", "z"]] * 12,
}


def above(heads, word):
    """All words on the way to the root."""
    found = []
    while word:
        word = heads[word - 1]
        found.append(word)
    return found


def test_lifted_trees_do_not_cross_and_come_back():
    for heads in TREES:
        labels = [f"l{word}" for word in range(1, len(heads) + 1)]  # no label twice
        lifted, marked = lift(heads, labels)
        assert not naive.crosses(tuple(lifted))
        assert all(naive.reaches_root(lifted, word) for word in range(1, len(heads) + 1))
        for word, (old, new, label) in enumerate(zip(heads, lifted, marked, strict=True), 1):
            assert (old == new) == (MARK not in label)
            assert new in above(heads, word)
        if not naive.crosses(heads):
            assert (tuple(lifted), marked) == (heads, labels)
        assert lower(lifted, marked) == (list(heads), labels)


def test_what_labels_do_not_tell_stays_a_tree():
    for heads in TREES:
        lifted, marked = lift(heads, ["x"] * len(heads))
        lowered, plain = lower(lifted, marked)
        assert all(naive.reaches_root(lowered, word) for word in range(1, len(heads) + 1))
        assert plain == ["x"] * len(heads)
    assert lower([2, 0], ["x^y", "root"]) == ([2, 0], ["x", "root"])


def test_the_system_follows_the_share_of_trees_that_cross():
    corpus = Corpus.of({"word": [["w"] * len(heads) for heads in TREES]})
    flat = np.array([head for heads in TREES for head in heads])
    crossing = [heads for heads in TREES if naive.crosses(heads)]
    assert share_crossing(corpus, flat) == len(crossing) / len(TREES) > 0
    plain = [["3", "3", "0", "3"]]
    for others, system in ((25 * 12 - 12, "pseudo-projective"), (25 * 12 - 11, "arc-hybrid")):
        columns = {name: cells + cells[:1] * others for name, cells in CROSSING.items()}
        columns["head"] = CROSSING["head"] + plain * others
        assert choose_system(Corpus.of(columns)) == system
    parser = Parser(bits=8, tags="upos", epochs=1, random_state=0).fit(CROSSING)
    assert (parser.system, parser.model_.system) == ("auto", "pseudo-projective")


def test_rare_marks_are_not_learned():
    corpus = Corpus.of(CROSSING)
    assert lift_trees(corpus).column("deprel")[1] == "y^z"
    few = corpus[:9]
    assert lift_trees(few).column("deprel") == few.column("deprel")
    assert lift_trees(few).column("head") == few.column("head")


def test_circles_are_told_before_trees_are_lifted():
    with pytest.raises(DataError, match="cycle"):
        Parser("pseudo-projective", tags="upos").fit(
            {**CROSSING, "head": [["2", "1", "0", "3"]] * 12}
        )


@pytest.mark.parametrize("beam", [1, 3])
def test_crossing_trees_are_learned_and_saved(beam, tmp_path):
    parser = Parser("pseudo-projective", beam=beam, bits=12, tags="upos", epochs=5, random_state=0)
    parser.fit(CROSSING).save(tmp_path / "p.wm")
    for model in (parser, load_parser(tmp_path / "p.wm")):
        trees = model.predict(CROSSING)
        assert trees.heads.tolist() == [3, 4, 0, 3] * 12
        assert trees.labels == ["x", "y", "root", "z"] * 12
    assert parser.attachment(CROSSING).las.f1 == 1.0
    assert len(parser.margins(CROSSING)[0]) == 4
    told = parser.explain_label(list("abcd"), 1, upos=list("ABCD"))
    assert told.prediction == "b (2) as y^z of c (3)"
