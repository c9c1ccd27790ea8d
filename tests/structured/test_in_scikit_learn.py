"""Taggers, parsers and structured perceptrons in scikit-learn's company, and what they take."""

import math

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import widemargin as wm
from widemargin.data.readers.corpus import Corpus
from widemargin.structured import (
    Annotator,
    Lemmatizer,
    Morphologizer,
    Parser,
    StructuredPerceptron,
    Tagger,
    Tokenizer,
)
from widemargin.structured.sentences import corpus_of
from widemargin.structured.tasks import Tagging

WORDS = {"DET": ["the", "a"], "NOUN": ["dog", "cat", "fish"], "VERB": ["eats", "sees"]}
RNG = np.random.default_rng(0)
TAGS = [["DET", "NOUN", "VERB", "DET", "NOUN"][: 3 + 2 * (i % 2)] for i in range(30)]
SENTENCES = [[str(RNG.choice(WORDS[tag])) for tag in tags] for tags in TAGS]
HEADS = [["2", "3", "0", "5", "3"][: len(tags)] for tags in TAGS]
LABELS = [["det", "nsubj", "root", "det", "obj"][: len(tags)] for tags in TAGS]
TREES = Corpus.of({"word": SENTENCES, "upos": TAGS, "head": HEADS, "deprel": LABELS})
TAGGER = Tagger(epochs=2, bits=12, random_state=0)
PARSER = Parser(epochs=2, bits=12, tags="upos", random_state=0)
TASK = StructuredPerceptron(Tagging(sorted(WORDS)), epochs=2)


@pytest.mark.parametrize("learner", [TAGGER, PARSER, TASK], ids=["tagger", "parser", "task"])
def test_clones_have_the_same_parameters_and_tags(learner):
    other = clone(learner)
    assert other is not learner
    assert repr(other) == repr(learner)
    for name, value in other.get_params(deep=False).items():
        if name != "task":
            assert value == getattr(learner, name)
    assert other.set_params(epochs=7).get_params()["epochs"] == 7
    assert learner.epochs == 2
    assert not get_tags(learner).input_tags.two_d_array
    assert not is_classifier(learner)


def test_folds_are_scored_as_by_hand():
    folds = KFold(3)
    found = cross_val_score(TAGGER, SENTENCES, TAGS, cv=3)
    for score, (train, test) in zip(found, folds.split(SENTENCES), strict=True):
        alone = clone(TAGGER).fit([SENTENCES[i] for i in train], [TAGS[i] for i in train])
        assert score == alone.score([SENTENCES[i] for i in test], [TAGS[i] for i in test])
    found = cross_val_score(PARSER, TREES, cv=3)
    for score, (train, test) in zip(found, folds.split(TREES), strict=True):
        alone = clone(PARSER).fit(TREES[train]).attachment(TREES[test])
        assert score == alone.las.f1
    assert cross_val_score(TASK, SENTENCES, list(map(tuple, TAGS)), cv=3).min() > 0.5


def test_predictions_of_folds_are_put_together():
    found = cross_val_predict(TAGGER, SENTENCES, TAGS, cv=3)
    for train, test in KFold(3).split(SENTENCES):
        alone = clone(TAGGER).fit([SENTENCES[i] for i in train], [TAGS[i] for i in train])
        assert [found[i] for i in test] == alone.predict([SENTENCES[i] for i in test])
    same = [["A", "B"], ["B", "A"]]  # as long as each other: still one object per sentence
    fitted = clone(TAGGER).fit(same, same)
    assert np.asarray(fitted.predict(same)).shape == (2,)


def test_parameters_of_what_is_not_there_are_refused():
    with pytest.raises(ValueError, match="tagger is None, which has no parameters"):
        clone(PARSER).set_params(tagger__epochs=3)
    with pytest.raises(ValueError, match="did you mean 'epochs'"):
        clone(TAGGER).set_params(epoch=3)


def test_searches_choose_parameters():
    search = GridSearchCV(TAGGER, {"epochs": [1, 3], "order": [1, 2]}, cv=2).fit(SENTENCES, TAGS)
    assert search.best_params_.keys() == {"epochs", "order"}
    assert search.predict(SENTENCES[:1]) == [TAGS[0]]
    search = GridSearchCV(PARSER, {"epochs": [1, 3]}, cv=2).fit(TREES)
    assert search.score(TREES) == search.best_estimator_.attachment(TREES).las.f1
    own = clone(PARSER).set_params(tags="own", tagger=Tagger(bits=12), jackknife=0)
    search = GridSearchCV(own, {"tagger__epochs": [1, 2]}, cv=2).fit(TREES)
    assert search.best_estimator_.tagger.epochs == search.best_params_["tagger__epochs"]


