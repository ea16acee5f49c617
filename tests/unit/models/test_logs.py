"""Logs of other programs as answers: what they say, what they do not, and what is refused."""

from __future__ import annotations

import json
import random
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from factories.logs import (
    HEADER,
    ID,
    LOST,
    PROMPT,
    asked_by_lm_eval,
    batch_row,
    chat,
    eee_row,
    json_lines,
    lm_eval_row,
    log_of,
    output,
    packed,
    replayed,
    sample,
    write_zstd,
    written,
)
from needlework.answer_states import BESIDE_PROMPT, LONGER, UNKNOWN_END
from needlework.errors import UserError
from needlework.models.accounts import account_of
from needlework.models.backends.base import Answer
from needlework.models.logs import files
from needlework.models.logs.files import answer_files
from needlework.models.logs.formats import logged
from needlework.models.logs.logged import NAMED, Logged, LogRun, text_digest


def read(path: Path) -> tuple[list[Logged], dict[str, object]]:
    run = LogRun()
    return list(logged(path, run)), run.said


def one(path: Path) -> Logged:
    (found,), _ = read(path)
    return found


@pytest.mark.parametrize("ending", ["eval", "json"])
def test_a_log_of_inspect_gives_answer_usage_and_stop_reason(tmp_path, ending) -> None:
    (found,), about = read(written(tmp_path / f"a.{ending}", sample()))
    assert (found.instance_id, found.sample) == (ID, 0)
    assert found.sent == text_digest(PROMPT)
    # Of nine tokens, two were cached.
    assert found.answer == Answer("in the north", "length", 9, 2, 3)
    told = {"program": "inspect_ai 0.3.285", "model": "openai/served"}
    assert about == {**told, "temperature": 0.0, "max_tokens": 16}
    for end in (None, "unknown"):
        value = sample(output=output(end=end))
        assert one(written(tmp_path / f"a.{ending}", value)).answer.unknown_end


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_deflated_and_stored_members_are_read_too(tmp_path, method) -> None:
    packed(tmp_path / "a.eval", {"samples/a_epoch_2.json": sample(epoch=2)}, method=method)
    found = one(tmp_path / "a.eval")
    assert found.sample == 1 and found.answer.text == "in the north"


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        (
            {"error": {"message": "Timeout\nmore", "traceback": "File /home/ann/x.py"}},
            "the log has no answer: Timeout",
        ),
        ({"output": {"choices": []}}, "the log has no answer: no choice"),
        ({"output": output(end="content_filter")}, "the answer was ended with content_filter"),
    ],
)
def test_a_failed_sample_is_an_error_without_its_traceback(tmp_path, changed, error) -> None:
    assert one(log_of(tmp_path, "inspect", sample(**changed))).answer.error == error


def test_samples_of_lm_eval_have_no_reason_and_no_usage(tmp_path) -> None:
    generation = {"generation_kwargs": {"temperature": 0.0, "until": []}}
    results = {
        **{"lm_eval_version": "0.4.13", "model_name": "org/served"},
        **{"configs": {"needlework_a_16": generation}},
        "config": {"model_args": {"base_url": "http://secret"}},
    }
    (tmp_path / "results_2026-11-25.json").write_text(json.dumps(results))
    path = json_lines(tmp_path / "samples_needlework_a_16_2026-11-25.jsonl", lm_eval_row())
    found, about = read(path)
    assert [(each.sample, each.answer) for each in found] == [
        (i, Answer(text, "stop", unknown_end=True)) for i, text in enumerate("ab")
    ]
    assert about == {"program": "lm-eval 0.4.13", "model": "org/served", "temperature": 0.0}


