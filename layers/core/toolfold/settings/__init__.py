"""The settings: environment variables and a file of their defaults, read once at the start into one typed value.

API keys are not settings: ``execution.credentials`` reads them for each call.
"""

from toolfold.settings.model import VARIABLES, Settings

__all__ = ["VARIABLES", "Settings"]
