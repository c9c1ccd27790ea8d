"""The structured perceptron and its tasks: lectures L34 to L37, laws, naive twins."""

# ruff: noqa: N802 - tests carry the numbers of the items

import itertools
import math
import random
import runpy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import tries

from widemargin import Perceptron
from widemargin.errors import DataError, ModelFileError
from widemargin.modelfile.files import read_model_file, write_model_file
from widemargin.modelfile.packing import pack_value, unpack_value
from widemargin.structured import Score, StructuredPerceptron, Task, check_decoder
from widemargin.structured.beam import find_violation, search
from widemargin.structured.tasks import Alignment, Constituents, Matching, Reranking, Tagging

EXAMPLES = Path(__file__).parents[2] / "examples"
GRAMMAR = ["S NP VP", "NP Det N", "NP NP PP", "VP V NP", "VP VP PP", "PP P NP"]
GRAMMAR += ["NP Papa", "N caviar", "N spoon", "V ate", "Det the", "Det a", "P with", "NP *"]
PAPA = ["Papa", "ate", "the", "caviar", "with", "a", "spoon"]
DT_NN = [["the", "dog"], ["dogs", "bark"], ["the", "cat", "barks"]]
DT_NN_TAGS = [("Det", "Noun"), ("Noun", "Verb"), ("Det", "Noun", "Verb")]


class Classes(Task):
    """Few classes: the features of x, once for each class."""

    def __init__(self, k=3):
        self.k = k

    def params(self):
        return {"k": self.k}

    def features(self, x, y):
        return {f"{j} {y}": value for j, value in enumerate(x) if value}

    def candidates(self, x):
        return range(self.k)


def naive_train(task, X, Y, epochs):
    """Collins' algorithm: every hypothesis that was ever current, as it was before each example."""
    w, hypotheses, mistakes = {}, [{}], 0

    def score(x, y):
        return sum(w.get(name, 0) * value for name, value in task.features(x, y).items())

    for _ in range(epochs):
        wrong = 0
        for x, y in zip(X, Y, strict=True):
            best = max(task.candidates(x), key=lambda c: score(x, c))
            if best != y:
                wrong += 1
                for name, value in task.features(x, y).items():
                    w[name] = w.get(name, 0) + value
                for name, value in task.features(x, best).items():
                    w[name] = w.get(name, 0) - value
            hypotheses.append(dict(w))
        mistakes += wrong
        if not wrong:
            break
    return hypotheses, mistakes


def some_classes(seed, n=30, d=4, k=3):
    rng = random.Random(seed)
    X = [tuple(rng.randint(-3, 3) for _ in range(d)) for _ in range(n)]
    return X, [rng.randrange(k) for _ in range(n)]


# L34: scores of named features, weights by hand


def test_L34_score_is_the_weighted_sum_of_named_features():
    task = Tagging(["Det", "Noun", "Verb"])
    model = StructuredPerceptron(task)
    model["Det Noun"], model["see Verb"] = 2.0, 3.0
    features = task.features(["the", "see"], ("Det", "Noun"))
    assert "Det Noun" in features
    assert Score(model.weights_)(features) == 2.0
    assert Score(model.weights_)({"Det Noun": 1.5, "see Verb": 2.0}) == 9.0
    assert model.predict_one(["the", "see"])[1] == "Verb"
    model["see Verb"] = 0.0
    assert model.predict_one(["the", "see"]) == ("Det", "Noun")


def test_L34_choose_among_classes_taggings_parses_and_translations():
    translations = [{"fluent": 0.1, "faithful": 1.0}, {"fluent": 1.0, "faithful": 0.2}]
    by_hand = StructuredPerceptron(Reranking()).set_weights({"fluent": 1.0, "faithful": 2.0})
    assert by_hand.predict([translations]) == [0]
    assert [y for _, y in by_hand.rank(translations)] == [0, 1]
    parser = StructuredPerceptron(Constituents(GRAMMAR))
    parser["VP VP PP"] = 1.0
    instrument = parser.predict_one(PAPA)
    assert instrument[2][2][0] == "PP"
    parser["NP NP PP"] = 2.0
    assert parser.predict_one(PAPA)[2][2][0] == "NP"  # caviar that has a spoon


