"""``pytest --hypothesis-profile=long tests/fuzz``: many more examples, and other ones each time."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("long", deadline=None)
