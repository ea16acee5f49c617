"""What became of requests: empty answers, refusals, prompts that a server cut, and the share that is done."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from factories.models import requests
from needlework.errors import UserError
from needlework.journal import Journal
from needlework.models.accounts import Account, account_of, last_lines, read_account, write_account
from needlework.models.backends.base import Answer, Backend, Request
from needlework.models.generation import Policy, generate
from needlework.models.outcomes import PromptRead, cut_prompts, odd_prompts, read_tokens
from needlework.prompts.ordering import common


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


def test_a_run_may_allow_that_all_prompts_are_cut(tmp_path) -> None:
    """A server that cuts prompts answers, unlike one that is down."""
    backend = Scripted({name: Answer("yes", prompt_tokens=690) for name in "abc"})
    asked = [
        request for i, name in enumerate("abc") for request in requests(name, n_tokens=1500 * 2**i)
    ]
    with Journal(tmp_path) as journal:
        found = generate(asked, backend, journal, Policy(max_failed=3)).to_pylist()
        assert [row["outcome"] for row in found] == ["prompt_cut"] * 3
        with pytest.raises(UserError, match="3 of 3 requests failed, more than `max_failed: 2`"):
            generate(asked, backend, journal, Policy(max_failed=2))


def test_the_account_survives_an_exception(tmp_path) -> None:
    told: list[list[dict[str, Any]]] = []
    backend = Scripted({"a": Answer("yes")})
    with pytest.raises(KeyError):
        rows(tmp_path, backend, "a", "b", told=told.append)
    account = account_of(told[-1], "m", "made")
    assert account.outcomes == {"answered": 1, "unasked": 1} and account.left([]) == 1
    first, second = last_lines([account])
    assert first == "Requests: 1 sent now, 0 from the journal; 1 of 2 answered in full."
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
    said = "Requests: 0 sent now, 0 from the journal; 3 of 3 answered in full."
    assert last_lines([reader, model]) == [said]


def asked(model: str, address: str, *rows: tuple[int, str, bool]) -> Account:
    """The account of a model at a configured address; so many rows of an origin, sent now or not."""
    found = [
        {"outcome": "answered", "remarks": None, "origin": origin, "now": now}
        for n, origin, now in rows
        for _ in range(n)
    ]
    return replace(account_of(found, model, "made"), address=address)


A_DIGEST = hashlib.sha256(b"http://a/v1").hexdigest()[:8]
A, B = "http://a/v1", "http://b/v1"
D1, D2, D3 = "2026-11-27", "2026-11-28", "2026-11-29"


@pytest.mark.parametrize(
    ("accounts", "said"),
    [
        ([("m", A, (3, f"{D2} {A}", True))], "3 sent now, 0 from the journal; 3 of 3"),
        (
            [("m", A, (2, f"{D2} {A}", True), (1, f"{D1} {A}", False))],
            f"2 sent now, 1 from the journal, asked at {A} on {D1}; 3 of 3",
        ),
        (
            [("m", B, (3, f"{D2} {A}", False))],
            f"0 sent now, 3 from the journal, asked at {A} (not the configured {B}) on {D2}; 3 of 3",
        ),
        (
            [("m", B, (3, f"{D2} {A}", False), (1, f"{D3} {A}", False), (1, f"{D3} {B}", False))],
            f"asked 4 at {A} (not the configured {B}) from {D2} to {D3}, 1 at {B} on {D3};",
        ),
        # A local model, and one whose answers came with no day.
        ([("m", "", (3, f"{D2} ", False))], f"3 from the journal, asked on {D2}; 3 of 3"),
        ([("m", "", (3, " ", False))], "3 from the journal; 3 of 3"),
        # Older records have a digest of the address, or nothing of it.
        ([("m", A, (1, f"{D1} {A_DIGEST}", False))], f"asked at {A} on {D1};"),
        (
            [("m", B, (1, f"{D1} {A_DIGEST}", False))],
            f"asked at an address that is not recorded (not the configured {B}) on {D1};",
        ),
        ([("m", B, (1, f"{D1} ", False))], f"asked at an address that is not recorded on {D1};"),
        # Several models, two of them alike.
        (
            [(m, A, (1, f"{D1} {A}", False)) for m in "mn"] + [("o", "", (1, f"{D2} ", False))],
            f"3 of 3 answered in full. From the journal: m, n, asked at {A} on {D1}; o, asked on {D2}.",
        ),
        # The ports of a cluster.
        (
            [("m", A, *((1, f"{D1} {A}{port}", False) for port in range(9)))],
            f"1 at {A}2 (not the configured {A}) on {D1}, the rest at 6 more;",
        ),
    ],
)
def test_where_and_when_answers_were_asked_is_told(accounts, said) -> None:
    (line,) = last_lines([asked(*own) for own in accounts])
    assert said in line
    assert ("set its `variant`" in line) == ("not the configured" in line)


def test_what_earlier_runs_sent_is_from_the_journal(tmp_path) -> None:
    """Of one more benchmark, in shards; a failed request is not in the journal."""
    one = asked("m", A, (2, f"{D2} {A}", True), (1, f"{D1} {A}", False))
    one.outcomes["failed"] = one.sent_now = 3
    write_account(one, tmp_path / "account.json")
    read = read_account(tmp_path / "account.json")
    assert read == one and read.before().from_journal() == {f"{D2} {A}": 2, f"{D1} {A}": 1}
    said = "2 sent now, 4 from the journal, asked at http://a/v1 from 2026-11-27 to 2026-11-28"
    now = asked("m", A, (2, f"{D2} {A}", True), (1, f"{D1} {A}", False))
    assert said in last_lines([one.before(), replace(now, benchmark="other")])[0]


def test_rows_tell_what_was_sent_and_where(tmp_path) -> None:
    backend = Scripted(dict.fromkeys("ab", Answer("yes", origin="http://a/v1")))
    today = datetime.now(UTC).date().isoformat()
    for now in ([True, False, True], [False] * 3):
        found: list[dict[str, Any]] = []
        rows(tmp_path, backend, "a", "a", "b", told=found.extend)
        assert [row["now"] for row in found] == now
        first, again, other = (row["origin"] for row in found)
        assert first == other == f"{today} http://a/v1" and again == (None if now[0] else first)


def test_a_loss_of_the_journal_is_a_line() -> None:
    lost = [replace(asked("m", A), benchmark=b, losses=["f.jsonl is missing: 3"]) for b in "xy"]
    assert last_lines(lost)[1:] == ["f.jsonl is missing: 3."]


def reads(own: list[int], ratio: float, most: int = 10**9, kind: str = "en", noise: float = 0.0):
    """What a server read of prompts with so many tokens of ours."""
    dice = random.Random(0)
    counted = [int(n * ratio * dice.uniform(1 - noise, 1 + noise)) for n in own]
    return [
        PromptRead(kind, n, min(most, m), str(i))
        for i, (n, m) in enumerate(zip(own, counted, strict=True))
    ]


TWENTY = reads(list(range(950, 970)), 1.0)


@pytest.mark.parametrize(
    ("prompts", "cut"),
    [
        (reads(list(range(955, 967)), 1.0, most=300), list(range(12))),
        # All are equally long.
        (
            [PromptRead("en", 20, 20, str(n)) for n in range(3)] + reads([960] * 3, 1.0, 300),
            [3, 4, 5],
        ),
        # The longer ones alone.
        (reads([100, 200, 295, 500, 960], 1.0, most=300), [3, 4]),
        # A replica that cuts, beside whole ones.
        (TWENTY + reads([950, 960, 970], 1.0, most=300), [20, 21, 22]),
        # One question at several positions has one count.
        (
            [PromptRead("ta", 960, 250, "q")] * 5
            + [PromptRead("ta", 960, 240 + n, str(n)) for n in range(9)],
            [],
        ),
        # Short prompts with a long template change no usual ratio.
        ([PromptRead("en", 10, 90, "q")] * 50 + reads([900, 1000, 1100], 1.0), []),
        # Counts are padded to blocks.
        ([PromptRead("en", own, 1024, str(own)) for own in range(950, 1000)], []),
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
    chance = [
        *reads([300, 350], 1.1),
        PromptRead("en", 400, 450, "a"),
        PromptRead("en", 448, 450, "b"),
    ]
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


def begun_alike(n_groups: int = 12) -> list[list[str]]:
    """Prompts as words. Those of a group share their documents up to where the asked one stands."""
    dice = random.Random(2)
    found = []
    for group in range(n_groups):
        documents = [[f"{group}.{i}.{n}" for n in range(dice.randint(60, 120))] for i in range(11)]
        for size in (4, 10):
            for place in range(0, size, 2):
                own = [*documents[:place], documents[10], *documents[place:size]]
                words = [word for document in own for word in document]
                found.append([*"Answer by these documents".split(), *words, f"Q{group}"])
    return found


def shared_words(prompt: list[str], others: list[list[str]]) -> int:
    return max((common(prompt, other) for other in others), default=0)


ALIKE = begun_alike()
SHARED = [shared_words(own, ALIKE[:i] + ALIKE[i + 1 :]) for i, own in enumerate(ALIKE)]


def read_as(counts: list[int]) -> list[PromptRead]:
    rows = zip(ALIKE, counts, SHARED, strict=True)
    return [PromptRead("en", len(own), n, own[-1], shared) for own, n, shared in rows]


@pytest.mark.parametrize("ratio", [0.4, 1.0, 2.5])
@pytest.mark.parametrize("zero", [False, True])
def test_what_a_prefix_cache_leaves_out_is_no_cut(ratio, zero) -> None:
    """Whatever the order in which the prompts came."""
    for seed in range(5):
        came = list(range(len(ALIKE)))
        # Sent in order or not, as several at once are.
        random.Random(seed).shuffle(came) if seed else None
        counts = [0] * len(ALIKE)
        for turn, i in enumerate(came):
            held = shared_words(ALIKE[i], [ALIKE[j] for j in came[:turn]])
            counts[i] = 0 if zero and held > len(ALIKE[i]) / 2 else len(ALIKE[i]) - held
        counts = [int(ratio * n) for n in counts]
        # Without a count there is nothing to compare.
        prompts = [own for own in read_as(counts) if own.counted]
        assert cut_prompts(prompts) == {}
        low = [p for p in prompts if p.own >= 200 and 64 <= p.counted < 0.1 * ratio * p.own]
        assert {prompts.index(p) for p in low} <= odd_prompts(prompts).keys()


@pytest.mark.parametrize("often", [1, 3])
@pytest.mark.parametrize("most", [300, 400])
def test_a_cut_is_found_though_prompts_begin_alike(often, most) -> None:
    long = [i for i, own in enumerate(ALIKE) if i % often == 0 and len(own) > 1.25 * most]
    counts = [min(most, len(own)) if i in long else len(own) for i, own in enumerate(ALIKE)]
    if often == 1:
        counts = [min(most, n) for n in counts]
    assert set(long) <= cut_prompts(read_as(counts)).keys()


def test_more_cached_than_prompt_tokens_come_on_top() -> None:
    """At the address that counts so; at another they are within."""
    names = ("origin", "prompt_tokens", "cached_tokens")
    rows = [("a", 10, 90), ("a", 95, None), ("a", 0, 100), ("b", 300, 288), ("b", None, None)]
    records = [dict(zip(names, row, strict=True)) for row in rows]
    assert read_tokens(records) == [100, 95, 100, 300, 0]


def test_cached_tokens_on_top_fail_no_request(tmp_path) -> None:
    texts = [f"p{i}" for i in range(6)]
    apart = {t: Answer("x", prompt_tokens=30, cached_tokens=270) for t in texts}
    assert {row["outcome"] for row in rows(tmp_path / "a", Scripted(apart), *texts)} == {"answered"}
    within = {t: Answer("x", prompt_tokens=100, cached_tokens=90) for t in texts}
    with pytest.raises(UserError, match="read 100 of 300 tokens"):
        rows(tmp_path / "b", Scripted(within), *texts)


def test_a_constant_that_is_no_count_is_odd() -> None:
    prompts = [PromptRead("en", own, 3, str(own)) for own in range(300, 1000, 100)]
    assert cut_prompts(prompts) == {}
    assert "counted 3 tokens, our tokenizer 300" in odd_prompts(prompts)[0]