def test_what_is_fitted_is_known():
    for learner, given in ((TAGGER, (SENTENCES, TAGS)), (PARSER, (TREES,))):
        with pytest.raises(ValueError, match="not fitted"):
            check_is_fitted(clone(learner))
        check_is_fitted(clone(learner).fit(*given))


@pytest.mark.parametrize(
    "kind", [Tagger, Parser, Annotator, Tokenizer, Lemmatizer, Morphologizer], ids=str
)
def test_before_fit_every_learner_says_so(kind):
    for ask in (
        lambda learner: learner.predict([["a"]]),
        lambda learner: learner.save("unfitted.wm"),
        lambda learner: learner.history_,
    ):
        with pytest.raises(NotFittedError, match=f"this {kind.__name__} is not fitted yet"):
            ask(kind())


# Kinds of sentences


def test_an_index_gives_what_iteration_gives():
    for number, sentence in enumerate(TREES):
        assert sentence == TREES[number] == SENTENCES[number]
        assert type(sentence) is type(TREES[number])
        assert sentence.column("head") == TREES[number].column("head") == HEADS[number]
        assert sentence.words == SENTENCES[number]
    assert TREES[-1].number == 29


def test_a_list_of_sentences_is_a_corpus_with_all_columns():
    some = corpus_of([TREES[4], TREES[1], TREES[2]])
    assert some.sentences("deprel") == [LABELS[4], LABELS[1], LABELS[2]]
    other = Corpus.of({name: TREES.sentences(name)[:2] for name in TREES.names})
    both = corpus_of([TREES[4], other[0], TREES[3]])
    assert both.sentences() == [SENTENCES[4], SENTENCES[0], SENTENCES[3]]
    tagger = clone(TAGGER).fit(list(TREES), column="upos")
    np.testing.assert_array_equal(tagger.model_.W, clone(TAGGER).fit(TREES, column="upos").model_.W)
    assert tagger.tag(TREES[0]) == TAGS[0]
    with pytest.raises(wm.DataError, match="has the columns word"):
        corpus_of([TREES[0], Corpus.of(SENTENCES)[0]])


def dicts(sentences):
    """Features as users of CRFsuite write them."""
    return [
        [
            {"bias": 1.0, "word.lower()": word, "word[-2:]": word[-2:], "first": i == 0}
            | ({"-1:word": words[i - 1]} if i else {"BOS": True})
            for i, word in enumerate(words)
        ]
        for words in sentences
    ]


def test_dicts_of_features_are_columns():
    tagger = clone(TAGGER).fit(dicts(SENTENCES), TAGS)
    names = ["bias:", "word.lower():", "word(-2:):", "first:", "BOS:", "-1:word:"]
    assert tagger.model_.templates.written == ["bias", *(f"{name}[0]" for name in names)]
    columns = corpus_of(dicts(SENTENCES), TAGS)
    same = clone(TAGGER).set_params(templates=tagger.model_.templates.written)
    same.fit({name: columns.sentences(name) for name in columns.names})
    np.testing.assert_array_equal(tagger.model_.W, same.model_.W)
    assert tagger.score(dicts(SENTENCES), TAGS) == 1.0


def test_a_tagger_of_dicts_takes_tokens_with_fewer_and_other_features(tmp_path):
    tagger = clone(TAGGER).fit(dicts(SENTENCES), TAGS)
    tagger.save(tmp_path / "t.wm")
    for one in (tagger, wm.load(tmp_path / "t.wm")):
        assert one.tag(dicts([SENTENCES[0]])[0]) == TAGS[0]
        assert one.tag([{"word.lower()": "the", "new": "x"}, {"word.lower()": "dog"}])[0] == "DET"
        assert len(one.margins(dicts([SENTENCES[0]])[0])) == len(SENTENCES[0])
    assert cross_val_score(TAGGER, dicts(SENTENCES), TAGS, cv=3).min() > 0.9


@pytest.mark.parametrize(
    ("sentences", "words"),
    [
        ([[{"a": "x"}], [{"a": None}]], "sentence 2: the feature 'a' is None; give a string, a"),
        ([[{"a": math.nan}]], "sentence 1: the feature 'a' is nan; its numbers must be finite"),
        ([[{"a": -1e300}]], "sentence 1: the feature 'a' is -1e+300; its numbers must be finite"),
        ([[{"a": {"b": ["x", 1]}}]], "sentence 1: the feature 'a:b' is ['x', 1]; give a string"),
        ([[{"a": "x"}, "b"]], "sentence 1: 'b' is not a dict of features"),
        ([[{1: "x"}]], "sentence 1: the feature name 1 is not a string"),
        ([[{"a[": "x", "a(": "y"}]], "'a[' and 'a(' would share a column"),
    ],
)
def test_features_that_are_none_are_refused(sentences, words):
    with pytest.raises(wm.DataError) as refused:
        clone(TAGGER).fit(sentences, [["A"] * len(sentence) for sentence in sentences])
    assert words in str(refused.value)
