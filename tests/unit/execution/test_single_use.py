"""Tokens with calls that write: signed, and used once."""

from toolfold.aws.clients import AwsClients
from toolfold.catalog.model import Catalog
from toolfold.execution.approval_store import TTL_S, ApprovalResources, SingleUse
from toolfold.meta_tools.tool_script import with_approval
from toolfold.settings import Settings


def make(now: list[float]) -> SingleUse:
    settings = Settings.from_environment({"TOOLFOLD_CACHE": "memory"})
    return SingleUse(ApprovalResources(settings, AwsClients(), lambda _: "", lambda: now[0]))


def test_token_is_used_once_for_its_text_and_in_its_time() -> None:
    now = [1_000_000.0]
    tokens = make(now)
    first, second = tokens.open("calls"), tokens.open("calls")
    assert not tokens.use(*first, "other calls")
    assert not tokens.use(first[0], first[1] + 1, first[2], "calls")
    assert not make(now).use(*first, "calls")
    assert tokens.use(*first, "calls")
    assert not tokens.use(*first, "calls")
    now[0] += TTL_S + 1
    assert not tokens.use(*second, "calls")


def test_tool_that_writes_needs_approval_in_a_script(catalog: Catalog) -> None:
    read = catalog.get("CPI")
    assert read is not None
    assert with_approval(read) is read
    assert with_approval(read._replace(effect="write")).needs_approval
