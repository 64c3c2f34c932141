"""Tokens with calls that write: signed, and used once."""

from toolfold.aws.clients import AwsClients
from toolfold.catalog.model import Catalog
from toolfold.execution.approval import TTL_S, Approvals
from toolfold.meta_tools.tool_script import with_approval
from toolfold.settings import Settings


def make(now: list[float]) -> Approvals:
    settings = Settings.from_environment({"TOOLFOLD_CACHE": "memory"})
    return Approvals(settings, AwsClients(), lambda _: "", lambda: now[0])


def test_token_is_used_once_for_its_text_and_in_its_time() -> None:
    now = [1_000_000.0]
    tokens = make(now)
    first, second = tokens.sign_once("calls"), tokens.sign_once("calls")
    assert not tokens.use_once(first, "other calls")
    assert not tokens.use_once(first[:-1] + ("A" if first[-1] != "A" else "B"), "calls")
    assert not tokens.use_once("", "calls")
    assert not make(now).use_once(first, "calls")
    assert tokens.use_once(first, "calls")
    assert not tokens.use_once(first, "calls")
    now[0] += TTL_S + 1
    assert not tokens.use_once(second, "calls")


def test_tool_that_writes_needs_approval_in_a_script(catalog: Catalog) -> None:
    read = catalog.get("CPI")
    assert read is not None
    assert with_approval(read) is read
    assert with_approval(read._replace(effect="write")).needs_approval