def test_L34_learned_weights_are_read_and_edited_by_name():
    model = StructuredPerceptron(Tagging(["Det", "Noun", "Verb"]), random_state=0).fit(
        DT_NN, DT_NN_TAGS
    )
    assert model.predict(DT_NN) == DT_NN_TAGS
    assert model["the Det"] == model.weights_["the Det"] > 0 == model["never seen"]
    model["the Verb"] = 100.0
    assert model["the Verb"] == 100.0
    assert model.predict_one(["the", "dog"])[0] == "Verb"
    name, value, weight = model.explain(["the", "dog"])[0]
    assert (name, value, weight) == ("the Verb", 1.0, 100.0)
    assert model.top_features(1) == [("the Verb", 100.0)]


# L35: learning


@tries(15)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_L35_last_average_and_vote_are_those_of_the_naive_program(seed, epochs):
    X, Y = some_classes(seed, n=12)
    task = Classes()
    hypotheses, mistakes = naive_train(task, X, Y, epochs)
    models = {
        keep: StructuredPerceptron(task, keep=keep, epochs=epochs, shuffle=False).fit(X, Y)
        for keep in ("last", "average", "vote")
    }
    assert models["last"].history_.mistakes == mistakes
    names = set(hypotheses[-1])
    for name in names:
        assert models["last"][name] == hypotheses[-1][name]
        mean = sum(one.get(name, 0) for one in hypotheses) / len(hypotheses)
        assert models["average"][name] == pytest.approx(mean, abs=1e-9)
    for x in X[:4]:
        votes = [max(range(3), key=lambda c: Score(one)(task.features(x, c))) for one in hypotheses]
        most = max(votes.count(c) for c in range(3))
        assert votes.count(models["vote"].predict_one(x)) == most


@pytest.mark.filterwarnings("ignore::widemargin.NotSeparableWarning")
@tries(8)
@given(st.integers(0, 10**6))
def test_L35_few_classes_are_the_multiclass_perceptron(seed):
    X, Y = some_classes(seed)
    ours = StructuredPerceptron(Classes(), keep="last", epochs=5, shuffle=False).fit(X, Y)
    linear = Perceptron(
        keep="last", epochs=5, shuffle=False, fit_intercept=False, ties="predict"
    ).fit(np.array(X, float), np.array(Y))
    assert ours.history_["mistakes"].tolist() == linear.history_["mistakes"].tolist()
    for j, c in itertools.product(range(4), range(3)):
        assert ours[f"{j} {c}"] == linear.coef_[c, j]


@tries(13)
@given(st.integers(0, 10**6))
def test_L35_mistakes_stay_below_the_bound_of_a_known_separator(seed):
    rng = random.Random(seed)
    truth = {f"{j} {c}": rng.randint(-3, 3) for j in range(4) for c in range(3)}
    X, Y = [], []
    while len(X) < 20:
        x = tuple(rng.randint(-3, 3) for _ in range(4))
        scores = sorted((Score(truth)(Classes().features(x, c)), c) for c in range(3))
        if scores[2][0] > scores[1][0]:
            X.append(x)
            Y.append(scores[2][1])
        elif not any(truth.values()):
            return
    model = StructuredPerceptron(Classes(), epochs=500, log=True, random_state=0).fit(X, Y)
    certificate = model.certificate(truth, X, Y)
    differences = [
        {
            name: Classes().features(x, y).get(name, 0) - Classes().features(x, c).get(name, 0)
            for name in truth
        }
        for x, y in zip(X, Y, strict=True)
        for c in range(3)
        if c != y
    ]
    length = math.sqrt(sum(value**2 for value in truth.values()))
    gamma = min(sum(d[n] * truth[n] for n in truth) for d in differences) / length
    R = max(math.sqrt(sum(value**2 for value in d.values())) for d in differences)
    assert certificate.gamma.low == pytest.approx(gamma)
    assert certificate.bound == pytest.approx((R / gamma) ** 2)
    assert certificate.mistakes <= certificate.bound
    if model.history_.mistakes:
        assert certificate.inequalities_held
        seen = model.certificate(truth)  # over the mistakes that were made
        assert seen.mistakes <= seen.bound <= certificate.bound * (1 + 1e-9)


