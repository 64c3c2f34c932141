"""One file per group of functions: which parameters they accept and the document they answer with.

Each file holds a tuple ``SHAPES``; ``mock_api.registry`` joins them into one table. Documents are plain JSON-able
dictionaries with the keys, the number formats and the missing-value marks that the vendor uses.
"""
