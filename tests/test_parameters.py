"""Valid parameter values, and the errors for invalid ones."""

import copy
import inspect
import math
import pickle
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import widemargin as wm
import widemargin.structured
from widemargin.kernel_machines.perceptron.settings import KernelSettings
from widemargin.kernel_machines.svm.fit import KernelSVMSettings
from widemargin.linear_svm.fit import SVMSettings
from widemargin.online.settings import Settings as OnlineSettings
from widemargin.parameters.effects import changed, refuse_unused, used_with, uses_of_held_out
from widemargin.parameters.values import (
    check_choice,
    check_constant,
    check_fraction,
    check_not_negative,
    check_positive,
    check_probability,
    check_seconds,
    check_whole,
    parse_bytes,
)
from widemargin.structured import Parser, StructuredPerceptron, Tagger, Task
from widemargin.structured.tasks import tagging

NAN, INF = math.nan, math.inf
NUMBERS = (check_positive, check_not_negative, check_fraction, check_probability, check_seconds)


def refusal(check, *args, **options):
    with pytest.raises(ValueError) as refused:
        check(*args, **options)
    said = str(refused.value)
    assert "\n" not in said
    return said


@pytest.mark.parametrize("check", NUMBERS)
@pytest.mark.parametrize("value", [NAN, np.float32(NAN), True, np.True_, "1", [1.0], np.ones(1)])
def test_what_is_no_number_is_refused(check, value):
    assert refusal(check, "x", value).startswith("x=")


@pytest.mark.parametrize("check", NUMBERS)
@pytest.mark.parametrize("value", [0.5, np.float64(0.5), np.float32(0.25)])
def test_numbers_of_python_and_numpy_are_numbers(check, value):
    check("x", value)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (check_positive, [1e-300, 1, np.int8(3)], [0, -1, INF]),
        (check_not_negative, [0, 0.0, 7], [-1e-300, INF, None]),
        (check_fraction, [0, 0.999], [1, 1.0, -0.1, INF, None]),
        (check_probability, [0, 1, 1.0], [1.01, -0.1, INF]),
        (check_seconds, [None, 1, INF], [0, -1.0]),
    ],
)
def test_where_the_allowed_numbers_end(check, good, bad):
    for value in good:
        check("x", value)
    for value in bad:
        assert f"x={value!r} must be" in refusal(check, "x", value)


def test_infinity_is_allowed_where_it_is_asked_for():
    check_positive("C", INF, infinite=True)
    check_not_negative("C", INF, infinite=True)
    assert refusal(check_positive, "C", -INF, infinite=True) == (
        "C=-inf must be a positive number, or infinity"
    )


def test_whole_numbers():
    for value in (1, 2, np.int64(1), np.uint8(5)):
        check_whole("epochs", value, least=1)
    for value in (0, -1, 1.0, np.float64(2.0), True, np.True_, "1", None, NAN):
        assert "must be a whole number of at least 1" in refusal(
            check_whole, "epochs", value, least=1
        )
    check_whole("bits", 30, least=4, most=30)
    assert refusal(check_whole, "bits", 31, least=4, most=30, other="None") == (
        "bits=31 must be a whole number from 4 to 30, or None"
    )


def test_a_number_of_numpy_is_shown_as_a_number():
    assert refusal(check_positive, "C", np.float64(-1.5)) == "C=-1.5 must be a positive number"


def test_choices_are_compared_as_what_they_are():
    check_choice("shuffle", False, (True, False, "once"))
    check_choice("order", np.int64(2), (1, 2))
    check_choice("norm", None, ("l2", None))
    check_choice("keep", np.str_("last"), ("last", "average"))
    for value, choices in ((1, (True, False)), (True, (1, 2)), (1.0, (1, 2)), ([], ("a",))):
        assert "is unknown; choose one of" in refusal(check_choice, "x", value, choices)


