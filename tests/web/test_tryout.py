"""The page to try a model by hand, in a real browser."""

import json
import threading

import pytest

pytest.importorskip("httptools")
pytest.importorskip("uvloop")


@pytest.fixture(scope="module")
def address(models):
    """A server of all models in this process."""
    import asyncio

    from widemargin.web.running import address_of, listen
    from widemargin.web.security import Hosts
    from widemargin.web.serving.metrics import Counters
    from widemargin.web.serving.worker import STOP, ServeSettings, Worker

    listening = listen("127.0.0.1", 0)
    settings = ServeSettings(hosts=Hosts("127.0.0.1", listening.getsockname()[1]), grace=1.0)
    ready = threading.Event()
    worker = Worker(models, settings, Counters(1, [served.name for served in models]))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(
        target=lambda: loop.run_until_complete(worker.serve(listening, ready.set))
    )
    thread.start()
    assert ready.wait(30)
    yield address_of(listening)
    loop.call_soon_threadsafe(worker.tell, STOP)
    thread.join(20)
    listening.close()


@pytest.fixture
def page(browser):
    """A telephone: no window can be as narrow."""
    metrics = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    return browser


def find(browser, selector):
    from selenium.webdriver.common.by import By

    return browser.find_elements(By.CSS_SELECTOR, selector)


def wait(browser, true):
    """Ask until it is true; what is drawn anew meanwhile is found anew."""
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.support.ui import WebDriverWait

    stale = [StaleElementReferenceException]
    waiting = WebDriverWait(browser, 20, poll_frequency=0.02, ignored_exceptions=stale)
    return waiting.until(lambda page: true())


def ask(browser, name, written=None):
    """Choose a model, write an example, and ask with the keyboard; the label."""
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select

    (chosen,) = find(browser, "#model")
    Select(chosen).select_by_value(name)
    (box,) = find(browser, "#input")
    if written is not None:
        box.clear()
        box.send_keys(written)
    box.send_keys(Keys.CONTROL, Keys.ENTER)
    wait(browser, lambda: find(browser, "#answer")[0].is_displayed())
    return find(browser, "#label")[0].text


def open_page(browser, address):
    browser.get(address)
    wait(browser, lambda: find(browser, "#question")[0].is_displayed())


def test_a_text_is_marked_by_what_decided_it(page, address):
    open_page(page, address)
    evil = "win money <img src=x onerror=document.title='broken'> see"
    assert ask(page, "texts", evil) == "spam"
    (marked,) = find(page, "#marked")
    assert marked.text == evil  # shown, not run
    assert page.title == "widemargin: try a model"
    pros = [word.text for word in find(page, "#marked .pro")]
    cons = [word.text for word in find(page, "#marked .con")]
    assert {"win", "money"} <= set(pros)
    assert "see" in cons
    assert not find(page, "#marked img")


def test_every_model_can_be_tried_with_its_sample(page, address, models):
    open_page(page, address)
    for served in models:
        label = ask(page, served.name)
        assert served.digest in find(page, "#digest")[0].text
        if served.predictor.explains:
            assert label, served.name
            assert find(page, "#reasons")[0].is_displayed(), served.name
        else:
            assert "{" in find(page, "#marked")[0].text, served.name
        wide = page.execute_script("return document.documentElement.scrollWidth")
        assert wide <= 400, served.name


def test_texts_are_written_as_they_are(page, address):
    """Not as strings of JSON, whatever is made of them."""
    open_page(page, address)
    ask(page, "words", 'It barks. She says "no".')
    assert find(page, "#what")[0].text == "Text"
    assert '"It"' in find(page, "#marked")[0].text


def test_a_word_is_explained_when_it_is_chosen(page, address):
    open_page(page, address)
    ask(page, "tagger", "the dog barks")

    def words():
        return [word.text.split("\n")[0] for word in find(page, "#marked button")]

    def chosen():
        word = find(page, "#marked button")[1]
        if word.get_attribute("aria-pressed") == "true":
            return True
        word.click()
        return False

    wait(page, lambda: words() == ["the", "dog", "barks"])
    wait(page, chosen)


def test_annotated_sentences_are_tables(page, address):
    open_page(page, address)
    first = {"word": 1, "form": "It", "upos": "PRON", "head": 2, "start": 0, "end": 2}
    second = {"word": 2, "form": "<b>", "upos": "VERB", "head": 0, "start": 3, "end": 6}
    sentences = [{"words": [first, second]}] * 2
    told = {"model": "m", "digest": "d", "prediction": {"sentences": sentences}}
    page.execute_script("showPlain(JSON.parse(arguments[0]))", json.dumps(told))
    tables = find(page, "#marked table")
    assert [table.text.split("\n") for table in tables] == 2 * [
        ["word form upos head", "1 It PRON 2", "2 <b> VERB 0"]
    ]
    assert page.execute_script("return document.documentElement.scrollWidth") <= 400


@pytest.mark.parametrize(
    ("prediction", "told"),
    [
        ("dog (2) as nsubj of barks (3)", "dog (2) as nsubj of barks (3)"),
        ("shift barks (3)", "dog: shift barks (3)"),
    ],
)
def test_the_chosen_word_is_named_once(page, address, prediction, told):
    open_page(page, address)
    found = {
        **{"prediction": prediction, "words": ["the", "dog"], "token": 2, "instead_of": None},
        **{"heads": [2, 3], "labels": ["det", "nsubj"], "margins": [1, 1], "reasons": []},
    }
    page.execute_script("show(arguments[0])", found)
    assert find(page, "#label")[0].text == told


def test_what_is_wrong_is_said(page, address):
    open_page(page, address)
    from selenium.webdriver.support.ui import Select

    Select(find(page, "#model")[0]).select_by_value("vectors")
    (box,) = find(page, "#input")
    box.clear()
    box.send_keys("[1, 2]")
    find(page, "#ask")[0].click()
    wait(page, lambda: find(page, "#problem")[0].is_displayed())
    assert "found 2 numbers" in find(page, "#problem")[0].text


def test_nothing_is_asked_elsewhere_and_nothing_fails(page, address):
    page.get_log("browser")
    page.get_log("performance")
    open_page(page, address)
    ask(page, "texts")
    severe = [line for line in page.get_log("browser") if line["level"] == "SEVERE"]
    assert severe == []
    sent = [json.loads(line["message"])["message"] for line in page.get_log("performance")]
    urls = [
        one["params"]["request"]["url"]
        for one in sent
        if one["method"] == "Network.requestWillBeSent"
    ]
    assert urls
    assert all(url.startswith((address, "data:")) for url in urls)
