"""Generation: every request answered once, whatever dies, and every answer in its row."""

from __future__ import annotations

import itertools
import json
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories.generations import Changing, Watched, documents, instances, refuse_bad
from factories.models import backend_of, block, remote
from http_server import Reply, completion
from needlework.errors import UserError
from needlework.journal import Journal
from needlework.models.backends.base import Answer, Backend, Request
from needlework.models.backends.lexical import Lexical
from needlework.models.backends.oracle import Oracle
from needlework.models.generation import InstanceRequests, Policy, _refuse_failures, generate
from needlework.models.request_keys import request_key
from needlework.models.selection import check_room
from needlework.models.shards import merge
from needlework.records import GENERATIONS, read_table, write_table


def by_fives(backend: Backend) -> Backend:
    """The backend, which gets five requests at once."""
    backend.batch_size = 5
    return backend


@pytest.mark.parametrize(("context", "tokens"), [(99, 0), (110, 110), (130, 130), (200, 139)])
def test_the_longest_prompt_has_its_answer_if_that_fits(requests, context, tokens) -> None:
    """Prompts of 100 to 123 tokens, and answers of 16."""
    assert requests.longest(context) == tokens


def test_rows_are_complete_and_sorted(requests, tmp_path) -> None:
    requests.samples = 2
    table = generate(requests, by_fives(Oracle({})), Journal(tmp_path / "j"))
    assert table.schema == GENERATIONS
    rows = table.to_pylist()
    references = {r["instance_id"]: r["references"][0] for r in instances().to_pylist()}
    assert [(r["instance_id"], r["sample"]) for r in rows] == sorted(
        (instance, sample) for instance in references for sample in (0, 1)
    )
    assert all(r["text"] == references[r["instance_id"]] for r in rows)
    assert {r["finish_reason"] for r in rows} == {"stop"}
    assert len({r["request_key"] for r in rows}) == 48


def test_only_what_is_missing_is_asked(requests, tmp_path) -> None:
    part = InstanceRequests(requests.files[:1], documents())
    first, rest, none, revised = Watched(), Watched(), Watched(), Watched()
    revised.identity = lambda: {**none.identity(), "revision": 2}
    with Journal(tmp_path / "j") as journal:
        generate(part, by_fives(first), journal)
        table = generate(requests, rest, journal)
    with Journal(tmp_path / "j") as journal:
        assert generate(requests, none, journal) == table
        generate(requests, revised, journal)
    assert table == generate(requests, Watched(), Journal(tmp_path / "other"))
    assert [own.asked.total() for own in (first, rest, none, revised)] == [15, 9, 0, 24]
    assert (first.loads, first.closes) == (1, 1) and (none.loads, none.closes) == (0, 0)


def test_requests_may_come_in_reverse_with_equal_answers(requests, tmp_path) -> None:
    backwards = InstanceRequests(requests.files, documents(), samples=2, backwards=True)
    forwards = InstanceRequests(requests.files, documents(), samples=2)
    names = [[r.instance_id for r in some] for some in (forwards, backwards)]
    assert names[0] == names[1][::-1] and [r.sample for r in backwards][:2] == [0, 1]
    assert [r.instance_id for r in backwards.starting_at(5)] == names[1][5:]
    with Journal(tmp_path / "a") as one, Journal(tmp_path / "b") as two:
        assert generate(forwards, Watched(), one) == generate(backwards, Watched(), two)


def test_lengths_and_factors_choose_the_instances(requests) -> None:
    rows = instances().to_pylist()

    def chosen(**how: Any) -> set[str]:
        return {r.instance_id for r in InstanceRequests(requests.files, documents(), **how)}

    expected = {r["instance_id"] for r in rows if r["length"] in (0, 1024)}
    assert chosen(lengths=[1024]) == expected and len(expected) == 16
    only = {"length": [512], "task": ["exact"], "a_factor_of_another_benchmark": ["x"]}
    expected = {r["instance_id"] for r in rows if r["length"] == 512}
    assert chosen(only=only) == expected and len(expected) == 8
    assert chosen(only={"task": ["absent"]}) == set()


