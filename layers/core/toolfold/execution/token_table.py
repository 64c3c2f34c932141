"""Records with tokens in the DynamoDB table of the cache, as items ``user-token/NAME``, each encrypted.

The key of the encryption is made of a secret that the table does not have: who can read the table reads no token. A
record that is lost is a user who signs in again.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from toolfold.aws.clients import AwsClients, error_code
from toolfold.execution.token_records import Tokens, decrypt_tokens, encrypt_record

KEPT_S = 90 * 86_400
"""Seconds after which a record that was not written again is deleted: as long as many refresh tokens work unused."""

_LOCK_MARGIN_S = 5.0
"""Seconds for which a lock outlives what it was taken for: a process that has ended keeps it no longer."""

_POLL_S = 0.1
_CONDITION_FAILED = "ConditionalCheckFailedException"


class TokenTable:
    """Records by name, as :class:`toolfold.execution.token_folder.TokenFolder` has them. Safe to use from many threads.

    Args:
        aws: creates the client.
        table: name of the table.
        timeout_s: seconds to connect, and as many for each request with its response.
        get_key: returns the key of the encryption.
        now: seconds since 1970.

    Each method raises OSError where the table or the key cannot be used.
    """

    def __init__(
        self, aws: AwsClients, table: str, timeout_s: float, get_key: Callable[[], bytes], now: Callable[[], float]
    ) -> None:
        self._table, self._get_key, self._now = table, get_key, now
        self._dynamodb = aws.client("dynamodb", timeout_s=timeout_s)

    def read(self, name: str) -> Tokens | None:
        """Return a record. The read is consistent: what another process has just written counts."""
        found = self._request("get_item", name, ConsistentRead=True)
        value = (found or {}).get("Item", {}).get("v", {}).get("B")
        return None if value is None else decrypt_tokens(name, bytes(value), self._get_key())

    def write(self, name: str, tokens: Tokens) -> None:
        """Store a record, within :meth:`locked`."""
        values = {
            ":value": {"B": encrypt_record(name, tokens._asdict(), self._get_key()).encode()},
            ":until": _number(self._now() + KEPT_S),
        }
        self._update(name, "SET v = :value, expires_at = :until", values)

    def delete(self, name: str) -> None:
        """Delete the tokens of a record, within :meth:`locked`; DynamoDB deletes what is left of the item."""
        self._update(name, "REMOVE v SET expires_at = :until", {":until": _number(self._now())})

    @contextlib.contextmanager
    def locked(self, name: str, timeout_s: float) -> Iterator[None]:
        """Keep others from changing a record.

        Raises:
            TimeoutError: another one has the lock.
        """
        end = time.monotonic() + timeout_s
        until = self._now() + max(0.0, timeout_s) + _LOCK_MARGIN_S
        lock = f"{name}/lock"
        while not self._take(lock, until):
            if time.monotonic() + _POLL_S >= end:
                raise TimeoutError
            time.sleep(_POLL_S)
            until = self._now() + max(0.0, timeout_s) + _LOCK_MARGIN_S
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # it ends in any case
                self._update(lock, "SET n = :zero", {":zero": {"N": "0"}, ":until": _number(until)}, "n = :until")

    def use_once(self, name: str, until: float) -> bool:
        """Return whether this is the first use of ``name`` until a time, in seconds since 1970."""
        return self._take(name, until)

    def _take(self, name: str, until: float) -> bool:
        values = {":until": _number(until), ":now": _number(self._now()), ":deleted": _number(math.ceil(until) + 60)}
        condition = "attribute_not_exists(n) OR n <= :now"
        return self._update(name, "SET n = :until, expires_at = :deleted", values, condition)

    def _update(self, name: str, change: str, values: dict[str, Any], condition: str = "") -> bool:
        """Change an item; return False where ``condition`` does not hold."""
        given = {"UpdateExpression": change, "ExpressionAttributeValues": values}
        return (
            self._request("update_item", name, **given, **({"ConditionExpression": condition} if condition else {}))
            is not None
        )

    def _request(self, operation: str, name: str, **given: Any) -> dict[str, Any] | None:
        key = {"pk": {"S": f"user-token/{name}"}}
        try:
            found: dict[str, Any] = getattr(self._dynamodb, operation)(TableName=self._table, Key=key, **given)
        except Exception as error:  # noqa: BLE001 - boto3 raises classes that it makes, and the text may have a name
            if error_code(error) == _CONDITION_FAILED:
                return None
            raise OSError(f"the table of tokens: {error_code(error)}") from None
        return found


def _number(value: float) -> dict[str, str]:
    return {"N": repr(round(value, 3))}
