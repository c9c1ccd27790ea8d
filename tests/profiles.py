"""Hypothesis profiles: few examples per property test in the plain run, more in CI."""

from hypothesis import HealthCheck, Phase, settings

#: Default number of examples per property test in the plain run.
PLAIN_EXAMPLES = 2


def register_profiles():
    """Register the profiles: `fixed` for plain runs, `many` for CI, `random` for new examples."""
    settings.register_profile(
        "fixed",
        deadline=None,
        derandomize=True,
        max_examples=PLAIN_EXAMPLES,
        print_blob=True,
        phases=[phase for phase in Phase if phase is not Phase.explain],  # slow
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    fixed = settings.get_profile("fixed")
    settings.register_profile("many", parent=fixed, max_examples=8 * PLAIN_EXAMPLES)
    settings.register_profile(
        "random", parent=fixed, derandomize=False, max_examples=45 * PLAIN_EXAMPLES
    )


def tries(count):
    """Settings of a property test: `count` examples in the plain run, more in other profiles."""
    return settings(max_examples=count * settings.default.max_examples // PLAIN_EXAMPLES)