def test_prompts_are_sent_so_that_neighbours_share_most(requests) -> None:
    requests.samples = 2
    sent = list(requests)
    prompts = [request.prompt for request in sent]
    assert prompts == sorted(prompts) and len(set(prompts)) == 24
    assert [request.sample for request in sent] == [0, 1] * 24
    assert [r.instance_id for r in sent] == [r.instance_id for r in requests]


def test_equal_prompts_are_asked_once_and_count_in_each_row(tmp_path) -> None:
    rows = instances(2).to_pylist()
    rows[1]["prompt"] = rows[0]["prompt"]
    write_table(pa.Table.from_pylist(rows, instances(2).schema), tmp_path / "two.parquet")
    requests = InstanceRequests([tmp_path / "two.parquet"], documents())
    backend, refusing = Watched(), Changing(lambda *_: Answer("", error="no"))
    refusing.asks_a_model = False
    found = generate(requests, backend, Journal(tmp_path / "answers"))["text"].to_pylist()
    assert backend.asked.total() == 1 and found[0] == found[1] != ""
    whole = generate(requests, refusing, Journal(tmp_path / "j"), Policy(max_failed=2))
    assert whole["error"].to_pylist() == ["no", "no"]
    with pytest.raises(UserError, match="2 of 2 requests failed"):
        generate(requests, refusing, Journal(tmp_path / "j"), Policy(max_failed=1))


def test_what_exceeds_the_context_is_skipped_and_not_asked(requests, tmp_path) -> None:
    backend = Watched()
    rows = generate(requests, backend, Journal(tmp_path / "j"), Policy(context=113)).to_pylist()
    sizes = {r["instance_id"]: r["n_tokens"] for r in instances().to_pylist()}
    skipped = [r for r in rows if r["finish_reason"] == "skipped"]
    assert {sizes[r["instance_id"]] for r in skipped} == set(range(114, 124))
    assert all(r["text"] == "" and "113" in r["error"] for r in skipped)
    assert backend.asked.total() == 14
    assert len(Journal(tmp_path / "j").load()) == 14


def test_too_many_failures_stop_the_job_after_the_rest(requests, tmp_path, capsys) -> None:
    """Within the limit they are rows; either way they are asked again."""
    failing = by_fives(Changing(refuse_bad))
    with Journal(tmp_path / "j") as journal:
        with pytest.raises(UserError, match=r"3 of 24 .*`max_failed: 2`.* refused 103\."):
            generate(requests, failing, journal, Policy(max_failed=2))
        last = capsys.readouterr().err.splitlines()[-1]
        assert "24/24" in last and "3 failed" in last
        rows = generate(requests, failing, journal, Policy(max_failed=3)).to_pylist()
        assert len(journal.load()) == 21 and failing.closes == 2
    errors = [r["error"] for r in rows if r["finish_reason"] == "error"]
    assert sorted(errors) == ["refused 103", "refused 107", "refused 120"]
    assert sorted(failing.asked.values()) == [1] * 21 + [2] * 3


OUTCOMES = ["answer"] * 7 + ["error", "skip", "die"]
RUN = st.lists(st.sampled_from(OUTCOMES), min_size=12, max_size=12)


