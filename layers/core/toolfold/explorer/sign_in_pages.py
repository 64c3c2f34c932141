"""The pages of a shared server on which a caller signs in at a source.

=======================================  ==============================================================================
``/ui/sign-in/SOURCE?ticket=TICKET``     sends the browser to the issuer of access tokens, to find out who is there
``/ui/sign-in/issuer-callback``          sends that person on to the source, who must be the caller that got the link
``/ui/sign-in/SOURCE/callback``          stores the tokens of the source for that caller
``/ui/sign-in/SOURCE/key``               stores a key of that caller, which is entered on the page before this one
=======================================  ==============================================================================

Otherwise a caller could have another person open a link, and use the account of that person, or have a callback opened
that puts another account in its place. So the browser has to show who is there before it is sent to the source, and
each callback has to come to the browser that was sent away: its state is in a cookie of this host. Each source has a
redirect URI of its own, so that a code cannot be sent to the token endpoint of another one.

Who is there, the issuer of the access tokens says: the person signs in there, by authorization code with PKCE (RFC
7636, S256), which also keeps the code of another browser from being used. The access token, not an ID token, says who
it is: it is checked for the same audience as those of callers, for which issuers with pairwise subjects have the same
``sub``.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from toolfold.auth.issuer_keys import IssuerUnreachable, UnusableDocument, new_deadline
from toolfold.auth.resource_server import SCOPES, ResourceServer
from toolfold.auth.token_verifier import InvalidToken
from toolfold.cache.stores import Unavailable
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.text_checks import host_of
from toolfold.errors import CallError
from toolfold.execution.api_keys import resolve_api_key
from toolfold.execution.credentials import NO_CREDENTIALS, is_possible_key
from toolfold.execution.sign_in_page import FAILED, FOREIGN, REFUSED, USED, Page, SignInFlow, cookie_in
from toolfold.execution.user_tokens import pages_url
from toolfold.explorer.page import NO_STORE, SECURITY_HEADERS, ApiProblem, page_answer, parse_query
from toolfold.models import SIGN_IN_S
from toolfold.protocol.http import SIGN_IN_PATH, Response, error_response
from toolfold.sources.http_api.oauth import authorization_query, is_token
from toolfold.sources.http_api.request import join_url

if TYPE_CHECKING:
    from toolfold.app import App
    from toolfold.catalog.entries import Source
    from toolfold.execution.token_store import SignInStore, Step
    from toolfold.protocol.http import Request

logger = logging.getLogger("toolfold")

COOKIE = "__Host-toolfold-sign-in"
"""Only this host can set a cookie whose name begins so, and only over HTTPS."""

_PERSON = "issuer-callback"
"""No id of a source has a hyphen."""

_STRANGER = (
    "The link was sent to the user of a client who is signed in as someone else than you. Nothing was stored. "
    "If both are you, sign out at the page before this one, and repeat the call to get another link."
)
_ABOUT_KEY = "It is stored encrypted, used for your calls alone, and replaces the one that you have entered before."
_SECURITY_HEADERS = tuple(
    (name, value.replace("form-action 'none'", "form-action 'self'")) for name, value in SECURITY_HEADERS
)


class SignInPages:
    """Answer the requests for these pages. One for a process; safe to use from many threads."""

    def __init__(self, app: App, hosted: SignInStore, server: ResourceServer) -> None:
        self._app, self._hosted, self._executor, self._server = app, hosted, app.executor, server
        self._resource = app.settings.oauth_audience or app.settings.public_url
        self._pages_url = pages_url(app.settings)

    def respond(self, request: Request) -> Response:
        """Return the response to ``request``. Never raises."""
        first, _, second = request.path.partition(SIGN_IN_PATH)[2].partition("/")
        cookie = cookie_in("; ".join(value for name, value in request.headers if name == "cookie"), COOKIE)
        method = "POST" if second == "key" else "GET"
        try:
            query = parse_query(request.query)
            if request.method != method:
                answer: Page | Response = error_response(405, f"Browsers send {method} here.", ("allow", method))
            elif first == _PERSON and not second:
                answer = self._check_person(query, cookie)
            elif second == "":
                answer = self._open(first, query)
            elif second == "key":
                answer = self._store_key(first, parse_query(request.body.decode("utf-8", "replace")), cookie)
            elif second == "callback":
                answer = self._flow(self._source(first)).end(query, cookie)
            else:
                answer = Page(404, "There is nothing at this address.")
        except ApiProblem as problem:
            answer = Page(problem.status, problem.message)
        except (UnusableDocument, InvalidToken, IssuerUnreachable, CallError, Unavailable) as error:
            logger.error("a sign-in has failed: %s", type(error).__name__)
            answer = Page(502, FAILED)
        except Exception as error:  # noqa: BLE001 - its text may quote a request
            logger.error("defect in the pages of a sign-in: %s", type(error).__name__)
            answer = Page(500, FAILED)
        if isinstance(answer, Page):
            cookies = () if answer.cookie is None else (_set_cookie(answer.cookie),)
            response = page_answer(answer.status, "Sign in", answer.text)
            if answer.location:
                response = Response(answer.status, (("location", answer.location), NO_STORE))
            answer = response._replace(headers=(*response.headers, *cookies))
        fields = {**answer.log_fields, "rpc": "sign-in"}
        return answer._replace(headers=(*answer.headers, *_SECURITY_HEADERS), log_fields=fields)

    def _open(self, source_id: str, query: Mapping[str, str]) -> Page:
        ticket = self._hosted.unseal(query.get("ticket", ""), "ticket")
        if ticket is None or ticket.source != source_id:
            return Page(400, USED)
        settings, step = self._app.settings, ticket.next()
        endpoint = self._server.issuer.metadata(name := "authorization_endpoint").get(name)
        if not isinstance(endpoint, str) or not host_of(endpoint):
            raise UnusableDocument("its metadata name no authorization endpoint that can be used")
        redirect_uri = f"{self._pages_url}{_PERSON}"
        query = authorization_query(settings.oauth_sign_in_client, step.state, step.verifier, redirect_uri)
        query |= {"scope": f"{settings.oauth_scope_prefix}{SCOPES[0]}", "resource": self._resource}
        location = join_url(endpoint, "", [urlencode(query)])
        return Page(303, location=location, cookie=self._hosted.seal(step, "person"))

    def _check_person(self, query: Mapping[str, str], cookie: str) -> Page | Response:
        settings, step = self._app.settings, self._hosted.returned(query, cookie, "person")
        # RFC 9207: an issuer that names itself must be the one that the browser was sent to.
        if step is None or query.get("iss", settings.oauth_issuer) != settings.oauth_issuer:
            return Page(400, FOREIGN)
        if "error" in query or not query.get("code"):
            return Page(400, REFUSED)
        form = {
            "grant_type": "authorization_code",
            "code": query["code"],
            "code_verifier": step.verifier,
            "redirect_uri": f"{self._pages_url}{_PERSON}",
            "client_id": settings.oauth_sign_in_client,
            "resource": self._resource,
        }
        issuer = self._server.issuer
        answer = issuer.documents.json(issuer.metadata().get("token_endpoint"), new_deadline(), form, is_form=True)
        token = answer.get("access_token") if isinstance(answer, dict) else None
        if not isinstance(token, str):
            raise InvalidToken("The issuer gave no access token.")
        # As calls with a token of the person have it.
        if not hmac.compare_digest(self._server.verifier.verify(token).id, step.owner):
            return Page(403, _STRANGER)
        if not self._hosted.use(step, "ticket"):
            return Page(400, USED)
        source = self._source(step.source)
        return self._flow(source).send_away(step) if source.signs_in else self._ask_for_key(source, step)

    def _ask_for_key(self, source: Source, step: Step) -> Response:
        """Return the page with the form, whose hidden field is the state: no other page can send it."""
        step = step.next()
        page = page_answer(200, f"Your key of {source.title}", _ABOUT_KEY)
        form = (
            f'<form method="post" action="{source.id}/key"><input type="hidden" name="state" value="{step.state}">'
            '<label>Key <input type="password" name="key" autocomplete="off" required></label> '
            "<button>Store it</button></form></main>"
        )
        headers = (*page.headers, _set_cookie(self._hosted.seal(step, "key")))
        return page._replace(headers=headers, body=page.body.replace(b"</main>", form.encode()))

    def _store_key(self, source_id: str, form: Mapping[str, str], cookie: str) -> Page:
        step, key = self._hosted.returned(form, cookie, "key"), form.get("key", "").strip()
        if step is None or step.source != source_id:
            return Page(400, FOREIGN)
        if not is_token(key) or not is_possible_key(key):
            return Page(400, "This cannot be a key. Nothing was stored. Go back, and enter another one.")
        if not self._hosted.use(step, "key"):
            return Page(400, FOREIGN)
        self._executor.services.user_tokens.store_key(self._source(source_id), step.owner, key)
        return Page(200, "The key is stored. You can close this page, and go on where you were.", cookie="")

    def _source(self, source_id: str) -> Source:
        """Return a source at which users sign in, or of which they have keys."""
        source = next((one for one in self._app.catalog_store().sources if one.id == source_id), None)
        if source is None or source.auth is None or not (source.signs_in or source.auth.caller_key):
            raise ApiProblem(400, "", FOREIGN, "")  # the catalog has changed since
        AllowList(self._app.settings).check(source)
        return source

    def _flow(self, source: Source) -> SignInFlow:
        services, redirect_uri = self._executor.services, f"{self._pages_url}{source.id}/callback"
        client = resolve_api_key(source, NO_CREDENTIALS, services.secret_provider)
        return SignInFlow(services.user_tokens.exchange_code, self._hosted, source, client, redirect_uri)


def _set_cookie(value: str) -> tuple[str, str]:
    # Lax: the issuer and the source are other sites, and lead here by a link.
    age_s = SIGN_IN_S if value else 0
    return ("set-cookie", f"{COOKIE}={value}; Path=/; Max-Age={age_s}; Secure; HttpOnly; SameSite=Lax")