def test_L35_no_bound_is_claimed_where_the_theorem_is_silent():
    X, Y = some_classes(0, n=40)
    model = StructuredPerceptron(Classes(), epochs=3, log=True).fit(X, Y)
    assert "do not rank every right answer first" in model.certificate(X=X, Y=Y).no_bound
    assert (
        "rule pa1" in StructuredPerceptron(Classes(), rule="pa1").fit(X, Y).certificate().no_bound
    )
    silent = StructuredPerceptron(Classes(), epochs=3).fit(X, Y).certificate()
    assert "log=True" in silent.no_bound
    assert silent.R > 0
    by_hand = StructuredPerceptron(Classes(), log=True).set_weights({"0 1": 1.0}).fit(X, Y)
    assert "zero weights" in by_hand.certificate().no_bound


@settings(deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["pa", "pa1", "pa2"]), st.floats(0.01, 10))
def test_L35_passive_aggressive_steps_are_just_far_enough(seed, rule, C):
    X, Y = some_classes(seed, n=1)
    model = StructuredPerceptron(
        Classes(),
        rule=rule,
        **({} if rule == "pa" else {"C": C}),
        keep="last",
        epochs=1,
        log=True,
        shuffle=False,
    ).fit(X, Y)
    if not model.log_ or not model.log_[0].difference:
        return
    (_, difference, amount, _) = model.log_[0]
    squared = sum(value**2 for value in difference.values())
    exact = 1.0 / (squared + (1 / (2 * C) if rule == "pa2" else 0))
    assert amount == pytest.approx(min(exact, C) if rule == "pa1" else exact)
    lead = Score(model.last_weights_)(difference)
    assert lead <= 1 + 1e-9
    if rule == "pa":
        assert lead == pytest.approx(1.0)


def test_L35_costs_ask_for_a_larger_lead():
    task = Tagging(["A", "B"])
    X, Y = [["a", "b", "c"]], [("A", "B", "A")]
    plain = StructuredPerceptron(task, rule="pa", keep="last").fit(X, Y)
    wide = StructuredPerceptron(task, rule="pa", keep="last", cost_augmented=True, epochs=50).fit(
        X, Y
    )
    for model, enough in ((plain, False), (wide, True)):
        score = Score(model.weights_)
        right = score(task.features(X[0], Y[0]))
        leads = [
            right - score(task.features(X[0], y)) >= task.cost(Y[0], y) - 1e-6
            for y in task.candidates(X[0])
        ]
        assert all(leads) == enough


# L36: inference


def inputs_of(task):
    rng = random.Random(1)
    if isinstance(task, Tagging):
        return [[], ["a"], ["a", "b", "a"], ["b", "b", "c", "d"]]
    if isinstance(task, Alignment):
        return [("", ""), ("a", ""), ("abc", "bca"), ("abca", "acba"), (["x", "y"], ["y"])]
    if isinstance(task, Constituents):
        return [PAPA, PAPA[:4]]
    if isinstance(task, Matching):
        names = "abc"
        return [
            [[{rng.choice(names): rng.randint(-2, 2)} for _ in range(m)] for _ in range(n)]
            for n, m in [(0, 0), (1, 2), (3, 3), (3, 4)]
        ]
    return [[{"a": 1.0}, {"b": 2.0, "a": -1.0}], [{}]]


@pytest.mark.parametrize(
    "task",
    [Tagging(["A", "B", "C"]), Alignment(), Constituents(GRAMMAR), Matching(), Reranking()],
    ids=lambda task: type(task).__name__,
)
def test_L36_dynamic_programs_equal_brute_force(task):
    assert check_decoder(task, inputs_of(task), rounds=20) >= 20


def test_L36_the_check_finds_a_wrong_decoder():
    class Greedy(Tagging):
        def argmax(self, x, score):
            tags = ()
            for _ in x:
                tags = max(self.steps(x, tags), key=lambda step: score(step[0]))[1]
            return tags

    with pytest.raises(DataError, match=r"argmax\(.*scores .*, but .* scores"):
        check_decoder(Greedy(["A", "B"]), [["a", "b", "c"]], rounds=50)

    class Strange(Reranking):
        def argmax(self, x, score):
            return 7

    with pytest.raises(DataError, match="7 is not one of the 1 candidates"):
        check_decoder(Strange(), [[{"a": 1.0}]])


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_L36_a_wide_beam_is_exact_and_a_narrow_one_is_greedy(seed):
    rng = random.Random(seed)
    task, x = Tagging(["A", "B"]), ["a", "b", "a", "c"]
    names = {name for y in task.candidates(x) for name in task.features(x, y)}
    score = Score({name: rng.randint(-3, 3) for name in sorted(names)})

    def total(y):
        return score(task.features(x, y))

    assert total(search(task, x, score, 16)) == max(map(total, task.candidates(x)))
    greedy = ()
    for _ in x:
        greedy = max(task.steps(x, greedy), key=lambda step: score(step[0]))[1]
    assert search(task, x, score, 1) == greedy


