"""Features of tokens that are numbers, as in CRFsuite's dicts."""

import naive_tagging as naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from profiles import tries
from sklearn.model_selection import cross_val_score
from structured.test_tagger import named_weights, same_weights

import widemargin as wm
from widemargin.structured import Tagger
from widemargin.structured.sentences import corpus_of

LABELS = "ABC"
#: A sentence that has every feature, so that all are numbers whatever other sentences have.
ALL = [{"w": "x", "size": 2, "rank": 0.5, "in": ["a", "b"], "more": {"deep": -3}}]

WHOLE = st.integers(-3, 4)
TOKENS = st.fixed_dictionaries(
    {"w": st.sampled_from("xyz")},
    optional={
        "size": WHOLE,
        "rank": WHOLE.map(lambda x: x / 4),
        "in": st.lists(st.sampled_from("ab"), max_size=3),
        "more": st.fixed_dictionaries({}, optional={"deep": WHOLE}),
    },
)
SENTENCES = st.lists(st.lists(st.tuples(TOKENS, st.sampled_from(LABELS)), max_size=3), max_size=5)
HOW = {"epochs": 3, "bits": None, "shuffle": False, "scheme": None, "constraints": None}


def with_all(tagged):
    """Sentences and tags, the first being the one that has every feature; all tags occur."""
    sentences = [[token for token, _ in sentence] for sentence in tagged]
    tags = [[tag for _, tag in sentence] for sentence in tagged]
    return [ALL * 3, *sentences], [list(LABELS), *tags]


def made(count, seed=0, longest=9):
    """Sentences whose tags follow from numbers, with noise, and words that tell little."""
    rng = np.random.default_rng(seed)
    sentences, tags = [], []
    for _ in range(count):
        n = int(rng.integers(1, longest))
        height, level = rng.normal(size=n), rng.normal(size=n)
        score = height - level + 0.3 * rng.normal(size=n)
        sentences.append(
            [
                {"word": "uvw"[int(rng.integers(3))], "height": float(h), "level": float(a)}
                for h, a in zip(height, level, strict=True)
            ]
        )
        tags.append(["up" if s > 0.5 else "down" if s < -0.5 else "flat" for s in score])
    return sentences, tags


@tries(12)
@given(SENTENCES, st.sampled_from([1, 2]))
def test_the_perceptron_learns_and_answers_as_the_naive_program(tagged, order):
    sentences, tags = with_all(tagged)
    last, average, mistakes, longest = naive.learn(sentences, tags, LABELS, order, 3)
    for keep, wanted in (("last", last), ("average", average)):
        tagger = Tagger(order, rule="perceptron", keep=keep, **HOW).fit(sentences, tags)
        assert tagger.history_["mistakes"].tolist() == mistakes
        assert pytest.approx(float(longest)) == tagger.certificate_.R**2
        same_weights(named_weights(tagger.model_), wanted, 0.0 if keep == "last" else 1e-6)
        if keep == "last":
            best = [list(naive.best_sequence(last, s, LABELS, order)) for s in sentences if s]
            assert [one for one in tagger.predict(sentences) if one] == best


@tries(8)
@given(SENTENCES, st.sampled_from([0.125, 100.0]))
def test_steps_of_the_large_margin_rule_are_the_naive_program(tagged, C):
    sentences, tags = with_all(tagged)
    leads = []
    last, _, mistakes, _ = naive.learn(sentences, tags, LABELS, 1, 3, "pa1", C, leads)
    assume(min(leads) > 1e-5)  # otherwise rounding may break a tie
    tagger = Tagger(rule="pa1", C=C, keep="last", **HOW).fit(sentences, tags)
    assert tagger.history_["mistakes"].tolist() == mistakes
    same_weights(named_weights(tagger.model_), last, 1e-5)


def test_a_number_of_1_is_a_feature_that_is_there():
    """Values of 1 that are numbers learn what the same strings learn, whatever the rows."""
    sentences, tags = made(40)
    words = [[token["word"] for token in sentence] for sentence in sentences]
    listed = [[{"in": [word]} for word in sentence] for sentence in words]
    strings = [[{"in": word} for word in sentence] for sentence in words]
    one, other = (
        Tagger(random_state=0, bits=None).fit(kind, tags).model_ for kind in (listed, strings)
    )
    assert list(one.numbers) != list(other.numbers) == []
    for word in "uvw":
        for tag in one.tags:
            assert one.weight(f"in:{word}", tag) == other.weight(f"in:[0]={word}", tag)
    assert one.transitions() == other.transitions()
    assert one.predict(listed) == other.predict(strings)
    np.testing.assert_allclose(
        np.concatenate(one.margins(listed)), np.concatenate(other.margins(strings)), atol=1e-3
    )


