"""One GET with all that may lie between asking and an answer's body: redirects, cookies, secrets.
Each hop passes the guard and takes a token; the loop is ours, since requests' own does neither."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import requests
import urllib3.exceptions
from requests.cookies import RequestsCookieJar, extract_cookies_to_jar, get_cookie_header
from requests.structures import CaseInsensitiveDict

from core.clock import Clock
from core.errors import (
    HeadraceError,
    Malformed,
    Refused,
    ServerTrouble,
    Throttled,
    Timeout,
    Truncated,
)
from core.fetch.allowance import Allowance
from core.fetch.answers import error_of, retry_after_s
from core.fetch.credentials import Credentials
from core.fetch.guard import AddressGuard
from core.fetch.session import Outgoing, Session
from core.model.request import Request

CHUNK_BYTES = 256 * 1024
_DRAINED_BYTES = 16 * 1024  # what is read of a body nobody wants, to keep its connection
# What most media's addresses look like, and nothing would be changed of: to see that costs 1 µs,
# to take them apart 20. A query may hold secrets, so it has none.
_NORMAL = re.compile(
    r"https?://[a-z0-9]+(?:[.-][a-z0-9]+)*(?::[1-9][0-9]{0,3}|:[1-5][0-9]{4})?"
    r"(?:/(?!\.)[A-Za-z0-9_~!$&'()*+,;=:.-]*)+"
)
_REDIRECTS = frozenset([301, 302, 303, 307, 308])


@dataclass(slots=True)
class Answer:
    """An answer whose body is still to be read."""

    response: requests.Response
    url: str  # the final address, without credentials
    shown: str  # the same, struck out
    redirects: tuple[str, ...]  # addresses between the requested and the final one, struck out
    signed_in: bool  # our credentials went with the request
    withheld: bool = False  # they would have gone, but for the address being http

    @property
    def status(self) -> int:
        """The final status."""
        return self.response.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        """By names in any case."""
        return self.response.headers

    @property
    def told_bytes(self) -> int | None:
        """How long the body is by its header; None when it was not told, or can't be believed."""
        length: int | None = self.response.raw.length_remaining
        return length

    def chunks(self) -> Iterator[bytes]:
        """The body as it came over the wire, as soon as something came. Raises `Truncated` when it
        ends before its told end, `Timeout` when it takes too long."""
        raw = self.response.raw
        count = 0
        while True:
            try:
                chunk: bytes = raw.read1(CHUNK_BYTES, decode_content=False)
            except urllib3.exceptions.ReadTimeoutError as error:
                raise Timeout(f"{self.shown}: the body stopped") from error
            except (urllib3.exceptions.HTTPError, OSError) as error:
                raise Truncated(
                    f"{self.shown}: the body broke off after {count:,} bytes"
                ) from error
            if not chunk:
                return
            count += len(chunk)
            yield chunk

    def discard(self) -> None:
        """Done with it: a short rest is read, so that the connection can serve again."""
        try:
            length = self.told_bytes
            if length is not None and length <= _DRAINED_BYTES:
                for _ in self.chunks():
                    pass
        except (Truncated, Timeout):
            pass  # the connection is lost, nothing else
        finally:
            self.response.close()


