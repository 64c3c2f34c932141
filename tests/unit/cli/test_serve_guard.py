"""``toolfold serve`` for other machines, with a key of this one."""

import pytest

from toolfold.cli import main


def test_other_machines_do_not_use_the_key_unless_that_is_confirmed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "key")
    assert main(["serve", "--host", "0.0.0.0", "--port", "0"]) != 0
    assert "TOOLFOLD_ANYONE_MAY_USE_THE_KEY=true" in capsys.readouterr().err
