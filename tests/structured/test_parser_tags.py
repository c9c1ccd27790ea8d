"""The tags of parsers: columns that are asked for, features in groups, taggers of their own."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import tries
from small_language import made_corpus

from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError
from widemargin.structured.parser.features import features_of
from widemargin.structured.parser.model import load_parser
from widemargin.structured.parser.parser import Parser
from widemargin.structured.parser.tag_columns import (
    choose_columns,
    group_attributes,
    join_features,
    parse_tags,
)
from widemargin.structured.tagger.tagger import Tagger

#: What the words of the small language are like.
FEATS = {"DET": "Definite=Def|PronType=Art", "NOUN": "Case=Nom|Number=Sing", "VERB": "Mood=Ind"}


def with_features(corpus):
    cells = [FEATS.get(tag, "_") for tag in corpus.column("upos")]
    xpos = [tag[:2] for tag in corpus.column("upos")]
    return corpus.with_column("xpos", xpos).with_column("feats", cells)


@pytest.fixture(scope="module")
def corpus():
    return with_features(made_corpus(60))


@pytest.fixture(scope="module")
def fresh():
    return with_features(made_corpus(20, seed=1))


def own_parser(*columns, **settings):
    settings = {"bits": 13, "epochs": 2, "jackknife": 2, "random_state": 0, **settings}
    return Parser(tags=("own", *columns), tagger=Tagger(bits=12, epochs=2), **settings)


# Which columns


@pytest.mark.parametrize(
    ("tags", "own", "columns"),
    [
        ("own", True, ()),
        ("gold", False, ()),
        ("upos", False, ("upos",)),
        ("upos,feats", False, ("upos", "feats")),
        (["own"], True, ()),
        (("own", "upos", "feats"), True, ("upos", "feats")),
        ("own,upos,xpos,feats", True, ("upos", "xpos", "feats")),
        ("gold,feats", False, ("feats",)),
    ],
)
def test_where_tags_come_from(tags, own, columns):
    assert parse_tags(tags) == (own, columns)


@pytest.mark.parametrize(
    "tags", ["", [], "own,own", "upos,own", "upos,,feats", "upos,upos", "a,b,c,d", "own,a,b,c,d"]
)
def test_tags_that_cannot_be_meant(tags):
    with pytest.raises(ValueError, match="tags="):
        parse_tags(tags)


@pytest.mark.parametrize(
    ("xpos", "feats", "columns"),
    [
        ("ABAB", "ABAB", ("upos", "xpos")),  # xpos tells feats
        ("AAAA", "____", ("upos",)),
        ("AABB", "ABAB", ("upos", "feats")),
        ("AAAA", "AAAB", ("upos",)),  # so does upos, mostly
        ("AAAA", "AABB", ("upos", "feats")),
    ],
)
def test_which_columns_suit_a_corpus(xpos, feats, columns):
    columns_of = {"word": [list("abcd")], "upos": [["X"] * 4], "xpos": [list(xpos)]}
    given = Corpus.of({**columns_of, "feats": [list(feats)]})
    assert choose_columns(given, parse_tags("own")) == columns
    del columns_of["xpos"]
    assert choose_columns(Corpus.of(columns_of), parse_tags("own")) == ("upos",)


def test_a_column_without_tags_is_refused(corpus):
    empty = corpus.with_column("feats", ["_"] * corpus.tokens)
    with pytest.raises(DataError, match="'feats' is '_' everywhere"):
        own_parser("upos", "feats").fit(empty)


# Attributes in groups

VALUES = st.lists(
    st.dictionaries(st.sampled_from("ABCDE"), st.sampled_from("xyz"), max_size=5).map(
        lambda value: "|".join(f"{k}={v}" for k, v in sorted(value.items())) or "_"
    ),
    min_size=1,
    max_size=12,
)


def part_of(value, group):
    return tuple(part for part in value.split("|") if part.partition("=")[0] in group)


@given(VALUES, st.integers(1, 20))
@tries(50)
def test_groups_share_out_the_attributes_and_lose_nothing(values, most):
    groups = group_attributes(values, most)
    names = {part.partition("=")[0] for value in values for part in value.split("|")} - {"_"}
    assert sorted(itertools.chain(*groups)) == sorted(names)
    for group in groups:
        found = len({part_of(value, group) for value in values})
        assert len(group) == 1 or found <= most
    for a, b in itertools.combinations(groups, 2):  # no two could still be joined
        assert len({part_of(value, a + b) for value in values}) > most
    for value in values:
        parts = ["|".join(part_of(value, group)) or "_" for group in groups]
        assert join_features(parts) == value


# Own taggers


def test_own_taggers_of_several_columns(corpus, fresh, tmp_path):
    parser = own_parser("upos", "feats").fit(corpus)
    assert parser.model_.columns == ("upos", "feats")
    assert [one.column.partition(":")[0] for one in parser.model_.taggers] == ["upos", "feats"]
    trees = parser.predict(fresh.sentences())
    assert set(trees.tags) == {"upos", "feats"}
    right = [a == b for a, b in zip(trees.tags["feats"], fresh.column("feats"), strict=True)]
    assert sum(right) > 0.9 * len(right)
    parser.save(tmp_path / "p.wm")
    again = load_parser(tmp_path / "p.wm").predict(fresh.sentences())
    assert again.heads.tolist() == trees.heads.tolist()
    assert again.tags == trees.tags
    assert parser.annotate(fresh.sentences()).column("feats") == trees.tags["feats"]


def test_attributes_that_are_not_together_are_put_together(corpus, fresh, monkeypatch):
    monkeypatch.setattr(group_attributes, "__defaults__", (1,))
    parser = own_parser("upos", "feats").fit(corpus)
    taggers = parser.model_.taggers[1:]
    names = ["Case", "Definite", "Mood", "Number", "PronType"]
    assert [one.column for one in taggers] == [f"feats:{name}" for name in names]
    words = fresh.sentences()
    parts = zip(*(one.flat_tags(fresh) for one in taggers), strict=True)
    assert parser.predict(words).tags["feats"] == [join_features(values) for values in parts]


def test_the_features_of_a_third_column(corpus, fresh):
    parser = own_parser("upos", "xpos", "feats").fit(corpus)
    atoms = {atom for feature in features_of(parser.model_.features) for atom in feature}
    assert {"s0.t", "s0.x", "s0.m"} <= atoms
    assert parser.attachment(fresh).uas.f1 > 0.8
    explained = parser.explain(fresh.sentences()[0], 1, top=None)
    assert any(".m=Case=Nom|Number=Sing" in reason.feature for reason in explained.reasons)


def test_given_tags_are_read_from_the_sentences(corpus, fresh):
    parser = Parser(tags="upos,feats", bits=13, epochs=2, random_state=0).fit(corpus)
    assert not parser.model_.taggers
    assert parser.attachment(fresh).uas.f1 > 0.8
    with pytest.raises(DataError, match=r"has no column 'upos'.*'own,upos,feats'"):
        parser.predict(fresh.sentences())


def test_a_rare_attribute_need_not_occur_in_every_part(corpus):
    cells = ["_"] * corpus.tokens
    cells[0] = "Typo=Yes"
    assert own_parser("upos", "feats").fit(corpus.with_column("feats", cells)).model_.taggers


def test_dicts_without_words_are_refused(fresh):
    parser = own_parser().fit(fresh)
    assert parser.parse([{"word": "dog"}]).words == ["dog"]
    with pytest.raises(DataError, match='sentence 1: token 2 is a dict without a "word"'):
        parser.parse([{"word": "dog"}, {"a": "b"}])
    with pytest.raises(DataError, match='sentence 2: token 1 is a dict without a "word"'):
        parser.predict([[{"word": "dog"}], [{"a": "b"}]])
    for wrong in (None, 3):
        with pytest.raises(DataError, match=f"{wrong} is no list of sentences"):
            parser.predict(wrong)
