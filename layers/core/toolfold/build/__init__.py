"""Check, compile, lint and publish a catalog. Imported by ``cli``."""
