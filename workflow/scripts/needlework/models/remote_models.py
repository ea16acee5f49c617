"""How a model behind a service is asked: many requests at once, pauses, retries, and when to stop."""

from __future__ import annotations

import asyncio
import logging
import random
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.answer_states import RETRIED
from needlework.errors import UserError
from needlework.jobs.progress import tell
from needlework.jobs.stop import LOOK_S, finishing, stopping
from needlework.models.backends.base import Answer, InAnyOrder, Request
from needlework.models.openai_protocol import ITS_OWN_FAULT, Refusal, other_model
from needlework.printable import printable
from needlework.services.connections import most_connections
from needlework.services.endpoints import (
    ATTEMPTS,
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    Passing,
    environment_logins,
    local_proxy,
    without,
    without_secrets,
)

if TYPE_CHECKING:
    from needlework.models.backends.inspect.settings import Inspect
    from needlework.models.backends.openai.settings import Openai

logger = logging.getLogger("needlework")

# How long requests are retried while the endpoint says nothing but that it gets too many, is overloaded or
# away; most limits are by the minute.
RATE_LIMIT_S = 1800.0
LONGEST_RATE_PAUSE_S = 60.0

# Characters of a failed attempt that are kept with the answer that came after it.
LONGEST_REMARK = 200

# After this number of failures in a row, no further request is sent.
FAILURES_IN_A_ROW = 20


class RateLimit(Passing):
    """The endpoint gets too many requests, is overloaded or is away.

    The request itself is not at fault.
    """


