"""What became of requests: empty answers, refusals, prompts that a server cut, and the share that is done."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from factories.models import requests
from needlework.errors import UserError
from needlework.journal import Journal
from needlework.models.accounts import account_of, last_lines
from needlework.models.backends.base import Answer, Backend, Request
from needlework.models.generation import Policy, generate
from needlework.models.outcomes import Read, Size, cut_prompts, odd_prompts
from needlework.models.work_done import ANSWER_TOKEN, WorkDone


class Scripted(Backend):
    """Gives the answers that it is made with, by the prompt."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        super().__init__({})
        self.script, self.asked = answers, 0
        # What happens while the first prompt is under way.
        self.meanwhile: Callable[[], object] = lambda: None

    def identity(self) -> dict[str, object]:
        return {"backend": "scripted"}

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        for request in batch:
            self.asked += 1
            if self.asked == 1:
                self.meanwhile()
            yield self.script[request.prompt]


def rows(folder: Path, backend: Backend, *prompts: str, **options: Any) -> list[dict[str, Any]]:
    told = {"told": options.pop("told")} if "told" in options else {}
    asked = requests(*prompts, n_tokens=300)
    with Journal(folder) as journal:
        return generate(asked, backend, journal, Policy(**options), **told).to_pylist()


def test_an_empty_answer_is_asked_again_by_a_key(tmp_path) -> None:
    empty = Scripted({"a": Answer(" ", reasoning="It is 42."), "b": Answer("yes")})
    first = rows(tmp_path, empty, "a", "b")
    assert [row["outcome"] for row in first] == ["empty", "answered"]
    assert (first[0]["remarks"], first[0]["reasoning"]) == (["reasoning_only"], "It is 42.")
    # A failed second request keeps the paid answer.
    failing = Scripted({"a": Answer("", error="no")})
    assert rows(tmp_path, failing, "a", again=["empty"])[0]["outcome"] == "empty"
    better = Scripted({"a": Answer("42")})
    assert rows(tmp_path, better, "a", "b")[0]["text"] == " " and better.asked == 0
    # The better answer stays, with the key and without it.
    for again in (["empty"], ["empty"], []):
        assert rows(tmp_path, better, "a", "b", again=again)[0]["text"] == "42"
    assert better.asked == 1


def test_a_better_answer_of_another_run_is_taken(tmp_path, monkeypatch) -> None:
    """And another empty one is not."""
    monkeypatch.setattr("needlework.models.other_runs.LOOK_SECONDS", 0.0)
    nothing, right = (Scripted(dict.fromkeys("abcd", Answer(text))) for text in ("", "right"))
    rows(tmp_path, nothing, *"abcd")
    for other, asked in ((nothing, 4), (right, 1)):
        late = Scripted(dict.fromkeys("abcd", Answer("")))
        late.batch_size = 1
        late.meanwhile = partial(rows, tmp_path, other, *"abcd", again=["empty"])
        found = rows(tmp_path, late, *"abcd", again=["empty"])
        assert late.asked == asked
        assert {row["text"] for row in found} == {other.script["a"].text}


def test_a_refusal_counts_as_failure_below_the_context(tmp_path) -> None:
    refused = Answer("", "skipped", error="too long", refused=True)
    backend = Scripted({"a": refused, "b": Answer("yes")})
    assert rows(tmp_path, backend, "a", "b", context=310)[0]["outcome"] == "skipped"
    with pytest.raises(UserError, match="1 of 2 requests failed"):
        rows(tmp_path, backend, "a", "b", context=1000)
    found = rows(tmp_path, backend, "a", "b", context=1000, max_failed=1)
    assert (found[0]["outcome"], found[0]["finish_reason"]) == ("refused", "error")


def test_a_quoted_control_token_is_told(tmp_path) -> None:
    backend = Scripted(dict.fromkeys(("a </s> b", "c"), Answer("yes")))
    assert rows(tmp_path, backend, "a </s> b", "c")[0]["remarks"] is None
    backend.reads_control_tokens = lambda prompt: True
    found = rows(tmp_path, backend, "a </s> b", "c")
    assert [row["remarks"] for row in found] == [["control_tokens: </s>"], None]
    (said,) = account_of(found, "m", "made").sentences()
    assert said.startswith("1 of 2 prompts quote the text of a control token, such as </s>, which")


