"""How certain tags and arcs are, and why they won: against all ways to tag or to parse."""

import itertools
import math

import naive_tagging as naive
import naive_trees as trees
import numpy as np
import pytest
from small_language import made_corpus
from tagged_sentences import SENTENCES, TAGS, made_sentences

from widemargin import DataError, Parser, Tagger, load
from widemargin.data.readers.corpus import Corpus
from widemargin.loops.trees.contexts import COUNTS, NODES
from widemargin.structured.parser.search import DecisionFeatures

SPANS = [["B-X", "I-X", "O"], ["O", "B-X", "B-X"], ["B-Y", "O"], ["O", "B-Y", "I-Y", "I-Y"]]
WORDS = [["a", "b", "c"], ["c", "a", "a"], ["d", "c"], ["c", "d", "b", "b"]]


def every_answer(tagger, sentence):
    """All ways to tag a sentence with the best score of each, as users see the tags."""
    found = {}
    for tags, score in tagger.n_best(sentence, len(tagger.tags_) ** len(sentence)):
        found[tuple(tags)] = max(score, found.get(tuple(tags), -math.inf))
    return list(found.items())


def taggers():
    sentences, tags = made_sentences(10)
    for order in (1, 2):
        yield Tagger(order, bits=12, epochs=3, random_state=0).fit(sentences, tags), sentences
        known = Tagger(order, bits=12, epochs=2, tag_dictionary=3, random_state=0)
        yield known.fit(sentences, tags), sentences
        yield Tagger(order, epochs=3, random_state=0).fit(WORDS, SPANS), WORDS
    beam = Tagger(search="beam", beam=1, bits=12, epochs=3, random_state=0)
    yield beam.fit(sentences, tags), sentences


FITTED = list(taggers())
NAMES = [f"order {t.order}, {t.search}, {t.scheme if len(t.tags_) > 3 else ''}" for t, _ in FITTED]


@pytest.mark.parametrize(("tagger", "sentences"), FITTED, ids=NAMES)
def test_margins_and_marginals_are_brute_force(tagger, sentences):
    short = [words[:4] for words in sentences[:8]]
    margins, flat = tagger.margins(short), tagger.marginals(short, 0.3)
    for words, margin, likely in zip(short, margins, flat, strict=True):
        every = tagger.n_best(words, len(tagger.tags_) ** len(words))
        np.testing.assert_allclose(margin, naive.margins(every_answer(tagger, words)), atol=1e-12)
        wanted = naive.marginals(every, list(tagger.classes_), 0.3)
        np.testing.assert_allclose(likely, wanted, atol=1e-12)
        np.testing.assert_allclose(likely.sum(axis=1), 1.0)
        np.testing.assert_array_equal(margin, tagger.margins(words))
        np.testing.assert_array_equal(likely, tagger.marginals(words, temperature=0.3))


@pytest.mark.parametrize(("tagger", "sentences"), FITTED, ids=NAMES)
def test_explanations_add_up_to_the_margin(tagger, sentences):
    for words in sentences[:8]:
        margins, tags = tagger.margins(words), tagger.tag(words)
        every = dict(every_answer(tagger, words)) if len(words) < 6 else None
        for i, margin in enumerate(margins):
            told = tagger.explain(words, i, top=None)
            assert told.prediction == tags[i]
            if math.isinf(margin):
                assert told.instead_of is None
                assert "nothing else is possible" in str(told)
                continue
            assert told.instead_of != tags[i]
            assert math.fsum(reason.share for reason in told.reasons) == told.score
            if tagger.search == "exact":
                assert told.score == pytest.approx(margin, abs=1e-12)
            elif every:  # what a beam found may not be the best
                rivals = [score for other, score in every.items() if other[i] != tags[i]]
                assert told.score == pytest.approx(every[tuple(tags)] - max(rivals), abs=1e-12)
            few = tagger.explain(words, i, top=3)
            assert few.reasons == told.reasons[:3]
            assert sum(reason.share for reason in few.reasons) + few.rest == pytest.approx(
                told.score
            )


