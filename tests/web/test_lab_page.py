"""The lab's page in a real browser: what it shows is what the library computes."""

import base64
import json
import time
import warnings
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import widemargin

pytest.importorskip("starlette", reason="the lab needs starlette")
webdriver = pytest.importorskip("selenium.webdriver", reason="the page is driven by selenium")
ActionChains, Keys = webdriver.ActionChains, webdriver.Keys

pytestmark = pytest.mark.filterwarnings("ignore::widemargin.NotSeparableWarning")
#: Points on which every learner is compared once more by the exhaustive tests.
REPEATED = ("narrow", "three")
SIX = np.array([[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]], dtype=float)


@pytest.fixture(scope="module")
def running():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 4)) * [1, 5, 2, 1] + [0, 30, 0, 0]
    with widemargin.lab(X, X[:, 0] + X[:, 2] > 0, names=["a", "b", "c", "d"]) as lab:
        yield lab


@pytest.fixture
def page(running, browser):
    """The page with the lecture's six points."""
    open_at(browser, running, 1400)
    load(browser, "six")
    yield browser
    severe = [one["message"] for one in browser.get_log("browser") if one["level"] == "SEVERE"]
    assert severe == []


def open_at(browser, running, width, scheme="light", fragment=""):
    metrics = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    look = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": look})
    browser.get("about:blank")
    browser.get(running.url + fragment)
    settle(browser)


def settle(browser):
    """Wait until the page has all its answers and has drawn them."""
    quiet = """const s = window.lab?.state();
    return Boolean(s?.idle && lab.cards.every((card) => card.words !== undefined))"""
    until = time.monotonic() + 240  # loops may have to be compiled first
    while time.monotonic() < until:
        if browser.execute_script(quiet):
            return
        time.sleep(0.02)
    raise AssertionError(browser.execute_script("return document.body.innerText"))


def announced(browser):
    """What is announced to screen readers, one frame after it is drawn."""
    return browser.execute_async_script(
        "const done = arguments[0], frame = requestAnimationFrame;"
        "frame(() => frame(() => done(document.getElementById('announce').textContent)))"
    )


def load(browser, name):
    browser.execute_script(
        "lab.load(lab.setup.presets.find((one) => one.name === arguments[0]))", name
    )
    settle(browser)


def state(browser):
    settle(browser)
    return browser.execute_script("return lab.state()")


def press(browser, *keys):
    ActionChains(browser).send_keys(*keys).perform()
    settle(browser)


def focus(browser, css):
    browser.execute_script("document.querySelector(arguments[0]).focus()", css)


def points_of(now):
    points = np.array(now["points"])
    return points[:, :2], np.array(now["classes"])[points[:, 2].astype(int)]


