import gc
import os
import signal

from hypothesis import HealthCheck, Phase, settings

# A shell starts what runs in its background deaf to Ctrl-C; tests that press it would wait
# for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "fixed",
    deadline=None,
    derandomize=True,
    max_examples=20,
    print_blob=True,
    phases=[phase for phase in Phase if phase is not Phase.explain],  # slow
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile(
    "random", parent=settings.get_profile("fixed"), derandomize=False, max_examples=100
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def pytest_collection_finish():
    """Leave what was imported out of every later garbage collection: some tests make many."""
    gc.collect()
    gc.freeze()