def test_reasons_are_the_named_weights():
    tagger = Tagger(templates=naive.TEMPLATES, bits=None, epochs=9, random_state=0)
    tagger.fit(SENTENCES, TAGS)
    model = tagger.model_
    for words in SENTENCES:
        found = tagger.tag(words)
        for i, tag in enumerate(found):
            told = tagger.explain(words, i, top=None)
            reasons = {reason.feature: reason for reason in told.reasons}
            for name in naive.words_of(words, i):
                weight = model.weight(name, tag) - model.weight(name, told.instead_of)
                # What answers are weights rounded to a thousandth of the largest or finer.
                if name in reasons:
                    assert reasons[name].share == pytest.approx(weight, abs=1e-3)
                else:
                    assert weight == pytest.approx(0.0, abs=1e-3)
    told = tagger.explain(["the", "dog"], 0, top=None)
    assert told.prediction == "D"
    after = [reason for reason in told.reasons if reason.feature.endswith(", at dog (+1)")]
    assert {reason.feature.partition("=")[0] for reason in after} == {"tag[-1]"}


def test_a_dictionary_and_one_tag_leave_nothing_to_explain():
    tagger = Tagger(epochs=1, tag_dictionary={"a": ["X"]}).fit([["a", "b"]], [["X", "Y"]])
    assert tagger.explain(["a"], 0).instead_of is None
    assert tagger.margins(["a"]).tolist() == [math.inf]
    assert tagger.marginals(["a"]).tolist() == [[1.0, 0.0]]
    alone = Tagger(epochs=1).fit([["a", "b"]], [["X", "X"]])
    assert alone.explain(["c"], 0).score == math.inf
    assert alone.marginals([["c"], []])[0].tolist() == [[1.0]]


def test_all_kinds_of_sentences_have_margins_and_explanations():
    pos = [[word[:1] for word in words] for words in SENTENCES]
    tagger = Tagger(templates=["word", "pos"], epochs=5, random_state=0)
    tagger.fit({"word": SENTENCES, "pos": pos}, TAGS)
    corpus = Corpus.of({"word": SENTENCES, "pos": pos})
    wanted = tagger.margins(SENTENCES[0], pos=pos[0]).tolist()
    pairs = list(zip(SENTENCES[0], pos[0], strict=True))
    for given in (pairs, corpus[0]):
        assert tagger.margins(given).tolist() == wanted
        assert str(tagger.explain(given, 1)) == str(tagger.explain(SENTENCES[0], 1, pos=pos[0]))
    for given in (corpus, list(corpus), corpus[:1]):
        assert tagger.margins(given)[0].tolist() == wanted
    assert tagger.marginals([]).shape == (0, 4)
    assert tagger.tag([]) == tagger.predict([]) == []
    with pytest.raises(DataError, match="there is no token 3: the sentence has 3, counted from 0"):
        tagger.explain(corpus[0], 3)


def test_threads_and_files_change_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("widemargin.structured.tagger.model._PIECE", 50)
    sentences, tags = made_sentences(12, count=100)
    tagger = Tagger(bits=12, epochs=1, random_state=0).fit(sentences, tags)
    tagger.save(tmp_path / "t.wm")
    for other in (tagger, load(tmp_path / "t.wm")):
        for one, two in zip(tagger.margins(sentences), other.margins(sentences, 3), strict=True):
            assert one.tolist() == two.tolist()
        both = tagger.marginals(sentences, 0.1), other.marginals(sentences, 0.1, n_jobs=3)
        assert np.array_equal(np.concatenate(both[0]), np.concatenate(both[1]))
        assert str(other.explain(sentences[0], 0)) == str(tagger.explain(sentences[0], 0))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("tagger", "sentences"), FITTED, ids=NAMES)