@pytest.mark.parametrize(
    ("sent", "same"),
    [
        *[(PROMPT, True), (json.dumps([{"role": "user", "content": PROMPT}]), True)],
        ([json.dumps([{"role": "user", "content": PROMPT}])], True),
        ([{"role": "user", "content": PROMPT}], True),
        *[(f"<|user|>{PROMPT}<|assistant|>", True), (f"<s>[INST] {PROMPT}[/INST]", True)],
        (f"<|user|>{PROMPT.strip()}<|assistant|>", True),
        (f"<|start_header_id|>user<|end_header_id|>\n\n{PROMPT}<|eot_id|>", True),
        (f"<｜begin▁of▁sentence｜><｜User｜>{PROMPT}<｜Assistant｜><think>\n", True),
        (f"USER: {PROMPT} ASSISTANT:", False),
        (json.dumps([{"role": "user", "content": "Another"}]), False),
    ],
)
def test_the_prompt_of_lm_eval_is_what_it_sent(tmp_path, sent, same) -> None:
    found = one(log_of(tmp_path, "lm_eval", asked_by_lm_eval(sent, ["a"])))
    assert (found.sent == text_digest(PROMPT)) is same


def test_lines_of_a_batch_are_answers_and_refusals(tmp_path) -> None:
    refused = batch_row("b", response={"status_code": 400, "body": {"error": {"message": "bad"}}})
    path = json_lines(tmp_path / "out.jsonl", batch_row(), batch_row(f"{ID}-1"), refused)
    found, about = read(path)
    assert [(each.instance_id, each.sample) for each in found] == [(ID, 0), (ID, 1), ("b", 0)]
    assert found[0].answer.finish_reason == "length" and found[0].answer.prompt_tokens == 9
    assert "bad" in found[2].answer.error
    assert about == {"program": "OpenAI batch", "model": "gpt"}


def test_instances_of_every_eval_ever_are_read_once_a_metric(tmp_path) -> None:
    path = json_lines(tmp_path / "u_samples.jsonl", eee_row(), eee_row(evaluation_name="other"))
    config = {"generation_config": {"generation_args": {"temperature": 0.5}}}
    record = {"eval_library": {"name": "helm", "version": "1"}, "evaluation_results": [config]}
    (tmp_path / "u.json").write_text(json.dumps(record))
    found, about = read(path)
    answer = Answer("north", prompt_tokens=9, completion_tokens=3, unknown_end=True)
    assert found[0] == found[1] and found[0].answer == answer
    assert about == {"program": "helm 1", "model": "org/m", "temperature": 0.5}
    assert replayed(tmp_path, path)["text"].to_pylist() == ["north"]


@pytest.mark.parametrize(
    "lies, said",
    [
        ({"size": 40}, "not what it declares"),
        ({"size": (1 << 27) + 1}, "would unpack|more than"),
        *[({"crc": 5}, "not what it declares"), ({"flags": 1}, "encrypted")],
        ({"method": 9}, r"method 9\) is unknown"),
    ],
)
def test_an_archive_that_lies_is_refused(tmp_path, lies, said) -> None:
    write_zstd(tmp_path / "a.eval", {"samples/a.json": json.dumps(sample()).encode()}, **lies)
    with pytest.raises(UserError, match=said):
        read(tmp_path / "a.eval")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch) -> None:
    write_zstd(tmp_path / "a.eval", {"samples/a.json": b" " * (1 << 20)})
    wanted = r"member 'samples/a\.json': it has more than 524,288 bytes"
    with monkeypatch.context() as patch:
        patch.setattr(files, "LARGEST", 1 << 19)
        with pytest.raises(UserError, match=wanted):
            read(tmp_path / "a.eval")
    monkeypatch.setattr("needlework.data.budgets.TOTAL_BYTES", 1 << 19)
    with pytest.raises(UserError, match=r"would unpack to 1,048,576 bytes"):
        read(tmp_path / "a.eval")


SHAPES: list[tuple[str, Any]] = [
    *[("inspect", value) for value in ([], {}, sample(id=3), sample(epoch=0), sample(epoch=True))],
    ("inspect", sample(input=[{"role": "user", "content": 3}])),
    ("inspect", sample(output=output([{"type": "image"}, 3]))),
    *[("inspect", sample(output=value)) for value in ({"choices": {"a": 1}}, 3)],
    *[("lm_eval", lm_eval_row(**own)) for own in ({"doc": {}}, {"resps": []}, {"resps": [[3]]})],
    ("lm_eval", lm_eval_row(arguments=[])),
    ("batch", batch_row(name=3)),
    *[("instances", eee_row(output={"raw": raw})) for raw in (["a", "b"], [3])],
    *[("instances", eee_row(**own)) for own in ({"input": None}, {"metadata": {"sample": "x"}})],
]