@settings(deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 3]))
def test_L36_early_and_max_violation_updates_are_by_their_definitions(seed, width):
    rng = random.Random(seed)
    task, x = Tagging(["A", "B"]), ["a", "b", "a", "c"]
    y = tuple(rng.choice("AB") for _ in x)
    names = {name for one in task.candidates(x) for name in task.features(x, one)}
    score = Score({name: rng.randint(-3, 3) for name in sorted(names)})
    beam, beams = [()], []
    for _ in x:
        longer = [(*tags, tag) for tags in beam for tag in "AB"]
        beam = sorted(longer, key=lambda t: -score(task.features(x, t)))[:width]
        beams.append(beam)

    def of(tags):
        return Score(score.weights)(task.features(x, tags))

    fell = [k for k, kept in enumerate(beams, 1) if y[:k] not in kept]
    early = find_violation(task, x, y, score, width, "early")
    if fell:
        k = fell[0]
        assert (early.right_score, early.wrong_score) == (of(y[:k]), of(beams[k - 1][0]))
    elif beams[-1][0] == y:
        assert early is None
    else:
        assert (early.right_score, early.wrong_score) == (of(y), of(beams[-1][0]))
    gaps = {
        k: of(kept[0]) - of(y[:k])
        for k, kept in enumerate(beams, 1)
        if kept[0] != y[:k] and of(kept[0]) >= of(y[:k])
    }
    worst = find_violation(task, x, y, score, width, "max-violation")
    if not gaps:
        assert worst is None
    else:
        assert worst.wrong_score - worst.right_score == max(gaps.values())


@pytest.mark.parametrize("update", ["early", "max-violation"])
def test_L36_learning_under_a_narrow_beam(update):
    model = StructuredPerceptron(
        Tagging(["Det", "Noun", "Verb"]), beam=1, update=update, epochs=30, log=True, random_state=0
    ).fit(DT_NN, DT_NN_TAGS)
    assert model.history_.stopped == "no mistakes"
    assert model.predict(DT_NN) == DT_NN_TAGS
    certificate = model.certificate()
    assert certificate.mistakes <= certificate.bound  # violations are all that the proof needs


# L37: branch prediction


def test_L37_perceptrons_predict_branches_but_not_an_exclusive_or():
    names = runpy.run_path(str(EXAMPLES / "branch_prediction.py"))
    table = names["compare"](length=12_000)
    accuracy = {(trace, predictor): right for trace, predictor, right in table}
    assert accuracy["distant branch", "perceptron"] > 0.95 > accuracy["distant branch", "gshare"]
    assert accuracy["exclusive or", "perceptron"] < 0.75 < accuracy["exclusive or", "gshare"]
    assert accuracy["loops", "perceptron"] > accuracy["loops", "bimodal"]


# All learners


def test_learns_to_align_match_and_parse():
    pairs = [("colour", "color"), ("cat", "kat"), ("back", "bak"), ("tack", "tak")]
    gold = StructuredPerceptron(Alignment()).set_weights({"same": 3, "c=k": 2, "alone": -1})
    answers = gold.predict(pairs)
    model = StructuredPerceptron(Alignment(), epochs=30, random_state=0).fit(pairs, answers)
    assert model.score(pairs, answers) == 1.0
    rng = random.Random(0)
    tables = [
        [[{"near": rng.random(), "big": rng.random()} for _ in range(3)] for _ in range(3)]
        for _ in range(20)
    ]
    near = StructuredPerceptron(Matching()).set_weights({"near": 1.0}).predict(tables)
    learned = StructuredPerceptron(Matching(), epochs=50, random_state=0).fit(tables, near)
    assert learned.score(tables, near) > 0.95
    tree = StructuredPerceptron(Constituents(GRAMMAR)).set_weights({"NP NP PP": 1.0})
    trees = tree.predict([PAPA])
    assert StructuredPerceptron(Constituents(GRAMMAR)).fit([PAPA], trees).predict([PAPA]) == trees


