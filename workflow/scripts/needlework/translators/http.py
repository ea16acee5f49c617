"""JSON requests to a translation service: asked again while that may help, no secret in a message."""

from __future__ import annotations

import email.utils
import logging
import os
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from needlework.errors import UserError

T = TypeVar("T")
logger = logging.getLogger(__name__)

ATTEMPTS = 6
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 600.0
TIMEOUT_S = 120.0
_TRANSIENT = {408, 425, 429}


class _Retry(Exception):
    """An attempt failed in a way that another may not; the server asks to wait `pause` seconds."""

    def __init__(self, what: str, pause: float = 0.0) -> None:
        super().__init__(what)
        self.pause = pause


def api_key(variable: str, translator: str) -> str:
    """The key in the environment variable. Raises UserError where there is none, or no sound one."""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UserError(
            f"the translator {translator} needs an API key: set the environment variable {variable}."
        )
    if not (key.isascii() and key.isprintable()):
        raise UserError(
            f"the environment variable {variable} (the API key of the translator {translator}) holds "
            "characters that no key has: set it again."
        )
    return key


def check_url(url: str, translator: str) -> None:
    """Raise UserError unless `url` is a whole http(s) URL."""
    try:
        parts = urlsplit(url)
        # A port that is no number raises ValueError when it is read.
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise UserError(
            f"the translator {translator} has a `base_url` that is no http(s) URL: correct it."
        )


class Endpoint:
    """A URL that takes and gives JSON. Safe to use from several threads.

    httpx is imported here alone: translators are checked where it may not be installed.
    """

    def __init__(self, url: str, *, translator: str, secret: str, header: str, scheme: str) -> None:
        """`secret`, with `scheme` before it, goes into the request's `header`, if there is one."""
        import httpx

        # httpx logs whole URLs, which may hold a password.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        self._url, self._translator, self._secret = url, translator, secret
        headers = {header: f"{scheme}{secret}"} if secret else {}
        self._client = httpx.Client(timeout=TIMEOUT_S, headers=headers)

    def post(self, payload: Mapping[str, Any], read: Callable[[Any], T]) -> T:
        """What `read` makes of the response to `payload`.

        `read` raises LookupError, TypeError or ValueError on a body that is not what it expects.
        Busy servers, lost connections, timeouts and unreadable bodies are tried again, with pauses
        of at least what Retry-After says. Raises UserError where that does not help, or cannot.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._attempt(payload, read)
            except _Retry as failure:
                if attempt == ATTEMPTS or failure.pause > LONGEST_PAUSE_S:
                    raise self._trouble(
                        f"{failure} (attempt {attempt})",
                        "check the service and the network and run again; what is translated is kept",
                    ) from None
                pause = max(failure.pause, FIRST_PAUSE_S * 2 ** (attempt - 1))
                logger.warning("%s: %s; next attempt in %.0f s", self._translator, failure, pause)
                time.sleep(pause)
        raise AssertionError("unreachable")

    def _attempt(self, payload: Mapping[str, Any], read: Callable[[Any], T]) -> T:
        import httpx

        try:
            response = self._client.post(self._url, json=payload)
        except httpx.TimeoutException:
            raise _Retry(f"no answer within {TIMEOUT_S:.0f} s") from None
        except httpx.RequestError as error:
            raise _Retry(f"the connection failed ({type(error).__name__})") from None
        status = response.status_code
        if status in _TRANSIENT or status >= 500:
            raise _Retry(f"status {status}", _pause(response.headers.get("Retry-After", "")))
        if status != 200:
            raise self._trouble(
                f"status {status}: {self._excerpt(response.text)}",
                "check the key, the model's name and the URL",
            )
        try:
            return read(response.json())
        except (LookupError, TypeError, ValueError, RecursionError):
            raise _Retry("the response is not a translation") from None

    def _excerpt(self, text: str) -> str:
        """The beginning of an error message that the server wrote, made harmless."""
        if self._secret:
            text = text.replace(self._secret, "***")
        text = "".join(c if c.isprintable() else " " for c in text[:2000])
        return " ".join(text.split())[:200]

    def _trouble(self, what: str, remedy: str) -> UserError:
        parts = urlsplit(self._url)
        host = parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}"
        shown = f"{parts.scheme}://{host}{parts.path}"
        return UserError(f"the translator {self._translator} at {shown} failed: {what}; {remedy}.")


def _pause(retry_after: str) -> float:
    """The seconds that a Retry-After header asks for, which it gives as such or as a date."""
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        date = email.utils.parsedate_to_datetime(retry_after)
    except (TypeError, ValueError):
        return 0.0
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
