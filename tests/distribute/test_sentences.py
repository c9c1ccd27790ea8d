"""Taggers and parsers on partitions of their sentences."""

import numpy as np
import pytest
from partitioned import BreakingEngine, SendingEngine
from small_language import made_corpus
from tagged_sentences import made_sentences

import widemargin
from widemargin import Distributed, Parser, Tagger
from widemargin.distribute.engine import SerialEngine


def fit(learner, *given, engine=None, partitions=3, **how):
    mix = how.pop("mix", "touched")
    client = engine or SerialEngine()
    return Distributed(learner, client=client, partitions=partitions, mix=mix).fit(*given, **how)


def weights(learner):
    model = learner.model_
    return [model.W, *([] if isinstance(learner.estimator, Tagger) else [model.V])]


def assert_same(one, other):
    for mine, theirs in zip(weights(one), weights(other), strict=True):
        assert np.array_equal(mine, theirs)
    assert one.history_.mistakes == other.history_.mistakes


def test_one_partition_is_the_plain_tagger():
    given = made_sentences(0)
    learner = Tagger(epochs=4, bits=10, shuffle=False, keep="last", random_state=0)
    found = fit(learner, *given, partitions=1)
    assert np.array_equal(found.model_.W, learner.fit(*given).model_.W)
    assert found.history_.mistakes == learner.history_.mistakes
    averaged = learner.set_params(keep="average")
    found = fit(averaged, *given, partitions=1)
    np.testing.assert_allclose(found.model_.W, averaged.fit(*given).model_.W, atol=2e-6)


@pytest.mark.parametrize("mix", ["uniform", "touched"])
def test_the_mixture_of_taggers_is_that_of_their_weights(mix):
    """An epoch from zero: each part by itself, and the changes added up by hand."""
    sentences, tags = made_sentences(1, count=30)
    how = {"epochs": 1, "bits": 9, "shuffle": False, "keep": "last", "constraints": None}
    found = fit(Tagger(**how), sentences, tags, partitions=2, mix=mix)
    ends = np.cumsum([len(words) for words in sentences])
    first = int(np.searchsorted(ends, ends[-1] / 2)) + 1
    parts = [
        Tagger(**how).fit(sentences[a:b], tags[a:b]).model_.W.astype(float)
        for a, b in ((0, first), (first, 30))
    ]
    changed = sum(np.any(part != 0.0, axis=1).astype(int) for part in parts)
    shares = 2 if mix == "uniform" else np.maximum(1, changed)[:, None]
    np.testing.assert_allclose(found.model_.W, sum(parts) / shares, rtol=1e-6)


@pytest.mark.parametrize(
    "learner",
    [
        Tagger(epochs=4, bits=None, random_state=0, tag_dictionary=True, order=2),
        Tagger(epochs=3, bits=10, random_state=0, validation=0.2, patience=None, committee=2),
    ],
)
def test_taggers_learn_wherever_it_is_done(learner):
    given = made_sentences(2, count=80)
    found = fit(learner, *given)
    assert_same(found, fit(learner, *given, engine=SendingEngine()))
    assert found.to_local().score(*given) > 0.65
    assert found.predict(given[0])[0] == found.to_local().predict(given[0])[0]


@pytest.mark.parametrize(
    "params",
    [
        {"jackknife": 2},
        {"beam": 3, "tags": "upos"},
        {"system": "eisner", "tags": "upos"},
        {"system": "cle", "tags": "upos"},
    ],
)
def test_parsers_learn_wherever_it_is_done(params, tmp_path):
    corpus = made_corpus(60)
    learner = Parser(bits=12, epochs=3, random_state=0, **params)
    found = fit(learner, corpus)
    assert_same(found, fit(learner, corpus, engine=SendingEngine()))
    assert found.to_local().score(corpus) > 0.9
    found.save(tmp_path / "parser.wm")
    assert widemargin.load(tmp_path / "parser.wm").score(corpus) > 0.9


def test_resumed_is_uninterrupted(tmp_path):
    given = made_sentences(3)
    learner = Tagger(epochs=6, bits=10, random_state=0, validation=0.2, patience=None)
    whole = fit(learner, *given)

    folder = tmp_path / "points"
    with pytest.raises(KeyboardInterrupt):
        fit(learner, *given, engine=BreakingEngine("learn", 10), checkpoint=folder)
    assert_same(whole, fit(learner, *given, checkpoint=folder))


def test_what_the_theorem_says():
    given = made_sentences(4)
    learner = Tagger(epochs=3, bits=10, rule="perceptron", keep="last", random_state=0)
    known = fit(learner, *given, mix="uniform").certificate_
    assert known.weighted_mistakes == known.mistakes / 3
    assert "no theorem" in fit(learner, *given).certificate_.no_bound


def test_what_has_no_effect_is_refused():
    given = made_sentences(5)
    with pytest.raises(ValueError, match="X_val has no effect for Tagger"):
        fit(Tagger(), *given, X_val=given[0])
    with pytest.raises(TypeError, match="dtype"):
        fit(Tagger(), *given, dtype=float)
    with pytest.raises(ValueError, match="y has no effect for Parser"):
        fit(Parser(), made_corpus(5), [1])