def test_the_lowest_and_highest_temperatures_have_exact_answers(tagger, sentences):
    short = [words[:4] for words in sentences[:8]]
    for coldest in (1e-100, 1e-320):
        for words, likely in zip(short, tagger.marginals(short, coldest), strict=True):
            best = tagger.predict([words])[0]
            places = [list(tagger.classes_).index(tag) for tag in best]
            np.testing.assert_allclose(likely[np.arange(len(words)), places], 1.0)
    hot = tagger.marginals(short, 1e100)
    for one, other in zip(hot, tagger.marginals(short, 1e308), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_the_temperature_is_that_of_the_least_log_loss():
    sentences, tags = made_sentences(13, count=120)
    tagger = Tagger(bits=12, epochs=3, random_state=0).fit(sentences[:60], tags[:60])
    rest, answers = sentences[60:], tags[60:]
    places = {tag: place for place, tag in enumerate(tagger.classes_)}

    def loss(temperature):
        flat = np.concatenate(tagger.marginals(rest, temperature))
        right = [places[tag] for row in answers for tag in row]
        return -np.log(flat[np.arange(len(right)), right]).mean()

    best = tagger.calibrate(rest, answers)
    assert loss(best) <= min(loss(2.0**power) for power in np.linspace(-8, 8, 33)) + 1e-6
    with pytest.raises(ValueError, match="temperature"):
        tagger.marginals(rest, 0.0)
    with pytest.raises(DataError, match="none of these tags was seen in training"):
        tagger.calibrate([["a"]], [["Z"]])


def test_the_temperature_is_kept_and_saved_with_the_model(tmp_path):
    sentences, tags = made_sentences(13, count=120)
    tagger = Tagger(bits=12, epochs=3, random_state=0).fit(sentences[:60], tags[:60])
    plain = np.concatenate(tagger.marginals(sentences))
    assert np.array_equal(plain, np.concatenate(tagger.marginals(sentences, 1.0)))
    found = tagger.calibrate(sentences[60:], tags[60:])
    assert found == tagger.model_.temperature != 1.0
    calibrated = np.concatenate(tagger.marginals(sentences))
    assert np.array_equal(calibrated, np.concatenate(tagger.marginals(sentences, found)))
    assert not np.array_equal(calibrated, plain)
    assert np.array_equal(plain, np.concatenate(tagger.marginals(sentences, 1.0)))
    for model in (tagger, tagger.model_.prune(), tagger.model_.rounded()):
        model.save(tmp_path / "t.wm")
        again = load(tmp_path / "t.wm")
        assert again.model_.temperature == found
        assert np.array_equal(
            np.concatenate(again.marginals(sentences)), np.concatenate(model.marginals(sentences))
        )
    assert ("temperature", f"{found:.4g}") in again.model_.facts()
    for bad in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match=r"temperature=.* must be a positive number"):
            tagger.model_.with_temperature(bad)


# Parsers


CORPUS, FRESH = made_corpus(80), made_corpus(12, seed=1)


@pytest.fixture(scope="module", params=["greedy", "beam", "eisner", "cle", "own tags"])
def parser(request):
    ways = {"greedy": {}, "beam": {"beam": 4}, "eisner": {}, "cle": {}, "own tags": {}}
    system = request.param if request.param in ("eisner", "cle") else "arc-hybrid"
    tags = {"tagger": Tagger(bits=12, epochs=2), "jackknife": 0}
    if request.param != "own tags":
        tags = {"tags": "upos"}
    given = {**tags, **ways[request.param]}
    return Parser(system, bits=18, epochs=2, random_state=0, **given).fit(CORPUS)


def arc_scores(search, rows, i, n):
    """The scores of all arcs, added up one by one."""
    scores = np.zeros((n + 1, n + 1))
    for head, word in itertools.product(range(n + 1), range(1, n + 1)):
        if head != word:
            ids = search.arc_features(rows, i, head, word).ids
            scores[head, word] = search.W[ids.astype(np.int64)].astype(float).sum()
    return scores


def test_margins_of_arcs_are_brute_force(parser):
    search = parser.model_.search
    if search.system == "arc-hybrid":
        pytest.skip("its trees are not the best of all")
    every = trees.all_trees if search.system == "cle" else trees.projective_trees
    short = [words[:n] for n, words in zip([1, 2, 3, 4, 5] * 3, FRESH, strict=False)]
    tags = [s.column("upos")[: len(w)] for s, w in zip(FRESH, short, strict=False)]
    corpus = Corpus.of({"word": short, "upos": tags})
    rows = parser.model_.lay_out(corpus)
    for i, (words, margins) in enumerate(zip(short, parser.margins(corpus), strict=True)):
        n = len(words)
        scores = arc_scores(search, rows, i, n)
        heads = parser.predict(corpus[i : i + 1]).heads.tolist()
        best = trees.best_score(scores, every(n), True)
        for d in range(1, n + 1):
            others = [
                tree for tree in every(n) if tree[d - 1] != heads[d - 1] and tree.count(0) == 1
            ]
            wanted = best - trees.best_score(scores, others, True) if others else np.inf
            assert margins[d - 1] == pytest.approx(wanted, abs=1e-9)


