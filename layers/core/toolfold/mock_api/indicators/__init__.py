"""Technical indicators, computed from the synthetic bars.

A line is a list as long as the bars, oldest first, with None where an indicator has too few points. The formulas are
the textbook ones, with Wilder's smoothing where it is customary; the Hilbert transform family is replaced by simple
cycles within the indicator's range, since no test needs its true values. Imports ``mock_api.price_series`` only.
"""
