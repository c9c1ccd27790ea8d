"""A report is one page that says what is true, runs nothing and fetches nothing."""

import base64
import html.parser
import io
import re
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading_pages import EVIL, Page, read
from shell import run_shell

import widemargin
from widemargin import (
    DataError,
    History,
    KernelSVM,
    LinearSVM,
    Perceptron,
    TableClassifier,
    TextClassifier,
    certify,
    report,
)
from widemargin.evaluate.predictions import examine
from widemargin.markup.charts import Curve, Mark, bar_chart, interval_chart, line_chart
from widemargin.markup.html import escape, page, table, tag
from widemargin.pages.reportable import subject_of, training_code
from widemargin.pages.verdicts import verdict
from widemargin.training.history import Epoch

SECTIONS = ["verdict", "trained", "history", "certificate", "answers", "ranking", "mistakes"]
SECTIONS += ["features"]


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal([1.5, 1], 1, (60, 2)), rng.normal([-1, -0.8], 1, (60, 2))])
    y = np.repeat(["pos", "neg"], 60)
    order = rng.permutation(120)
    return X[order][:80], y[order][:80], X[order][80:], y[order][80:]


@pytest.fixture(scope="module")
def texts():
    """A model whose classes, features and documents all try to break out of the page."""
    words = [f"{EVIL} pills win", "win money now", "see you at lunch", "how is the family"]
    labels = ["spam", "spam", "</main><script>ham", "</main><script>ham"]
    return TextClassifier(random_state=0).fit(words, labels)


# Pieces of pages


@given(st.text())
def test_escaped_text_holds_no_markup(text):
    shown = escape(text)
    assert not set(shown) & set("<>\"'")
    back = html.unescape(shown).replace("\N{REPLACEMENT CHARACTER}", "")
    assert back == "".join(
        c for c in text if (c in "\n\t" or c.isprintable()) and c != "\N{REPLACEMENT CHARACTER}"
    )
    assert escape(shown) == shown


@given(st.lists(st.lists(st.text(max_size=5), min_size=2, max_size=2), max_size=4), st.text())
def test_tables_are_whole_whatever_is_in_them(rows, caption):
    found = Page(page("t", table(["a", "<b>"], rows, caption) + tag("p", caption, title=caption)))
    assert found.tags.count("tr") == 1 + len(rows)


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=12),
    st.booleans(),
    st.booleans(),
)
def test_charts_take_any_numbers(values, logarithmic, from_zero):
    values = [v if not abs(v) > 1e300 else np.inf for v in values]
    x = list(range(len(values)))
    drawn = line_chart("<t>", [Curve("a", x, values)], logarithmic=logarithmic, from_zero=from_zero)
    Page(drawn)
    numbers = re.findall(r'(?:cx|cy|x|y|points)="([^"]*)"', drawn)
    assert "nan" not in " ".join(numbers)
    assert "inf" not in " ".join(numbers)
    finite = [v for v in values if np.isfinite(v) and (v > 0 or not logarithmic)]
    assert drawn.count("<circle") == len(finite)


def test_charts_put_points_where_they_belong():
    drawn = line_chart("t", [Curve("a", [1, 2, 3], [0.0, 5.0, 10.0])], mark=Mark(2, 5.0, "here"))
    points = re.search(r'points="([^"]*)"', drawn)[1].split()
    places = [tuple(map(float, point.split(","))) for point in points]
    (x1, y1), (x2, y2), (x3, y3) = places
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2)
    assert y1 - y2 == pytest.approx(y2 - y3, abs=0.2)
    assert y1 > y3  # up is less in SVG
    assert "here" in drawn
    widths = [
        float(w)
        for w in re.findall(r'<rect[^>]* width="([\d.]+)"', bar_chart("t", [("a", 2), ("b", 1)]))
    ]
    assert widths[0] == pytest.approx(2 * widths[1], rel=0.01)
    assert "nothing was measured" in line_chart("t", [Curve("a", [], [])])
    assert interval_chart("t", [("a", -0.1, 0.0, 0.1)]).count('class="line one"') == 1


# What a report says


def test_report_has_its_sections_and_figures(clouds, tmp_path):
    X, y, X_test, y_test = clouds
    p = Perceptron(epochs=4, random_state=0).fit(X, y)
    p.report(tmp_path / "p.html", X_test, y_test, data="clouds")
    text, found = read(tmp_path / "p.html")
    assert [name for name in SECTIONS if name not in found.ids] == []
    assert found.ids[-2:] == ["timings", "again"]
    assert f"{p.score(X_test, y_test):.4f}" in text
    assert "40 examples of clouds" in text
    assert f"{p.mistakes_} in 4 epochs" in text
    assert found.tags.count("svg") == 5  # both curves; both features speak for pos
    assert "epochs=4" in text


