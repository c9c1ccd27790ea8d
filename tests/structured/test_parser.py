"""Parsers: oracles and searches equal brute force, models come back, bad input is told."""

import pickle
import threading

import naive_trees as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interpreted import told_by_both
from profiles import tries
from small_language import made_corpus

import widemargin
from widemargin.data.readers.corpus import Corpus
from widemargin.errors import DataError, ModelFileError
from widemargin.loops.jit import jit
from widemargin.loops.lowlevel.vectors import add_rows
from widemargin.loops.trees.labels import ARC_COUNTS, ARC_NODES
from widemargin.loops.trees.spanning import best_projective, best_spanning
from widemargin.loops.trees.transitions import FACTS, begin, legal, losses, make_transition
from widemargin.structured.parser import features
from widemargin.structured.parser.buffers import chart_buffers, contraction_buffers, packed_weights
from widemargin.structured.parser.model import load_parser
from widemargin.structured.parser.parser import Parser
from widemargin.structured.parser.training import (
    ArcTraining,
    BeamTraining,
    LabelTraining,
    plan_actions,
)
from widemargin.structured.parser.treebank import hash_tags, labels_of, lay_out, with_trees
from widemargin.structured.tagger.tagger import Tagger

KINDS = tuple(np.uint64(kind) for kind in range(3))


@pytest.fixture(scope="module")
def corpus():
    return made_corpus(120)


@pytest.fixture(scope="module")
def fresh():
    return made_corpus(40, seed=1)


@pytest.fixture(scope="module")
def own(corpus):
    """A greedy parser with its own tagger."""
    tagger = Tagger(bits=12, epochs=3)
    return Parser(bits=14, epochs=3, tagger=tagger, jackknife=3, random_state=0).fit(corpus)


@pytest.fixture(scope="module")
def beam(corpus):
    return Parser(beam=4, bits=14, epochs=2, tags="upos", random_state=0).fit(corpus)


@pytest.fixture(scope="module", params=["eisner", "cle"])
def graph(request, corpus):
    return Parser(request.param, bits=14, epochs=3, tags="upos", random_state=0).fit(corpus)


# Transitions and their oracle


def walk(heads, choices):
    """A state of the loops and the same of the naive system, after some transitions."""
    n = np.uint64(len(heads))
    S = np.zeros((len(heads) + 2, FACTS), np.uint32)
    begin_loop(S, n)
    state = naive.first_state()
    for choice in choices:
        found = naive.steps(state, len(heads))
        allowed = [kind for kind in KINDS if legal_loop(S, n, kind)]
        assert [int(kind) for kind in allowed] == sorted(found)
        if not found:
            break
        kind = sorted(found)[choice % len(found)]
        apply_loop(S, n, KINDS[kind], np.uint64(7))
        state = found[kind]
    return S, state


@jit()
def begin_loop(S, n):
    begin(S, n)


@jit()
def apply_loop(S, n, kind, group):
    make_transition(S, n, kind, group)


@jit()
def legal_loop(S, n, kind):
    return legal(S, n, kind)


@jit()
def losses_loop(S, n, heads, lost):
    losses(S, n, heads, lost)


@jit()
def projective_loop(scores, n, single, room, heads):
    return best_projective(scores, n, single, room, heads)


@jit()
def spanning_loop(scores, n, single, room, heads):
    return best_spanning(scores, n, single, room, heads)


single_rooted = st.integers(1, 5).flatmap(
    lambda n: st.sampled_from([heads for heads in naive.all_trees(n) if heads.count(0) == 1])
)


def losses_in(S, heads):
    lost = np.zeros(3, np.int64)
    losses_loop(S, np.uint64(len(heads)), np.array([0, *heads, 0], np.uint32), lost)
    return lost.tolist()


