"""What a day of calls costs: a trace of what agents ask, replayed through toolfold and beside it passed through.

``trace`` makes the day out of what is in ``asked``, ``replay`` answers it against the mock API with a clock of its own,
``report`` writes the tables. The figures in docs/reference/measurements-calls.md come from here: ``make bench-calls``.
"""
