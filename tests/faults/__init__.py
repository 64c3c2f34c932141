"""Faults of every dependency: what the model sees, what the operator sees, and that other calls are not affected.

Each row of ``faults.csv`` is checked by the test that it names.
"""