@settings(max_examples=10)
@given(runs=st.lists(RUN, max_size=3), size=st.integers(1, 30), backwards=st.booleans())
def test_no_answered_request_is_asked_again(runs, size, backwards) -> None:
    with TemporaryDirectory() as folder:
        write_table(instances(12, passages=2), Path(folder, "i.parquet"))
        requests = InstanceRequests([Path(folder, "i.parquet")], documents(), backwards=backwards)
        places = {request.instance_id: n for n, request in enumerate(requests)}
        whole = generate(requests, Watched(), Journal(Path(folder, "whole")))
        answered: set[str] = set()
        for outcomes in runs:

            def change(request: Request, answer: Answer, outcomes=outcomes) -> Answer:
                match outcomes[places[request.instance_id]]:
                    case "error":
                        return Answer("", error="no")
                    case "skip":
                        return Answer("", "skipped", error="too long")
                    case "die":
                        raise RuntimeError("the engine died")
                answered.add(request.instance_id)
                return answer

            backend, missing = Changing(change), places.keys() - answered
            backend.batch_size = size
            with Journal(Path(folder, "j")) as journal:
                try:
                    rows = generate(requests, backend, journal, Policy(max_failed=12)).to_pylist()
                except (RuntimeError, UserError):
                    assert "die" in outcomes or not answered - (places.keys() - missing)
                else:
                    ends = {"answer": "stop", "error": "error", "skip": "skipped"}
                    for row in rows:
                        new = outcomes[places[row["instance_id"]]]
                        assert row["finish_reason"] == (
                            ends[new] if row["instance_id"] in missing else "stop"
                        )
            assert {name for name, _ in backend.asked} <= missing and backend.closes <= 1
            assert all(times == 1 for times in backend.asked.values())
            assert len(Journal(Path(folder, "j")).load()) == len(answered)
        last = Watched()
        assert generate(requests, last, Journal(Path(folder, "j"))) == whole
        assert {name for name, _ in last.asked} == places.keys() - answered