def test_early_stopping_gives_back_the_best_weights():
    X, Y = some_classes(3, n=60)
    model = StructuredPerceptron(Classes(), epochs=30, patience=3, random_state=0).fit(
        X[:40], Y[:40], X[40:], Y[40:]
    )
    scores = model.history_["held_out"]
    best = model.history_.best
    assert scores[best - 1] == np.max(scores) == model.score(X[40:], Y[40:])
    assert model.history_.stopped in ("no improvement", "epochs")
    split = StructuredPerceptron(Classes(), validation=0.25, random_state=0).fit(X, Y)
    assert split.history_.best is not None
    assert split.history_.epochs[0].examples == 45


def test_one_epoch_holds_examples_out_too():
    X, Y = some_classes(3, n=20)
    model = StructuredPerceptron(Classes(), validation=0.3, epochs=1).fit(X, Y)
    assert model.history_.epochs[0].examples == 14
    assert model.history_.epochs[0].held_out is not None


class Visits(Classes):
    """Notes the examples in the order in which they are visited."""

    def __init__(self):
        super().__init__()
        self.visited = []

    def argmax(self, x, score):
        self.visited.append(x)
        return super().argmax(x, score)


def test_every_call_of_partial_fit_has_its_own_order():
    X, Y = some_classes(3, n=12)
    orders = []
    for _ in range(2):
        model = StructuredPerceptron(Visits(), random_state=0)
        for _ in range(3):
            model.partial_fit(X, Y)
        orders.append([model.task.visited[i : i + 12] for i in (0, 12, 24)])
    assert orders[0] == orders[1]
    one, two, three = orders[0]
    assert sorted(one) == sorted(two) == sorted(three)
    assert one != two != three != one


def test_a_loaded_model_continues_with_the_orders_that_were_next(tmp_path):
    X, Y = some_classes(3, n=12)
    model = StructuredPerceptron(Visits(), random_state=0).fit(X, Y)
    model.save(tmp_path / "m.wm")
    again = StructuredPerceptron.load(tmp_path / "m.wm", Visits())
    model.task.visited.clear()
    for one in (model, again):
        one.partial_fit(X, Y)
    assert again.task.visited == model.task.visited


@pytest.mark.parametrize("keep", ["last", "average"])
def test_weights_set_by_hand_are_where_every_fit_starts(keep, tmp_path):
    X, Y = some_classes(3, n=12)
    given = {"0 1": 2.0, "by hand": 7.0}
    first = StructuredPerceptron(Classes(), keep=keep, random_state=0).set_weights(given).fit(X, Y)
    expected = first.weights_
    assert first.fit(X, Y).weights_ == expected
    assert expected["by hand"] == 7.0
    later = StructuredPerceptron(Classes(), keep=keep, random_state=0).fit(X, Y)
    later.set_weights(given)
    later.save(tmp_path / "m.wm")
    assert later.fit(X, Y).weights_ == expected
    assert StructuredPerceptron.load(tmp_path / "m.wm").fit(X, Y).weights_ == expected


def test_the_history_of_many_calls_stays_short(monkeypatch):
    monkeypatch.setattr("widemargin.training.history.MOST_CALLS", 10)
    X, Y = some_classes(3, n=4)
    model = StructuredPerceptron(Classes())
    for _ in range(25):
        model.partial_fit(X, Y)
    assert len(model.history_) <= 10
    assert model.history_["examples"].sum() == 100
    fitted = StructuredPerceptron(Classes(), epochs=25).fit(*some_classes(3))
    assert len(fitted.history_) == 25  # one fit is never shortened


def test_files_with_the_parameter_names_of_0_1_load(tmp_path):
    X, Y = some_classes(3, n=12)
    model = StructuredPerceptron(Classes(), cost_augmented=True, epochs=2).fit(X, Y)
    model.save(tmp_path / "new.wm")
    arrays, about = read_model_file(tmp_path / "new.wm")
    params = unpack_value(about["params"])
    params["augmented"] = params.pop("cost_augmented")
    old = {"update": "standard", "max_seconds": math.inf, "random_state": 0, "progress": False}
    about["params"] = pack_value({**params, **old})
    del about["generator"]
    write_model_file(tmp_path / "old.wm", arrays, about)
    again = StructuredPerceptron.load(tmp_path / "old.wm")
    assert (again.cost_augmented, again.update, again.random_state) == (True, "whole", 0)
    assert again.weights_ == model.weights_
    again.partial_fit(X, Y)