@pytest.mark.parametrize(("program", "row"), SHAPES)
def test_a_row_of_another_shape_is_named(tmp_path, program, row) -> None:
    path = log_of(tmp_path, program, row)
    place = {"inspect": r"member 'samples/0\.json': not a sample of inspect_ai"}
    wanted = rf"{re.escape(path.name)}, {place.get(program, 'line 1: ')}"
    with pytest.raises(UserError, match=wanted):
        read(path)


def test_attached_texts_and_parts_are_put_in_place(tmp_path) -> None:
    parts = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "north"}]
    value = sample(input="attachment://f", attachments={"f": PROMPT}, output=output(parts))
    found = one(log_of(tmp_path, "inspect", value))
    assert found.sent == text_digest(PROMPT) and found.answer.text == "north"


def test_a_long_json_log_is_read_in_parts(tmp_path, monkeypatch) -> None:
    path = written(tmp_path / "a.json", *(sample(id=f"{i:064x}") for i in range(50)))
    monkeypatch.setattr(files, "_PART", 7)
    found, _ = read(path)
    assert [int(each.instance_id, 16) for each in found] == list(range(50))


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", '{"samples": [1 2]}', '{"samples": [', '{"a" 1}', '{"a": "\\', "{" * 9),
        *('{"a": ]}', '{"a": ' + "[" * 100_000),
    ],
    ids=range(9),
)
def test_what_is_no_log_in_json_is_refused(tmp_path, text) -> None:
    (tmp_path / "a.json").write_text(text)
    wanted = r"a\.json(, samples|, .*:)? ?(cannot be read as JSON|.*not a)"
    with pytest.raises(UserError, match=wanted):
        read(tmp_path / "a.json")
    (tmp_path / "b.jsonl").write_text("[" * 100_000)
    with pytest.raises(UserError, match="JSON"):
        read(tmp_path / "b.jsonl")


def test_a_value_without_end_is_refused(tmp_path, monkeypatch) -> None:
    path = log_of(tmp_path, "lm_eval", lm_eval_row())
    monkeypatch.setattr(files, "LARGEST", 100)
    with pytest.raises(UserError, match=r"line 1: it has more than 100 bytes"):
        read(path)
    monkeypatch.setattr(files, "_PART", 10)
    (tmp_path / "a.json").write_text('{"a": "' + "x" * 10_000)
    with pytest.raises(UserError, match="cannot be read as JSON"):
        read(tmp_path / "a.json")


def test_files_of_other_programs_are_named_as_such(tmp_path) -> None:
    row = {"custom_id": ID, "result": {"type": "succeeded"}}
    with pytest.raises(UserError, match="a batch of Anthropic, not a batch of OpenAI"):
        replayed(tmp_path, json_lines(tmp_path / "a.jsonl", row))
    (tmp_path / "b.json").write_text('{"0": {"prediction": "x"}}')
    with pytest.raises(UserError, match=r"b\.json holds no sample of inspect_ai"):
        replayed(tmp_path, tmp_path / "b.json")


MUCH = {"input_tokens": 2**31 - 1, "input_tokens_cache_read": 5}


@pytest.mark.parametrize(
    "header, changed",
    [
        *[({"eval": {"model": "m"}, "plan": [1]}, {}), ({"eval": "x"}, {})],
        *[({"eval": {"model": "\ud800"}}, {}), (HEADER, {"output": output(usage=MUCH)})],
        *[(HEADER, {"output": output(model="\ud800")}), (HEADER, {"epoch": 2**40})],
        *[(HEADER, {"attachments": [], "input": LOST}), (HEADER, {"messages": [3]})],
        *[(HEADER, {"events": [3]}), ([1], {})],
    ],
)
def test_damaged_values_in_a_log_are_one_sentence(tmp_path, header, changed) -> None:
    members = {"samples/a.json": sample(**changed), "header.json": header}
    said = r"a\.eval.*not a sample of inspect_ai|of 1 requests failed"
    with pytest.raises(UserError, match=said):
        replayed(tmp_path, packed(tmp_path / "a.eval", members))