def test_the_worked_example_by_keyboard_alone(page):
    """Every step of the lecture: mistakes on the 1st, 3rd and 5th example, then w = (3, 1)."""
    assert "Press → to look at the first example" in state(page)["shown"][0]["words"]
    seen = []
    for _ in range(6):
        press(page, Keys.ARROW_RIGHT)
        shown = state(page)["shown"][0]
        seen.append((shown["mistake"], shown["w"][0][:2]))
    after = [[1, -2], [1, -2], [2, -1], [2, -1], [3, 1], [3, 1]]
    assert seen == list(zip([True, False] * 3, after, strict=True))
    press(page, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    shown = state(page)["shown"][0]
    assert shown["w"][0][:2] == [2, -1]
    press(page, Keys.ARROW_RIGHT)
    words = state(page)["shown"][0]["words"]
    assert "A mistake" in words
    assert "(2, −1) − (−1, −2) = (3, 1)" in words
    heard = announced(page)
    assert "A mistake" in heard
    press(page, Keys.HOME, "m", "m")
    assert state(page)["position"] == 3
    press(page, "M")
    assert state(page)["position"] == 1
    press(page, Keys.END)
    now = state(page)
    assert now["position"] == now["length"] == 12
    assert now["shown"][0]["right"] == 6


LEARNERS = [
    ("perceptron", {"keep": "average", "shuffle": "rows", "random_state": 5}),
    ("perceptron", {"batch": 4, "eta": 0.5}),
    ("pa", {"C": 0.3}),
    ("logistic", {"epochs": 3}),
]


@pytest.mark.parametrize(
    "name", ["xor", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in REPEATED)]
)
@pytest.mark.parametrize(("learner", "settings"), LEARNERS)
def test_the_screen_equals_the_library(page, name, learner, settings):
    load(page, name)
    given = [{"learner": learner, "settings": settings}]
    page.execute_script(
        "lab.restore({...lab.state(), learners: arguments[0], position: 'end'})", given
    )
    now = state(page)
    shown, (X, y) = now["shown"][0], points_of(now)
    kinds = {"perceptron": "Perceptron", "pa": "PassiveAggressive", "logistic": "OnlineLogistic"}
    params = {"shuffle": False, "keep": "last", "epochs": 20, "random_state": 0, **settings}
    params["fit_intercept"] = True  # the lecture's constant 1
    if learner == "logistic":
        params.setdefault("eta", 1.0)  # as on the page
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = getattr(widemargin, kinds[learner])(**params).fit(X, y)
    assert np.allclose(shown["weights"], np.column_stack([fit.coef_, fit.intercept_]), rtol=1e-9)
    assert shown["mistakes"] == fit.mistakes_
    assert shown["right"] == np.sum(fit.predict(X) == y)


def test_kernel_learners_and_votes_on_the_screen(page):
    load(page, "rings")
    now = state(page)
    X, y = points_of(now)
    common = {"gamma": 0.5, "kernel": "rbf"}
    perceptron = widemargin.KernelPerceptron(
        **common, keep="last", shuffle=False, epochs=20, random_state=0
    ).fit(X, y)
    svm = widemargin.KernelSVM(**common, C=10.0).fit(X, y)
    for shown, fit in zip(now["shown"], (perceptron, svm), strict=True):
        assert np.allclose(shown["scores"], fit.decision_function(X), rtol=1e-7, atol=1e-7)
    load(page, "narrow")
    page.execute_script("lab.set(0, 'keep', 'vote')")
    settle(page)
    field = page.execute_script(
        "const t = lab.cards[0].training; return [...t.votes(t.length, arguments[0], 'test')]",
        X.ravel().tolist(),
    )
    now = state(page)
    A, b = points_of(now)
    voted = widemargin.Perceptron(keep="vote", shuffle=False, epochs=100, random_state=0).fit(A, b)
    assert np.allclose(field, voted.decision_function(X), rtol=1e-9)


def test_the_verdict_follows_the_points(page):
    now = state(page)
    assert now["verdict"]["verdict"] == "separable"
    x, y = place(page, *SIX[0])
    x2, y2 = place(page, 3, 0.5)
    ActionChains(page).move_by_offset(0, 0).perform()
    canvas = page.find_element("css selector", "canvas.plane")
    half = canvas.size["width"] / 2
    chain = ActionChains(page).move_to_element_with_offset(canvas, x - half, y - half)
    chain.click_and_hold().move_to_element_with_offset(
        canvas, x2 - half, y2 - half
    ).release().perform()
    settle(page)
    now = state(page)
    assert now["points"][0][:2] != [-1, 2]
    assert np.allclose(now["points"][0][:2], [3, 0.5], atol=0.05)
    X, labels = points_of(now)
    found = widemargin.certify(X, labels, bias=False)
    assert found.verdict == now["verdict"]["verdict"] == "not separable"
    assert now["verdict"]["examples"] == found.examples.tolist()
    badge = page.execute_script("return document.getElementById('verdict').textContent")
    assert badge == "not separable"
    ActionChains(page).key_down(Keys.CONTROL).send_keys("z").key_up(Keys.CONTROL).perform()
    assert state(page)["points"][0][:2] == [-1, 2]


