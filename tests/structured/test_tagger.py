"""The tagger: against brute force and naive twins; constraints, files, threads, any script."""

import gc
import os
import pickle
import string
import threading
from dataclasses import replace
from itertools import pairwise, product

import naive_tagging as naive
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from interpreted import run_python, told_by_both
from tagged_sentences import SENTENCES, TAGS, made_sentences

import widemargin
from widemargin import DataError, ModelFileError, Tagger
from widemargin.data.encode.templates import CHUNKS, NAMES, WORDS, Templates, default_templates
from widemargin.data.encode.tokens import TokenColumns, read_tokens
from widemargin.data.readers.corpus import Corpus
from widemargin.loops.jit import jit
from widemargin.loops.sequences.viterbi import best_path, n_best, path_score, score_through
from widemargin.structured.spans import (
    SCHEMES,
    convert_tags,
    find_illegal,
    measure_spans,
    scheme_of,
)
from widemargin.structured.tagger.constraints import (
    count_transitions,
    plain_tag,
    recode,
    scheme_of_transitions,
)
from widemargin.structured.tagger.model import load_tagger
from widemargin.structured.tagger.weights import (
    answering,
    row_width,
    split_rows,
    transition_table,
)
from widemargin.threads import run_all

# Columns and templates

texts = st.text(st.characters(codec=None, exclude_characters="\n"), max_size=6)


@given(st.lists(texts, max_size=8))
@example(["İstanbul", "ΟΔΟΣ", "ΣΑΣ", "", "straße", "ǅ", "日本", "a-1", "\ud800"])
def test_columns_of_any_script(words):
    columns = TokenColumns(["word", "lower", "prefix2", "suffix3", "shape", "runs", "flags"])
    tokens = columns.read({"word": words})
    hashes = columns.hashed(tokens)
    shown = [[columns.show(tokens, k, i) for k in range(7)] for i in range(len(words))]
    for word, row in zip(words, shown, strict=True):
        lower = word.lower()
        assert row[:4] == [word, lower, lower[:2], lower[-3:]]
    for k in range(7):
        seen = {}
        for i in range(len(words)):
            assert seen.setdefault(shown[i][k], hashes[k, i]) == hashes[k, i]
        assert len(set(seen.values())) == len(seen)


@pytest.mark.parametrize(
    ("word", "shape", "runs", "flags"),
    [
        ("McDonald", "XxXxxxxx", "XxXx", "Capital+innerCaps"),
        ("U.S.", "X.X.", "X.X.", "Capital+ALLCAPS+innerCaps+other"),
        ("1,000", "d,ddd", "d,d", "digit+number+other"),
        ("Σπίτι", "Xxxxx", "Xx", "Capital"),
        ("re-do", "xx-xx", "x-x", "hyphen"),
        ("?", "?", "?", "other+punctuation"),
        ("日本", "xx", "x", "none"),
    ],
)
def test_shapes_and_flags(word, shape, runs, flags):
    columns = TokenColumns(["shape", "runs", "flags"])
    tokens = columns.read({"word": [word]})
    assert [columns.show(tokens, k, 0) for k in range(3)] == [shape, runs, flags]


def test_a_word_with_a_line_end_stays_one_word():
    tokens = read_tokens(["a\nb", "c"])
    assert [tokens.text(0, 0), tokens.text(0, 1)] == ["a b", "c"]
    tokens = read_tokens(["A", "c\n"], [["x", "\ny\n"], ["p", "q"]])
    texts = [[tokens.text(column, token) for token in range(2)] for column in range(4)]
    assert texts == [["A", "c "], ["a", "c "], ["x", " y "], ["p", "q"]]


@pytest.mark.parametrize("bad", ["", "word[", "word[x]", "word[1000]", "|", "word[0]|"])
def test_bad_templates_are_named(bad):
    with pytest.raises(DataError, match="template"):
        Templates(["word", bad])


def test_templates_are_written_in_one_way_and_once():
    assert Templates(["word", "pos[+1]|word[-2]"]).written == ["word[0]", "pos[1]|word[-2]"]
    with pytest.raises(DataError, match="twice"):
        Templates(["word", "word[0]"])


def test_defaults_fit_tags_and_columns():
    assert default_templates(["DET", "NOUN"], ["xpos"]) == WORDS
    chunks = [f"B-{kind}" for kind in ("NP", "VP", "PP", "ADJP", "ADVP", "SBAR")]
    assert len(default_templates(chunks, ["xx"])) == len(CHUNKS)
    assert "xx[-1]|xx[0]" in default_templates(chunks, ["xx"])
    assert default_templates(["O", "B-PER"], []) == list(dict.fromkeys(NAMES))
    assert "word[0]|chunk[0]" in default_templates(["O", "B-PER"], ["pos", "chunk"])


def test_a_missing_column_is_named():
    with pytest.raises(DataError, match="'pos'"):
        Tagger(templates=["word", "pos"]).fit(SENTENCES, TAGS)


# Inference


def lattice(seed, m, n, order, forbidden=0.0):
    """Scores of labels and transitions, small whole numbers, so that there are ties."""
    rng = np.random.default_rng(seed)
    width = 8
    s = rng.integers(-2, 3, (m, width)).astype(np.float32)
    rows = (n + 1) ** order
    D = rng.integers(-2, 3, (rows + 1, width)).astype(np.float32)
    D[:-1][rng.random((rows, width)) < forbidden] = -np.inf
    D[:, n:] = -np.inf
    return s, D