@pytest.mark.parametrize("keep", ["last", "average", "vote"])
def test_saved_models_answer_the_same(keep, tmp_path):
    X, Y = some_classes(1)
    model = StructuredPerceptron(Classes(), keep=keep, epochs=4, rule="pa1", C=0.1).fit(X, Y)
    model.save(tmp_path / "m.wm")
    again = StructuredPerceptron.load(tmp_path / "m.wm")
    assert again.task.k == 3
    assert again.predict(X) == model.predict(X)
    assert again.weights_ == model.weights_
    assert again.history_.to_dict() == model.history_.to_dict()
    for one in (model, again):
        one.partial_fit(X[:5], Y[:5])
    assert again.last_weights_ == model.last_weights_
    assert len(again.history_) == len(model.history_)


@pytest.mark.parametrize(
    ("old", "now"), [(0, False), (1, False), (None, False), ("each", False), ("rows", "rows")]
)
def test_files_whose_order_was_not_validated_load(old, now, tmp_path):
    StructuredPerceptron(Classes(), epochs=1).fit(*some_classes(3)).save(tmp_path / "new.wm")
    arrays, about = read_model_file(tmp_path / "new.wm")
    about["params"]["dict"] = [
        [name, old if name == "shuffle" else value] for name, value in about["params"]["dict"]
    ]
    write_model_file(tmp_path / "old.wm", arrays, about)
    found = StructuredPerceptron.load(tmp_path / "old.wm").shuffle
    assert (found, type(found)) == (now, type(now))


@pytest.mark.parametrize("how", [{"C": Fraction(1, 2), "rule": "pa1"}, {"eta": Fraction(1, 2)}])
def test_fractions_as_parameters_come_back(how, tmp_path):
    model = StructuredPerceptron(Classes(), epochs=1, **how).fit(*some_classes(3))
    model.save(tmp_path / "m.wm")
    again = StructuredPerceptron.load(tmp_path / "m.wm")
    assert (again.C, again.eta) == (model.C, model.eta)


@pytest.mark.parametrize(
    "tags", [np.unique([0, 1]), [("a", 1), ("b", 2)], [None, "x"], [0.5, 1.5], [True, False]]
)
def test_tags_of_other_types(tags, tmp_path):
    one, other = list(tags)
    model = StructuredPerceptron(Tagging(tags), epochs=3)
    model.fit([["a", "b"], ["b", "a"]], [(one, other), (other, one)]).save(tmp_path / "m.wm")
    again = StructuredPerceptron.load(tmp_path / "m.wm")
    assert again.predict_one(["a", "b"]) == (one, other)


def test_tags_that_cannot_be_compared_are_refused():
    with pytest.raises(ValueError, match="cannot be a list"):
        Tagging([["N"], "V"])


def test_held_out_examples_come_with_answers():
    X, Y = some_classes(3)
    with pytest.raises(ValueError, match="both X_val and Y_val"):
        StructuredPerceptron(Classes()).fit(X, Y, X)
    with pytest.raises(DataError, match="answers"):
        StructuredPerceptron(Classes()).fit(X, Y, X, Y[:1])


def test_parameters_that_cannot_be_used_are_not_saved(tmp_path):
    model = StructuredPerceptron(Classes(), epochs=1).fit(*some_classes(3))
    with pytest.raises(ValueError, match="keep"):
        model.set_params(keep="mean").save(tmp_path / "m.wm")
    assert not (tmp_path / "m.wm").exists()


def test_a_file_imports_no_module(tmp_path, monkeypatch):
    model = StructuredPerceptron(Tagging(["A"])).set_weights({"a A": 1.0})
    monkeypatch.setattr(Tagging, "__module__", "antigravity")
    model.save(tmp_path / "m.wm")
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match="its task is antigravity:Tagging, which is not"):
        StructuredPerceptron.load(tmp_path / "m.wm")
    assert StructuredPerceptron.load(tmp_path / "m.wm", Tagging(["A"]))["a A"] == 1.0
    StructuredPerceptron(Tagging(["A"])).save(tmp_path / "n.wm")
    assert StructuredPerceptron.load(tmp_path / "n.wm").task.tags == ["A"]


