"""Number of examples of a property test."""

from hypothesis import HealthCheck, settings


def examples(few: int, *, many: int, slow_to_make: bool = False) -> settings:
    """Return settings with ``few`` examples in every run and ``many`` in ``make explore``."""
    long = settings.get_current_profile_name() == "long"
    return settings(max_examples=many if long else few, suppress_health_check=list(HealthCheck) if slow_to_make else [])