def scored(s, D, n, order):
    """All sequences with their scores, those first that win ties."""
    found = []
    for labels in naive.sequences(range(n), len(s)):
        total, z, x = 0.0, n, n
        for i, y in enumerate(labels):
            total += s[i, y] + D[z * (n + 1) + x if order == 2 else z, y]
            z, x = y, z
        found.append((total + D[-1, z], labels))
    return found


cases = st.tuples(
    st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 4), st.sampled_from([1, 2])
)


def decode(s, D, n, order, beam=None):
    m = len(s)
    v = np.empty((m * (n + 1 if order == 2 else 1), 8), np.float32)
    path = np.empty(m, np.uint32)
    turned = np.empty((n + 1, 8), np.float32)
    best = path_loop(s, np.uint64(m), np.uint64(n), D, order, beam, v, turned, path)
    return best, tuple(path.tolist())


@jit()
def path_loop(s, m, n, D, order, beam, v, turned, path):
    return best_path(s, m, n, D, order, beam, v, turned, path)


def score_of(s, D, n, order, labels):
    labels = np.array(labels, np.uint32)
    return path_score(s, np.uint64(len(s)), np.uint64(n), D, order, labels, True)


@given(cases, st.sampled_from([0.0, 0.3]))
def test_viterbi_is_brute_force(case, forbidden):
    seed, m, n, order = case
    s, D = lattice(seed, m, n, order, forbidden)
    best = max(scored(s, D, n, order), key=lambda one: one[0])
    if best[0] > -np.inf:
        assert decode(s, D, n, order) == best
        assert score_of(s, D, n, order, best[1]) == best[0]


@given(cases, st.integers(1, 30))
def test_a_beam_is_exact_if_large_and_never_better(case, beam):
    seed, m, n, order = case
    s, D = lattice(seed, m, n, order)
    exact, path = decode(s, D, n, order)
    found, other = decode(s, D, n, order, beam)
    assert found <= exact
    assert score_of(s, D, n, order, other) == found
    if beam >= n**order:
        assert (found, other) == (exact, path)


@given(cases, st.integers(1, 6), st.sampled_from([0.0, 0.3]))
def test_n_best_are_the_best(case, many, forbidden):
    seed, m, n, order = case
    s, D = lattice(seed, m, n, order, forbidden)
    everything = [one for one in scored(s, D, n, order) if one[0] > -np.inf]
    paths, scores = np.zeros((many, m), np.int64), np.zeros(many)
    count = n_best(s, m, n, D, order, many, paths, scores)
    wanted = sorted((one[0] for one in everything), reverse=True)[:many]
    assert scores[:count].tolist() == wanted
    by_path = {labels: total for total, labels in everything}
    found = [tuple(path) for path in paths[:count].tolist()]
    assert len(set(found)) == count
    assert [by_path[path] for path in found] == wanted


@given(cases, st.sampled_from([0.0, 0.3]), st.sampled_from([0.0, 0.25, 3.0]))
def test_scores_through_every_label_are_brute_force(case, forbidden, temperature):
    seed, m, n, order = case
    s, D = lattice(seed, m, n, order, forbidden)
    through = np.empty((m, n))
    score_through(s, m, n, D, order, temperature, through)
    totals = [[[] for _ in range(n)] for _ in range(m)]
    for total, labels in scored(s, D, n, order):
        for i, y in enumerate(labels):
            totals[i][y].append(total)
    with np.errstate(divide="ignore"):
        wanted = [
            [
                temperature * np.log(sum(np.exp(np.array(some, float) / temperature)))
                if temperature
                else max(some)
                for some in row
            ]
            for row in totals
        ]
    if temperature:
        np.testing.assert_allclose(through, wanted, rtol=1e-12, atol=1e-12)
    else:
        assert np.array_equal(through, wanted)


@pytest.mark.parametrize(
    ("order", "n"), [*product([1], [5, 8, 9, 16, 17, 40, 70]), *product([2], [5, 8, 9, 16, 17])]
)
def test_rows_of_every_width(n, order):
    """Narrow rows are padded, wide ones read in blocks: compared with a plain dynamic program."""
    rng = np.random.default_rng(n)
    tagger = Tagger(order, templates=naive.TEMPLATES, epochs=1, bits=None, random_state=0)
    tags = [f"T{k:02d}" for k in range(n)]
    tagger.fit([[f"w{k}" for k in range(n)]], [tags])
    W = tagger.model_.W.copy()
    W[1:, :n] = rng.integers(-3, 4, (len(W) - 1, n))
    model = replace(tagger.model_, W=W)
    sentence = [f"w{k}" for k in rng.integers(n, size=6)]
    answer = model.tag(sentence)
    table = transition_table(model.W, model.allowed, n, order)
    scores = np.zeros((6, table.shape[1]), np.float32)
    for i in range(6):
        for name in naive.words_of(sentence, i):
            scores[i, :n] += [model.weight(name, tag) for tag in tags]
    labels = [tags.index(tag) for tag in answer]
    assert model.n_best(sentence, 1)[0].score == score_of(scores, table, n, order, labels)


# Learning