def test_report_without_examples_says_so(clouds, tmp_path):
    report(Perceptron().fit(*clouds[:2]), tmp_path / "p.html")
    text, found = read(tmp_path / "p.html")
    assert "answers" not in found.ids
    assert "does not say how well" in text
    with pytest.raises(DataError, match="both X and y"):
        report(Perceptron().fit(*clouds[:2]), tmp_path / "p.html", clouds[2])


def test_verdicts_are_true_of_the_training(clouds):
    X, y, X_test, y_test = clouds
    p = Perceptron(keep="vote", epochs=300, random_state=0).fit(
        [[0.0, 1.0], [1.0, 0.0]], ["a", "b"]
    )
    told = " ".join(verdict(subject_of(p), None))
    assert "voted perceptron for 2 classes" in told
    assert "a whole epoch without a mistake" in told
    svm = LinearSVM(tol=1e-4).fit(X, y)
    told = " ".join(verdict(subject_of(svm), examine(svm.model_, X_test, y_test)))
    assert f"lower by more than {100 * svm.certificate_.gap:.2g} %" in told
    assert f"right in {100 * svm.score(X_test, y_test):.2f} %" in told
    assert "clearly learned something" in told
    stopped = Perceptron(epochs=20, validation=0.3, patience=2, random_state=0).fit(X, y)
    told = " ".join(verdict(subject_of(stopped), None))
    assert f"epoch {stopped.history_.best}" in told
    cycle = Perceptron(shuffle=False, epochs=50, keep="last")
    with pytest.warns(widemargin.NotSeparableWarning):
        cycle.fit([[0], [1], [2]], [1, -1, 1])
    assert "proves that no hyperplane" in " ".join(verdict(subject_of(cycle), None))
    noise = examine(svm.model_, np.zeros((10, 2)), ["pos", "neg"] * 5)
    assert "not certain" in " ".join(verdict(subject_of(svm), noise))


def test_certificates_come_with_their_meaning(clouds, tmp_path):
    X, y = [[2.0, 1.0], [1.0, 2.0], [-1.0, -1.0], [-2.0, 0.5]], [1, 1, -1, -1]
    p = Perceptron(keep="vote", shuffle=False, epochs=50).fit(X, y)
    told = certify(p, X, y)
    report(p, tmp_path / "p.html", certificate=told)
    text, _ = read(tmp_path / "p.html")
    assert f"theory allows at most {int(told.bound)}" in text
    assert "no curve ever crosses" in text
    LinearSVM().fit(*clouds[:2]).report(tmp_path / "svm.html")
    text, _ = read(tmp_path / "svm.html")
    assert "a cost that no weights can undercut" in text
    report(p, tmp_path / "c.html", certificate=certify(X, y))
    assert "proved in exact arithmetic" in read(tmp_path / "c.html")[0]


def test_kernel_certificates_are_told_in_parts(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) + 2.0 * np.repeat(np.eye(3), 20, axis=0)
    y = np.repeat(["apple", "pear", "plum"], 20)
    svm = KernelSVM().fit(X, y)
    report(svm, tmp_path / "k.html")
    _, found = read(tmp_path / "k.html")
    words = " ".join(" ".join(found.words).split())
    gap = svm.certificate_.gap
    assert f"lower by more than {100 * gap:.2g} %" in words
    assert f"relative gap {gap:.3g}" in words
    for part in svm.certificate_.parts:
        assert f"{part.problem} relative gap {part.gap:.3g}" in words
    hard = KernelSVM(C=np.inf, gamma=4.0).fit(X, y)
    assert hard.certificate_.separates
    assert "in feature space with a margin" in " ".join(verdict(subject_of(hard), None))


def test_what_was_measured_once_is_told_in_words(clouds, tmp_path):
    """A point is no curve; and epochs are whole numbers."""
    X, y, *_ = clouds
    report(Perceptron(epochs=1, random_state=0).fit(X, y), tmp_path / "p.html")
    _, found = read(tmp_path / "p.html")
    assert "Measured once: mistakes " in "".join(found.words)
    few = Perceptron(epochs=2, random_state=0).fit(X, y).history_.charts()
    assert ">2</text>" in few
    assert ">1.5</text>" not in few
    assert ">1.2</text>" not in few


