"""Media types by the end of a file's name: the same on every machine, which those of Python are not."""

from __future__ import annotations

__all__ = ["media_type"]

_TYPES = {
    "text/markdown": "md markdown",
    "text/plain": "txt text log rst tmpl template",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "text/html": "html htm",
    "text/css": "css",
    "text/javascript": "js mjs cjs",
    "text/x-typescript": "ts tsx",
    "text/x-python": "py",
    "text/x-shellscript": "sh bash zsh",
    "application/json": "json",
    "application/jsonl": "jsonl ndjson",
    "application/yaml": "yaml yml",
    "application/toml": "toml",
    "application/xml": "xml xsd xsl xslt",
    "application/sql": "sql",
    "application/pdf": "pdf",
    "application/zip": "zip",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "image/png": "png",
    "image/jpeg": "jpg jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/svg+xml": "svg",
    "font/ttf": "ttf",
    "font/otf": "otf",
    "font/woff2": "woff2",
}

_BY_END = {end: media_type for media_type, ends in _TYPES.items() for end in ends.split()}


def media_type(name: str, *, is_text: bool) -> str:
    """Return the media type of a file called ``name``; plain text or bytes for an unknown one."""
    end = name.rpartition(".")[2].lower() if "." in name else ""
    return _BY_END.get(end, "text/plain" if is_text else "application/octet-stream")