def named_weights(model):
    """The weights of a model as the twin has them."""
    found = {}
    tags, n = [*model.tags, None], len(model.tags)
    for weight in model.top_features(10**9):
        found[weight.feature, weight.tag] = weight.weight
    T = model.W[model.features :]
    for i, before in enumerate(tags):
        for j, tag in enumerate(model.tags):
            found[("after", before), tag] = T[i, j]
    for j, tag in enumerate(model.tags):
        found["end", tag] = T[n + 1, j]
    if model.order == 2:
        for i, j, k in product(range(n + 1), range(n + 1), range(n)):
            row = n + 2 + i * (n + 1) + j
            found[("after", tags[i], tags[j]), tags[k]] = T[row, k]
    return {key: float(x) for key, x in found.items() if x != 0.0}


def same_weights(found, wanted, tolerance):
    for key in set(found) | set(wanted):
        assert found.get(key, 0.0) == pytest.approx(float(wanted.get(key, 0)), abs=tolerance), key


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("rule", "C"), [("perceptron", 1.0), ("pa1", 0.125), ("pa1", 100.0)])
def test_learning_is_the_naive_program(order, rule, C):
    sentences, tags = made_sentences(1, count=12, words=8, longest=5)
    sentences.insert(3, [])
    tags.insert(3, [])
    settings = {"templates": naive.TEMPLATES, "rule": rule, "epochs": 3, "bits": None}
    settings |= {} if rule == "perceptron" else {"C": C}
    last, average, mistakes, longest = naive.learn(sentences, tags, "ABC", order, 3, rule, C)
    for keep, wanted in (("last", last), ("average", average)):
        tagger = Tagger(order, keep=keep, shuffle=False, **settings).fit(sentences, tags)
        assert tagger.history_["mistakes"].tolist() == mistakes
        assert pytest.approx(longest) == tagger.certificate_.R**2
        same_weights(named_weights(tagger.model_), wanted, 1e-6 if rule == "pa1" else 1e-7)


@pytest.mark.parametrize("update", ["early", "max-violation"])
@pytest.mark.parametrize("beam", [1, 2])
def test_learning_with_a_beam_is_the_naive_program(update, beam):
    sentences, tags = made_sentences(2, count=15, words=8, longest=6)
    wanted = naive.learn_with_beam(sentences, tags, "ABC", beam, update, 2)
    tagger = Tagger(
        templates=naive.TEMPLATES,
        rule="perceptron",
        keep="last",
        search="beam",
        beam=beam,
        update=update,
        epochs=2,
        bits=None,
        shuffle=False,
    ).fit(sentences, tags)
    same_weights(named_weights(tagger.model_), wanted, 0.0)


def test_a_beam_that_keeps_all_learns_what_viterbi_learns():
    sentences, tags = made_sentences(3)
    for order in (1, 2):
        exact = Tagger(order, bits=12, epochs=2, random_state=0).fit(sentences, tags)
        beam = Tagger(
            order, bits=12, epochs=2, random_state=0, search="beam", beam=99, update="whole"
        ).fit(sentences, tags)
        assert np.array_equal(exact.model_.W, beam.model_.W)


def test_cost_augmented_learning_leads_by_more():
    sentences, tags = made_sentences(4, count=20)
    plain, more = (
        Tagger(bits=None, epochs=30, C=1.0, keep="last", cost_augmented=cost, random_state=0).fit(
            sentences, tags
        )
        for cost in (False, True)
    )
    assert plain.history_.stopped == "no mistakes"
    assert more.score(sentences, tags) == 1.0
    least = [
        min(min(tagger.margins(sentence)) for sentence in sentences) for tagger in (plain, more)
    ]
    assert least[1] > least[0]


@pytest.mark.parametrize("order", [1, 2])
def test_mistakes_stay_below_their_bound(order):
    sentences, tags = made_sentences(20, count=20)
    tagger = Tagger(order, rule="perceptron", keep="last", epochs=99, bits=None, random_state=0)
    found = tagger.fit(sentences, tags).certify(sentences, tags)
    assert tagger.history_.stopped == "no mistakes"
    assert found.mistakes <= found.bound
    W = tagger.model_.W.astype(float)
    leads = []
    for words, right in zip(sentences, tags, strict=True):
        answers = tagger.n_best(words, 2)
        assert answers[0].tags == right
        leads.append(answers[0].score - answers[1].score)
    assert found.margin == pytest.approx(min(leads) / np.sqrt(np.sum(W * W)))
    wrong = [[tag[::-1] for tag in reversed(one)] for one in tags]
    assert tagger.certify(sentences, wrong).margin < 0.0
    assert tagger.certify(sentences, wrong).bound is None


def test_hashing_without_collisions_is_the_dictionary():
    sentences, tags = made_sentences(5)
    exact = Tagger(templates=naive.TEMPLATES, bits=None, random_state=0).fit(sentences, tags)
    hashed = Tagger(templates=naive.TEMPLATES, bits=16, random_state=0).fit(sentences, tags)
    assert named_weights(exact.model_) == named_weights(hashed.model_)
    unseen = made_sentences(6, words=60)[0]
    assert exact.predict(unseen) == hashed.predict(unseen)