def place(page, x, y):
    """Where a place of the plane is on the canvas."""
    return page.execute_script(
        "const {plane} = lab.cards[0]; return [plane.x(arguments[0]), plane.y(arguments[1])]", x, y
    )


def test_points_by_mouse_and_by_keys(page):
    canvas = page.find_element("css selector", "canvas.plane")
    half = canvas.size["width"] / 2
    x, y = place(page, 2, 3)
    ActionChains(page).move_to_element_with_offset(canvas, x - half, y - half).click().perform()
    now = state(page)
    assert len(now["points"]) == 7
    assert np.allclose(now["points"][6], [2, 3, 1], atol=0.05)
    ActionChains(page).move_to_element_with_offset(
        canvas, x - half, y - half
    ).context_click().perform()
    assert len(state(page)["points"]) == 6
    focus(page, "canvas.plane")
    press(page, "1", Keys.ARROW_UP, Keys.ARROW_UP, Keys.ENTER)
    now = state(page)
    assert now["points"][6] == [0, 0.2, 0]
    press(page, Keys.ENTER, Keys.ARROW_LEFT, Keys.ENTER)
    assert state(page)["points"][6] == [-0.1, 0.2, 0]
    press(page, Keys.DELETE)
    assert len(state(page)["points"]) == 6


def test_points_by_touch(page):
    box = page.execute_script(
        "const {canvas} = lab.cards[0]; canvas.scrollIntoView();"
        "const box = canvas.getBoundingClientRect(); return [box.left + 1, box.top + 1]"
    )

    def finger(kind, x, y):
        px, py = place(page, x, y)
        touched = [] if kind == "touchEnd" else [{"x": box[0] + px, "y": box[1] + py}]
        page.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touched})

    page.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    for kind, x, y in (("touchStart", 2, 3), ("touchMove", 3, 3), ("touchEnd", 3, 3)):
        finger(kind, x, y)
    page.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    now = state(page)
    assert len(now["points"]) == 7
    assert np.allclose(now["points"][6][:2], [3, 3], atol=0.06)


def test_a_third_class(page):
    page.execute_script("lab.addClass()")
    focus(page, "canvas.plane")
    press(page, Keys.SHIFT + Keys.ARROW_UP * 6, Keys.NULL, Keys.ENTER)
    now = state(page)
    assert now["classes"] == [-1, 1, 2]
    assert len(now["shown"][0]["w"]) == 3


def test_undo_restores_other_points_with_their_classes(page):
    load(page, "three")
    before = state(page)
    load(page, "six")
    page.find_element("id", "undo").click()
    now = state(page)
    for name in ("points", "classes", "frame", "preset", "story"):
        assert now[name] == before[name]
    assert page.find_element("id", "status").text == ""
    assert (
        page.find_element("css selector", "[aria-pressed=true]").get_attribute("title")
        == "Three classes"
    )


def test_there_is_nothing_to_undo_at_the_start(browser, running):
    open_at(browser, running, 1400)
    points = state(browser)["points"]
    browser.find_element("id", "undo").click()
    assert state(browser)["points"] == points


def test_passes_are_counted_as_in_the_caption(page):
    """The weights of a solver are shown after some of its passes only."""
    load(page, "outlier")
    press(page, Keys.END)
    told = page.find_element("id", "count").text
    last = max(run["passes"][-1]["passes"] for run in page.execute_script("return lab.runs"))
    assert last > 10
    assert told == f"pass {last} of {last}"
    press(page, Keys.HOME)
    assert page.find_element("id", "count").text == f"pass 0 of {last}"


def test_links_and_json_restore_everything(page, running):
    load(page, "outlier")
    page.execute_script("lab.set(1, 'C', 5); lab.player.setSpeed(20); lab.shown.trail = false")
    settle(page)
    page.execute_script("lab.player.go(4)")
    before = state(page)
    page.find_element("id", "link").click()
    address = page.execute_script("return document.querySelector('#dialog textarea').value")
    assert address.startswith(running.url + "#")
    open_at(page, running, 1400, fragment=address.partition(running.url)[2])
    after = state(page)
    kept = ("points", "classes", "learners", "frame", "position", "speed", "story", "linked")
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert page.execute_script("return lab.shown.trail") is False
    assert after["shown"][1]["w"] == before["shown"][1]["w"]


