"""Cost of a day of calls: a workload as agents make it, replayed through toolfold and passed through beside it.

``workload`` generates the calls from ``request_mix.yaml``, ``replay`` sends them to the mock API with its own clock,
``report`` writes the tables. The figures in docs/reference/measurements.md come from here: ``make bench-calls``.
"""