def test_a_committee_is_the_mean_of_its_members():
    sentences, tags = made_sentences(21)
    rngs = np.random.default_rng(5).spawn(3)
    members = [Tagger(bits=12, epochs=2, random_state=rng).fit(sentences, tags) for rng in rngs]
    mean = np.mean([member.model_.W for member in members], axis=0)
    found, same = (
        Tagger(bits=12, epochs=2, committee=3, n_jobs=jobs, random_state=5).fit(sentences, tags)
        for jobs in (None, 2)
    )
    assert np.array_equal(found.model_.W, same.model_.W)
    assert found.history_["mistakes"].tolist() == same.history_["mistakes"].tolist()
    np.testing.assert_allclose(found.model_.W, mean, atol=1e-6)
    mistakes = [count for member in members for count in member.history_["mistakes"]]
    assert found.history_["mistakes"].tolist() == mistakes


def test_an_error_stops_the_work_beside_it():
    told = threading.Event()

    def work(part):
        if part == 0:
            raise ValueError("no")
        assert told.wait(20)

    with pytest.raises(ValueError, match="no"):
        run_all(work, range(2), 2, told.set)


def test_a_committee_that_is_stopped():
    """Whoever watches stops all members, and what they learned until then is kept."""
    sentences, tags = made_sentences(21)
    seen = []

    def watch(moment):
        seen.append(moment.epoch)
        return moment.epoch == 2

    tagger = Tagger(bits=12, epochs=500, committee=4, n_jobs=2, random_state=5)
    tagger.fit(sentences, tags, watch=watch)
    assert tagger.history_.stopped == "interrupted"
    assert max(seen) == 2
    assert len(tagger.history_) < 500
    assert tagger.tag(sentences[0])


def test_the_same_seed_learns_the_same():
    sentences, tags = made_sentences(7)
    one, two, other = (
        Tagger(bits=12, epochs=2, random_state=seed).fit(sentences, tags).model_.W
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_a_dictionary_that_grows_while_reading():
    words = [[f"{k}-{j}" for j in range(50)] for k in range(120)]
    tagger = Tagger(bits=None, epochs=1, random_state=0).fit(words, [["A", "B"] * 25] * 120)
    assert tagger.model_.features > 2**16 // 4
    assert tagger.model_.weight("word[0]=nothing", "A") == 0.0
    assert tagger.predict(words[:5]) == [["A", "B"] * 25] * 5


# Constraints


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("order", [1, 2])
def test_no_scheme_is_ever_broken(scheme, order):
    sentences, tags = made_sentences(8, count=60, tags=["O", "B-X", "I-X", "B-Y", "I-Y"])
    starts = np.cumsum([0, *map(len, tags)])
    flat = convert_tags([tag for sentence in tags for tag in sentence], scheme, starts)
    tags = [flat[a:b] for a, b in pairwise(starts)]
    tagger = Tagger(order, bits=12, epochs=2, scheme=None, random_state=0).fit(sentences, tags)
    assert tagger.model_.scheme == scheme
    for search in ({"search": "exact"}, {"search": "beam", "beam": 3}):
        tagger.set_params(**search).fit(sentences, tags)
        unseen = made_sentences(9, count=200, words=500)[0]
        found = tagger.predict(unseen)
        bounds = np.cumsum([0, *map(len, found)])
        assert find_illegal([tag for one in found for tag in one], bounds, scheme) == []
        answers = tagger.n_best(unseen[0], 10)
        assert all(find_illegal(answer.tags, None, scheme) == [] for answer in answers)


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2"])
@pytest.mark.parametrize("learned", ["IOBES", "BILOU", "IOB2"])
def test_spans_are_learned_in_one_scheme_and_given_back_in_another(scheme, learned, tmp_path):
    sentences, tags = made_sentences(18, count=60, tags=["O", "B-X", "I-X", "B-Y", "I-Y"])
    starts = np.cumsum([0, *map(len, tags)])
    flat = convert_tags([tag for sentence in tags for tag in sentence], scheme, starts)
    tags = [flat[a:b] for a, b in pairwise(starts)]
    tagger = Tagger(bits=14, epochs=60, C=1.0, scheme=learned, random_state=0).fit(sentences, tags)
    assert tagger.model_.scheme == learned
    assert tagger.history_.stopped == "no mistakes"
    tagger.model_.save(tmp_path / "model.wm")
    for model in (tagger, load_tagger(tmp_path / "model.wm")):
        assert model.score(sentences, tags) > 0.95
        found = [tag for words in sentences for tag in model.tag(words)]
        assert find_illegal(found, starts, scheme) == []
        assert found == [tag for one in model.predict(sentences) for tag in one]
        assert model.n_best(sentences[0], 1)[0].tags == model.tag(sentences[0])


span_tags = st.lists(st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])), min_size=1)


@given(span_tags, st.sampled_from(["IOBES", "BILOU", "IOB2"]))
def test_recoding_is_converting(tags, scheme):
    flat = [tag for sentence in tags for tag in sentence]
    starts = np.cumsum([0, *map(len, tags)])
    codes, names = recode(flat, starts, scheme)
    converted = convert_tags(flat, scheme, starts)
    assert [names[code] for code in codes] == converted
    plain = [plain_tag(tag, scheme) for tag in converted]
    assert plain == convert_tags(flat, "IOB2", starts)


@given(span_tags)
def test_schemes_are_recognised_as_in_spans(tags):
    flat = [tag for sentence in tags for tag in sentence]
    starts = np.cumsum([0, *map(len, tags)])
    names = sorted(set(flat))
    codes = np.array([names.index(tag) for tag in flat], np.uint16)
    counts = count_transitions(codes, starts, len(names))
    assert scheme_of_transitions(names, counts) == scheme_of(flat, starts)