def test_a_broken_link_is_told(page, running):
    open_at(page, running, 1400, fragment="#bm90IGEgc3RhdGU")
    told = page.execute_script("return document.getElementById('status').textContent")
    assert "cannot be read" in told or state(page)["points"]


def test_pictures(page):
    load(page, "xor")
    drawing = page.execute_script("return lab.svg()")
    root = ElementTree.fromstring(drawing.encode())
    assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) > 40
    picture = page.execute_async_script(
        "const done = arguments[0]; import(new URL('exports.js', location)).then(async (m) => {"
        "const blob = await m.pngOf(lab); done([blob.type, blob.size]); })"
    )
    assert picture[0] == "image/png"
    assert picture[1] > 5000
    told = json.loads(
        page.execute_async_script(
            "const done = arguments[0];"
            "import(new URL('exports.js', location)).then((m) => done(m.jsonOf(lab)))"
        )
    )
    assert told["state"]["preset"] == "xor"
    assert told["runs"][0]["cycle"]


def test_the_python_that_is_shown_runs(page, capsys):
    load(page, "outlier")
    page.find_element("id", "python").click()
    until = time.monotonic() + 30
    text = ""
    while not text and time.monotonic() < until:
        text = page.execute_script(
            "return document.querySelector('#dialog pre')?.textContent ?? ''"
        )
    names = {}
    exec(compile(text, "lab.py", "exec"), names)
    shown = state(page)["shown"]
    for one, fit in zip(shown, (names["learner"], names["second"]), strict=True):
        assert np.array_equal(one["weights"], np.column_stack([fit.coef_, fit.intercept_]))
    capsys.readouterr()


def test_own_examples(page):
    page.execute_script("document.getElementById('show-sample').click()")
    settle(page)
    now = state(page)
    assert "main directions" in now["story"]
    assert now["classes"] == ["False", "True"]
    assert len(now["points"]) == 40


def test_a_hard_margin_that_does_not_exist_is_told(page):
    load(page, "xor")
    page.execute_script("lab.setLearner(0, 'hard-svm')")
    settle(page)
    notice = page.execute_script("return document.querySelector('.notice').textContent")
    assert notice.startswith("No line separates the classes: a hard margin does not exist.")
    page.execute_script("lab.setLearner(0, 'soft-svm')")
    settle(page)
    page.execute_script("lab.player.go(1)")
    told = announced(page)
    assert "% lower" in told


def test_cycles_and_failures_are_shown(page):
    load(page, "xor")
    notice = "return document.querySelector('.notice').textContent"
    assert "proves that no line separates the classes" in page.execute_script(notice)
    page.execute_script("lab.set(0, 'fit_intercept', false)")
    settle(page)
    assert "proves that no line through the origin separates" in page.execute_script(notice)
    page.execute_script("lab.set(0, 'fit_intercept', true); lab.set(0, 'epochs', 5000)")
    settle(page)
    assert state(page)["points"]
    assert page.find_element("class name", "caption").text == ""  # there are points already
    assert "20,000" in page.execute_script("return document.querySelector('.notice').textContent")


def test_the_caption_says_what_is_missing(page):
    """Points, or only the answer of the library."""
    told = page.execute_async_script("""
      const done = arguments[0], all = [[], [[0, 0, 1]], [[0, 0, 1], [1, 1, 0]]];
      import("./story.js").then(({withoutRun}) =>
        done(all.map((points) => withoutRun(points, false))))""")
    assert told == [*2 * ["Place points of two classes to begin."], "Learning ..."]