@pytest.mark.parametrize("kind", ["texts", "table"])
def test_the_program_of_the_page_trains_the_same_model(kind, tmp_path):
    """What encodes the examples belongs to it."""
    texts = ["cheap pills now", "win money now", "see you at lunch", "how are you"] * 3
    labels = ["spam", "spam", "ham", "ham"] * 3
    table = {"size": [1.0, 2.0, 3.0, 4.0] * 3, "kind": ["a", "b", "b", "a"] * 3, "label": labels}
    if kind == "texts":
        model = TextClassifier(Perceptron(random_state=3), ngrams=(1, 3)).fit(texts, labels)
    else:
        learner = Perceptron(random_state=3)
        model = TableClassifier(learner, scale="none", columns=["kind"]).fit(table, "label")
    report(model, tmp_path / "m.html")
    code = training_code(subject_of(model))
    assert code in "".join(read(tmp_path / "m.html")[1].words)
    names = {"texts": texts, "labels": labels, "table": table}
    exec(code, names)
    given = texts if kind == "texts" else table
    found = names["model"].decision_function(given)
    assert np.array_equal(found, model.decision_function(given))


def test_worst_mistakes_are_the_surest_wrong_answers(clouds):
    X, y, X_test, y_test = clouds
    p = Perceptron(random_state=0).fit(X, y)
    exam = examine(p.model_, X_test, y_test)
    scores = p.decision_function(X_test) * np.where(y_test == "pos", 1, -1)
    wrong = [i for i in np.argsort(scores) if p.predict(X_test)[i] != y_test[i]][:10]
    assert [mistake.place for mistake in exam.mistakes] == [f"row {i}" for i in wrong]
    assert [mistake.lead for mistake in exam.mistakes] == pytest.approx(scores[wrong].tolist())
    first = exam.mistakes[0]
    assert first.predicted != first.right
    total = sum(share for _, _, share in first.reasons)
    assert total == pytest.approx(-first.lead)
    assert exam.measures.right == int((p.predict(X_test) == y_test).sum())


def test_worst_mistakes_do_not_depend_on_pieces(clouds):
    X, y, X_test, y_test = clouds
    model = Perceptron(random_state=0).fit(X, y).model_
    whole = examine(model, X_test, y_test)
    from widemargin.evaluate.predictions import Exam, Mistake, leads_of

    pieces = Exam(model.classes)
    codes = np.searchsorted(model.classes, y_test)
    scores = model.decision_function(X_test)
    for start in range(0, 40, 7):
        part = slice(start, start + 7)
        leads = leads_of(scores[part], codes[part], (scores[part] >= 0).astype(int), 2)
        pieces.add(
            codes[part],
            (scores[part] >= 0).astype(int),
            leads,
            lambda i, s=start, leads=leads: Mistake(f"row {s + i}", 0, 1, float(leads[i])),
        )
    assert [m.place for m in pieces.mistakes] == [m.place for m in whole.mistakes]
    assert np.array_equal(pieces.measures.confusion, whole.measures.confusion)


def test_leads_of_several_classes_and_unknown_labels():
    model = Perceptron(random_state=0).fit(np.eye(3), ["a", "b", "c"]).model_
    exam = examine(model, np.eye(3), ["a", "c", "other"])
    assert exam.measures.confusion[-1].sum() == 1
    assert len(exam.mistakes) == 2
    assert all(mistake.lead <= 0 for mistake in exam.mistakes)


def test_evil_names_and_texts_are_harmless(texts, tmp_path):
    texts.report(
        tmp_path / "evil.html", [f"{EVIL} lunch", "<img src=x onerror=alert(1)> win"], ["x", "x"]
    )
    text, found = read(tmp_path / "evil.html")
    assert "broken in" in " ".join(found.words)
    assert "img" not in found.tags
    assert "&lt;img src=x onerror=alert(1)&gt;" in text


def test_many_classes_and_features_stay_small(tmp_path):
    rng = np.random.default_rng(0)
    k = 100
    X = np.vstack([np.eye(k), np.eye(k)]) + 0.01 * rng.normal(size=(2 * k, k))
    y = np.array([f"class {i} with a rather long name {'x' * 50}" for i in range(k)] * 2)
    p = Perceptron(epochs=2, random_state=0).fit(X, y)
    p.report(tmp_path / "many.html", X, np.roll(y, 1))
    _, found = read(tmp_path / "many.html")
    assert "answers" in found.ids


def test_any_model_with_a_history_has_a_report(tmp_path):
    history = History(
        [Epoch(1, 5, 5, 0.5, None, None, 0.1, 20), Epoch(2, 0, 0, 0.0, None, None, 0.2, 20)]
    )
    tagger = types.SimpleNamespace(
        history=history,
        learner="Tagger",
        params={"epochs": 2},
        facts=lambda: [("templates", "19, of words and tags <&>")],
    )
    report(tagger, tmp_path / "t.html")
    text, found = read(tmp_path / "t.html")
    assert "templates" in text
    assert "19, of words and tags &lt;&amp;&gt;" in text
    assert "features" not in found.ids
    with pytest.raises(DataError, match="history"):
        report(object(), tmp_path / "t.html")