def test_only_transitions_that_were_seen():
    tagger = Tagger(constraints="seen", epochs=1, random_state=0).fit(SENTENCES, TAGS)
    seen = {pair for tags in TAGS for pair in zip([None, *tags], [*tags, None], strict=True)}
    allowed = {pair for pair, weight in tagger.model_.transitions().items() if weight > -np.inf}
    assert allowed == seen
    for sentence in made_sentences(1)[0]:
        tags = tagger.tag(sentence)
        assert set(zip([None, *tags], [*tags, None], strict=True)) <= seen


@pytest.mark.parametrize("constraints", ["auto", "seen", None])
@pytest.mark.parametrize("scheme", ["IOB1", "IOB2"])
def test_spans_are_converted_back_whatever_the_constraints(constraints, scheme, tmp_path):
    given = [["O", "B-X", "I-X", "B-X"], ["B-Y", "O", "B-X"], ["B-X", "I-X", "O", "B-Y"]]
    tags = [convert_tags(one, scheme) for one in given]
    words = [["o", "x", "i", "x"], ["y", "o", "x"], ["x", "i", "o", "y"]]
    held_out = [[*one, *two] for one, two in pairwise(words)]
    right = [convert_tags([*one, *two], scheme) for one, two in pairwise(given)]
    tagger = Tagger(constraints=constraints, epochs=20, validation=(held_out, right))
    tagger.set_params(patience=None, random_state=0).fit(words, tags)
    assert (tagger.model_.given_scheme, tagger.model_.scheme) == (scheme, "IOBES")
    assert tagger.predict(words) == tags
    assert tagger.classes_.tolist() == ["B-X", "B-Y", "I-X", "O"]
    predicted = [tag for one in tagger.predict(held_out) for tag in one]
    starts = np.cumsum([0, *map(len, held_out)])
    spans = measure_spans([tag for one in right for tag in one], predicted, starts)
    assert tagger.history_.epochs[-1].held_out == spans.overall.f1
    tagger.save(tmp_path / "t.wm")
    assert load_tagger(tmp_path / "t.wm").predict(words) == tags


def test_tags_that_are_missing_are_named():
    with pytest.raises(DataError, match="sentence 2: its tags are None, not a list"):
        Tagger(bits=10).fit([["a"], ["b"]], [["A"], None])


def test_spans_of_single_tokens_have_the_templates_of_spans():
    words = {"word": [["in", "Rome"], ["by", "Bonn"]], "pos": [["P", "N"], ["P", "N"]]}
    tagger = Tagger(bits=10, epochs=1, random_state=0).fit(words, [["O", "B-LOC"]] * 2)
    assert tagger.model_.templates.columns.inputs == ["pos"]


def test_illegal_transitions_in_the_training_data_stay_possible():
    tags = [["O", "I-X"], ["B-X", "I-X"], ["B-X", "O"]]
    sentences = [["a", "b"], ["c", "b"], ["c", "a"]]
    tagger = Tagger(epochs=20, C=1.0, scheme=None, random_state=0).fit(sentences, tags)
    assert tagger.model_.scheme == "IOB2"
    assert tagger.tag(["a", "b"]) == ["O", "I-X"]


def test_a_tag_dictionary_decides():
    known = {"the": ["D"], "zzz": ["A", "V"]}
    tagger = Tagger(tag_dictionary=known, epochs=3, random_state=0).fit(SENTENCES, TAGS)
    for words in product(["the", "zzz", "dog", "unknown"], repeat=3):
        for word, tag in zip(words, tagger.tag(list(words)), strict=True):
            assert tag in known.get(word, "ADNV")
    learned = Tagger(tag_dictionary=2, epochs=1, random_state=0).fit(SENTENCES, TAGS)
    assert learned.tag(["the"]) == ["D"]
    assert len(learned.tag(["is", "is", "dogs", "the"])) == 4


def test_a_dictionary_that_leaves_no_way_gives_way():
    tags = [["B-X", "I-X"], ["O", "B-X"]]
    known = {"b": ["I-X"]}
    tagger = Tagger(tag_dictionary=known, random_state=0).fit([["a", "b"], ["c", "d"]], tags)
    assert find_illegal(tagger.tag(["b"]), None, "IOB2") == []
    assert tagger.n_best(["b"], 1)[0].tags == tagger.tag(["b"])
    assert tagger.tag(["a", "b"]) == ["B-X", "I-X"]


# Answers


@pytest.mark.parametrize("order", [1, 2])
def test_n_best_and_margins_agree_with_tagging(order):
    sentences, tags = made_sentences(10)
    tagger = Tagger(order, bits=12, epochs=3, random_state=0).fit(sentences, tags)
    for sentence in made_sentences(11, count=10, words=50, longest=5)[0]:
        answers = tagger.n_best(sentence, 3 ** len(sentence))
        assert answers[0].tags == tagger.tag(sentence)
        assert len(answers) == 3 ** len(sentence)
        for i, margin in enumerate(tagger.margins(sentence)):
            other = next(one for one in answers if one.tags[i] != answers[0].tags[i])
            assert margin == pytest.approx(answers[0].score - other.score, abs=1e-9)


