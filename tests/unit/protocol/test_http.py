"""What a request says beside its body."""

from toolfold.protocol import http


def test_credentials_carry_the_profile_by_which_they_came() -> None:
    request = http.Request("POST", (("x-api-key", "KEY12345"),), b"", caller="ada", profile="trading")
    found = request.credentials()
    assert (found.x_api_key, found.caller, found.profile) == ("KEY12345", "ada", "trading")
    assert "KEY12345" not in repr(found)
