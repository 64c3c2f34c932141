"""Measure the search on public sets, whose tools have no texts written for it: ``make bench-retrieval-public``."""
