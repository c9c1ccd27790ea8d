import gc
import os
import shutil
import signal

# Two workers share the cores: threads of BLAS would wait for each other, spinning, and one fit of
# scikit-learn's logistic regression would take ten times as long. Set before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings
from profiles import register_profiles

# A shell starts what runs in its background deaf to Ctrl-C; tests that press it would wait
# for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

register_profiles()
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture(autouse=True, scope="module")
def _old_objects_set_aside():
    """Leave what earlier modules made out of garbage collections: some tests make many."""
    gc.freeze()


@pytest.fixture(scope="session")
def chromium():
    """A browser for all pages that a process of the tests opens: starting one takes seconds."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="pages are opened with selenium")
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (binary and driver):
        pytest.skip("there is no browser: install chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in (
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
    ):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield opened
    opened.quit()


@pytest.fixture
def browser(chromium):
    """The browser as if it had just been started."""
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    chromium.get("about:blank")
    chromium.get_log("browser")
    return chromium


def pytest_collection_finish():
    """Throw away what importing left behind, before all the rest is set aside."""
    gc.collect()