def test_infinite_numbers_and_long_names_are_one_sentence(tmp_path) -> None:
    path = json_lines(tmp_path / "a_samples.jsonl", eee_row(metadata={"sample": float("inf")}))
    with pytest.raises(UserError, match="line 1: not an instance"):
        read(path)
    for name in ("n" * 280 + ".eval", "a\0.eval"):
        with pytest.raises(UserError, match="do not exist"):
            read(tmp_path / name)
        assert answer_files(name, "models.a.answers") == name
    plan = {"config": {"temperature": float("nan"), "top_p": float("inf"), "seed": 3}}
    text = json.dumps({"eval": {"model": "m"}, "plan": plan, "samples": [sample()]})
    (tmp_path / "b.json").write_text(text)
    _, said = read(tmp_path / "b.json")
    assert said == {"program": "inspect_ai", "model": "m", "seed": 3}


@pytest.mark.parametrize("name", ["a.eval", "b.json", "c.jsonl"])
def test_a_small_log_of_many_values_is_refused(tmp_path, monkeypatch, name) -> None:
    monkeypatch.setattr(files, "MOST_VALUES", 1000)
    path, bomb = tmp_path / name, {"samples": [[{}] * 1001]}
    if name == "c.jsonl":
        json_lines(path, bomb)
    else:
        # Commas in a text are no values.
        assert one(written(path, sample(input='a, "b", [{' * 700))).answer.text == "in the north"
        monkeypatch.setattr(files, "_PART", 1000)
        if name == "a.eval":
            packed(path, {"samples/x.json": bomb}, method=zipfile.ZIP_DEFLATED)
        else:
            path.write_text(json.dumps(bomb))
    with pytest.raises(UserError, match="it has more than 1,000 values"):
        read(path)


def test_no_damage_of_an_archive_is_a_traceback(tmp_path) -> None:
    """Cut, bytes changed or filled anywhere, most of them in the directory at its end."""
    path = written(tmp_path / "whole.eval", sample(), sample(id="6b" * 32))
    whole = path.read_bytes()
    directory = whole.index(b"PK\1\2")
    dice = random.Random(46)
    damaged = [whole[:end] for end in (4, 40, -30)]
    # Flags, method, size and offset in the directory.
    for at, new in ((8, b"\0\x08"), (6, b"\x5a\0"), (42, b"\xff" * 4), (20, b"\xff" * 8)):
        place = directory + at
        damaged.append(whole[:place] + new + whole[place + len(new) :])
    # A name that is no UTF-8.
    packed(tmp_path / "b.eval", {"samples/\xe9.json": sample()})
    damaged.append((tmp_path / "b.eval").read_bytes().replace("\xe9".encode(), b"\xff\xfe"))
    for _ in range(300):
        content = bytearray(whole)
        at = len(content) - 1 - dice.randrange(dice.choice([300, len(content)]))
        match dice.randrange(3):
            case 0:
                content[at] = dice.randrange(256)
            case 1:
                content[at : at + 8] = b"\xff" * len(content[at : at + 8])
            case _:
                del content[at : at + dice.randrange(1, 20)]
        damaged.append(bytes(content))
    refused = []
    for place, content in enumerate(damaged):
        (tmp_path / "a.eval").write_bytes(content)
        try:
            read(tmp_path / "a.eval")
        except UserError as error:
            assert "a.eval" in str(error)
            refused.append(place)
    # Another flag of a name in ASCII does no harm.
    assert {*range(8)} - {3} <= {*refused} and len(refused) > 150


