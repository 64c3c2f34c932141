"""``toolfold source sign-in`` and ``sign-out``: the user's own tokens at a source."""

from __future__ import annotations

import contextlib
import sys

from toolfold.app import build_app
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.entries import Source
from toolfold.cli.application import Options
from toolfold.cli.serve import has_browser, open_browser
from toolfold.errors import ToolfoldError
from toolfold.execution.api_keys import resolve_api_key
from toolfold.execution.credentials import NO_CREDENTIALS
from toolfold.execution.user_tokens import UserTokens
from toolfold.fuzzy import did_you_mean
from toolfold.settings import Settings


def sign_in(options: Options) -> int:
    """Print the link, open it where there is a browser, and wait until the sign-in has ended."""
    tokens, source, client = _open(options.id)
    begun = tokens.begin(source, client)
    print(f"Open this link to sign in to {source.title}:\n  {begun.url}", file=sys.stderr, flush=True)
    if has_browser():
        open_browser(begun.url)
    with contextlib.suppress(KeyboardInterrupt):
        begun.attempt.wait()
    if not begun.attempt.is_signed_in:
        raise ToolfoldError(f"Not signed in to {source.title}: the link was not used in time, or access was refused.")
    print(f"Signed in to {source.title}.")
    return 0


def sign_out(options: Options) -> int:
    """Revoke the tokens and delete them."""
    tokens, source, client = _open(options.id)
    had_tokens = tokens.sign_out(source, client)
    print(f"Signed out of {source.title}." if had_tokens else f"You were not signed in to {source.title}.")
    return 0


def _open(source_id: str) -> tuple[UserTokens, Source, str]:
    settings = Settings.from_environment()
    app = build_app(settings)
    sources = {source.id: source for source in app.catalog_store().sources if source.signs_in}
    if source_id not in sources:
        step = did_you_mean(source_id, sources).strip() or "Its auth needs oauth2 with grant: authorization_code."
        raise ToolfoldError(f"The catalog has no source {source_id} at which a user signs in. {step}")
    source, resources = sources[source_id], app.executor.resources
    AllowList(settings).check(source)
    return resources.user_tokens, source, resolve_api_key(source, NO_CREDENTIALS, resources.secret_provider)
