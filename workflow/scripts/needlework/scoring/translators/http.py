"""JSON requests to a translation service: retried while that may help, without secrets in messages."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from needlework.errors import UserError
from needlework.jobs.stop import check_stop, rest
from needlework.services.bounded_replies import bounded
from needlework.services.endpoints import (
    ATTEMPTS,
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    PROXY_REMEDY,
    PROXY_TROUBLE,
    Passing,
    environment_logins,
    excerpt,
    local_proxy,
    may_pass,
    retry_after,
    secrets_in,
    shown_url,
    without,
    without_secrets,
)

T = TypeVar("T")
logger = logging.getLogger(__name__)

TIMEOUT_S = 120.0


class Refused(UserError):
    """The service refused a request for good. `body` is its reply, without secrets."""

    def __init__(self, message: str, status: int, body: str) -> None:
        super().__init__(message)
        self.status, self.body = status, body


class Endpoint:
    """A URL that receives and returns JSON. Safe to use from several threads.

    This class alone imports more than the standard library, so that translators can be checked without it.
    """

    def __init__(self, url: str, *, translator: str, secret: str, header: str, scheme: str) -> None:
        """`secret`, with `scheme` before it, goes into the request's `header`, if there is one."""
        import httpx

        # httpx logs whole URLs, which may hold a password.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        self._url, self._translator = url, translator
        # Through which proxy a local address is asked, until it has answered.
        self._proxy = local_proxy(url)
        logins = (own for secrets in environment_logins().values() for own in secrets)
        self._secrets = [*filter(None, [secret]), *secrets_in(url), *logins]
        headers = {header: f"{scheme}{secret}"} if secret else {}
        hooks = {"response": [bounded(httpx)]}
        try:
            self._client = httpx.Client(timeout=TIMEOUT_S, headers=headers, event_hooks=hooks)
        except (httpx.InvalidURL, ImportError, ValueError):
            raise self._trouble(PROXY_TROUBLE, PROXY_REMEDY) from None

    def post(self, payload: Mapping[str, object], read: Callable[[Any], T]) -> T:
        """Post `payload`, and return the result of `read` on the response.

        `read` raises LookupError, TypeError or ValueError if a body is not as expected. If the server is
        busy, the connection is lost, a timeout passes or the body cannot be read, the request is repeated
        after a pause of at least Retry-After. Raises UserError if repeating did not help, and Refused if it
        cannot help. Raises Stopped, and sends nothing, if the run is being stopped.
        """
        check_stop()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._attempt(payload, read)
            except Passing as failure:
                if attempt == ATTEMPTS or failure.pause > LONGEST_PAUSE_S:
                    raise self._trouble(
                        f"{failure} (attempt {attempt})",
                        "check the service and the network and run again; what is translated is kept",
                    ) from None
                pause = max(failure.pause, FIRST_PAUSE_S * 2 ** (attempt - 1))
                logger.warning("%s: %s; retry in %.0f s", self._translator, failure, pause)
                rest(pause)
        raise AssertionError("unreachable")

    def _attempt(self, payload: Mapping[str, object], read: Callable[[Any], T]) -> T:
        import httpx

        from needlework.models.openai_protocol import connection_trouble, is_json, of_proxy

        try:
            response = self._client.post(self._url, json=payload)
        except httpx.TimeoutException:
            raise Passing(f"no answer within {TIMEOUT_S:.0f} s") from None
        except httpx.RequestError as error:
            lost = connection_trouble(error)
            if self._proxy and of_proxy(error):
                raise self._trouble(lost, self._proxy) from None
            raise Passing(lost) from None
        status = response.status_code
        if self._proxy and not is_json(response.content):
            said = excerpt(self._clean(response.text), "")
            raise self._trouble(f"status {status}: {said}", self._proxy)
        if may_pass(status):
            raise Passing(f"status {status}", retry_after(response.headers))
        if status != 200:
            body = self._clean(response.text)
            trouble = self._trouble(
                f"status {status}: {excerpt(body, '')}",
                "check the key, the model's name and the URL",
            )
            raise Refused(str(trouble), status, body)
        try:
            body = json.loads(response.content.decode())
            found = read(without_secrets(body, self._secrets))
            self._proxy = ""
            return found
        except (LookupError, TypeError, ValueError, RecursionError):
            raise Passing("the response is not a translation") from None

    def _clean(self, content: str) -> str:
        """What a server wrote, without secrets: it may say them back."""
        for secret in self._secrets:
            content = without(content, secret)
        return content

    def _trouble(self, what: str, remedy: str) -> UserError:
        where = shown_url(self._url)
        return UserError(f"the translator {self._translator} at {where} failed: {what}; {remedy}.")