@tries(60)
@given(single_rooted, st.lists(st.integers(0, 5), max_size=10))
def test_losses_are_the_arcs_that_become_unreachable(heads, choices):
    """For any tree, crossing arcs or not, in any state."""
    S, state = walk(heads, choices)
    n, lost = len(heads), losses_in(S, heads)
    reachable = naive.reachable_arcs(state, n, heads)
    for kind, then in naive.steps(state, n).items():
        assert lost[kind] == len(reachable - naive.reachable_arcs(then, n, heads))


@tries(100)
@given(single_rooted, st.lists(st.integers(0, 5), max_size=10))
def test_losses_are_those_of_the_best_tree_in_reach(heads, choices):
    """Arcs that do not cross and can be made one by one can be made together."""
    if naive.crosses(heads):
        return
    S, state = walk(heads, choices)
    n, lost = len(heads), losses_in(S, heads)
    most = naive.most_right(state, n, heads)
    for kind, then in naive.steps(state, n).items():
        assert lost[kind] == most - naive.most_right(then, n, heads)


@tries(50)
@given(single_rooted, st.lists(st.integers(0, 5), min_size=12, max_size=12))
def test_states_hold_the_arcs(heads, choices):
    S, (_, _, arcs) = walk(heads, choices)
    n = len(heads)
    for word in range(1, n + 1):
        head = next((h for h, d in arcs if d == word), n + 1)
        assert S[word, 1] == head
        left = sorted(d for h, d in arcs if h == word and d < word)
        right = sorted((d for h, d in arcs if h == word and d > word), reverse=True)
        for first, second, count, children in ((3, 4, 7, left), (5, 6, 8, right)):
            assert S[word, count] == len(children)
            assert S[word, first] == (children[0] if children else n + 1)
            assert S[word, second] == (children[1] if len(children) > 1 else n + 1)


# The best tree of scored arcs


@tries(40)
@given(
    st.integers(1, 5),
    st.integers(0, 2**32),
    st.booleans(),
    st.sampled_from(["whole", "few", "real"]),
)
def test_best_trees_equal_brute_force(n, seed, single, kind):
    rng = np.random.default_rng(seed)
    size = (n + 1, n + 1)
    scores = {
        "whole": rng.integers(-9, 10, size).astype(float),
        "few": rng.integers(0, 2, size).astype(float),  # many ties
        "real": rng.normal(size=size) * 10.0 ** rng.integers(-3, 4),
    }[kind]
    for search, room, trees in (
        (projective_loop, chart_buffers, naive.projective_trees(n)),
        (spanning_loop, contraction_buffers, naive.all_trees(n)),
    ):
        heads = np.zeros(n + 2, np.uint32)
        score = search(scores, np.uint64(n), single, room(n), heads)
        found = tuple(heads[1 : n + 1].tolist())
        assert found in trees
        assert not single or found.count(0) == 1
        best = naive.best_score(scores, trees, single)
        assert score == pytest.approx(best, rel=1e-9, abs=1e-9)
        assert sum(scores[h, d] for d, h in enumerate(found, 1)) == pytest.approx(best, abs=1e-9)


def test_nested_circles():
    """Every word's best head is its neighbour: circles within circles, up to the whole sentence."""
    n = 6
    scores = np.full((n + 1, n + 1), -100.0)
    for a, b, score in ((1, 2, 50), (3, 4, 40), (5, 6, 45), (2, 3, 20), (4, 5, 10), (6, 1, 5)):
        scores[a, b] = scores[b, a] = score
    scores[0, 1:] = -200.0
    scores[0, 4] = -190.0
    heads = np.zeros(n + 2, np.uint32)
    spanning_loop(scores, np.uint64(n), True, contraction_buffers(n), heads)
    trees = [heads for heads in naive.all_trees(n) if heads.count(0) == 1]
    found = sum(scores[h, d] for d, h in enumerate(heads[1 : n + 1], 1))
    assert found == naive.best_score(scores, trees, True)


# Sums and features


@jit()
def add_up_loop(W, ids, s):
    add_rows(W, ids, np.uint64(0), np.uint64(len(ids)), None, s, np.uint64(0))


