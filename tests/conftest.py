import ctypes
import functools
import gc
import os
import shutil
import signal
import sys

# Two workers share the cores: BLAS threads would spin waiting for each other, and one fit of
# scikit-learn's logistic regression would take ten times as long. Set before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings
from profiles import register_profiles

# The suite starts many processes. Without bytecode files, each would compile the package again, and
# each worker all test modules; some container images turn bytecode off.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Importing and collecting creates hardly any garbage.
gc.disable()

# Most tests allocate and free large arrays. Memory returned to the system in between comes back as
# fresh pages, and clearing these took a seventh of all processor time.
if sys.platform == "linux":
    M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(M_MMAP_THRESHOLD, 1 << 28)
        libc.mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)
        libc.mallopt(M_TOP_PAD, 1 << 26)

# Background jobs of a shell ignore Ctrl-C; tests that send it would wait forever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def equal_at_a_glance(compare):
    """Let numpy look for differences only where there are some: it takes 30 times as long."""

    @functools.wraps(compare)
    def check(actual, desired, *more, **named):
        large = isinstance(actual, np.ndarray) and actual.size > 10_000
        if more or named or not (large and np.array_equal(actual, desired)):
            compare(actual, desired, *more, **named)

    return check


np.testing.assert_array_equal = equal_at_a_glance(np.testing.assert_array_equal)


def run_on_threads(number):
    """Use this many threads wherever the tests do not say how many: more than there are cores."""
    from widemargin import threads

    given = threads.thread_count

    @functools.wraps(given)
    def thread_count(n_jobs):
        return number if n_jobs is None or n_jobs < 0 else given(n_jobs)

    threads.thread_count = thread_count  # before other modules import it


if "WIDEMARGIN_TEST_THREADS" in os.environ:
    run_on_threads(int(os.environ["WIDEMARGIN_TEST_THREADS"]))

register_profiles()
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture(autouse=True, scope="module")
def _old_objects_set_aside():
    """Exclude objects of earlier modules from garbage collections, which some tests run often."""
    gc.freeze()


@pytest.fixture(scope="session")
def chromium():
    """One browser for all pages in a test process, because starting one takes seconds."""
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
    """The browser, reset as if it had just been started."""
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    chromium.get("about:blank")
    chromium.get_log("browser")
    return chromium


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Run browser tests first, so that one worker gets them all and starts the only browser."""
    items.sort(key=lambda item: "chromium" not in getattr(item, "fixturenames", ()))


def pytest_collection_finish():
    """Exclude everything imported and collected so far from garbage collections."""
    gc.freeze()
    gc.enable()
