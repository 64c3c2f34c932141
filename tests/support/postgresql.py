"""A PostgreSQL server of the tests: a new cluster in a temporary folder, on a free port of this machine.

``make postgresql`` finds or installs the programs; see ``scripts/install-postgresql``. The folder is not in that of
pytest, which each run as root closes to the account that runs the server.
"""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parent.parent.parent
PASSWORD = "Sesame-CANARY-0123"
"""Of every role of the server. It may appear in a connection string and nowhere else."""

READER_STATEMENTS = (
    f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'",
    "GRANT USAGE ON SCHEMA public TO reader",
    "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader",
    "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
)

_STARTS, _START_TIMEOUT_S = 3, 60
_SETTINGS = {
    "fsync": "off", "full_page_writes": "off", "max_connections": "30", "shared_buffers": "16MB",
    "extra_float_digits": "0",  # rounds a double to 15 digits
}  # fmt: skip


@dataclass(frozen=True)
class PostgresqlServer:
    port: int
    process: subprocess.Popen[bytes] = field(repr=False)

    def url(self, role: str = "postgres", database: str = "postgres", password: str = PASSWORD) -> str:
        """Return the connection string of a role."""
        return f"postgresql://{role}:{password}@127.0.0.1:{self.port}/{database}"

    def execute(self, *statements: str, database: str = "postgres", role: str = "postgres") -> list[tuple[Any, ...]]:
        """Run statements, each in a transaction of its own, and return the rows of the last one."""
        with psycopg.connect(self.url(role, database), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


def programs() -> Path:
    """Return the folder of ``postgres`` and ``initdb``."""
    found = subprocess.run([ROOT / "scripts/install-postgresql", "--find"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, "there is no PostgreSQL here: run `make postgresql`"
    return Path(found.stdout.strip())


@contextmanager
def serve() -> Iterator[PostgresqlServer]:
    """Start a server, stop it, and remove its data."""
    with TemporaryDirectory(prefix="toolfold-postgresql-") as folder:
        yield from _serve(Path(folder))


def _serve(folder: Path) -> Iterator[PostgresqlServer]:
    binaries, account = programs(), _account()
    data = folder / "data"
    data.mkdir(mode=0o700)
    password_file = folder / "password"
    password_file.write_text(PASSWORD)
    if account:
        for path in (folder, data, password_file):
            shutil.chown(path, account["user"], account["group"])
    options = [f"--pgdata={data}", "--username=postgres", "--auth=scram-sha-256", f"--pwfile={password_file}"]
    _run([str(binaries / "initdb"), *options, "--encoding=UTF8", "--locale=C", "--no-sync"], account)
    server = _start(binaries, data, folder / "log", account)
    process = server.process
    try:
        yield server
    finally:
        process.send_signal(signal.SIGINT)  # "fast": rolls back what runs, and closes connections
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _start(binaries: Path, data: Path, log: Path, account: dict[str, Any]) -> PostgresqlServer:
    """Start the server, on another port where a process of this machine has taken the free one."""
    settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
    for _ in range(_STARTS):
        port = free_port()
        command = [str(binaries / "postgres"), "-D", str(data), "-h", "127.0.0.1", "-p", str(port), "-k", "", *settings]
        with log.open("ab") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, cwd="/", **account)
        server = PostgresqlServer(port, process)
        if _is_ready(server):
            return server
        process.kill()
        process.wait()
    raise AssertionError(log.read_text())


def _account() -> dict[str, Any]:
    """Return the account that runs the server: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _run(command: Sequence[str], account: dict[str, Any]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", **account)
    assert done.returncode == 0, done.stderr


def _is_ready(server: PostgresqlServer) -> bool:
    """Wait for the server; return whether it accepts connections."""
    end = time.monotonic() + _START_TIMEOUT_S
    while server.process.poll() is None and time.monotonic() < end:
        try:
            server.execute("SELECT 1")
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return True
    return False
