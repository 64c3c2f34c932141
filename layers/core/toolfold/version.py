"""The version of toolfold, for what announces it. The package reads it too, and imports the client."""

__version__ = "0.1.0"