def test_the_nearest_choice_is_suggested():
    assert refusal(check_choice, "rule", "perceptrn", ("perceptron", "margin")) == (
        "rule='perceptrn' is unknown; did you mean 'perceptron'?"
        " Choose one of 'perceptron', 'margin'"
    )
    shortened = refusal(check_choice, "format", "svm", ("svmlight", "vw", "csv", "tsv"))
    assert "did you mean 'svmlight'?" in shortened
    assert refusal(check_choice, "kernel", "zzz", ("rbf", "poly"), "a function") == (
        "kernel='zzz' is unknown; choose one of 'rbf', 'poly', or a function"
    )


def test_constants():
    for value in (True, False, np.True_, 0, 2.5, np.float32(1.0)):
        check_constant("fit_intercept", value)
    check_constant("fit_intercept", "auto", "auto")
    for value in (-1, INF, NAN, "auto", None):
        assert "must be True, False or a number" in refusal(check_constant, "b", value)


@pytest.mark.parametrize(
    ("given", "size"),
    [
        (5, 5),
        (2.5e3, 2500),
        (np.int64(7), 7),
        ("12", 12),
        ("500MB", 500 << 20),
        ("1.5 gib", 3 << 29),
        (" 2g ", 2 << 30),
        ("1T", 1 << 40),
    ],
)
def test_sizes(given, size):
    found = parse_bytes("max_memory", given)
    assert (found, type(found)) == (size, int)


@pytest.mark.parametrize("given", [0, -1, "0", "", "-1GB", "2XB", "much", NAN, INF, True, None])
def test_what_is_no_size_is_refused(given):
    assert "max_memory=" in refusal(parse_bytes, "max_memory", given)


@dataclass
class Settings:
    rule: str = "perceptron"
    C: object = 1.0
    eta: object = 1.0
    patience: int = 5


def uses(settings, held_out=False):
    return {
        "C": used_with("rule", settings.rule, "pa1", "pa2"),
        "eta": used_with("rule", settings.rule, "perceptron"),
        **uses_of_held_out(0.0, held_out),
    }


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            Settings(C=3),
            "C=3 has no effect with rule='perceptron', only with rule='pa1' or 'pa2'",
        ),
        (
            Settings(rule="pa1", eta=(0.5, 1.0)),
            "eta=(0.5, 1.0) has no effect with rule='pa1', only with rule='perceptron'",
        ),
        (
            Settings(patience=2),
            "patience=2 has no effect if nothing is held out, only with held-out examples",
        ),
        (
            Settings(C=np.ones(2)),
            "C=array([1., 1.]) has no effect with rule='perceptron', only with rule='pa1' or 'pa2'",
        ),
    ],
)
def test_a_parameter_without_effect_is_refused(settings, said):
    assert refusal(refuse_unused, changed(settings), uses(settings)) == said


@pytest.mark.parametrize(
    "settings",
    [Settings(), Settings(C=1), Settings(C=np.float64(1.0)), Settings(rule="pa2", C=0.1)],
)
def test_defaults_and_parameters_with_an_effect_are_not_refused(settings):
    refuse_unused(changed(settings), uses(settings))
    refuse_unused(changed(Settings(patience=2)), uses(Settings(), held_out=True))


def test_what_was_given_explicitly_is_refused_even_if_it_is_the_default():
    said = refusal(refuse_unused, {"C": 1.0}, uses(Settings()))
    assert said.startswith("C=1.0 has no effect")


# Values that the learners refuse

X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.0, 3.0]]
Y = [0, 1, 1, 0]
SENTENCES = [["the", "dog"], ["a", "cat"]]
TAGS = [["DET", "NOUN"]] * 2
TREES = {
    "word": SENTENCES,
    "upos": TAGS,
    "head": [["2", "0"]] * 2,
    "deprel": [["det", "root"]] * 2,
}


class Parity(Task):
    def features(self, x, y):
        return [f"{x % 2} {y}"]

    def candidates(self, x):
        return ["even", "odd"]