@pytest.mark.parametrize("lanes", [8, 16, 32, 48, 64, 80, 112])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_sums_of_rows(lanes, count):
    rng = np.random.default_rng(0)
    W = rng.integers(-99, 99, (32, lanes)).astype(np.float32)
    ids = rng.integers(0, 32, count).astype(np.uint64)
    s = np.full((2, lanes), 5, np.float32)
    add_up_loop(W, ids, s)
    assert np.array_equal(s[0], W[ids].sum(axis=0))
    assert np.array_equal(s[1], np.full(lanes, 5))
    whole = np.full((2, lanes), 5, np.int32)
    add_up_loop((W * 300).astype(np.int16), ids, whole)
    assert np.array_equal(whole[0], 300 * s[0])
    add_up_loop((W * 300).astype(np.int16), ids, s)
    assert np.array_equal(whole[0], s[0])


def test_weights_of_16_bits():
    weights = np.random.default_rng(0).normal(size=(40, 16)).astype(np.float32)
    whole = packed_weights(weights)
    assert whole.dtype == np.int16
    assert whole.ctypes.data % 64 == 0
    scale = 32767 / np.abs(weights).max()
    assert np.abs(whole - scale * weights).max() <= 0.51
    assert not packed_weights(np.zeros((4, 16), np.float32)).any()


def test_no_feature_stands_twice():
    for text in (features.PARSER_TEMPLATES, features.LABEL_TEMPLATES, features.ARC_TEMPLATES):
        templates = [frozenset(line.split()) for line in text.split("\n") if line]
        assert len(set(templates)) == len(templates)


def test_a_feature_that_cannot_be():
    with pytest.raises(ValueError, match="more than four atoms"):
        features.compile_templates("s0.w s0.t s1.w s1.t b0.w", "wtxe", 10)


# Parsers


def labelled(trees, corpus):
    """Heads and labels in pairs."""
    return list(zip(trees.heads.tolist(), trees.labels, strict=True))


def right_answers(corpus):
    return list(zip(map(int, corpus.column("head")), corpus.column("deprel"), strict=True))


def test_learns_the_small_language(own, beam, graph, fresh):
    for parser in (own, beam, graph):
        uas, las = parser.attachment(fresh)
        assert las.f1 > 0.97
        guess = labelled(parser.predict(fresh), fresh)
        assert (uas.f1, las.f1) == pytest.approx(naive.attachment(right_answers(fresh), guess))


def test_trees_are_trees(own, beam, graph, fresh):
    for parser in (own, beam, graph):
        heads = parser.predict(fresh).heads
        for a, b in zip(fresh.starts[:-1], fresh.starts[1:], strict=True):
            tree = tuple(heads[a:b].tolist())
            assert tree.count(0) == 1
            assert all(naive.reaches_root(tree, word) for word in range(1, len(tree) + 1))
            if parser.system != "cle":
                assert not naive.crosses(tree)


def test_one_by_one_equals_all_and_threads_equal_one(own, beam, graph, fresh):
    for parser in (own, beam, graph):
        trees = parser.predict(fresh)
        assert np.array_equal(parser.predict(fresh, n_jobs=2).heads, trees.heads)
        tags = {} if parser is own else {"upos": fresh.sentences("upos")[3]}
        tree = parser.parse(fresh.sentences()[3], **tags)
        a, b = fresh.starts[3], fresh.starts[4]
        assert tree.heads == trees.heads[a:b].tolist()
        assert tree.labels == trees.labels[a:b]


def test_many_threads_use_one_model(own, fresh):
    want = own.predict(fresh).heads
    found = []

    def work():
        found.append(own.predict(fresh).heads)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 4
    assert all(np.array_equal(heads, want) for heads in found)


def test_same_seed_same_model(corpus, own):
    tagger = Tagger(bits=12, epochs=3)
    again = Parser(bits=14, epochs=3, tagger=tagger, jackknife=3, random_state=0).fit(corpus)
    assert np.array_equal(again.model_.W, own.model_.W)
    assert np.array_equal(again.model_.V, own.model_.V)
    assert again.history_["mistakes"].tolist() == own.history_["mistakes"].tolist()


