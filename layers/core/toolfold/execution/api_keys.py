"""Find the API key of a call: the caller's, where its source takes keys of callers, or that of the deployment.

So are the secrets that protect records found: in the settings, in AWS, or in a file of the user, where it is generated.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold import private_folder
from toolfold.aws.clients import AwsClients, error_code
from toolfold.cache.stores import Unavailable, reason_of
from toolfold.errors import KEY_UNREADABLE, AuthRequired
from toolfold.execution.credentials import MAX_KEY_CHARACTERS, RequestCredentials, header_for, is_possible_key
from toolfold.messages import (
    CORRECT_KEY,
    FORMS_OF_DATABASES,
    SEE_LOG,
    SEND_KEY,
    SET_DATABASE,
    SET_KEY,
)
from toolfold.private_folder import PathRefused, replace_file

if TYPE_CHECKING:
    from toolfold.catalog.entries import Auth, Source
    from toolfold.settings import Settings


_REFERENCE_PREFIXES = ("arn:", "ssm:")
"""An environment variable that starts with one of these refers to a key in AWS; see :class:`SecretProvider`."""

_SECRET = re.compile(rb"[0-9a-f]{64}\n")
_MIN_SECRET_CHARS = 32


def resolve_api_key(
    source: Source,
    credentials: RequestCredentials,
    secrets: SecretProvider,
    *,
    is_only_one: bool = True,
    need: str = "required",
) -> str:
    """Return the API key that is sent to ``source``: the caller's where the source takes it, else the deployment's.

    Args:
        source: one without ``auth`` gets no key; only one with ``auth.caller_key`` gets that of a request.
        credentials: the keys that came with the request.
        secrets: has the keys of the deployment.
        is_only_one: whether no other source of the catalog takes callers' keys. Otherwise a key must name its source.
        need: of the tool: ``none`` where it is called without a key, ``optional`` where the key may be missing.

    Raises:
        AuthRequired: the source needs a key and has no key, AWS does not return it, or it is not clear which key of the
            request is meant.
    """
    auth = source.auth
    if auth is None or need == "none":
        return ""
    own = secrets.setting_of(source)
    is_named = credentials.unused or not is_only_one
    header = header_for(source.id) if is_named else "Authorization: Bearer or X-API-Key"
    instead = f"; or send a key as {header}" if auth.caller_key else ""
    try:
        if auth.caller_key and (callers := _callers_key(source, credentials, is_only_one)):
            return callers
        if own and not secrets.uses_own:
            raise AuthRequired(
                f"{source.title} needs an API key, and the one that is set up here is not for all callers.",
                SEE_LOG.filled(what=f"how to allow it{instead}"),
            )
        key = secrets.find(own, source.id) if own.startswith(_REFERENCE_PREFIXES) else own
        if key is None:
            raise AuthRequired(
                f"The key that is set up here for {source.title} cannot be read at the moment.",
                SEE_LOG.filled(what=f"why{instead}"),
            )
        if not is_possible_key(key):
            raise AuthRequired(
                f"The key that is set up here for {source.title} cannot be sent.",
                CORRECT_KEY.filled(variable=auth.environment, most=MAX_KEY_CHARACTERS),
            )
        if not key:
            reason = f": TOOLFOLD_SOURCE_KEYS has none for {source.id}" if secrets.source_keys else ""
            unused = credentials.unused if auth.caller_key else ""
            raise _missing(source, auth, header, unused or f"none was given{reason}")
        return key
    except AuthRequired:
        if need == "optional":
            return ""
        raise


def _callers_key(source: Source, credentials: RequestCredentials, is_only_one: bool) -> str:
    if key := credentials.named.get(source.id, "").strip():
        return key
    key = credentials.first()
    if credentials.conflict:
        problem = credentials.conflict
    elif key and not is_only_one:
        problem = "The key of the request does not name its source, and several sources here take callers' keys."
    elif not is_possible_key(key):
        problem = f"The key of the request is not printable ASCII of at most {MAX_KEY_CHARACTERS} characters."
    else:
        return key
    raise AuthRequired(problem, SEND_KEY.filled(title=source.title, header=header_for(source.id)))


def _missing(source: Source, auth: Auth, header: str, no_key: str) -> AuthRequired:
    also = f", or to send it as {header}" if auth.caller_key else ""
    signup = f"; a key is at {auth.signup_url}" if auth.signup_url else ""
    form = "USER:PASSWORD" if auth.basic else "YOUR_KEY" if auth.oauth2 is None else "CLIENT_ID:CLIENT_SECRET"
    if source.kind == "sql":
        return AuthRequired(
            f"{source.title} needs its connection string, which is not set.",
            SET_DATABASE.filled(variable=auth.environment, form=FORMS_OF_DATABASES[source.connection["dialect"]]),
        )
    return AuthRequired(
        f"{source.title} needs an API key, and {no_key}.",
        SET_KEY.filled(variable=auth.environment, header=also, signup=signup, form=form),
    )


logger = logging.getLogger("toolfold")


class _UnusableSecret(Exception):
    """There is no key. The text says why: a fixed one or a code of AWS, which may be logged."""


class _NoField(_UnusableSecret):
    """The JSON object has no field of the name that is requested."""


_WANTED_FIELD = "the secret is JSON; name its field after the ARN, as #FIELD"

_RETRY_S = 5.0
"""Seconds until what could not be read or used is read again, so that not every call waits for a time-out of AWS."""


class _Reading(NamedTuple):
    """What AWS has returned for a name, or why it has returned nothing, and for which time that is used."""

    text: str
    failure: str
    read_at: float
    until: float


class SecretProvider:
    """Read keys that are stored in AWS, and cache them for ``ttl_s`` seconds. Safe to use from many threads.

    A reference has one of these forms:

    =================================================  ===========================================================
    ``arn:aws:secretsmanager:REGION:…:secret:NAME``    a secret that is the key
    ``arn:aws:secretsmanager:…:secret:NAME#FIELD``     a secret that is a JSON object; the key is the value of FIELD
    ``ssm:/PATH``, ``arn:aws:ssm:…:parameter/PATH``    a parameter, decrypted if it is a SecureString; #FIELD as above
    =================================================  ===========================================================

    When AWS cannot be reached, or the secret contains no key any more, the key that was read last is better than none,
    and AWS is called again after some seconds.

    Args:
        settings: the settings in force.
        aws: creates the clients.
        on_failure: called with ``KEY_UNREADABLE`` when a key cannot be read.
        uses_own: whether calls without a key may use those of the deployment.
        environment: has the variables with keys (default: that of the process).

    Attributes:
        source_keys: reference to a JSON object with the keys of sources by their ids; empty: no such object.
    """

    def __init__(
        self,
        settings: Settings,
        aws: AwsClients,
        on_failure: Callable[[str], None] | None = None,
        *,
        uses_own: bool = True,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._aws, self._ttl_s, self._timeout_s = aws, settings.secret_ttl_s, settings.secret_timeout_s
        self._on_failure, self.uses_own, self.environment = on_failure, uses_own, environment
        self.source_keys = settings.source_keys
        self._readings: dict[str, _Reading] = {}
        self._last_good: dict[str, str] = {}

    def setting_of(self, source: Source) -> str:
        """Return the deployment's key for ``source``, or the reference to it; empty where none is set up."""
        if source.auth is None:
            return ""
        own = self.environment.get(source.auth.environment, "").strip()
        return own or (f"{self.source_keys}#{source.id}" if self.source_keys else "")

    def get_secret(self, reference: str) -> str:
        """Return the key that ``reference`` names; empty when it cannot be read and never was."""
        return self.find(reference) or ""

    def find(self, reference: str, source_id: str = "") -> str | None:
        """Return the key that ``reference`` names, for a log that names the source.

        Returns:
            The key; empty where TOOLFOLD_SOURCE_KEYS has none for the source, or no longer, None where it cannot be
            read and never was.
        """
        is_shared = bool(source_id) and reference == f"{self.source_keys}#{source_id}"
        try:
            self._last_good[reference] = self._read_key(reference)
        except _UnusableSecret as error:
            if is_shared and isinstance(error, _NoField):
                self._last_good.pop(reference, None)
                return ""
            self._expire(reference)
            subject = f"Key of source {source_id[:64]!a} in TOOLFOLD_SOURCE_KEYS" if is_shared else "API key"
            logger.error("%s cannot be read from AWS: %s", subject, error)
            if self._on_failure is not None:
                self._on_failure(KEY_UNREADABLE)
        return self._last_good.get(reference)

    def known_key(self, source: Source) -> str:
        """Return the deployment's key for ``source``, to keep it out of answers; AWS is not called for it.

        It is empty where it is not set, or was never sent: not read from AWS yet, or not a possible key.
        """
        own = self.setting_of(source)
        if own.startswith(_REFERENCE_PREFIXES):
            own = self._last_good.get(own, "")
        return own if is_possible_key(own) else ""

    def expire(self, source: Source) -> None:
        """Read the key of ``source``, which has refused it, again for the next call: it may have been rotated."""
        self._expire(self.setting_of(source))

    def reset(self) -> None:
        """Drop all keys, so that the next call reads its key again."""
        self._readings.clear()
        self._last_good.clear()

    def _read_key(self, reference: str) -> str:
        """Return the key that AWS has now for ``reference``; raises what is wrong with one of the two."""
        name, _, field = reference.partition("#")
        if not re.match(r"ssm:|arn:[^:]*:(secretsmanager|ssm):[^:]+:", name):
            raise _UnusableSecret("it is the ARN of neither a secret nor a parameter")
        text = self._stored_text(name)
        if field:
            text = _field_of(_parsed(text), field).strip()
        if not text:
            raise _UnusableSecret("the secret is empty")
        if _parsed(text) is not None:
            raise _UnusableSecret("the field is not a text" if field else _WANTED_FIELD)
        if reference.startswith(f"{self.source_keys}#") and text.startswith(("arn:", "ssm:")):
            raise _UnusableSecret("the field is a reference, not a key")
        if not is_possible_key(text):
            raise _UnusableSecret(f"the secret is not printable ASCII of at most {MAX_KEY_CHARACTERS} characters")
        return text

    def _stored_text(self, name: str) -> str:
        """Return the text that AWS has under ``name``, or had when it was read last."""
        now, known = time.time(), self._readings.get(name)  # a monotonic clock stands still in a frozen environment
        if known is None or not known.read_at <= now < known.until:
            try:
                known = _Reading(self._fetch(name).strip(), "", now, now + self._ttl_s)
            except Exception as error:  # noqa: BLE001 - anything can be wrong with a reference and what it names
                known = _Reading("", error_code(error), now, now + _RETRY_S)
            self._readings[name] = known
        if known.failure:
            raise _UnusableSecret(known.failure)
        return known.text

    def _fetch(self, name: str) -> str:
        service, region = name.split(":")[2:4] if name.startswith("arn:") else ("ssm", "")
        client = self._aws.client(service, timeout_s=self._timeout_s, region=region)
        if service == "ssm":
            return str(client.get_parameter(Name=name.removeprefix("ssm:"), WithDecryption=True)["Parameter"]["Value"])
        secret = client.get_secret_value(SecretId=name)
        return str(secret["SecretString"]) if "SecretString" in secret else bytes(secret["SecretBinary"]).decode()

    def _expire(self, reference: str) -> None:
        name = reference.partition("#")[0]
        if known := self._readings.get(name):
            self._readings[name] = known._replace(until=min(known.until, known.read_at + _RETRY_S))


