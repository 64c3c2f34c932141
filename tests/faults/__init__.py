"""Faults of every dependency: what the model sees, what the operator sees, and that other calls are not affected.

Each row of the table in docs/reference/faults.md is checked by the test that it names.
"""
