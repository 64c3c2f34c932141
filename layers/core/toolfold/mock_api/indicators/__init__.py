"""Technical indicators, computed for real from the synthetic bars.

A line is a list as long as the bars, oldest first, with None where an indicator has not enough points yet. The
formulas are the textbook ones, with Wilder's smoothing where it is customary; the Hilbert transform family is
replaced by simple cycles within the indicator's range, since nothing here needs its true values.
"""
