"""One catalog of five sources, measured: ``make bench-sources``."""