@dataclass(slots=True)
class Exchange:
    """What one visit needs to ask: its cookies live as long as it does."""

    session: Session
    allowance: Allowance
    credentials: Credentials
    guard: AddressGuard
    clock: Clock
    max_redirects: int
    cookies: RequestsCookieJar | None = None  # most visits are given none
    _retried: bool = False  # a throttle that was lifted by its own cookie, once a visit

    @contextmanager
    def get(
        self, request: Request, own: Mapping[str, str], *, also: frozenset[int]
    ) -> Iterator[Answer]:
        """The final answer: successful, or with a status in `also`. Raises what any other status
        means."""
        answer = self._follow(request, own)
        try:
            failure = self._failure(answer, also)
            if not isinstance(failure, ServerTrouble | Throttled):
                self.allowance.answered()
            if failure is not None:
                raise failure
            yield answer
        finally:
            self._finish(answer)

    def _failure(self, answer: Answer, also: frozenset[int]) -> HeadraceError | None:
        if 200 <= answer.status < 300 or answer.status in also:
            return None
        return error_of(
            answer.status,
            answer.headers,
            answer.shown,
            self.clock.now(),
            signed_in=answer.signed_in,
            withheld=answer.withheld,
        )

    def _finish(self, answer: Answer) -> None:
        answer.discard()
        self.allowance.over(answer.shown, answer.status)

    def show(self, url: str) -> str:
        """An address for messages and records."""
        return self.credentials.show(url)

    def _follow(self, request: Request, own: Mapping[str, str]) -> Answer:
        url = self._normal(request.url)
        passed: list[str] = []
        was_secure = False
        while True:
            was_secure |= url.startswith("https:")
            answer = self._ask(url, request, own, was_secure=was_secure)
            answer.redirects = tuple(passed[1:])
            following = self._following(answer, passed)
            if following is None:
                return answer
            url = following

    def _following(self, answer: Answer, passed: list[str]) -> str | None:
        """The address to ask next, with the answer done; None when it is the final one."""
        final = False
        try:
            if self._is_cookie_gate(answer):
                return answer.url
            target = self._target(answer)
            final = target is None
            if not final:
                passed.append(answer.shown)
                self._check_count(passed)
            return target
        finally:
            if not final:
                self._finish(answer)

    def _ask(
        self, url: str, request: Request, own: Mapping[str, str], *, was_secure: bool
    ) -> Answer:
        trusted = self.credentials.may_go_to(url, was_secure=was_secure)
        shown = self.show(url)
        outgoing = Outgoing(
            self.credentials.address(url, trusted=trusted),
            self.credentials.headers(request, own, trusted=trusted),
            self.allowance,
            shown,
        )
        self._add_cookies(outgoing)
        response = self.session.ask(outgoing)
        if "Set-Cookie" in response.headers:
            if self.cookies is None:
                self.cookies = RequestsCookieJar()
            extract_cookies_to_jar(  # type: ignore[no-untyped-call]
                self.cookies, outgoing, response.raw
            )
        signed_in = trusted and self.credentials.has_secrets
        return Answer(response, url, shown, (), signed_in, self.credentials.are_withheld(url))

    def _add_cookies(self, outgoing: Outgoing) -> None:
        if self.cookies is None:
            return
        # A cookie jar adds nothing to a request that has cookies, so ours are joined by hand.
        configured = outgoing.headers.pop("Cookie", None)
        ours = get_cookie_header(self.cookies, outgoing)  # type: ignore[no-untyped-call]
        if configured or ours:
            outgoing.headers["Cookie"] = "; ".join(filter(None, [configured, ours]))

    def _target(self, answer: Answer) -> str | None:
        """Where a redirect leads; None when the answer is none."""
        if answer.status not in _REDIRECTS:
            return None
        location = answer.headers.get("Location")
        if not location:
            raise ServerTrouble(
                f"{answer.shown}: status {answer.status} without a Location",
                http_status=answer.status,
            )
        try:
            target = urljoin(answer.url, _decoded(location))
        except ValueError:
            raise self._bad_address(location, "a redirect to no address") from None
        return self._normal(target)

    def _is_cookie_gate(self, answer: Answer) -> bool:
        """A 429 that asks for no wait but sets a cookie opens for whoever brings it back."""
        if self._retried or answer.status != 429 or "Set-Cookie" not in answer.headers:
            return False
        self._retried = retry_after_s(answer.headers, self.clock.now()) == 0.0
        return self._retried

    def _check_count(self, passed: list[str]) -> None:
        if len(passed) > self.max_redirects:
            raise Refused(
                f"{passed[0]}: more than {self.max_redirects} redirects; "
                "fetch.max_redirects would allow more",
                reason="too_many_redirects",
            )

    def _normal(self, url: str) -> str:
        """An address as it goes over the wire: quoted, its host in ASCII, without credentials."""
        return url if _NORMAL.fullmatch(url) else self._normalized(url)

    def _normalized(self, url: str) -> str:
        prepared = requests.PreparedRequest()
        try:
            self.guard.check_scheme(url, self.show(url))
            prepared.prepare_url(self.credentials.without_secrets(url), None)
            normal = str(prepared.url)
            hostname = urlsplit(normal).hostname
            connected_to = urllib3.util.parse_url(normal).host
        except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
            # Its text holds the address whole: what is said goes without it.
            raise self._bad_address(url, type(error).__name__) from None
        if not hostname or hostname != (connected_to or "").strip("[]").lower():
            # Two readings of one address: secrets would be meant for one host and go to another.
            raise self._bad_address(url, "no clear host")
        return normal

    def _bad_address(self, url: str, why: str) -> Malformed:
        return Malformed(f"{self.show(url)}: can't be asked: {why}", reason="bad_address")


def in_any_case(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Kept headers as an answer has them: found by their names in any case."""
    return CaseInsensitiveDict(headers)


def _decoded(location: str) -> str:
    """Headers arrive as Latin-1; addresses in them are UTF-8 more often than not."""
    try:
        return location.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return location
