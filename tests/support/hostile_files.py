"""What may be at a path where toolfold wants a file or a folder of its own."""

import os
import socket
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

NOTES = b"Call the dentist.\n" * 400


def _text(path: Path) -> None:
    path.write_bytes(NOTES)
    path.chmod(0o644)


def _empty(path: Path) -> None:
    path.touch(0o640)


def _database(path: Path) -> None:
    """Make the database of another application, with tables of the same names as those of toolfold."""
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 3")
        database.execute("CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB, created_at REAL, expires_at REAL)")
        database.execute("INSERT INTO entries VALUES ('my', 'diary', 1, 2)")
    database.close()


def _former_cache(path: Path) -> None:
    """Make a cache file as versions without the application id made it."""
    with sqlite3.connect(path) as database:
        database.executescript(
            "CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB, created_at REAL, expires_at REAL) WITHOUT ROWID;"
            "CREATE TABLE numbers (key TEXT PRIMARY KEY, value REAL, expires_at REAL) WITHOUT ROWID;"
            "PRAGMA user_version = 2;"
        )
    database.close()


def _open_database(path: Path) -> None:
    """Make a database with a log that has not been copied into it, as while its application runs."""
    other = path.with_name("source.sqlite")
    database = sqlite3.connect(other)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE diary (day TEXT)")
    database.commit()
    path.write_bytes(other.read_bytes())
    path.with_name(path.name + "-wal").write_bytes(other.with_name("source.sqlite-wal").read_bytes())
    database.close()
    other.unlink()


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket may have about 100 bytes
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


def _folder(path: Path) -> None:
    path.mkdir(0o755)
    (path / "thesis.txt").write_bytes(NOTES)


def _link_to(kind: Callable[[Path], None]) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        target = path.with_name("target")
        kind(target)
        path.symlink_to(target)

    return make


def _of_another_user(path: Path) -> None:
    _text(path)
    os.chown(path, 65534, 65534)


FILES: Mapping[str, Callable[[Path], None]] = {
    "a text file": _text,
    "an empty file": _empty,
    "a header of SQLite without a database": lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(5000)) and None,
    "a database": _database,
    "a database in use": _open_database,
    "a cache file of an earlier version": _former_cache,
    "a folder": _folder,
    "a FIFO": os.mkfifo,
    "a socket": _socket,
    "a link to a text file": _link_to(_text),
    "a link to a folder": _link_to(_folder),
    "a link to nothing": lambda path: path.symlink_to(path.with_name("nothing")),
    "a link to itself": lambda path: path.symlink_to(path),
}
"""What it is → makes it."""

if hasattr(os, "geteuid") and os.geteuid() == 0:
    FILES = {**FILES, "a file of another user": _of_another_user}