def test_playing(page):
    page.execute_script("lab.player.setSpeed(1000); lab.player.play()")
    until = time.monotonic() + 20
    while page.execute_script("return lab.player.playing") and time.monotonic() < until:
        time.sleep(0.02)
    assert state(page)["position"] == 12


def test_a_hidden_answer_of_the_past_is_not_shown(page):
    """Of many quick changes the last one counts."""
    page.execute_script(
        "for (let i = 0; i < 30; i++) lab.move(0, [-1 - i / 10, 2], true); lab.settle()"
    )
    now = state(page)
    X, y = points_of(now)
    assert now["points"][0][0] == pytest.approx(-3.9)
    fit = widemargin.Perceptron(keep="last", shuffle=False, fit_intercept=False, epochs=20).fit(
        X, y
    )
    page.execute_script("lab.player.go(lab.length)")
    assert np.allclose(np.array(state(page)["shown"][0]["w"])[0, :2], fit.coef_[0])


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (400, "light"),
        (1400, "dark"),
        pytest.param(400, "dark", marks=pytest.mark.exhaustive),
        pytest.param(1400, "light", marks=pytest.mark.exhaustive),
    ],
)
def test_nothing_sticks_out(browser, running, width, scheme):
    open_at(browser, running, width, scheme)
    for name in ("six", "xor", "three", "outlier"):
        load(browser, name)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        shot = base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", {})["data"])
        assert len(shot) > 20_000
    severe = [one["message"] for one in browser.get_log("browser") if one["level"] == "SEVERE"]
    assert severe == []


def test_many_hypotheses_do_not_hide_the_points(page):
    page.execute_script("""
      const points = Array.from({length: 300}, (_, i) => {
        const turn = i * 2.4, reach = 0.2 * (i % 17);
        return [reach * Math.cos(turn), reach * Math.sin(turn), i % 2];
      });
      lab.adoptPoints(points, [-1, 1], {story: "", preset: ""})""")
    press(page, Keys.END)
    assert page.execute_script("return lab.cards[0].training.hypotheses") > 1000
    dark = page.execute_script("""
      const {canvas} = lab.cards[0];
      const bytes = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      let dark = 0;
      for (let at = 0; at < bytes.length; at += 4) {
        dark += Math.max(bytes[at], bytes[at + 1], bytes[at + 2]) < 110;
      }
      return dark / (bytes.length / 4)""")
    assert dark < 0.1


def test_two_planes_are_side_by_side(browser, running):
    """However long the descriptions of the learners are."""
    open_at(browser, running, 1280)
    load(browser, "rings")
    tops = browser.execute_script(
        "return lab.cards.map((card) => card.canvas.getBoundingClientRect().top)"
    )
    assert tops[0] == tops[1]


def test_axes_show_their_scale(page):
    """At least two marks are well inside any frame; large numbers are short."""
    marks, words = page.execute_async_script("""
      const done = arguments[0];
      Promise.all([import("./geometry.js"), import("./marks.js")]).then(([{ticks}, {figure}]) => {
        const found = [];
        for (let half = 0.01; half < 1e3; half *= 1.03) for (const few of [4, 6]) {
          const inside = ticks(-half, half, few).filter((x) => x && Math.abs(x) < 0.95 * half);
          found.push(inside.length);
        }
        done([found, [1e6, 3.384e12, -2e-7, 300000].map((value) => figure(value))]);
      })""")
    assert min(marks) == 2
    assert words == ["1e6", "3.384e12", "−2e−7", "300000"]


def test_everything_can_be_reached_by_tab_and_has_a_name(page):
    nameless = page.execute_script("""
      return [...document.querySelectorAll("button, select, input, canvas[tabindex]")]
        .filter((one) => one.offsetParent !== null)
        .filter((one) => !one.textContent.trim() && !one.ariaLabel && !one.labels?.length)
        .map((one) => one.outerHTML.slice(0, 80))""")
    assert nameless == []
    assert (
        page.execute_script(
            "return document.querySelectorAll('[tabindex]:not([tabindex=\"0\"])').length"
        )
        == 0
    )