def _field_of(stored: Any, field: str) -> str:
    if not isinstance(stored, dict):
        raise _UnusableSecret("the secret is not a JSON object")
    if field not in stored:
        raise _NoField("the secret has no field of the name after #")
    found = stored[field]
    if found is None or isinstance(found, bool):
        raise _UnusableSecret("the field is not a text")
    return found if isinstance(found, str) else json.dumps(found)


def _parsed(text: str) -> Any:
    """Return the object or list that ``text`` is as JSON; None for any other text."""
    try:
        return json.loads(text) if text[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None


def given_secret(variable: str, given: str, read_reference: Callable[[str], str]) -> bytes:
    """Return the secret of a setting, which it has or refers to; empty where it is not set.

    Raises:
        Unavailable: AWS does not return it, or it is too short.
    """
    if given.startswith(_REFERENCE_PREFIXES):
        given = read_reference(given)
        if len(given) < _MIN_SECRET_CHARS:
            raise Unavailable(f"{variable} cannot be read from AWS, or is too short")
    return given.encode()


def own_secret(path: str, *, is_replaced: bool = False) -> bytes:
    """Return the secret in a file that only this user can read: 64 hexadecimal digits, generated when needed first.

    Args:
        path: the file, whose folder is made as well.
        is_replaced: whether another content is replaced. Otherwise it may be the file of another program, and stays.

    Raises:
        Unavailable: the file cannot be used.
    """
    try:
        path = os.path.join(private_folder.resolve(os.path.dirname(path), create=True), os.path.basename(path))
        for overwrite in (False, is_replaced):
            if overwrite or not os.path.lexists(path):
                with contextlib.suppress(FileExistsError):  # of several processes, the first one writes it
                    replace_file(path, os.urandom(32).hex().encode() + b"\n", overwrite=overwrite, mode=0o600)
            with open(os.open(path, os.O_RDONLY | private_folder.NO_FOLLOW), "rb") as file:
                status = os.fstat(file.fileno())
                private_folder.check_owned_file(path, status)
                if os.name != "nt" and status.st_mode & 0o077:
                    raise PathRefused(f"other users can read {path}: delete it")
                content = file.read(100)
            if _SECRET.fullmatch(content):
                return content.strip()
        raise PathRefused(f"{path} was not made by toolfold: delete or move it")
    except (PathRefused, OSError) as error:
        raise Unavailable(reason_of(error)) from error