LEARNERS = [
    (wm.Perceptron(C=3), "C=3 has no effect with rule='perceptron'"),
    (wm.Perceptron(rule="margin", C=3), "C=3"),
    (wm.Perceptron(target=2.0), "target=2.0"),
    (wm.Perceptron(rule="pa1", eta=0.1), "eta=0.1"),
    (wm.Perceptron(rule="pa1", eta=(1.0, 0.5)), "eta=(1.0, 0.5)"),
    (wm.Perceptron(patience=3), "patience=3"),
    (wm.PassiveAggressive(rule="pa", C=0.1), "C=0.1"),
    (wm.OnlineLogistic(patience=3), "patience=3"),
    (
        wm.PassiveAggressive(rule="pa", class_weight={1: 2.0}),
        "class_weight={1: 2.0} has no effect with rule='pa', only with another rule, or a weight"
        " of 0",
    ),
    (wm.Perceptron(rule="pa", class_weight="balanced"), "class_weight='balanced'"),
    (wm.KernelPerceptron(rule="pa", class_weight={1: 2.0}), "class_weight={1: 2.0}"),
    (wm.LinearSVM(C=np.inf, class_weight={1: 2.0}), "class_weight={1: 2.0} has no effect with C="),
    (wm.LinearSVM(C=np.inf, loss="hinge"), "loss='hinge' has no effect with C=inf"),
    (wm.KernelSVM(C=np.inf, class_weight={1: 2.0}), "class_weight={1: 2.0}"),
    (wm.LinearSVM(bias="free", fit_intercept=False), "bias='free'"),
    (wm.KernelPerceptron(C=3), "C=3"),
    (
        wm.KernelPerceptron(kernel="linear", gamma=1.0),
        "gamma=1.0 has no effect with kernel='linear'",
    ),
    (
        wm.KernelPerceptron(degree=2),
        "degree=2 has no effect with kernel='rbf', only with kernel='poly'",
    ),
    (wm.KernelPerceptron(coef0=2.0), "coef0=2.0"),
    (wm.KernelPerceptron(kernel="poly", sigma=2.0), "sigma=2.0"),
    (wm.KernelPerceptron(kernel=np.dot, degree=2), "degree=2 has no effect with kernel=dot"),
    (wm.KernelPerceptron(forget="random"), "forget='random' has no effect without a budget"),
    (wm.KernelPerceptron(patience=3), "patience=3"),
    (wm.KernelSVM(degree=2), "degree=2"),
    (wm.KernelSVM(kernel="linear", gamma="auto"), "gamma='auto'"),
    (wm.KernelSVM(kernel="linear", sigma=1.0), "sigma=1.0"),
]


@pytest.mark.parametrize(("learner", "said"), LEARNERS, ids=[said for _, said in LEARNERS])
def test_learners_refuse_what_has_no_effect(learner, said):
    assert refusal(learner.fit, X, Y).startswith(said)
    if "patience" not in said and hasattr(learner, "partial_fit"):
        assert refusal(clone(learner).partial_fit, X, Y).startswith(said)


def test_learners_take_what_has_an_effect():
    wm.Perceptron(rule="pa2", C=3.0).fit(X, Y)
    for learner in (
        wm.PassiveAggressive(rule="pa"),
        wm.LinearSVM(C=np.inf),
        wm.KernelPerceptron(rule="pa"),
        wm.KernelSVM(C=np.inf, kernel="linear"),
    ):
        learner.set_params(class_weight={2: 0.0}).fit([*X, [9.0, 9.0]], [*Y, 2])
    wm.Perceptron(patience=3, epochs=2).fit(X, Y, X_val=X, y_val=Y)
    wm.Perceptron(patience=3, epochs=2, validation=0.5).fit(X, Y)
    wm.Perceptron(patience=3).partial_fit(X, Y)
    said = refusal(wm.Perceptron(validation=0.5).fit, X, Y, X_val=X, y_val=Y)
    assert said == "validation=0.5 has no effect if X_val is given, only without it"


def test_a_search_over_rules_leaves_out_what_has_no_effect():
    grid = [{"rule": ["perceptron", "pa"]}, {"rule": ["pa1", "pa2"], "C": [0.1, 1.0]}]
    search = GridSearchCV(wm.Perceptron(random_state=0), grid, cv=2, error_score="raise")
    assert search.fit(X * 2, Y * 2).best_score_ >= 0.5


def test_names_are_learned_only_by_what_has_an_effect():
    assert refusal(wm.Perceptron(C=3).learn_one, {"a": 1.0}, 0).startswith("C=3")