def test_comes_back_from_a_file(own, beam, graph, fresh, tmp_path):
    for k, parser in enumerate((own, beam, graph)):
        path = tmp_path / f"{k}.wm"
        parser.save(path)
        want = labelled(parser.predict(fresh), fresh)
        for back in (load_parser(path), pickle.loads(pickle.dumps(parser)), widemargin.load(path)):
            assert labelled(back.predict(fresh), fresh) == want
        again = load_parser(path)
        assert np.array_equal(again.search.packed_labels, parser.model_.search.packed_labels)
        if parser.model_.system == "arc-hybrid":
            assert np.array_equal(again.search.packed, parser.model_.search.packed)
        assert np.allclose(again.W, parser.model_.W, atol=np.abs(again.W).max() / 30_000)
        assert again.history.to_dict() == parser.history_.to_dict()
        assert repr(again.certificate) == repr(parser.certificate_)


def test_a_damaged_file_is_refused(own, tmp_path):
    path = tmp_path / "p.wm"
    own.save(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ModelFileError, match="altered"):
        load_parser(path)


def test_pruned_to_nothing_and_not_at_all(own, fresh, tmp_path):
    same = own.model_.prune()
    assert labelled(same.predict(fresh), fresh) == labelled(own.predict(fresh), fresh)
    less = own.model_.prune(float(np.abs(own.model_.W).max()) / 10)
    assert np.count_nonzero(less.W) < np.count_nonzero(own.model_.W)
    own.save(tmp_path / "whole.wm")
    less.save(tmp_path / "less.wm")
    assert (tmp_path / "less.wm").stat().st_size < (tmp_path / "whole.wm").stat().st_size
    assert less.attachment(fresh).uas.f1 > 0.8


def rows_of(corpus):
    """A corpus as the loops read it, and the actions for it."""
    tags = hash_tags(corpus.column("upos"))
    labels = labels_of(corpus)
    given = with_trees(
        lay_out(corpus, (tags, tags)), corpus, {label: code for code, label in enumerate(labels)}
    )
    heads = [head for head, _ in right_answers(corpus)]
    places = [k + 1 for words in corpus.sentences() for k in range(len(words))]
    codes = [labels.index(label) for label in corpus.column("deprel")]
    return given, plan_actions(heads, places, codes, len(labels), 16)


def test_the_average_is_that_of_all_weights(corpus):
    few, single = (
        corpus[:20],
        Corpus.of(
            {
                "word": [["a"], ["b"], ["c"], ["a"]] * 3,
                "upos": [["A"], ["B"], ["A"], ["B"]] * 3,
                "head": [["0"]] * 12,
                "deprel": [["x"], ["y"], ["z"], ["x"]] * 3,
            }
        ),
    )
    arcs = [
        features.compile_templates(text, "wtxe", 10, ARC_NODES, ARC_COUNTS)
        for text in (features.ARC_TEMPLATES, features.LABEL_TEMPLATES)
    ]
    states = features.compile_templates(features.PARSER_TEMPLATES, "wtxe", 10)
    given, actions = rows_of(few)
    words, _ = rows_of(single)
    rng = np.random.default_rng(0)
    for training in (
        LabelTraining(words, arcs[1], np.ones((3, 3), np.uint8), 30.0, rng),
        ArcTraining(given, arcs[0], False, 0.5, rng),
        ArcTraining(given, arcs[0], True, np.inf, rng),
        BeamTraining(given, states, actions, 50.0, 3, rng),
    ):
        total = np.zeros(training.weights.W.shape)
        n = len(training.sentences.starts) - 1
        for i in range(n):
            training.run(np.array([i], np.uint64), 1)
            total += training.weights.W
        assert np.any(total)
        assert np.allclose(training.weights.mean(), total / (n + 1), atol=1e-5)


