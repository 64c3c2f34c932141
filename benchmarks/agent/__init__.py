"""Everyday questions, answered by the three tools over the mock API: ``make eval-agent``."""
