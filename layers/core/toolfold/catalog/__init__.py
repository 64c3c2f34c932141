"""Open, read and search the compiled catalog.

Data flows through one type, :class:`toolfold.catalog.model.Catalog`, which returns what is in ``entries``.
"""
