"""Answers of other programs to our prompts: what was asked besides, twice, or of two models."""

from __future__ import annotations

import json
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
    written,
)
from needlework.answer_states import BESIDE_PROMPT, LONGER, UNKNOWN_END
from needlework.errors import UserError
from needlework.models.accounts import account_of
from needlework.models.logs.logged import NAMED

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


def test_the_prompt_itself_and_what_inspect_adds_are_no_other_prompt(tmp_path) -> None:
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