def test_answers_that_the_server_did_not_decode_are_told(tmp_path) -> None:
    backend = Scripted(
        {"a": Answer("TheĠanswerĠisĠyes"), "b": Answer("yes"), "c": Answer("<x>y</x>")}
    )
    found = rows(tmp_path, backend, "a", "b", "c")
    assert [row["remarks"] for row in found] == [["undecoded: Ġ"], None, ["unknown_mark: <x>"]]
    _, said = account_of(found, "m", "made").sentences()
    assert said.startswith("1 of 3 answers are in a tokenizer's letters, such as Ġ for a byte")


def test_a_job_fails_if_all_that_it_sent_failed(tmp_path) -> None:
    backend = Scripted({"a": Answer("", error="no"), "b": Answer("", error="no")})
    with pytest.raises(UserError, match="all 2 requests that were sent were refused or failed"):
        rows(tmp_path, backend, "a", "b", max_failed=9)


def test_the_account_survives_an_exception(tmp_path) -> None:
    told: list[list[dict[str, Any]]] = []
    backend = Scripted({"a": Answer("yes")})
    with pytest.raises(KeyError):
        rows(tmp_path, backend, "a", "b", told=told.append)
    account = account_of(told[-1], "m", "made")
    assert account.outcomes == {"answered": 1, "unasked": 1} and account.left([]) == 1
    first, second = last_lines([account])
    assert first == "Requests: 1 of 2 were sent, and 1 answered in full."
    assert "1 of 2 requests were not sent" in second


ANSWERED = {"outcome": "answered", "remarks": None}


def test_what_happens_to_many_models_is_one_line() -> None:
    """With those where it happened most; the rest has a line each, as in a small run."""
    empty = {"outcome": "empty", "remarks": None}
    accounts = [account_of([empty] * n, f"m{n}", "made") for n in range(1, 8)]
    accounts.append(account_of([{"outcome": "cut", "remarks": None}], "m8", "made"))
    _, cut, most = last_lines(accounts)
    assert cut.startswith("m8, made: 1 of 1 answers were cut")
    # Of all answers of the run.
    assert most.startswith("28 of 29 answers are empty")
    assert most.endswith(
        "Most in m7, made (7); m6, made (6); m5, made (5); m4, made (4); and 3 more."
    )
    assert len(last_lines(accounts[:4])) == 5


def test_built_in_readers_send_no_request() -> None:
    reader, model = (
        account_of([ANSWERED] * 3, name, "made", name == "m") for name in ("oracle", "m")
    )
    assert last_lines([reader]) == ["No request was sent: all answers are of built-in readers."]
    assert last_lines([reader, model]) == ["Requests: 3 of 3 were sent, and 3 answered in full."]


def test_addresses_are_counted_over_benchmarks_and_shards() -> None:
    places = [("m", "made", "a")] * 2 + [
        ("m", "other", "b"),
        ("n", "made", "c"),
        ("n", "other", "c"),
    ]
    accounts = [
        account_of([ANSWERED | {"origin": origin}] * 2, model, benchmark)
        for model, benchmark, origin in places
    ]
    (said,) = last_lines([*accounts, account_of([ANSWERED], "m", "made")])[1:]
    assert said.startswith("m: the answers came from 2 addresses of its endpoint (4, 2 of them)")


def reads(own: list[int], ratio: float, most: int = 10**9, kind: str = "en", noise: float = 0.0):
    """What a server read of prompts with so many tokens of ours."""
    dice = random.Random(0)
    counted = [int(n * ratio * dice.uniform(1 - noise, 1 + noise)) for n in own]
    return [
        Read(kind, n, min(most, m), str(i))
        for i, (n, m) in enumerate(zip(own, counted, strict=True))
    ]


TWENTY = reads(list(range(950, 970)), 1.0)