def test_texts():
    said = refusal(wm.TextClassifier(analyzer="char", min_length=3).fit, ["a b", "c d"], [0, 1])
    assert said.startswith("min_length=3 has no effect with analyzer='char'")
    seeded = wm.TextClassifier(wm.Perceptron(), random_state=1)
    assert refusal(seeded.fit, ["a b", "c d"], [0, 1]).startswith("random_state=1")


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"C": 3.0}, "C=3.0 has no effect with rule='perceptron', only with rule='pa1' or 'pa2'"),
        ({"rule": "pa", "eta": 0.5}, "eta=0.5 has no effect with rule='pa', only with rule='perce"),
        ({"update": "early"}, "update='early' has no effect with beam=0, only with a beam"),
        ({"patience": 2}, "patience=2"),
    ],
)
def test_structured_perceptrons(params, said):
    assert refusal(
        StructuredPerceptron(Parity(), **params).fit, [1, 2], ["odd", "even"]
    ).startswith(said)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"rule": "perceptron", "C": 1.0}, "C=1.0"),
        ({"beam": 4}, "beam=4 has no effect with search='exact', only with search='beam'"),
        ({"update": "early"}, "update='early'"),
        ({"patience": 2}, "patience=2 has no effect if nothing is held out"),
    ],
)
def test_taggers(params, said):
    assert refusal(Tagger(**params).fit, SENTENCES, TAGS).startswith(said)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"C": 1.0}, "C=1.0 has no effect with system='auto', only with system='eisner' or"),
        ({"system": "cle", "beam": 4}, "beam=4 has no effect with system='cle'"),
        ({"system": "cle", "margin": 1.0}, "margin=1.0"),
        ({"system": "eisner", "explore": 0.5}, "explore=0.5"),
        ({"system": "eisner", "actions": 8}, "actions=8"),
        ({"tags": "upos", "jackknife": 2}, "jackknife=2 has no effect with tags='upos'"),
        ({"tags": "upos", "tagger": Tagger()}, "tagger=Tagger()"),
    ],
)
def test_parsers(params, said):
    assert refusal(Parser(**params).fit, TREES).startswith(said)


def test_kernels_of_matrices():
    assert refusal(wm.gram_matrix, X, "rbf", degree=3).startswith("degree=3 has no effect")
    assert refusal(wm.certify, X, Y, kernel="linear", gamma=1.0).startswith("gamma=1.0")


@pytest.mark.parametrize(
    ("function", "arguments", "misspelt", "meant"),
    [
        (wm.gram_matrix, ([[1.0]],), "gama", "did you mean 'gamma'?"),
        (wm.check_kernel, ("rbf", [[1.0]]), "sead", "did you mean 'seed'?"),
        (wm.certify, ([[1.0]], [0]), "multi_class", "here it is called 'multiclass'"),
        (wm.certify, ([[1.0]], [0]), "quickly", "it has bias, coef0, degree, gamma, gram,"),
        (wm.Perceptron().report, ("page.html",), "tilte", "did you mean 'title'?"),
    ],
)
def test_keywords_that_do_not_exist_are_refused(function, arguments, misspelt, meant):
    with pytest.raises(TypeError) as caught:
        function(*arguments, **{misspelt: 1})
    said = f"{function.__name__} has no parameter {misspelt!r}; {meant}"
    assert str(caught.value).startswith(said)


# Names of other libraries

