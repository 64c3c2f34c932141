"""One module per group of functions: their parameters, and the documents that they return.

Each module has a tuple ``ENDPOINTS``; ``mock_api.registry`` joins them into one table. Documents are dictionaries that
can be encoded as JSON, with the keys, number formats and missing-value marks that the vendor uses.
"""

__all__ = [
    "analytics",
    "calendars",
    "company",
    "congress",
    "core_stocks",
    "currencies",
    "economy",
    "indicator_parameters",
    "indicators",
    "indices",
    "intelligence",
    "options",
    "quotes",
    "statements",
]