def test_logs_below_a_folder_are_found(tmp_path) -> None:
    names = ["one/b.eval", "one/a.eval", "one/logs.txt", "one/deep/c.json", "none/notes.txt"]
    names += ["one/.ipynb_checkpoints/a-checkpoint.eval", "one/._a.eval"]
    for name in [*names, "two/m/results_d.json", "two/m/samples_a_d.jsonl"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def found(*given: str) -> list[str]:
        return [Path(path).name for path in answer_files([*given], "models.a.answers")]

    assert found(str(tmp_path / "one")) == ["a.eval", "b.eval", "c.json"]
    assert found(str(tmp_path / "two"), "mine.parquet") == ["samples_a_d.jsonl", "mine.parquet"]
    for given in (None, "absent.jsonl", ["a.eval", "b.eval"]):
        assert answer_files(given, "models.a.answers") == given
    with pytest.raises(UserError, match=r"models\.a\.answers names the folder .*correct the path"):
        answer_files(str(tmp_path / "none"), "models.a.answers")


GONE = sample(error={"message": "the server went away"}, output={"choices": []})


SOUTH = sample(output=output("south"))


def test_an_answer_of_unknown_end_is_not_a_stop(tmp_path) -> None:
    path = log_of(tmp_path, "lm_eval", lm_eval_row(resps=[["a"]]))
    (row,) = replayed(tmp_path, path).to_pylist()
    assert row["finish_reason"] == "unknown" and row["remarks"] == [UNKNOWN_END]
    # The journal gives the same.
    assert replayed(tmp_path, path).to_pylist() == [row]
    path = log_of(tmp_path, "inspect", sample())
    with pytest.raises(UserError, match=r"1 of 1 requests failed.*another prompt under this name"):
        replayed(tmp_path, path, prompt="Where was Quillmouth?")


OTHER = "Answer in French."


PICTURE = [{"type": "text", "text": PROMPT}, {"type": "image", "image": "data:"}]


NORTH = "assistant: in the north"


INSPECT_MORE = [
    {"input": chat(f"system: {OTHER}", PROMPT)},
    {"input": chat(PROMPT, "assistant: It is in")},
    {"input": chat("Where is Rome?", "assistant: Italy", PROMPT)},
    *({"input": [{"role": "user", "content": PICTURE}]}, {"input": PROMPT + OTHER}),
    *({"input": LOST}, {"messages": chat(f"system: {OTHER}", PROMPT, NORTH)}),
    {"messages": chat(PROMPT + OTHER, NORTH)},
    {"messages": chat(PROMPT, "assistant: hm", "tool: 3", NORTH)},
    {"messages": chat(PROMPT, "assistant: south", "Sure?", NORTH)},
    *({"events": [{"event": "model", "input": chat(PROMPT + OTHER)}]}, {"output": output(LOST)}),
]


LM_EVAL_MORE = [
    *(chat(f"system: {OTHER}", PROMPT), json.dumps(chat(f"system: {OTHER}", PROMPT))),
    json.dumps(chat("Where is Rome?\nItaly\n\n" + PROMPT)),
    *(f"Where is Rome?\nItaly\n\n{PROMPT}", f"{PROMPT}\nThink."),
    f"<|user|>Where is Rome?<|assistant|>Italy<|user|>{PROMPT}<|assistant|>",
    f"<|im_start|>user\nWhere is Rome? Italy {PROMPT}<|im_end|>\n<|im_start|>assistant\n",
    f"<|im_start|>user\n{PROMPT} Think.<|im_end|>\n<|im_start|>assistant\n",
    f"<|im_start|>user\n{PROMPT}<|im_end|>\n<|im_start|>assistant\nIt is in",
    f"USER: Where is Rome?\nASSISTANT: Italy\nUSER: {PROMPT}\nASSISTANT:",
]


INSTANCES_MORE = [
    *({"input": {"raw": f"{NAMED}{'6b' * 32}"}}, {"input": {"raw": "Where is Rome?"}}),
    {"input": {"raw": PROMPT, "formatted": f"{OTHER}\n{PROMPT}"}},
    {"interaction_type": "multi_turn"},
]


OWN = {"instance_id": ID, "text": "north"}


OWN_MORE = [
    {"messages": chat("Where is Rome?")},
    {"messages": chat(f"system: {OTHER}", PROMPT)},
    {"prompt": "x"},
]


@pytest.mark.parametrize(
    ("program", "row"),
    [
        *[("inspect", sample(**own)) for own in INSPECT_MORE],
        *[("lm_eval", asked_by_lm_eval(sent, ["a"])) for sent in LM_EVAL_MORE],
        *[("instances", eee_row(**own)) for own in INSTANCES_MORE],
        *[("own", OWN | own) for own in OWN_MORE],
    ],
)
def test_a_model_that_was_asked_more_has_no_answer(tmp_path, program, row) -> None:
    with pytest.raises(UserError, match="1 of 1 requests failed"):
        replayed(tmp_path, log_of(tmp_path, program, row))


def test_what_inspect_adds_of_itself_is_no_other_prompt(tmp_path) -> None:
    inputs = [chat(PROMPT), chat("Is that right?"), []]
    events = [*({"event": "model", "input": given} for given in inputs), {"event": "score"}]
    for program, row, text in (
        ("inspect", sample(messages=chat("system: ", PROMPT, NORTH), events=events), NORTH[11:]),
        ("instances", eee_row(input={"raw": NAMED + ID}), "north"),
        ("own", OWN | {"messages": chat(PROMPT), "prompt": PROMPT}, "north"),
    ):
        assert replayed(tmp_path, log_of(tmp_path, program, row))["text"].to_pylist() == [text]


@pytest.mark.parametrize(("ending", "where"), [("eval", "plan"), ("json", "eval")])
def test_a_system_message_of_the_run_is_told(tmp_path, monkeypatch, ending, where) -> None:
    config = {"system_message": OTHER}
    own = {"config": config} if where == "plan" else {"model_generate_config": config}
    monkeypatch.setitem(HEADER, where, {**HEADER[where], **own})
    with pytest.raises(UserError, match="a system message beside the prompt"):
        replayed(tmp_path, written(tmp_path / f"a.{ending}", sample()))


def test_a_system_prompt_in_a_template_is_told(tmp_path, caplog) -> None:
    sent = f"<|im_start|>system\n{OTHER}<|im_end|>\n<|im_start|>user\n{PROMPT}<|im_end|>\n"
    path = log_of(tmp_path, "lm_eval", asked_by_lm_eval(sent, ["a"]))
    (found,) = replayed(tmp_path, path).to_pylist()
    assert found["remarks"] == [UNKNOWN_END, f"{BESIDE_PROMPT}: {OTHER!r}"]
    assert "1 requests had other text in the chat template" in caplog.text
    (said,) = [s for s in account_of([found], "m", "b").sentences() if "other text" in s]
    assert said.startswith(f"1 of 1 requests had other text before the prompt ({OTHER!r})")


def batch_request(*turns: str) -> dict[str, Any]:
    return {"custom_id": ID, "method": "POST", "url": "/v1", "body": {"messages": chat(*turns)}}


def test_the_requests_of_a_batch_say_what_was_asked(tmp_path) -> None:
    answers = json_lines(tmp_path / "output.jsonl", batch_row())
    asked = json_lines(tmp_path / "requests.jsonl", batch_request(PROMPT))
    assert replayed(tmp_path, answers, asked)["text"].to_pylist() == ["north"]
    other = json_lines(tmp_path / "other.jsonl", batch_request(f"system: {OTHER}", PROMPT))
    with pytest.raises(UserError, match=r"other messages beside the prompt \(system, user\)"):
        replayed(tmp_path, answers, other)
    with pytest.raises(UserError, match=r"requests\.jsonl holds only requests"):
        replayed(tmp_path, asked)


def test_an_answer_beyond_its_limit_is_told(tmp_path, caplog) -> None:
    """Reasoning is not counted."""

    def remarks(name: str, row: dict[str, Any]) -> list[str]:
        (found,) = replayed(tmp_path, json_lines(tmp_path / name, row)).to_pylist()
        return [said for said in found["remarks"] or () if said.startswith(LONGER)]

    long = {"instance_id": ID, "text": "word " * 17}
    assert remarks("a.jsonl", long) == [f"{LONGER}: 17 words, the limit is 16 tokens"]
    assert "1 answers are longer than the limit" in caplog.text
    counted = batch_row(tokens=17)
    assert remarks("b.jsonl", counted) == [f"{LONGER}: 17 tokens, the limit is 16"]
    thought = {"instance_id": ID, "text": f"<think>{'word ' * 99}</think>north"}
    assert remarks("c.jsonl", thought) == []


SECOND = "6b" * 32


def two_models(tmp_path: Path) -> Iterator[list[Path]]:
    """Answers of two models to two prompts, in one file or two, of each program."""
    header = {**HEADER, "eval": {"model": "openai/other"}}
    other = packed(
        tmp_path / "b.eval", {"header.json": header, "samples/b.json": sample(id=SECOND)}
    )
    yield [written(tmp_path / "a.eval", sample()), other]
    served = sample(id=SECOND, output=output(model="elsewhere"))
    yield [written(tmp_path / "a.eval", sample(), served)]
    yield [json_lines(tmp_path / "a.jsonl", batch_row(), batch_row(SECOND, "other"))]
    instance = eee_row(sample_id=SECOND, model_id="org/other")
    yield [json_lines(tmp_path / "a_samples.jsonl", eee_row(), instance)]
    rows = ({"instance_id": name, "text": "x", "model": name[0]} for name in (ID, SECOND))
    yield [json_lines(tmp_path / "a.jsonl", *rows)]
    found = []
    for date, name in (("1", ID), ("2", SECOND)):
        (tmp_path / f"results_{date}.json").write_text(json.dumps({"model_name": f"m{date}"}))
        row = lm_eval_row(doc={"instance_id": name, "messages": chat(PROMPT)}, resps=["a"])
        found.append(json_lines(tmp_path / f"samples_t_{date}.jsonl", row))
    yield found


def test_answers_of_two_models_are_refused(tmp_path) -> None:
    for paths in two_models(tmp_path):
        with pytest.raises(UserError, match=r"two models: .* and .*Give each a model of its own"):
            replayed(tmp_path, *paths)


def test_two_temperatures_or_answers_in_one_model_are_refused(tmp_path, monkeypatch) -> None:
    first = written(tmp_path / "a.eval", sample())
    with pytest.raises(UserError, match=r"b\.json, samples: a second answer"):
        replayed(tmp_path, first, written(tmp_path / "b.json", SOUTH))
    monkeypatch.setitem(HEADER, "plan", {"config": {"temperature": 1.0}})
    second = written(tmp_path / "b.eval", sample())
    with pytest.raises(UserError, match=r"two values of temperature: 0\.0 \(.*a\.eval\) and 1\.0"):
        replayed(tmp_path, first, second)


def appended(path: Path, *samples: Mapping[str, Any]) -> Path:
    """A log to which samples of one name were appended."""
    return packed(
        path, *({"samples/a_epoch_1.json": each} for each in samples), {"header.json": HEADER}
    )


@pytest.mark.parametrize(
    "samples, text",
    [
        *[([GONE, sample()], "in the north"), ([sample(), GONE], "in the north")],
        *[([sample(), sample()], "in the north"), ([SOUTH, sample()], "in the north")],
        ([sample(), SOUTH, GONE], "south"),
    ],
)
def test_the_later_answer_in_a_log_counts(tmp_path, samples, text) -> None:
    path = appended(tmp_path / "a.eval", *samples)
    assert replayed(tmp_path, path)["text"].to_pylist() == [text]


def test_an_answer_counts_before_a_failure_elsewhere(tmp_path) -> None:
    gone, done = written(tmp_path / "a.eval", GONE), written(tmp_path / "b.eval", sample())
    for paths in ([gone, done], [done, gone], [done, written(tmp_path / "c.json", sample())]):
        assert replayed(tmp_path, *paths)["text"].to_pylist() == ["in the north"]
    late = {"custom_id": ID, "response": None, "error": {"code": "batch_expired", "message": "x"}}
    errors = json_lines(tmp_path / "errors.jsonl", late)
    output = json_lines(tmp_path / "output.jsonl", batch_row())
    for batches in ([errors, output], [output, errors], [output, output]):
        assert replayed(tmp_path, *batches)["text"].to_pylist() == ["north"]


def test_members_names_are_never_paths(tmp_path) -> None:
    path = tmp_path / "in" / "a.eval"
    path.parent.mkdir()
    names = ["samples/../../evil.json", "/etc/evil.json", "samples/a.py"]
    write_zstd(path, dict.fromkeys(names, json.dumps(sample()).encode()))
    (found,), _ = read(path)
    assert found.instance_id == ID
    assert [each.name for each in tmp_path.rglob("*")] == ["in", "a.eval"]
