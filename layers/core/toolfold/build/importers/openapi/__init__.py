"""Compile OpenAPI 3.0 and 3.1 documents to tools with HTTP bindings, and fetch documents that a service publishes.

Imported by ``build.importers``, by kind.
"""
