"""One module per group of functions: their parameters, and the documents that they return.

Each module has a tuple ``ENDPOINTS``; ``mock_api.router`` joins them into one table. Documents are dictionaries that
can be encoded as JSON, with the keys, number formats and missing-value marks that the vendor uses.
"""