def test_explanations_of_heads_and_labels_add_up(parser):
    model = parser.model_
    found = model.predict(FRESH)
    for i, sentence in enumerate(FRESH):
        margins, first = parser.margins(sentence), int(FRESH.starts[i])
        for token, margin in enumerate(margins):
            told = parser.explain(sentence, token, top=None)
            assert told.score == pytest.approx(margin, rel=1e-9, abs=1e-9)
            shares = math.fsum(reason.share for reason in told.reasons)
            assert math.isinf(margin) or shares == told.score
            if model.system != "arc-hybrid":
                head = int(found.heads[first + token])
                assert told.prediction.endswith(f"({head})")
            label = parser.explain_label(sentence, token, top=None)
            right = found.labels[first + token]
            assert label.prediction == right or f"as {right} of" in label.prediction
            assert label.score >= 0.0 or model.beam > 1
            few = parser.explain(sentence, token, top=2)
            assert few.reasons == told.reasons[:2]


def test_a_trace_is_the_parse(parser):
    search, rows = parser.model_.search, parser.model_.lay_out(FRESH)
    if search.system != "arc-hybrid":
        pytest.skip("it has no transitions")
    heads = parser.predict(FRESH).heads
    for i in range(len(FRESH)):
        trace, n = search.trace(rows, i), int(FRESH.lengths[i])
        state = trees.first_state()
        for step, taken in enumerate(trace.taken.tolist()):
            stack, front, _ = state
            assert trace.nodes[step, 0] == stack[-1]
            assert trace.nodes[step, NODES.index("b0")] == front
            kinds = set(trees.steps(state, n))
            open_ = np.isfinite(trace.scores[step])
            assert {int(search.actions.kind[a]) for a in np.flatnonzero(open_)} == kinds
            summed = search.packed[trace.ids[step].astype(np.int64)].astype(int).sum(axis=0)
            kept = summed[: len(open_)][open_]
            assert np.array_equal(trace.scores[step, open_], kept)
            if search.beam == 1:
                assert taken == np.argmax(trace.scores[step])
            kind = int(search.actions.kind[taken])
            state = trees.steps(state, n)[kind]
        arcs = {word: head for head, word in state[2]}
        found = heads[FRESH.starts[i] : FRESH.starts[i + 1]].tolist()
        assert [arcs[word] for word in range(1, n + 1)] == found


def test_one_name_one_row(parser):
    """The names of features tell them apart as the rows of weights do."""
    model, rows = parser.model_, {}
    for sentence in FRESH:
        named = model._named(sentence, {})
        if model.system == "arc-hybrid":
            trace = model.search.trace(named.sentences, 0)
            for step in range(len(trace.taken)):
                looked = DecisionFeatures(trace.ids[step], trace.nodes[step], trace.counts[step])
                names = named._names(model.features, NODES, COUNTS, looked, trace.groups[step])
                for k, (name, row) in enumerate(zip(names, looked.ids.tolist(), strict=True)):
                    assert rows.setdefault((k, name), row) == row
        else:
            for head, word in itertools.permutations(range(len(sentence) + 1), 2):
                for name, row in named._arc_names(head, word) if word else ():
                    assert rows.setdefault(name, row) == row
    collisions = len(rows) - len(set(rows.values()))
    assert collisions < 0.05 * len(rows)


def test_a_parser_explains_every_kind_of_sentence(parser):
    words, tags = list(FRESH[0]), FRESH[0].column("upos")
    given = {} if parser.model_.taggers else {"upos": tags}
    wanted = str(parser.explain(words, 0, **given))
    assert str(parser.explain(FRESH[0], 0)) == wanted
    assert parser.margins(words, **given).tolist() == parser.margins([FRESH[0]])[0].tolist()
    assert parser.margins(words[:1], **{name: cells[:1] for name, cells in given.items()}) == [
        np.inf
    ]
    assert "nothing else is possible" in str(
        parser.explain(words[:1], 0, **{name: cells[:1] for name, cells in given.items()})
    )
    with pytest.raises(DataError, match="there is no token 99"):
        parser.explain(FRESH[0], 99)
    with pytest.raises(DataError, match="is a string; give a list of words"):
        parser.explain("the dog", 0)
