from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "widemargin",
    deadline=None,
    derandomize=True,
    max_examples=20,
    print_blob=True,
    phases=[phase for phase in Phase if phase is not Phase.explain],  # slow
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("widemargin")
