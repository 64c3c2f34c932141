"""The settings: environment variables, read once at the start into one typed value.

``variables`` has every variable with its default and meaning, ``parsers`` the parsers of their values, ``names`` and
``misspelt_names`` what is done about a name, ``model`` the typed value, ``own_keys`` who may use the operator's keys.
API keys are not settings: ``execution.credentials`` reads them for each call. May import ``errors`` and ``fuzzy``.
"""

from toolfold.settings.model import Settings

__all__ = ["Settings", "misspelt_names", "model", "names", "own_keys", "parsers", "variables"]
