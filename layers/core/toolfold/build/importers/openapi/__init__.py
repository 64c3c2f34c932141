"""Compile OpenAPI 3.0 to 3.2 documents to tools with HTTP bindings, and fetch documents that a service publishes.

Imported by ``build.importers``, by kind. What reads a part of a document raises :class:`document.DocumentError` where
that cannot be expressed; the operation around it is left out then.
"""