def test_many_threads_are_one(monkeypatch):
    monkeypatch.setattr("widemargin.structured.tagger.model._PIECE", 50)
    sentences, tags = made_sentences(12, count=300)
    tagger = Tagger(bits=12, epochs=1, random_state=0).fit(sentences, tags)
    one = tagger.predict(sentences)
    assert one == tagger.predict(sentences, n_jobs=3) == [tagger.tag(words) for words in sentences]


def test_empty_and_long_sentences_and_unseen_words():
    tagger = Tagger(epochs=50, C=1.0, keep="last", random_state=0)
    tagger.fit([*SENTENCES, []], [*TAGS, []])
    assert tagger.predict([]) == []
    assert tagger.predict([[], ["dogs", "bark"], []]) == [[], ["N", "V"], []]
    assert tagger.tag([]) == []
    assert tagger.margins([]).tolist() == []
    assert tagger.n_best([]) == [([], 0.0)]
    assert len(tagger.tag(["", "\u0000", "\U0010ffff", "ΑΣ"])) == 4
    long = ["the", "dog", "barks", "unheard-of"] * 10_000
    found = tagger.tag(long)
    assert len(found) == len(long)
    assert found[:3] == ["D", "N", "V"]
    second = Tagger(2, epochs=2, random_state=0).fit(SENTENCES, TAGS)
    assert len(second.tag(long[:5_000])) == 5_000


def test_one_tag_is_enough():
    tagger = Tagger(epochs=1).fit([["a", "b"]], [["X", "X"]])
    assert tagger.tag(["c"]) == ["X"]
    assert tagger.margins(["c"]).tolist() == [np.inf]


def test_all_ways_to_give_sentences(tmp_path):
    pos = [[word[:1] for word in words] for words in SENTENCES]
    templates = ["word", "pos", "pos[-1]|pos[0]"]
    columns = {"word": SENTENCES, "pos": pos}
    tuples = [list(zip(a, b, strict=True)) for a, b in zip(SENTENCES, pos, strict=True)]
    lines = [
        "".join(f"{w} {p} {t}\n" for w, p, t in zip(*three, strict=True))
        for three in zip(SENTENCES, pos, TAGS, strict=True)
    ]
    path = tmp_path / "train.txt"
    path.write_text("\n".join(lines))
    settings = {"templates": templates, "epochs": 3, "random_state": 0, "bits": 10}
    fits = [
        Tagger(**settings).fit(columns, TAGS),
        Tagger(**settings).fit(tuples, TAGS),
        Tagger(**settings).fit(path),
        Tagger(**settings).fit(str(path), column="chunk"),
        Tagger(**settings).fit(Corpus.of(columns), TAGS),
    ]
    for tagger in fits:
        assert np.array_equal(tagger.model_.W, fits[0].model_.W)
    expected = fits[0].predict(columns)
    assert fits[2].predict(path) == fits[1].predict(tuples) == expected
    assert fits[0].tag(SENTENCES[0], pos=pos[0]) == fits[0].tag(tuples[0]) == expected[0]
    assert fits[2].score(path) == fits[0].score(columns, TAGS)


def conllu(sentences, tags):
    blocks = []
    for words, its in zip(sentences, tags, strict=True):
        lines = [
            "\t".join([str(k + 1), word, "_", tag, tag, "_", str(k), "dep", "_", "_"])
            for k, (word, tag) in enumerate(zip(words, its, strict=True))
        ]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks) + "\n"


def test_from_conllu_with_early_stopping(tmp_path):
    sentences, tags = made_sentences(13, count=80)
    train, dev = tmp_path / "train.conllu", tmp_path / "dev.conllu"
    train.write_text(conllu(sentences[:60], tags[:60]))
    dev.write_text(conllu(sentences[60:], tags[60:]))
    tagger = Tagger(bits=12, epochs=12, validation=dev, patience=2, random_state=0)
    tagger.fit(train, column="upos")
    held_out = tagger.history_["held_out"]
    assert tagger.history_.best == 1 + int(np.argmax(held_out))
    assert tagger.score(dev) == pytest.approx(held_out.max())
    assert tagger.score(sentences[60:], tags[60:]) == tagger.score(dev)
    share = Tagger(bits=12, epochs=3, validation=0.25, random_state=0).fit(train)
    assert len(share.history_["held_out"]) <= 3
    assert share.certificate_.n == 45
    assert tagger.predict(dev) == tagger.predict(sentences[60:])


def test_learning_can_be_watched_and_stopped():
    seen = []

    def watch(moment):
        seen.append(moment.epoch)
        return moment.epoch == 3

    sentences, tags = made_sentences(19)
    tagger = Tagger(epochs=9, random_state=0, validation=(SENTENCES, TAGS), patience=9)
    tagger.fit(sentences, tags, watch=watch)
    assert seen == [1, 2, 3]
    assert tagger.history_.stopped == "interrupted"


# Files