def test_same_seed_same_model_and_chunks_are_the_whole():
    X, Y = some_classes(5)
    one, two = (StructuredPerceptron(Classes(), random_state=7).fit(X, Y) for _ in range(2))
    assert one.weights_ == two.weights_
    whole = StructuredPerceptron(Classes(), epochs=1, shuffle=False).fit(X, Y)
    parts = StructuredPerceptron(Classes(), epochs=1, shuffle=False)
    for i in range(0, len(X), 7):
        parts.partial_fit(X[i : i + 7], Y[i : i + 7])
    assert parts.weights_ == whole.weights_


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"keep": "best"}, "keep='best' is unknown"),
        ({"rule": "logistic"}, "rule='logistic' is unknown"),
        ({"update": "late"}, "update='late' is unknown"),
        ({"shuffle": "sometimes"}, "shuffle='sometimes' is unknown"),
        ({"max_seconds": 0}, "max_seconds=0 must be a positive number, or None"),
        ({"epochs": 0}, "epochs=0"),
        ({"beam": -1}, "beam=-1"),
        ({"C": -1.0}, "C=-1.0"),
        ({"cost_augmented": True, "beam": 2}, "not with a beam"),
    ],
)
def test_wrong_parameters(wrong, message):
    model = StructuredPerceptron(Classes(), **wrong)
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=message):
            learn([(1,), (2,)], [0, 1])


def test_bad_input():
    model = StructuredPerceptron(Classes())
    with pytest.raises(DataError, match="2 examples, but 1 answers"):
        model.fit([(1,), (2,)], [0])
    with pytest.raises(DataError, match="no examples"):
        model.fit([], [])
    with pytest.raises(DataError, match="the grammar has no tree for 'the the'"):
        StructuredPerceptron(Constituents(GRAMMAR[:-1])).predict([["the", "the"]])
    with pytest.raises(DataError, match="rule 'S': expected"):
        Constituents(["S"])
    with pytest.raises(NotImplementedError, match="Classes has no beam search"):
        StructuredPerceptron(Classes(), beam=2).predict([(1,)])
    vote = StructuredPerceptron(Classes(), keep="vote").fit(*some_classes(0))
    with pytest.raises(ValueError, match="weights cannot be set with keep"):
        vote["0 1"] = 1.0


def test_a_task_is_shown_as_the_call_that_makes_it_again():
    assert repr(Tagging(["A", "B"])) == "Tagging(tags=['A', 'B'])"
    assert repr(Classes(4)) == "Classes(k=4)"


@pytest.mark.parametrize("how", [{}, {"rule": "pa1", "cost_augmented": True}])
def test_a_list_equals_a_tuple_with_the_same_items(how):
    class Words(Segments):
        """Compared by the usual cost and quality."""

    X, Y = ["ab", "abab", "b"], [("ab",), ("ab", "ab"), ("b",)]
    lists, tuples = (
        StructuredPerceptron(Words(), random_state=0, epochs=5, **how).fit(X, list(map(kind, Y)))
        for kind in (list, tuple)
    )
    assert lists.last_weights_ == tuples.last_weights_
    assert lists.history_.mistakes == tuples.history_.mistakes
    assert lists.history_.stopped == "no mistakes"
    assert lists.score(X, list(map(list, Y))) == lists.score(X, Y) == 1.0


class Segments(Task):
    """Cut a string into pieces."""

    def features(self, x, y):
        return [name for piece in y for name in (piece, f"length {len(piece)}")]

    def candidates(self, x):
        yield (x,)
        for end in range(1, len(x)):
            yield from ((x[:end], *rest) for rest in self.candidates(x[end:]))


def test_the_check_of_a_decoder_refuses_names_that_are_no_strings():
    class Pairs(Tagging):
        def features(self, x, y):
            return [("tags", len(y)), *super().features(x, y)]

    with pytest.raises(DataError, match=r"\('tags', 2\) is not a string"):
        check_decoder(Pairs(["D", "N"]), [["the", "dog"]])


@pytest.mark.parametrize(
    ("X", "Y", "said"),
    [([[1.0]], None, "Y=None"), (None, None, "X=None"), ([[1.0]], 5, "Y=5")],
)
def test_inputs_without_answers_are_refused(X, Y, said):
    model = StructuredPerceptron(Classes())
    for learn in (model.fit, model.partial_fit, model.score):
        with pytest.raises(DataError, match=f"{said} must be a sequence of the"):
            learn(X, Y)


def test_draws_without_a_mistake_are_not_an_epoch_without_mistakes():
    X, Y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 1, 2]
    for seed in range(12):
        model = StructuredPerceptron(
            Classes(), keep="last", shuffle="draw", epochs=200, random_state=seed
        )
        assert model.fit(X, Y).history_.stopped == "no mistakes"
        assert model.predict(X) == Y