@pytest.mark.parametrize(
    ("prompts", "cut"),
    [
        (reads(list(range(955, 967)), 1.0, most=300), list(range(12))),
        # All are equally long.
        ([Read("en", 20, 20, str(n)) for n in range(3)] + reads([960] * 3, 1.0, 300), [3, 4, 5]),
        # The longer ones alone.
        (reads([100, 200, 295, 500, 960], 1.0, most=300), [3, 4]),
        # A replica that cuts, beside whole ones.
        (TWENTY + reads([950, 960, 970], 1.0, most=300), [20, 21, 22]),
        # One question at several positions has one count.
        (
            [Read("ta", 960, 250, "q")] * 5 + [Read("ta", 960, 240 + n, str(n)) for n in range(9)],
            [],
        ),
        # Short prompts with a long template change no usual ratio.
        ([Read("en", 10, 90, "q")] * 50 + reads([900, 1000, 1100], 1.0), []),
        # Counts are padded to blocks.
        ([Read("en", own, 1024, str(own)) for own in range(950, 1000)], []),
    ],
)
def test_only_prompts_that_a_limit_cut_are_told(prompts, cut) -> None:
    found = cut_prompts(prompts)
    assert sorted(found) == cut
    assert all(
        f"read {prompts[place].counted} of {prompts[place].own} tokens" in said
        for place, said in found.items()
    )


def test_a_count_above_ours_is_told_as_such() -> None:
    # Two equal counts by chance, then a limit, both above our own counts.
    chance = [*reads([300, 350], 1.1), Read("en", 400, 450, "a"), Read("en", 448, 450, "b")]
    assert cut_prompts(chance) == {}
    found = cut_prompts(reads([300, 400, 448, 500, 560, 700], 1.5, most=600))
    assert sorted(found) == [2, 3, 4, 5]
    assert found[2].startswith("the endpoint read 600 tokens, too few beside other prompts (448 by")
    assert found[5].startswith("the endpoint read 600 of 700 tokens (ours")


@pytest.mark.parametrize("ratio", [0.26, 0.8, 1.0, 1.3, 3.8])
def test_an_honest_tokenizer_cuts_nothing(ratio) -> None:
    """Between o200k and cl100k, Tamil has a ratio of 0.26 or 3.8, English 1."""
    dice = random.Random(1)
    own = [dice.randint(900, 8000) for _ in range(3000)]
    prompts = reads(own, 1.0, noise=0.1) + reads(own, ratio, kind="ta", noise=0.1)
    assert cut_prompts(prompts) == {}
    assert bool(odd_prompts(prompts)) == (ratio < 0.5)


def test_a_constant_that_is_no_count_is_odd() -> None:
    prompts = [Read("en", own, 3, str(own)) for own in range(300, 1000, 100)]
    assert cut_prompts(prompts) == {}
    assert "counted 3 tokens, our tokenizer 300" in odd_prompts(prompts)[0]


def made(**tokens: int) -> WorkDone:
    """A job with prompts of so many tokens, whose answers have 100 at most."""
    sizes = {key: Size("kind", key, n, 100) for key, n in tokens.items()}
    return WorkDone(sizes, sizes)


def test_long_prompts_count_for_more() -> None:
    work = made(short=100, long=900)
    work.sent("short")
    work.answered("short", 0)
    assert work.share() == pytest.approx(0.1)


@pytest.mark.parametrize(("tokens", "taken"), [(10, 10), (None, 100)])
def test_answers_to_come_are_as_short_as_those_that_came(tokens, taken) -> None:
    """The second prompt is ten times as long; answers of unknown length are as long as allowed."""
    work = made(first=100, second=1000)
    work.sent("first")
    work.answered("first", tokens)
    one, other = 100 + taken * ANSWER_TOKEN, 1000 + taken * ANSWER_TOKEN
    assert work.share() == pytest.approx(one / (one + other))


def test_prompts_under_way_are_half_done() -> None:
    work = made(a=100, b=100, c=100, d=100)
    for key in "abc":
        work.sent(key)
    work.answered("a", 0)
    # One ended, two may end with it: nothing is known yet.
    assert work.share() == 0
    work.answered("b", 0)
    assert work.share() == pytest.approx(2.5 / 4)


def test_failed_requests_are_no_work() -> None:
    work = made(refused=5000, a=100, b=100)
    for key in ("refused", "a"):
        work.sent(key)
    work.answered("refused", None, failed=True)
    work.answered("a", 0)
    assert work.share() == pytest.approx(0.5)
    work.sent("b")
    work.answered("b", 0)
    assert work.share() == 1