ESTIMATORS = [
    wm.Perceptron,
    wm.PassiveAggressive,
    wm.OnlineLogistic,
    wm.LinearSVM,
    wm.KernelPerceptron,
    wm.KernelSVM,
    wm.TableClassifier,
    wm.TextClassifier,
    wm.HashedText,
    Tagger,
    Parser,
    StructuredPerceptron,
]
FOREIGN = [
    (wm.Perceptron, "max_iter", "here it is called 'epochs'"),
    (wm.Perceptron, "eta0", "here it is called 'eta'"),
    (wm.Perceptron, "verbose", "here it is called 'progress'"),
    (wm.Perceptron, "n_iter_no_change", "here it is called 'patience'"),
    (wm.Perceptron, "validation_fraction", "here it is called 'validation'"),
    (wm.Perceptron, "early_stopping", "here it is validation=0.1"),
    (wm.Perceptron, "average", "here it is keep='average'"),
    (wm.Perceptron, "penalty", "it has no penalty: OnlineLogistic has 'l2', and SVMs have 'C'"),
    (wm.OnlineLogistic, "alpha", "here it is called 'l2'"),
    (wm.OnlineLogistic, "penalty", "here it is l2=0.0001"),
    (wm.LinearSVM, "max_iter", "here it is called 'epochs'"),
    (wm.LinearSVM, "intercept_scaling", "here it is called 'fit_intercept'"),
    (wm.LinearSVM, "multi_class", "here it is called 'multiclass'"),
    (wm.KernelSVM, "max_iter", "here it is called 'max_seconds'"),
    (wm.KernelSVM, "cache_size", "here it is called 'max_memory'"),
    (wm.KernelPerceptron, "max_iter", "here it is called 'epochs'"),
    (wm.HashedText, "ngram_range", "here it is called 'ngrams'"),
    (wm.TextClassifier, "estimator", "here it is called 'learner'"),
    (wm.TextClassifier, "ngram_range", "here it is called 'ngrams'"),
    (wm.TextClassifier, "C", "give it to the learner: TextClassifier(LinearSVM(C=...))"),
    (
        wm.TextClassifier,
        "max_iter",
        "give it to the learner: TextClassifier(LinearSVM(epochs=...))",
    ),
    (wm.TableClassifier, "C", "give it to the learner: TableClassifier(LinearSVM(C=...))"),
    (
        wm.TableClassifier,
        "eta0",
        "give it to the learner: TableClassifier(Perceptron(eta=...))",
    ),
    (Tagger, "max_iterations", "here it is called 'epochs'"),
    (Parser, "max_iter", "here it is called 'epochs'"),
    (wm.Perceptron, "epoch", "did you mean 'epochs'?"),
    (wm.KernelSVM, "gama", "did you mean 'gamma'?"),
    (Tagger, "templtes", "did you mean 'templates'?"),
    (wm.HashedText, "zzz", "it has analyzer, bits, errors, idf, lowercase, min_length, n_jobs,"),
]


@pytest.mark.parametrize(("kind", "name", "words"), FOREIGN)
def test_a_foreign_name_is_answered_with_ours(kind, name, words):
    said = f"{kind.__name__} has no parameter '{name}'; {words}"
    with pytest.raises(TypeError) as refused:
        kind(**{name: 1})
    assert str(refused.value).startswith(said)
    assert refusal(kind().set_params, **{name: 1}).startswith(said)


def test_a_structured_perceptron_answers_with_its_names():
    with pytest.raises(TypeError, match="no parameter 'max_iter'; here it is called 'epochs'"):
        StructuredPerceptron(Parity(), max_iter=3)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_signatures_stay_explicit(kind):
    found = inspect.signature(kind)
    assert found.parameters.keys() == inspect.signature(kind.__init__).parameters.keys() - {"self"}
    kinds = {parameter.kind for parameter in found.parameters.values()}
    assert kinds <= {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}


def test_a_default_has_no_parameters_to_set():
    assert refusal(wm.TextClassifier().set_params, learner__C=1) == (
        "learner__C sets a parameter of the learner, but learner=None: give one, as in"
        " TextClassifier(LinearSVM())"
    )
    text = wm.TextClassifier().set_params(learner__C=3, learner=wm.LinearSVM())
    assert text.learner.C == 3


def test_parts_answer_for_themselves():
    text = wm.TextClassifier(wm.Perceptron())
    text.set_params(learner__epochs=3, learner=wm.LinearSVM())
    assert "LinearSVM has no parameter 'max_iter'" in refusal(text.set_params, learner__max_iter=1)
    said = refusal(GridSearchCV(wm.Perceptron(), {"max_iter": [1]}).fit, X * 5, Y * 5)
    assert "Perceptron has no parameter 'max_iter'; here it is called 'epochs'" in said