def test_other_libraries_pairwise_scores_are_examined(clouds):
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 4, 60)
    machine = SVC(decision_function_shape="ovo").fit(X, y)
    exam = examine(machine, X, y)
    assert exam.measures.accuracy == pytest.approx(machine.score(X, y))


# The shell


@pytest.fixture(scope="module")
def shell_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "train.tsv").write_text(
        "".join(f"spam\twin cheap money {i}\nham\tlunch with the family {i}\n" for i in range(20))
    )
    (folder / "test.tsv").write_text(f"spam\twin money\nham\tcheap win {EVIL}\nham\tthe family\n")
    run_shell(folder, "train", "train.tsv", "--model", "m.wm", "--quiet")
    return folder


def test_shell_report(shell_files):
    ran = run_shell(shell_files, "report", "m.wm", "test.tsv", "-o", "out.html")
    assert ran.stdout.startswith("out.html: ")
    text, found = read(shell_files / "out.html")
    assert [name for name in SECTIONS if name not in found.ids] == []
    assert "test.tsv:2: ham taken for spam" in text
    assert "cheap win &lt;script&gt;" in text
    assert "2 of 3" in text
    assert "widemargin report m.wm test.tsv -o out.html" in text
    run_shell(shell_files, "report", "m.wm", "--output", "alone.html")
    assert "answers" not in read(shell_files / "alone.html")[1].ids


def test_shell_report_errors(shell_files):
    (shell_files / "plain.txt").write_text("no labels here\n")
    ran = run_shell(shell_files, "report", "m.wm", "plain.txt", "-o", "x.html", code=1)
    assert "no labels" in ran.stderr
    run_shell(shell_files, "report", "m.wm", code=2)
    run_shell(shell_files, "report", "m.wm", "-o", "no/such/folder.html", code=1)


# Notebooks


def test_notebooks_show_what_was_learned(clouds, texts):
    p = Perceptron(epochs=3, random_state=0)
    assert "<svg" not in p._repr_html_()
    X, y = clouds[:2]
    p.fit(X, y)
    assert "mistakes" in p._repr_mimebundle_()["text/html"]
    for shown in (p, p.model_, p.history_, texts):
        text = shown._repr_html_()
        assert "<svg" in text
    for certificate in (
        LinearSVM().fit(X, y).certificate_,
        certify([[0.0], [1.0]], [0, 1]),
        certify([[0.0], [1.0], [3.0]], [0, 1, 2]),
        p.certificate_,
    ):
        Page(certificate._repr_html_())
        assert str(certificate).splitlines()[0] in html.unescape(certificate._repr_html_())
    Page(p.history_._repr_html_())
    Page(p.model_._repr_html_())


# A real browser


def complaints(browser):
    """What the console says of a page."""
    return [line["message"] for line in browser.get_log("browser")]


def test_chromium_shows_every_section(browser, texts, tmp_path):
    path = tmp_path / "evil.html"
    texts.report(path, [f"{EVIL} lunch", "win money"], ["spam", "</main><script>ham"])
    browser.get(path.as_uri())
    shown = browser.page_source
    assert complaints(browser) == []
    found = Page(re.sub("<!DOCTYPE[^>]*>", "", shown))
    assert [name for name in SECTIONS if name not in found.ids] == []
    assert "<title>broken in</title>" not in shown
    assert "script" not in found.tags


def test_chromium_prints_and_goes_dark(browser, clouds, tmp_path):
    X, y, X_test, y_test = clouds
    path = tmp_path / "p.html"
    Perceptron(epochs=4, random_state=0).fit(X, y).report(path, X_test, y_test)
    browser.get(path.as_uri())
    printed = browser.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert base64.b64decode(printed)[:5] == b"%PDF-"
    Image = pytest.importorskip("PIL.Image", reason="looking at screenshots needs Pillow")
    corners = {}
    for scheme in ("light", "dark"):
        look = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": look})
        picture = Image.open(io.BytesIO(browser.get_screenshot_as_png()))
        corners[scheme] = picture.convert("L").getpixel((2, 200))
    assert corners["light"] > 240
    assert corners["dark"] < 60


def test_chromium_plays_a_film(browser, tmp_path):
    pytest.importorskip("matplotlib", reason="films need matplotlib")
    X, y = np.array([[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]]), [-1, 1, 1, -1, -1, 1]
    p = Perceptron(keep="vote", shuffle=False, fit_intercept=False).fit(X, y)
    path = tmp_path / "film.html"
    widemargin.animate(p, X, y, path)
    browser.get(path.as_uri())
    for _ in range(2):
        browser.execute_script('document.getElementById("on").click()')
    words = browser.execute_script('return document.getElementById("words").textContent')
    assert words.startswith("correction 2: row 2")
    assert complaints(browser) == []