@pytest.mark.parametrize("bits", [12, None])
def test_saved_loaded_pickled(tmp_path, bits):
    sentences, tags = made_sentences(14)
    tagger = Tagger(bits=bits, tag_dictionary=5, epochs=3, random_state=0).fit(sentences, tags)
    unseen = made_sentences(15, words=60)[0]
    expected = tagger.predict(unseen)
    path = tmp_path / "model.wm"
    tagger.save(path)
    loaded = widemargin.load(path)
    assert isinstance(loaded, Tagger)
    assert loaded.get_params() == tagger.get_params()
    again = pickle.loads(pickle.dumps(tagger))
    for other in (loaded, again):
        assert other.predict(unseen) == expected
        assert np.array_equal(other.model_.W, tagger.model_.W)
        assert other.top_features(30) == tagger.top_features(30)
        assert other.history_["mistakes"].tolist() == tagger.history_["mistakes"].tolist()
        assert other.certificate_.R == tagger.certificate_.R
    assert load_tagger(path).predict(unseen) == expected
    tagger.save(path, names=False)
    bare = widemargin.load(path)
    assert bare.predict(unseen) == expected
    with pytest.raises(DataError, match="names"):
        bare.top_features()


@pytest.mark.parametrize("bits", [12, None])
def test_pruned_and_rounded(tmp_path, bits):
    sentences, tags = made_sentences(16)
    model = Tagger(bits=bits, epochs=3, random_state=0).fit(sentences, tags).model_
    unseen = made_sentences(17, words=60)[0]
    pruned = model.prune()
    assert pruned.predict(unseen) == model.predict(unseen)
    assert pruned.features <= 1 + np.count_nonzero(np.any(model.W[: model.features], axis=1))
    assert named_weights(pruned) == named_weights(model)
    smaller = model.prune(0.05)
    assert smaller.features < pruned.features
    assert np.abs(smaller.W[1 : smaller.features]).max(axis=1).min() > 0.05
    half = smaller.rounded()
    assert np.abs(half.W - smaller.W).max() <= 2.0**-11 * np.abs(smaller.W).max()
    for k, one in enumerate((pruned, smaller, half)):
        one.save(tmp_path / f"{k}.wm")
        loaded = load_tagger(tmp_path / f"{k}.wm")
        assert loaded.predict(unseen) == one.predict(unseen)
        assert np.array_equal(loaded.W, one.W)
    sizes = [os.path.getsize(tmp_path / f"{k}.wm") for k in range(3)]
    assert sizes[0] > sizes[1] > sizes[2]
    W = model.W.copy()
    W[0, 0] = 1e6
    with pytest.raises(DataError, match="16 bits"):
        replace(model, W=W).rounded()


@pytest.mark.parametrize("largest", [1.0, 3.0, 1e30, 0.0])
def test_weights_that_answer(largest):
    """They are multiples of a power of two, or, where that is too coarse, what was learned."""
    rng = np.random.default_rng(3)
    n, width = 5, 8
    W = rng.normal(0.0, 0.1, (40, width)).astype(np.float32)
    W[7, 2] = largest
    W = W if largest else np.zeros_like(W)
    found = answering(W, np.ones((n + 1, n + 1), bool), n, 1)
    assert np.log2(found.unit) % 1.0 == 0.0
    assert np.abs(found.W * found.unit - W).max() <= found.unit / 2
    if largest > 1e3:
        assert found.unit == 1.0
        assert np.array_equal(found.W, W)
    else:
        assert found.W.dtype == np.int16
        assert np.array_equal(found.D[:-1, :n], found.W[-n - 2 : -1, :n])
        assert 2.0**-15 * largest <= found.unit < 2.0**-13 * largest or not largest


@pytest.mark.parametrize("labels", [33, 40, 63])
def test_rows_in_two_parts_are_the_same_rows(labels):
    rng = np.random.default_rng(labels)
    W = rng.integers(-9, 10, (5000, row_width(labels, 1))).astype(np.int16)
    W[:, labels:] = 0
    often = rng.choice(labels, 31, replace=False)
    W[np.ix_(rng.random(len(W)) < 0.9, np.setdiff1d(np.arange(labels), often))] = 0
    heads, (tails, swaps) = split_rows(W, labels)
    ours, theirs = swaps.T
    assert len(heads) == len(W)
    assert len(tails) < 0.2 * len(W)
    found = np.concatenate([heads[:, :31], tails[heads[:, 31]]], axis=1)[:, :labels]
    found[:, ours], found[:, theirs] = found[:, theirs], found[:, ours]
    assert np.array_equal(found, W[:, :labels])


def test_rows_stay_in_one_part():
    """Where they fit into a cache line, have no room for the number of their tail, or need many."""
    for labels, width in ((31, 32), (48, 48), (64, 64), (70, 80)):
        assert split_rows(np.zeros((10, width), np.int16), labels) is None
    assert split_rows(np.ones((1 << 15, 48), np.int16), 40) is None
    assert split_rows(np.ones(((1 << 15) - 1, 48), np.int16), 40) is not None


@pytest.mark.parametrize("search", [{"search": "exact"}, {"search": "beam", "beam": 40}])
def test_many_tags_are_found_in_rows_of_two_parts(search):
    """The best tags are those that are found with the rows as they were learned."""
    sentences, tags = made_sentences(18, words=60, tags=string.ascii_letters[:40])
    tagger = Tagger(templates=naive.TEMPLATES, epochs=2, **search, random_state=0)
    model = tagger.fit(sentences, tags).model_
    assert model.answering_weights.tails is not None
    for sentence in made_sentences(19, words=60)[0][:20]:
        assert model.tag(sentence) == model.n_best(sentence, 1)[0].tags