@pytest.mark.parametrize("bits", [8, None])
def test_saved_pruned_and_rounded(tmp_path, bits):
    sentences, tags = made(60)
    tagger = Tagger(bits=bits, random_state=0).fit(sentences, tags)
    wanted, margins = tagger.predict(sentences), np.concatenate(tagger.margins(sentences))
    pruned = tagger.model_.prune()
    for model in (tagger.model_, pruned):
        model.save(tmp_path / "t.wm")
        loaded = wm.load(tmp_path / "t.wm")
        for one in (model, getattr(loaded, "model_", loaded)):
            assert one.numbers.keys() == {"height", "level"}
            assert one.predict(sentences) == wanted
            np.testing.assert_array_equal(np.concatenate(one.margins(sentences)), margins)
            assert one.weight("height", "up") == tagger.model_.weight("height", "up") > 0
    assert tagger.model_.prune(1e9).numbers == {}
    half = tagger.model_.rounded()
    assert half.weight("height", "up") == np.float16(tagger.model_.weight("height", "up"))


def test_large_and_small_numbers_scale_away():
    """Weights of numbers are not rounded to 16 bits: a unit of measure hardly changes answers."""
    sentences, tags = made(80)
    for scale in (2.0**-20, 2.0**20):
        scaled = [
            [token | {"height": token["height"] * scale} for token in sentence]
            for sentence in sentences
        ]
        model = Tagger(rule="perceptron", random_state=0).fit(scaled, tags).model_
        weights = model.answering_weights.V * model.answering_weights.unit
        np.testing.assert_array_equal(weights, model.W[list(model.numbers.values())])


def test_every_way_to_ask_uses_the_numbers():
    sentences, tags = made(120)
    tagger = Tagger(random_state=0).fit(sentences, tags)
    assert tagger.score(sentences, tags) > 0.7
    corpus = corpus_of(sentences, tags)
    assert tagger.predict(corpus) == tagger.predict(sentences)
    assert tagger.predict(corpus[[5, 3]]) == [tagger.tag(sentences[5]), tagger.tag(sentences[3])]
    assert tagger.predict([corpus[5], corpus[3]]) == tagger.predict([sentences[5], sentences[3]])
    assert tagger.predict(sentences, n_jobs=2) == tagger.predict(sentences)
    asked = sentences[7]
    assert tagger.tag(corpus[7]) == tagger.tag(asked) == tagger.n_best(asked, 1)[0].tags
    margins = tagger.margins(asked)
    np.testing.assert_array_equal(tagger.margins(corpus[7]), margins)
    np.testing.assert_array_equal(tagger.margins(sentences)[7], margins)
    np.testing.assert_allclose(tagger.marginals(asked).sum(axis=1), 1.0)
    certificate = Tagger(rule="perceptron", keep="last", random_state=0).fit(sentences, tags)
    assert certificate.certify(sentences, tags).margin < 0.0


def test_an_explanation_adds_up_to_the_margin():
    sentences, tags = made(60)
    tagger = Tagger(random_state=0).fit(sentences, tags)
    asked = next(sentence for sentence in sentences if len(sentence) > 3)
    for token, margin in enumerate(tagger.margins(asked)):
        explained = tagger.explain(asked, token, top=None)
        shares = {reason.feature: reason for reason in explained.reasons}
        assert sum(reason.share for reason in explained.reasons) == pytest.approx(margin, rel=1e-5)
        assert shares["height"].value == asked[token]["height"]


def test_numbers_at_prediction_are_those_of_training():
    sentences = [[{"flag": 1, "size": 3}, {"flag": 0, "size": 1}], [{"size": 0, "w": "x"}]]
    tags = [["A", "B"], ["B"]]
    tagger = Tagger(random_state=0).fit(sentences, tags)
    assert list(tagger.model_.numbers) == ["size"]
    # 1 is the number 1 of "size", alone in its sentence as among others.
    both = [{"size": 1}, {"size": True}]
    apart = [tagger.margins([token])[0] for token in ({"size": 1.0}, {"size": 3})]
    assert tagger.margins([both[:1]])[0][0] == tagger.margins([both[1]])[0] == apart[0] != apart[1]
    # A feature that is new is left out, as a new word is.
    assert tagger.tag([{"size": 3, "new": 0.5, "bag": ["q"]}]) == tagger.tag([{"size": 3}])
    with pytest.raises(wm.DataError, match=r"'flag' is 0\.5, but was never a number other than 0"):
        tagger.tag([{"flag": 0.5}])


def test_held_out_dicts_have_the_numbers_of_the_training():
    sentences, tags = made(60)
    other = [[{"height": 1}], [{"height": -1, "level": 0.0, "word": "u"}]]
    tagger = Tagger(random_state=0, epochs=3, validation=(other, [["up"], ["down"]]))
    tagger.fit(sentences, tags)
    assert tagger.score(other, [["up"], ["down"]]) == tagger.history_["held_out"].max() == 1.0


def test_training_can_be_resumed_with_its_own_numbers_only(tmp_path):
    sentences, tags = made(40)
    wanted = Tagger(random_state=0, epochs=4).fit(sentences, tags).model_

    def stop(moment):
        return moment.epoch >= 2

    tagger = Tagger(random_state=0, epochs=4)
    tagger.fit(sentences, tags, watch=stop, checkpoint=tmp_path / "c")
    resumed = Tagger(random_state=0, epochs=4).fit(sentences, tags, checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(resumed.model_.W, wanted.W)


def test_folds_of_dicts_with_numbers():
    sentences, tags = made(120)
    assert cross_val_score(Tagger(random_state=0), sentences, tags, cv=3).min() > 0.6
