"""Benchmarks that a person starts, and fast tests of their code."""
