"""Read the tables of a database into its snapshot: ``toolfold source refresh``."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from toolfold.aws.clients import AwsClients
from toolfold.build.importers.base import RefreshReport
from toolfold.build.importers.sql.importer import SNAPSHOT, Snapshot, SqlSourceSettings, UnreadableSnapshot
from toolfold.build.writer import replace_file
from toolfold.catalog.allow_list import own_variable
from toolfold.catalog.entries import Auth, Source
from toolfold.errors import CallError, SourceError
from toolfold.execution.api_keys import resolve_api_key
from toolfold.execution.credentials import NO_CREDENTIALS
from toolfold.execution.secrets import SecretProvider
from toolfold.sources.sql.database_reader import open_database
from toolfold.sources.sql.errors import DatabaseFailure, FailureKind, to_call_error
from toolfold.sources.sql.schema import DatabaseSchema
from toolfold.sources.sql.source_settings import SqlSettings

if TYPE_CHECKING:
    from toolfold.settings import Settings

__all__ = ["refresh"]

_MAX_SCHEMAS = 10
"""Names of schemas in a sentence."""

_TIMEOUT_S = 60.0
"""Seconds for connecting and for reading all tables."""


def refresh(
    folder: Path,
    settings: SqlSourceSettings,
    process_settings: Settings,
    *,
    check: bool = False,
    progress: Callable[[str], None] = lambda _line: None,
) -> RefreshReport:
    """Read the tables of a database, and write ``snapshot.json`` when they differ from it.

    Args:
        folder: the folder of the source.
        settings: its ``source.yaml``.
        process_settings: the settings in force.
        check: whether nothing is written.
        progress: receives a line for each step.

    Returns:
        The tables that were added, removed and changed.

    Raises:
        SourceError: the database cannot be read, or its role may do more than read. Nothing was written.
    """
    path = folder / SNAPSHOT
    source = _source(settings)
    try:
        connection_string = resolve_api_key(
            source,
            NO_CREDENTIALS,
            SecretProvider(
                AwsClients(),
                process_settings.secret_ttl_s,
                process_settings.secret_timeout_s,
                source_keys=process_settings.source_keys,
            ),
        )
    except CallError as error:
        raise _error(folder, f"{error.message} {error.suggestion}") from error
    progress(f"Reading the tables of {source.title} …")
    schema = _read_schema(folder, source, settings.max_bytes, connection_string)
    if not schema.tables:
        problem = "the role may read no table that tables.include and schemas name; grant SELECT, or correct them"
        raise _error(folder, ". ".join([problem, *_notes(schema)]))
    previous = _previous(path)
    report = _compare(previous, schema)
    progress(f"{len(schema.tables):,} tables and views, {sum(len(table.columns) for table in schema.tables):,} columns")
    is_current = previous is not None and not report and previous.dialect == settings.dialect
    if not check and not is_current:
        fetched_at = datetime.now(UTC).replace(microsecond=0).isoformat()
        _replace(path, Snapshot(settings.dialect, fetched_at, schema).to_json())
    return report


def _source(settings: SqlSourceSettings) -> Source:
    """Return what the catalog will have of the source, as far as reading it needs that."""
    environment = (settings.auth and settings.auth.environment) or own_variable(settings.id)
    auth = Auth(environment)
    title = settings.title or settings.id
    return Source(
        settings.id, title, settings.kind, "", "", auth, {}, settings.no_data, (), (), connection=settings.connection()
    )


def _read_schema(folder: Path, source: Source, max_bytes: int, connection_string: str) -> DatabaseSchema:
    settings = SqlSettings.from_source(source)
    deadline = time.monotonic() + _TIMEOUT_S
    try:
        database = open_database(settings, connection_string, max_bytes, deadline)
        try:
            return database.read_schema(deadline)
        finally:
            database.close()
    except DatabaseFailure as failure:
        if failure.kind is FailureKind.ROLE:
            raise _error(folder, failure.detail) from None
        error = to_call_error(
            failure, title=source.title, dialect=settings.dialect, max_bytes=max_bytes, statement="", schema=None
        )
        raise _error(folder, f"{error.message} {error.suggestion}") from error


def _previous(path: Path) -> Snapshot | None:
    try:
        return Snapshot.read(path)
    except (OSError, UnreadableSnapshot):
        return None


def _compare(previous: Snapshot | None, schema: DatabaseSchema) -> RefreshReport:
    before = {} if previous is None else {(one.schema, one.name): one for one in previous.schema.tables}
    after = {(one.schema, one.name): one for one in schema.tables}

    def names(keys: list[tuple[str, str]]) -> tuple[str, ...]:
        return tuple(".".join(filter(None, key)) for key in sorted(keys))

    return RefreshReport(
        names([key for key in after if key not in before]),
        names([key for key in before if key not in after]),
        names([key for key in after if key in before and after[key] != before[key]]),
        _notes(schema),
    )


def _notes(schema: DatabaseSchema) -> tuple[str, ...]:
    """Return what there is to say about schemas that the source does not have, and views that it cannot read."""
    notes = []
    if schema.other_schemas:
        listed = ", ".join(ascii(name) for name in schema.other_schemas[:_MAX_SCHEMAS])
        more = ", …" if len(schema.other_schemas) > _MAX_SCHEMAS else ""
        advice = "Add to schemas in source.yaml what is needed"
        notes.append(f"The role may read tables of other schemas too: {listed}{more}. {advice}")
    if unusable := schema.skipped_note():
        notes.append(f"{unusable[0].upper()}{unusable[1:]}")
    return tuple(notes)


def _replace(path: Path, text: str) -> None:
    """Replace a file in one step: a reader never sees half of it."""
    if path.is_symlink():
        raise _error(path.parent, f"{path.name} is a symbolic link; nothing was written")
    try:
        replace_file(path, text)
    except OSError as error:
        raise _error(path.parent, f"{path.name} cannot be written: {error.strerror}; it is as it was") from None


def _error(folder: Path, problem: str) -> SourceError:
    return SourceError([f"{folder / 'source.yaml'}:1: {problem}"])