class RemoteModel(InAnyOrder):
    """A model at `address`, as messages show it. `concurrency` requests run at once.

    A subclass prepares a request and sends it once. Its `secrets` are removed from all messages of the
    server.
    """

    config: Openai | Inspect
    # What to do if the model is given up.
    _remedy: str

    def __init__(
        self, config: Openai | Inspect, model: str, journal: str | Path, address: str
    ) -> None:
        super().__init__(config, model, journal)
        self._address = address
        # Logins in the environment, which a proxy may repeat.
        self._logins = [secret for own in environment_logins().values() for secret in own]
        # Through which proxy a local address is asked, if through one.
        self._proxy = ""
        self._runner = asyncio.Runner()
        self._not_before = 0.0
        self._limited_since: float | None = None
        self._shown = False
        self._answered = self._others = False
        self._failures = 0

    @property
    def address(self) -> str:
        """The endpoint's address for messages. Parts of the path that look like a key are left out."""
        return printable(self._address, lines=False)

    @property
    @abstractmethod
    def _secrets(self) -> list[str]:
        """What no message and no answer may show."""

    @abstractmethod
    def _prepared(self, request: Request) -> Any:
        """A request as it is sent."""

    @abstractmethod
    async def _attempt(self, sent: Any, n_tokens: int) -> Answer:
        """Send a request once; its prompt has `n_tokens`. Raises Passing if a retry may help."""

    @abstractmethod
    def _lower_limit(self, sent: Any) -> str:
        """What to do about a limit of the answer that the endpoint does not allow."""

    def reads_control_tokens(self, prompt: str) -> bool:
        """Whether the server may read control tokens in a prompt.

        It may, since it gets prompts as text and tokenizes them itself.
        """
        return True

    def load(self) -> None:
        """Get ready to send."""
        loop = self._runner.get_loop()
        self._proxy = self._proxy or local_proxy(self._address)
        wanted = self.config.concurrency
        if (most := most_connections(wanted)) < wanted:
            tell(
                f"{self.where}: {most} requests run at once, not {wanted} (`concurrency`): raise the limit "
                "on open files (`ulimit -n`), of which each connection is one."
            )
        self._slots = asyncio.Semaphore(most)
        self._hopeless: asyncio.Future[str] = loop.create_future()

    def answers(self, requests: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
        """The answers with their places, as they come.

        If the endpoint no longer answers (its key, its address or the model's name is wrong, or it keeps
        failing), nothing more is sent. Requests already sent are paid for, so their answers are yielded; then
        UserError is raised. If the run is being stopped, it ends in the same way, without an error.
        """
        with finishing():
            yield from self._answers(requests)

    def _answers(self, requests: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
        loop = self._runner.get_loop()
        unsent = enumerate(requests)
        places: dict[asyncio.Task[Answer | None], int] = {}
        try:
            while True:
                free = self.config.concurrency - len(places)
                for place, request in islice(unsent, 0 if self._hopeless.done() else free):
                    self._show_first(request)
                    places[loop.create_task(self._answer(request))] = place
                if not places:
                    break
                loop.run_until_complete(asyncio.wait(places, return_when=asyncio.FIRST_COMPLETED))
                for task in [task for task in places if task.done()]:
                    place, answer = places.pop(task), task.result()
                    if answer is not None:
                        yield place, answer
            if not self._hopeless.done():
                return
            raise UserError(
                f"{self.where}: {self._hopeless.result()}. {self._remedy}; the answers until then are in "
                "the journal."
            )
        finally:
            # `close` may have come first.
            if places and not loop.is_closed():
                for task in places:
                    task.cancel()
                loop.run_until_complete(asyncio.gather(*places, return_exceptions=True))

    # One request

    def _show_first(self, request: Request) -> None:
        if not self._shown:
            self._shown = True
            logger.info("The first prompt, sent %s:\n%s", *self.as_sent(request.prompt))

    async def _answer(self, request: Request) -> Answer | None:
        """The answer, after as many attempts as it takes; None if the run is being stopped before it."""
        async with self._slots:
            sent = self._prepared(request)
            attempt, left, pause, until = 1, ATTEMPTS, FIRST_PAUSE_S, 0.0
            failed: Passing | None = None
            while True:
                await self._wait(until)
                if self._hopeless.done():
                    return Answer("", error=self._hopeless.result())
                if stopping():
                    return None
                try:
                    answer = await self._attempt(sent, request.n_tokens)
                    if failed is None or answer.error is not None:
                        return answer
                    said = f"{RETRIED}: {str(failed)[:LONGEST_REMARK]}"
                    return replace(answer, remarks=(*(answer.remarks or ()), said))
                except RateLimit as failure:
                    if self._limited_for() > RATE_LIMIT_S or failure.pause > LONGEST_PAUSE_S:
                        return self._failed(f"{failure} (attempt {attempt})")
                    self._slow_down(failure)
                except Passing as failure:
                    left -= 1
                    if not left or failure.pause > LONGEST_PAUSE_S:
                        return self._failed(f"{failure} (attempt {attempt})")
                    logger.warning("%s: %s; the request is retried.", self.where, failure)
                    failed = failure
                    self._rest(failure.pause)
                    until = self._runner.get_loop().time() + pause
                    pause *= 2
                attempt += 1

    def _received(self, reply: Answer | Refusal, pause: float, sent: Any) -> Answer:
        """The answer that a reply is, and what it says of the requests after it.

        `pause` is in seconds, as the server asks for it. Raises Passing if a retry may help.
        """
        if not (isinstance(reply, Refusal) and reply.kind == "limited"):
            self._limited_since = None
        if isinstance(reply, Refusal):
            return self._refused(reply, pause, sent)
        if reply.error is not None and not ITS_OWN_FAULT.search(reply.error):
            return self._failed(reply.error)
        self._answered, self._failures = True, 0
        return self._named(reply)

    def _named(self, answer: Answer) -> Answer:
        """The answer, with where it came from, and the model's name if that is another than was asked."""
        answer = replace(answer, origin=self.address)
        if answer.served is None or not other_model(self.config.name, answer.served):
            return replace(answer, served=None)
        if not self._others:
            logger.warning(
                "%s: %s was asked for the model %s, and its reply names %s.",
                self.where,
                self._address,
                self.config.name,
                answer.served,
            )
        self._others = True
        return answer

    def _clean(self, content: str) -> str:
        """A server's text, to be shown, without the key, which it may repeat."""
        for secret in self._secrets:
            content = without(content, secret)
        return content

    def _kept(self, body: Any) -> Any:
        """What a server's JSON holds, to be kept, without the key, which may stand even in an answer."""
        return without_secrets(body, self._secrets)

    def _limited_for(self) -> float:
        """For how many seconds the endpoint has answered nothing but such statuses (RateLimit)."""
        since = self._limited_since
        return 0.0 if since is None else self._runner.get_loop().time() - since

    def _slow_down(self, failure: RateLimit) -> None:
        """Pause all requests for as long again as the limit has lasted: pauses double."""
        if self._limited_since is None:
            self._limited_since = self._runner.get_loop().time()
            logger.warning("%s: %s; all requests wait and are retried.", self.where, failure)
        pause = max(FIRST_PAUSE_S, min(self._limited_for(), LONGEST_RATE_PAUSE_S))
        # Jitter, so that jobs that were refused together do not come back together.
        self._rest(max(pause, failure.pause) * random.uniform(1.0, 1.5))

    def _rest(self, pause: float) -> None:
        """Send no request for this number of seconds: a pause that the endpoint asks of one holds for all."""
        self._not_before = max(self._not_before, self._runner.get_loop().time() + pause)

    async def _wait(self, until: float) -> None:
        """Wait until this time of the loop, and until no pause holds for all requests.

        Ends as soon as the endpoint is given up, or the run is being stopped.
        """
        now = self._runner.get_loop().time
        while (left := max(until, self._not_before) - now()) > 0:
            if self._hopeless.done() or stopping():
                return
            await asyncio.wait([self._hopeless], timeout=min(left, LOOK_S))

    def _refused(self, refusal: Refusal, pause: float, sent: Any) -> Answer:
        """The answer after a reply without one. Raises Passing if a retry may help."""
        said = refusal.said
        match refusal.kind:
            case "fatal":
                lacks = "" if re.search(r"/v\d", self._address) else " (`base_url` has no /v1)"
                return self._give_up(f"{self._address}{lacks} answers with {said}")
            case "limited":
                raise RateLimit(said, pause)
            case "passing":
                raise Passing(said, pause)
            case "too_long":
                return Answer("", "skipped", error=said, refused=True)
            case "limit":
                return self._failed(f"{said}; {self._lower_limit(sent)}")
            # Neighbouring prompts share text, so many in a row may be refused for their content. If no
            # request was ever answered, the content is not the cause.
            case "content" if self._answered:
                return Answer("", error=said)
        return self._failed(said)

    def _by_proxy(self, said: str) -> Answer:
        """The answer where a proxy answered in the place of a local server, or could not reach it."""
        self._remedy = self._proxy[0].upper() + self._proxy[1:]
        return self._give_up(f"{self._address} did not answer by itself: {said}")

    @property
    def _through_proxy(self) -> bool:
        """Whether a local address is asked through a proxy, and has never answered."""
        return bool(self._proxy) and not self._answered

    def _failed(self, what: str) -> Answer:
        """The answer to a failed request whose content is not known to be the cause."""
        self._failures += 1
        if self._failures >= FAILURES_IN_A_ROW:
            return self._give_up(
                f"{self._failures} requests in a row failed at {self._address}, the last with {what}"
            )
        return Answer("", error=what)

    def _give_up(self, why: str) -> Answer:
        """Send no further request."""
        if not self._hopeless.done():
            self._hopeless.set_result(why.rstrip("."))
        return Answer("", error=why)