def test_scores_of_16_bits_are_those_of_floats():
    """To the bit: the unit is a power of two."""
    sentences, tags = made_sentences(16)
    tagger = Tagger(2, templates=naive.TEMPLATES, epochs=3, bits=None, random_state=0)
    model = tagger.fit(sentences, tags).model_
    W, _, unit, *_ = model.answering_weights
    assert W.dtype == np.int16
    model, n = replace(model, W=W * np.float32(unit)), len(model.tags)
    table = transition_table(model.W, model.allowed, n, model.order)
    for sentence in made_sentences(17, words=60)[0][:20]:
        scores = np.zeros((len(sentence), table.shape[1]), np.float32)
        for i in range(len(sentence)):
            for name in naive.words_of(sentence, i):
                scores[i, :n] += [model.weight(name, tag) for tag in model.tags]
        for answer, score in model.n_best(sentence, 3):
            labels = [model.tags.index(tag) for tag in answer]
            assert score == score_of(scores, table, n, model.order, labels)


def test_another_model_is_no_tagger(tmp_path):
    path = tmp_path / "model.wm"
    widemargin.Perceptron(epochs=1).fit([[0.0], [1.0]], [0, 1]).save(path)
    with pytest.raises(ModelFileError, match="not a tagger"):
        load_tagger(path)
    Tagger(epochs=1).fit(SENTENCES, TAGS).save(path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="altered"):
        load_tagger(path)


# Errors


@pytest.mark.parametrize(
    "params",
    [
        {"order": 3},
        {"rule": "logistic"},
        {"keep": "vote"},
        {"C": 0.0},
        {"epochs": 0},
        {"committee": 0},
        {"bits": 40},
        {"constraints": "IOB3"},
        {"scheme": "IOB3"},
        {"search": "depth"},
        {"beam": 0},
        {"update": "late"},
        {"templates": "names"},
        {"validation": 1.5},
        {"tag_dictionary": -1},
        {"max_seconds": 0},
    ],
)
def test_a_wrong_parameter_is_named(params):
    (name,) = params
    with pytest.raises(ValueError, match=name):
        Tagger(**params).fit(SENTENCES, TAGS)


@pytest.mark.parametrize(
    ("sentences", "tags", "told"),
    [
        ([], [], "no token"),
        ([["a", "b"]], [["X"]], "sentence 1"),
        ([["a"], ["b"]], [["X"]], "sentences"),
        (["a b"], [["X", "Y"]], "list of strings"),
        ([["a", 3]], [["X", "Y"]], "sentence 1"),
        ([["a"]], [[1]], "sentence 1"),
        ([[("a", "b", "c", "d")]], [["X"]], "columns"),
    ],
)
def test_bad_sentences_are_told(sentences, tags, told):
    with pytest.raises(DataError, match=told):
        Tagger().fit(sentences, tags)


def test_bad_questions_are_told():
    tagger = Tagger(epochs=1)
    with pytest.raises(AttributeError, match="fit"):
        tagger.tag(["a"])
    tagger.fit(SENTENCES, TAGS)
    with pytest.raises(DataError, match="string"):
        tagger.tag("a b")
    with pytest.raises(DataError, match="token 1"):
        tagger.tag(["a", None])
    with pytest.raises(DataError, match="sentence 2: 'word' holds 3, of type int"):
        tagger.predict([["a"], ["b", 3]])
    with pytest.raises(DataError, match="no tag 'Q'"):
        tagger.top_features(3, "Q")
    with pytest.raises(DataError, match="no token"):
        tagger.score([], [])
    with pytest.raises(DataError, match="give a list of tags from"):
        Tagger(tag_dictionary={"a": ["Q"]}).fit(SENTENCES, TAGS)
    with pytest.raises(ValueError, match="Tagger has no parameter"):
        tagger.set_params(depth=3)


def test_the_garbage_collector_rests_while_tags_are_given():
    tagger = Tagger(epochs=1, random_state=0).fit(SENTENCES, TAGS)
    seen = []

    def read(sentences):
        for sentence in sentences:
            seen.append(gc.isenabled())
            yield sentence

    tagger.predict(read(SENTENCES))
    assert not any(seen)
    assert gc.isenabled()
    with pytest.raises(DataError):
        tagger.predict([["a", 3]])
    assert gc.isenabled()


# The compiler, and what is imported

SCRIPT = """
from widemargin.structured.tagger.tagger import Tagger
sentences = [["the", "Dog", "barks", "2"], ["dogs", "Bark"], [], ["Σας"]]
tags = [["B-X", "I-X", "O", "B-Y"], ["O", "B-X"], [], ["O"]]
for order, bits, search in ((1, 6, {}), (2, None, {}), (2, 6, {"search": "beam", "beam": 2})):
    tagger = Tagger(order, bits=bits, **search, epochs=2, random_state=0,
                    tag_dictionary={"dogs": ["O", "B-X"]}).fit(sentences, tags)
    print(tagger.model_.W.sum(axis=1).tobytes().hex()[:4000], tagger.predict(sentences))
    print(tagger.n_best(sentences[0], 2), tagger.margins(sentences[0]).tolist())
"""


def test_interpreted_is_compiled():
    compiled, interpreted = told_by_both(SCRIPT)
    assert compiled == interpreted


def test_tagging_needs_no_scikit_learn():
    script = (
        "import sys; from widemargin.structured.tagger.tagger import Tagger;"
        " Tagger(bits=6).fit([['a']], [['B']]); print('sklearn' in sys.modules)"
    )
    assert run_python("-c", script).strip() == "False"