class Ordered(Lexical):
    """Answers in another order."""

    def __init__(self, order: Callable[[list[Any]], Iterable[Any]]) -> None:
        super().__init__({})
        self.order = order

    def answers(self, requests: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
        yield from self.order(list(super().answers(requests)))


def many(tmp_path: Path, count: int) -> InstanceRequests:
    ids = pa.array([f"{n:064x}" for n in range(count)])
    write_table(instances(count).set_column(0, "instance_id", ids), tmp_path / "many.parquet")
    return InstanceRequests([tmp_path / "many.parquet"], documents())


def test_a_request_that_hangs_holds_no_other_up(tmp_path) -> None:
    requests = many(tmp_path, 300)
    hanging = Ordered(lambda found: [*found[1:], found[0]])
    table = generate(requests, hanging, Journal(tmp_path / "j"))
    ids, keys = (table[name].to_pylist() for name in ("instance_id", "request_key"))
    *_, last = Journal(tmp_path / "j").records()
    assert last["key"] == keys[ids.index(next(iter(requests)).instance_id)]
    assert table == generate(requests, Lexical({}), Journal(tmp_path / "other"))


@pytest.mark.slow
def test_a_slow_endpoint_idles_no_slot_but_its_own(server, tmp_path) -> None:
    """The first prompt is answered once all the others have come."""
    others_came = []

    def reply(number: int, body: Any) -> Reply:
        end = time.monotonic() + 60
        while number == 0 and len(server.received) < 300 and time.monotonic() < end:
            time.sleep(0.01)
        if number == 0:
            others_came.append(len(server.received))
        return completion(body)

    server.reply = reply
    backend = remote(server.url, concurrency=3)
    table = generate(many(tmp_path, 300), backend, Journal(tmp_path / "j"))
    assert others_came == [300] and server.most_at_once == 3
    assert set(table["finish_reason"].to_pylist()) == {"stop"}


def test_prompts_are_made_as_the_backend_takes_them(tmp_path) -> None:
    made, ahead, batches = [], [], []

    class Counted(InstanceRequests):
        def __iter__(self) -> Iterator[Request]:
            made.append(0)
            for request in super().__iter__():
                made[-1] += 1
                yield request

    class Careful(Lexical):
        batch_size = 7

        def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
            ahead.append(made[-1] - sum(batches))
            batches.append(len(batch))
            return super().generate(batch)

    counted = Counted(many(tmp_path, 300).files, documents())
    generate(counted, Careful({}), Journal(tmp_path / "j"))
    assert sum(batches) == 300 and set(ahead) == {7, 300 % 7}


@pytest.mark.parametrize("change", [-1, 1])
def test_a_wrong_number_of_answers_is_noticed(requests, tmp_path, change: int) -> None:
    backend = Watched()
    backend.generate = lambda batch: (Answer("a") for _ in range(len(batch) + change))
    with pytest.raises((ValueError, IndexError)):
        generate(requests, backend, Journal(tmp_path / "j"))


def test_an_answer_is_journalled_before_its_batch_ends(requests, tmp_path) -> None:
    finished = itertools.count()

    def wait_for_the_journal(_: Request, answer: Answer) -> Answer:
        number, end = next(finished), time.monotonic() + 10
        while len(Journal(tmp_path / "j").load()) < number:
            assert time.monotonic() < end, f"{number} were answered"
            time.sleep(0.001)
        return answer

    generate(requests, Changing(wait_for_the_journal), Journal(tmp_path / "j"))


def test_a_full_disk_stops_the_model(requests, tmp_path) -> None:
    class Full(Journal):
        def append(self, records: Iterable[Mapping[str, object]]) -> None:
            if list(records):
                raise UserError("the journal cannot be written")

    backend = Changing(lambda _, answer: time.sleep(0.02) or answer)
    backend.batch_size = 1
    with pytest.raises(UserError, match="cannot be written"):
        generate(requests, backend, Full(tmp_path / "j"))
    assert backend.closes == 1 and backend.asked.total() < 10


def test_lone_surrogates_of_a_model_do_no_harm(requests, tmp_path) -> None:
    odd = Changing(lambda *_: Answer("x\ud83dy \ud83d\ude00"))
    write_table(generate(requests, odd, Journal(tmp_path / "j")), tmp_path / "t.parquet")
    assert set(read_table(tmp_path / "t.parquet")["text"].to_pylist()) == {"x\ufffdy \U0001f600"}


def test_token_counts_come_back_from_the_journal(requests, tmp_path) -> None:
    counting = Changing(lambda request, _: Answer("a", "length", request.n_tokens, 0, 16, None))
    with Journal(tmp_path / "j") as journal:
        first, second = (generate(requests, counting, journal).to_pylist() for _ in range(2))
    assert first == second and counting.asked.total() == 24
    assert {r["prompt_tokens"] for r in second} == set(range(100, 124))
    names = ("finish_reason", "cached_tokens", "completion_tokens", "reasoning_tokens")
    assert {tuple(r[name] for name in names) for r in second} == {("length", 0, 16, None)}


def test_each_part_of_a_key_counts() -> None:
    base = {"identity": {"name": "m", "t": 0.7}, "prompt": "p", "sample": 0, "max_new_tokens": 8}
    changes = [
        *({"identity": {"name": "m", "t": 0.1}}, {"prompt": "q"}, {"sample": 1}),
        *({"max_new_tokens": 9}, {"extra": ["reference"]}),
    ]
    keys = {request_key(**{**base, **change}) for change in [{}, *changes]}
    assert len(keys) == 6
    assert request_key(**{**base, "identity": {"t": 0.7, "name": "m"}}) in keys


def changed(request: Request, **fields: Any) -> Request:
    return Request(**{name: getattr(request, name) for name in Request.__slots__} | fields)


def test_a_changed_reference_or_role_changes_its_readers_key(requests) -> None:
    request = next(iter(requests))
    other = changed(request, references=["1066"])
    assert Oracle({}).depends_on(other) != Oracle({}).depends_on(request)
    assert Lexical({}).depends_on(other) == Lexical({}).depends_on(request)
    moved = changed(request, spans=[span._replace(role="needle") for span in request.spans])
    assert moved.prompt == request.prompt
    assert Lexical({}).depends_on(moved) != Lexical({}).depends_on(request)


class Numbered(Watched):
    """Answers differently whenever it is made, as sampling or another batch does."""

    made = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.number = next(Numbered.made)
        # What happens while the answers are under way.
        self.during: list[Any] = []

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        self.asked.update((r.instance_id, r.sample) for r in batch)
        while self.during:
            self.during.pop()()
        return (Answer(f"run {self.number}: {request.n_tokens}") for request in batch)


@pytest.mark.parametrize("looks", [False, True])
def test_a_late_answer_of_an_early_run_changes_nothing(requests, tmp_path, monkeypatch, looks):
    """A whole second run takes place meanwhile; a run that looks then asks for nothing more."""
    if looks:
        monkeypatch.setattr("needlework.models.other_runs.LOOK_SECONDS", 0.0)
    first, second = by_fives(Numbered()), Numbered()
    tables = []

    def whole_second_run() -> None:
        with Journal(tmp_path / "j") as journal:
            tables.append(generate(requests, second, journal))

    first.during.append(whole_second_run)
    with Journal(tmp_path / "j") as journal:
        tables.append(generate(requests, first, journal))
    for _ in range(2):
        tables.append(generate(requests, Numbered(), Journal(tmp_path / "j")))
    assert all(table == tables[0] for table in tables)
    # The five that were under way.
    assert second.asked.total() == 24 and (not looks or first.asked.total() == 5)


def test_runs_at_once_begin_at_different_places(requests, tmp_path) -> None:
    sent = [request.instance_id for request in requests]
    first, second = Numbered(), Numbered()
    first.during.append(lambda: generate(requests, second, Journal(tmp_path / "j")))
    generate(requests, first, Journal(tmp_path / "j"))
    assert list(first.asked) == [(instance, 0) for instance in sent]
    assert list(second.asked) == [(instance, 0) for instance in [*sent[12:], *sent[:12]]]


@pytest.mark.parametrize(
    "record", [{"text": 5}, {"text": None}, {"finish_reason": "maybe"}, {"prompt_tokens": "many"}]
)
def test_a_record_that_is_no_answer_is_asked_again(requests, tmp_path, record) -> None:
    with Journal(tmp_path / "j") as journal:
        expected = generate(requests, Watched(), journal)
    (file,) = (tmp_path / "j").glob("*.jsonl")
    first, *others = file.read_text().splitlines(keepends=True)
    bad = json.loads(first) | record
    bad.pop("check")
    file.write_text("".join([json.dumps(bad), "\n", *others]))
    backend = Watched()
    assert generate(requests, backend, Journal(tmp_path / "j")) == expected
    assert backend.asked.total() == 1


@pytest.mark.parametrize(
    ("longest", "overhead", "refused"),
    [
        (4096, 30, "reserve: 35"),
        (4090, 30, "reserve: 29"),
        *[(4066, 30, ""), (4096, None, ""), (5000, 30, "")],
    ],
)
def test_prompts_that_only_the_template_makes_too_long_are_refused(longest, overhead, refused):
    entry = block({"context": 4096, "tokenizer": "t"})
    wanted = pytest.raises(UserError, match=f"`{refused}` for tokenizers.t")
    with wanted if refused else nullcontext():
        check_room("m", entry, longest, overhead, 5)


def test_a_job_without_room_for_its_template_asks_nothing(requests, tmp_path) -> None:
    """As the job does: its prompts fit as they are, and with a template of 30 tokens do not."""
    longest = max(request.n_tokens + request.max_new_tokens for request in requests)
    entry = block({"context": longest, "tokenizer": "t"})
    backend, journal = Watched(), Journal(tmp_path / "j")

    def loaded() -> None:
        check_room("m", entry, requests.longest(longest), 30, 0)

    with pytest.raises(UserError, match=r"^models\.m: .* 30 too many .* `reserve: 30` for"):
        generate(requests, backend, journal, Policy(context=longest), loaded=loaded)
    assert backend.asked.total() == 0 and backend.closes == 1 and not list(journal.records())


def test_a_job_says_what_it_will_send_before_it_does(requests, tmp_path, capsys) -> None:
    tokens = sum(request.n_tokens for request in requests)
    said = f"will send 24 prompts of {tokens:,} tokens in all; answers may have up to {24 * 16}"
    with Journal(tmp_path) as journal:
        for new in (True, False):
            generate(requests, Changing(lambda _, answer: answer), journal)
            assert (said in capsys.readouterr().err) == new


@pytest.mark.parametrize("outcome, told", [("prompt_cut", True), ("refused", False)])
def test_failures_name_the_key_for_prompts_that_were_cut(outcome: str, told: bool) -> None:
    row = {"finish_reason": "error", "outcome": outcome, "error": "x"}
    with pytest.raises(UserError, match="1 of 2 requests failed") as said:
        _refuse_failures([row, row | {"finish_reason": "stop", "outcome": "answered"}], 0)
    assert ("again: [cut]" in str(said.value)) == told


@pytest.mark.parametrize("n", [2, 5])
def test_shards_change_no_byte(requests, tmp_path, n: int) -> None:
    requests.samples = 2
    whole = generate(requests, Watched(), Journal(tmp_path / "whole"))
    write_table(whole, tmp_path / "whole.parquet", inputs=requests.files)
    files, asked = [], Counter()
    for shard in range(n):
        backend = Watched()
        part = InstanceRequests(requests.files, documents(), samples=2, shard=(shard, n))
        with Journal(tmp_path / "j") as journal:
            table = generate(part, backend, journal, known=part.known())
        assert part.known() == requests.known() and len(part.known()) == 48
        assert abs(table.num_rows - 48 / n) <= 2
        files.append(tmp_path / f"made.{shard}-of-{n}.parquet")
        write_table(table, files[-1])
        asked += backend.asked
    merged = tmp_path / "merged.parquet"
    write_table(merge(files), merged, inputs=requests.files)
    assert set(asked.values()) == {1} and asked.keys() == requests.known()
    assert merged.read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_a_replay_reads_all_answers_for_a_shard(requests, tmp_path) -> None:
    lines = [json.dumps({"instance_id": r.instance_id, "text": "a"}) for r in requests]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    part = InstanceRequests(requests.files, documents(), shard=(1, 3))
    backend = backend_of("replay", {"answers": str(tmp_path / "a.jsonl")})
    table = generate(part, backend, Journal(tmp_path / "j"), known=part.known())
    assert 6 <= table.num_rows <= 10


def test_a_limit_shows_in_all_shards_together(requests, tmp_path) -> None:
    """One prompt of each shard was cut at 300 tokens: a count that is no limit to the shard alone."""
    own = [400 + 30 * i if i % 8 == 0 else 100 + i for i in range(24)]
    sizes = pa.array(own, pa.int32())
    table = instances().drop_columns("n_tokens").append_column("n_tokens", sizes)
    write_table(table, tmp_path / "long.parquet")
    cutting = Changing(lambda r, answer: replace(answer, prompt_tokens=min(300, r.n_tokens)))
    files = []
    for place in range(3):
        write_table(table.slice(8 * place, 8), tmp_path / f"{place}.parquet")
        part = InstanceRequests([tmp_path / f"{place}.parquet"], documents())
        files.append(tmp_path / f"made.{place}-of-3.parquet")
        with Journal(tmp_path / "j") as journal:
            write_table(generate(part, cutting, journal), files[-1])
        assert read_table(files[-1])["outcome"].to_pylist() == ["answered"] * 8
    whole = InstanceRequests([tmp_path / "long.parquet"], documents()).sizes()
    with pytest.raises(UserError, match=r"cut 3 of 24 prompts.*read 300 of 400 tokens.*shards: 1"):
        merge(files, sizes=whole)
    merged = merge(files, max_failed=3, sizes=whole).filter(pc.field("outcome") == "prompt_cut")
    assert merged["text"].to_pylist() == [""] * 3 and all(merged["raw_text"].to_pylist())
    assert merged["finish_reason"].to_pylist() == ["error"] * 3
    # They count with what failed otherwise.
    rows = read_table(files[0]).to_pylist()
    rows[1] |= {"finish_reason": "error", "error": "no", "outcome": "failed"}
    write_table(pa.Table.from_pylist(rows, GENERATIONS), files[0])
    with pytest.raises(UserError, match="With them 4 requests failed"):
        merge(files, max_failed=3, sizes=whole)


def test_a_cached_beginning_is_no_cut_in_shards_either(tmp_path) -> None:
    """All begin alike, and the server counts the ends of half of them."""
    table = instances().slice(0, 12)
    begin = {"role": "haystack", "text": "a b " * 5000, "source": None, "start": None, "end": None}
    rows = [
        row | {"prompt": [begin, *row["prompt"]], "n_tokens": 1000} for row in table.to_pylist()
    ]
    write_table(pa.Table.from_pylist(rows, table.schema), tmp_path / "alike.parquet")

    def asked(shard: int = 0, shards: int = 1, samples: int = 1) -> InstanceRequests:
        files = [tmp_path / "alike.parquet"]
        return InstanceRequests(files, documents(), shard=(shard, shards), samples=samples)

    assert all(900 < r.shared < 1000 for r in asked())
    sizes = asked().sizes()
    assert {r.instance_id: r.shared for r in asked()} == {k: s.shared for k, s in sizes.items()}
    assert {s.shared for s in asked(samples=2).sizes().values()} == {1000}
    ends = {name: 70 + i for i, name in enumerate(sizes) if i % 2}

    def counting(request: Request, answer: Answer) -> Answer:
        return replace(answer, prompt_tokens=ends.get(request.instance_id, 1000))

    files = []
    for shard in range(2):
        files.append(tmp_path / f"made.{shard}-of-2.parquet")
        with Journal(tmp_path / "j") as journal:
            found = generate(asked(shard, 2), Changing(counting), journal)
        write_table(found, files[-1])
        assert set(found["outcome"].to_pylist()) == {"answered"}
    assert set(merge(files, sizes=sizes)["outcome"].to_pylist()) == {"answered"}
    unshared = {name: size._replace(shared=0) for name, size in sizes.items()}
    with pytest.raises(UserError, match="cut 6 of 12 prompts"):
        merge(files, sizes=unshared)


def test_failures_of_all_shards_count_together(requests, tmp_path) -> None:
    files = []
    for shard in range(3):
        part = InstanceRequests(requests.files, documents(), shard=(shard, 3))
        files.append(tmp_path / f"made.{shard}-of-3.parquet")
        with Journal(tmp_path / "j") as journal:
            own = generate(part, Changing(refuse_bad), journal, Policy(max_failed=3))
            write_table(own, files[-1])
    assert merge(files, max_failed=3).num_rows == 24
    with pytest.raises(UserError, match=r"3 of 24 requests .* refused 1\d\d\..*-of-3") as error:
        merge(files, max_failed=2)
    for file in files:
        failed = "error" in read_table(file)["finish_reason"].to_pylist()
        assert (file.name in str(error.value)) == failed


def test_an_answer_waits_for_no_earlier_one(requests, tmp_path) -> None:
    def backwards(found: list[Any]) -> Iterator[Any]:
        yield from found[:0:-1]
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        generate(requests, Ordered(backwards), Journal(tmp_path / "j"))
    kept = Journal(tmp_path / "j").load()
    whole = generate(requests, Lexical({}), Journal(tmp_path / "whole")).to_pylist()
    texts = {row["request_key"]: row["text"] for row in whole}
    assert len(kept) == 23 and all(own["text"] == texts[key] for key, own in kept.items())


def test_memory_holds_a_batch_and_not_all_prompts(tmp_path) -> None:
    write_table(instances(60, passages=1), tmp_path / "i.parquet")
    long = {source: text.ljust(1_000_000) for source, text in documents().items()}

    class Whole(InstanceRequests):
        def __iter__(self) -> Iterator[Request]:
            for request in super().__iter__():
                spans = [s._replace(end=1_000_000) if s.source else s for s in request.spans]
                yield changed(request, spans=spans)

    tracemalloc.start()
    try:
        generate(Whole([tmp_path / "i.parquet"], long), Oracle({}), Journal(tmp_path / "j"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000, "60 prompts of 1 MB each"