def test_empty_sentences_are_not_learned_from_whatever_the_margin():
    words = {"word": [[], ["Run"], ["dogs", "bark"]], "upos": [[], ["VERB"], ["NOUN", "VERB"]]}
    trees = {"head": [[], ["0"], ["2", "0"]], "deprel": [[], ["root"], ["nsubj", "root"]]}
    corpus = Corpus.of({**words, **trees})
    parser = Parser(beam=2, margin=np.inf, epochs=3, tags="upos", bits=8).fit(corpus)
    assert parser.history_["updates"].tolist() == [2, 2, 2]


def test_history_and_certificate(own, beam, graph):
    for parser in (own, beam, graph):
        assert len(parser.history_) == parser.certificate_.epochs
        assert parser.history_.mistakes == parser.certificate_.mistakes
        assert parser.certificate_.no_bound
    assert own.history_["examples"].tolist()[0] == 2 * made_corpus(120).tokens


def test_held_out_sentences_choose_the_epoch(corpus, fresh):
    parser = Parser(bits=14, epochs=3, tags="upos", validation=fresh, random_state=0).fit(corpus)
    scores = parser.history_["held_out"]
    assert parser.history_.best == int(np.argmax(scores)) + 1
    assert parser.attachment(fresh).uas.f1 == scores.max()


def test_held_out_sentences_without_words_are_refused(corpus):
    empty = Corpus.of({"word": [[]], "upos": [[]], "head": [[]], "deprel": [[]]})
    with pytest.raises(DataError, match="there are no tokens to score"):
        Parser(bits=12, epochs=2, tags="upos", validation=empty).fit(corpus)


def test_watched_and_stopped(corpus):
    seen = []

    def watch(moment):
        seen.append(moment.epoch)
        return True

    parser = Parser(bits=12, epochs=4, tags="upos", random_state=0).fit(corpus, watch=watch)
    assert parser.history_.stopped == "interrupted"
    assert len(parser.history_) == 1


def test_crossing_trees_are_learned_from(corpus):
    """Words that scramble: only "cle" can give all the right trees."""
    crossing = {
        "word": [["a", "b", "c", "d"]] * 8,
        "upos": [["A", "B", "C", "D"]] * 8,
        "head": [["3", "4", "0", "3"]] * 8,
        "deprel": [["x", "y", "root", "z"]] * 8,
    }
    assert naive.crosses((3, 4, 0, 3))
    for system, uas in (("cle", 1.0), ("eisner", 0.75), ("arc-hybrid", 0.75)):
        parser = Parser(system, bits=12, tags="upos", epochs=5, random_state=0).fit(crossing)
        assert parser.attachment(crossing).uas.f1 == uas


def test_odd_sentences(own, beam, graph):
    """None, empty, of one word, of unseen words, very long."""
    long = ["the", "dog", "sees"] * 100
    sentences = [[], ["dog"], ["ΑΒΓ", "雪", "🙂"], [], long]
    for parser in (own, beam, graph):
        given = sentences
        if parser is not own:
            given = {"word": sentences, "upos": [["NOUN"] * len(words) for words in sentences]}
        trees = parser.predict(given)
        assert len(trees.heads) == len(trees.labels) == 304
        assert trees.heads[0] == 0
        assert parser.predict({"word": [[]], "upos": [[]]}).labels == []
        assert parser.predict({"word": [], "upos": []}).labels == []
    assert own.parse([]).heads == []


def test_annotates_a_corpus(own, fresh):
    bare = Corpus.of(fresh.sentences())
    found = own.annotate(bare)
    assert found.names == ["word", "upos", "head", "deprel"]
    assert own.model_.attachment(found).las.f1 == 1.0


def test_words_with_their_tags_are_one_sentence(beam):
    tagged = [("a", "DET"), ("dog", "NOUN")]
    tree = beam.parse(tagged)
    assert (tree.words, tree.tags) == (["a", "dog"], ["DET", "NOUN"])
    assert tree == beam.parse(np.array(["a", "dog"]), upos=["DET", "NOUN"])
    found = beam.annotate([tagged])
    assert (found.words, found.column("head")) == (tree.words, list(map(str, tree.heads)))