def test_pickles_and_clones_need_no_parameters():
    learner = wm.Perceptron(epochs=3, random_state=0)
    for other in (clone(learner), pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)):
        assert other.get_params() == learner.get_params()


#: Parameters whose defaults differ between estimators, and why.
DIFFERENT_DEFAULTS = {
    "C": "chosen on development data for each task; 1 for examples of any other kind",
    "beam": "tasks are searched exactly, parsers are greedy; 8 is for search='beam'",
    "bits": "chosen on development data; a tagger and a parser choose by the size of the corpus",
    "coef0": "KernelSVM has the defaults of scikit-learn's SVC",
    "columns": "those to learn (Morphologizer), or those to use (TableClassifier)",
    "committee": "a tokenizer is small enough for four",
    "epochs": "chosen on development data; solvers stop at their tolerance",
    "eta": "logistic regression needs steps that fit the scale of the features",
    "fit_intercept": "only online learners choose the constant by the scale of the features",
    "gamma": "KernelSVM has the defaults of scikit-learn's SVC",
    "idf": "of HashedText, a transformer; the classifiers choose by what they learn with",
    "multiclass": "what the solver supports best",
    "ngrams": "of HashedText, a transformer; TableClassifier chooses for each column",
    "patience": "chosen on development data for learners of few epochs",
    "rule": "the rule after which an estimator is named; MIRA for taggers",
    "tags": "the columns that a lemma or the morphology depends on; a parser learns tags itself",
    "tol": "solvers stop at a gap, online learners when nothing changes",
    "validation": "Annotator takes a treebank only, not a share",
}


def test_a_parameter_has_one_default():
    defaults: dict[str, set[str]] = {}
    for module in (wm, widemargin.structured):
        for name in module.__all__:
            kind = getattr(module, name)
            if inspect.isclass(kind) and hasattr(kind, "fit"):
                for parameter in inspect.signature(kind).parameters.values():
                    defaults.setdefault(parameter.name, set()).add(repr(parameter.default))
    found = {name for name, values in defaults.items() if len(values) > 1}
    assert found == DIFFERENT_DEFAULTS.keys()


@pytest.mark.parametrize("learner", [wm.PassiveAggressive, wm.LinearSVM, wm.KernelSVM])
def test_numbers_of_every_type_are_numbers(learner):
    X, y = np.eye(4), [0, 1, 0, 1]
    found = [
        learner(C=C, random_state=0).fit(X, y).decision_function(X).tolist()
        for C in (0.5, Fraction(1, 2), np.float32(0.5), np.float64(0.5))
    ]
    assert all(one == found[0] for one in found)
    for C in (10**400, True, "1", None):
        with pytest.raises(ValueError, match="must be a positive number"):
            learner(C=C).fit(X, y)


def test_booleans_of_numpy_are_booleans():
    X, y = np.eye(4), [0, 1, 0, 1]
    for value in (True, False):
        one, other = (
            wm.Perceptron(shuffle=kind(value), random_state=0).fit(X, y)
            for kind in (bool, np.bool_)
        )
        assert one.coef_.tolist() == other.coef_.tolist()
    with pytest.raises(ValueError, match=r"shuffle=np\.True_"):
        wm.StructuredPerceptron(tagging.Tagging(["A"]), shuffle=np.True_).fit([["a"]], [("A",)])


@pytest.mark.parametrize(
    ("learner", "settings", "others"),
    [
        (wm.Perceptron, OnlineSettings, {"l2"}),
        (wm.PassiveAggressive, OnlineSettings, {"rule", "eta", "target", "l2"}),
        (wm.OnlineLogistic, OnlineSettings, {"rule", "eta", "C", "target"}),
        (wm.LinearSVM, SVMSettings, set()),
        (wm.KernelPerceptron, KernelSettings, set()),
        (wm.KernelSVM, KernelSVMSettings, set()),
    ],
)
def test_settings_have_the_names_and_defaults_of_the_parameters(learner, settings, others):
    """They are written twice, so that each class lists its own; `others` differ on purpose."""
    parameters = inspect.signature(learner).parameters
    expected = {field.name: field.default for field in fields(settings) if field.name not in others}
    assert {name: parameters[name].default for name in expected} == expected
