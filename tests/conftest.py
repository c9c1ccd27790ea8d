import gc
import os
import signal

# Two workers share the cores: threads of BLAS would wait for each other, spinning, and one fit of
# scikit-learn's logistic regression would take ten times as long. Set before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, Phase, settings

# A shell starts what runs in its background deaf to Ctrl-C; tests that press it would wait
# for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "fixed",
    deadline=None,
    derandomize=True,
    max_examples=10,
    print_blob=True,
    phases=[phase for phase in Phase if phase is not Phase.explain],  # slow
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("many", parent=settings.get_profile("fixed"), max_examples=40)
settings.register_profile(
    "random", parent=settings.get_profile("fixed"), derandomize=False, max_examples=100
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture(autouse=True, scope="module")
def _old_objects_set_aside():
    """Leave what earlier modules made out of garbage collections: some tests make many."""
    gc.freeze()


def pytest_collection_finish():
    """Throw away what importing left behind, before all the rest is set aside."""
    gc.collect()