def test_labels_of_one_direction_only():
    """All arcs go one way in training; a label is still given to arcs that go the other."""
    columns = {
        "word": [["a", "b"]] * 3,
        "upos": [["A", "B"]] * 3,
        "head": [["0", "1"]] * 3,
        "deprel": [["root", "x"]] * 3,
    }
    parser = Parser(bits=10, tags="upos", epochs=2, random_state=0).fit(columns)
    tree = parser.parse(["b", "b", "a"], upos=["B", "B", "A"])
    assert set(tree.labels) <= {"root", "x"}


# Bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"head": [["2", "1"]]}, "cycle"),
        ({"head": [["0", "9"]]}, "not a token of the sentence"),
        ({"head": [["0", "_"]]}, "has no head"),
        ({"head": [["0", "x"]]}, "is not a number"),
        ({"head": [["0", "2"]]}, "its own head"),
        ({"deprel": [["root", "_"]]}, "token 2: has no label"),
        ({"word": [[]], "upos": [[]], "head": [[]], "deprel": [[]]}, "no sentences to learn from"),
    ],
)
def test_bad_trees(change, message):
    columns = {
        "word": [["a", "b"]],
        "upos": [["A", "B"]],
        "head": [["0", "1"]],
        "deprel": [["root", "x"]],
    }
    with pytest.raises(DataError, match=message):
        Parser(bits=10, tags="upos").fit({**columns, **change})


def test_bad_trees_are_found_before_taggers_are_trained(corpus):
    def train(_):
        raise AssertionError("trained")

    heads = corpus.column("head")
    bad = corpus.with_column("head", [*heads[:-1], "99"])
    with pytest.raises(DataError, match="99 is not a token"):
        Parser().fit(bad, watch=train)
    with pytest.raises(DataError, match="99 is not a token"):
        Parser(validation=bad).fit(corpus, watch=train)


def test_missing_columns(beam, fresh):
    with pytest.raises(DataError, match="no column 'upos'"):
        Parser().fit({"word": [["a"]], "head": [["0"]], "deprel": [["root"]]})
    with pytest.raises(DataError, match="no column 'head'"):
        Parser(tags="upos").fit({"word": [["a"]], "upos": [["A"]], "deprel": [["root"]]})
    with pytest.raises(DataError, match="no column 'upos'"):
        beam.predict([["the", "dog"]])
    with pytest.raises(DataError, match="is a string"):
        beam.parse("the dog", upos=["DET", "NOUN"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"system": "arc-eager"},
        {"beam": 0},
        {"beam": 2, "system": "cle"},
        {"bits": 40},
        {"epochs": 0},
        {"margin": -1.0},
        {"C": 0.0},
        {"explore": 2.0},
        {"actions": 2},
        {"tags": ("upos", "upos", "upos")},
    ],
)
def test_wrong_parameters(wrong, corpus):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Parser(**wrong).fit(corpus)


def test_parameters_are_told():
    parser = Parser(beam=8)
    assert repr(parser) == "Parser(beam=8)"
    assert parser.set_params(margin=1.0).get_params()["margin"] == 1.0
    with pytest.raises(ValueError, match="no parameter"):
        parser.set_params(colour=1)


INTERPRETED = """
from small_language import made_corpus
from widemargin.structured.parser.parser import Parser
corpus = made_corpus(6)
for settings in ({}, {"beam": 2}, {"system": "eisner"}, {"system": "cle"}):
    parser = Parser(bits=8, epochs=1, tags="upos", random_state=0, **settings).fit(corpus)
    print(parser.predict(corpus).heads.tolist(), parser.predict(corpus).labels)
"""


def test_compiled_equals_interpreted():
    compiled, interpreted = told_by_both(INTERPRETED)
    assert compiled
    assert compiled == interpreted
