"""The doctor's checks on made answers: each names its fault, finds sound ones sound, or cannot tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from factories.doctor import Reply, asked, right, seen, server, tokens, wrong_where
from needlework.answer_states import (
    EMPTY,
    ERROR,
    FAILED,
    LENGTH,
    OTHER_MODEL,
    PROMPT_CUT,
    REASONED,
    REFUSED,
    UNDECODED,
)
from needlework.results.doctor import checks
from needlework.results.doctor.answers import ServerAnswers
from needlework.results.doctor.checks import checked
from needlework.results.doctor.seen import FAULT, OPEN, SOUND, Check


def told(name: str, *given: Any, **more: Any) -> Check:
    """The check of this name. Its evidence names prompts that were asked."""
    of = seen(*given, **more)
    found = getattr(checks, name)(of)
    assert found.name == name
    assert {(e.benchmark, e.instance_id) for e in found.evidence} <= set(of.prompts.names())
    assert found.verdict != FAULT or found.evidence
    return found


# Servers, by what they do


def apologies(prompt: dict[str, Any]) -> str:
    return "I'm sorry."


def without_counts(reply: Reply) -> Reply:
    def uncounted(prompt: dict[str, Any]) -> dict[str, Any]:
        said = reply(prompt)
        return {**({"text": said} if isinstance(said, str) else said), "prompt_tokens": None}

    return uncounted


def cut_at_the_end(prompt: dict[str, Any]) -> dict[str, Any]:
    """A server that reads 4,000 characters."""
    read = prompt["text"][:4000]
    text = right(prompt) if prompt["references"][0] in read else "I cannot find it."
    return {"text": text, "prompt_tokens": tokens({"text": read})}


def garbled(prompt: dict[str, Any]) -> str:
    """Values with two other characters."""
    text = right(prompt)
    return text.translate({ord("a"): "b", ord("3"): "4"}) if "-" in text else text


def neighbours(prompt: dict[str, Any]) -> str:
    """The answers of other requests."""
    rows = asked()[prompt["benchmark"]]
    return right(rows[(rows.index(prompt) + 7) % len(rows)])


def chatty(prompt: dict[str, Any]) -> str:
    return f"{right(prompt)} That is what the text says."


def in_language(lang: str, into: str) -> Reply:
    return lambda p: {"answered_in": into} if p["lang"] == lang else right(p)


ALONE = [check.__name__ for check in checks.ALONE]
AGAINST = [check.__name__ for check in checks.AGAINST]


@pytest.mark.parametrize("name", ALONE)
def test_right_answers_are_sound(name: str) -> None:
    assert told(name, server()).verdict == SOUND


@pytest.mark.parametrize("worse_by", [None, 0.2])
@pytest.mark.parametrize("name", ALONE + AGAINST)
def test_the_same_answers_of_two_servers_are_sound(name: str, worse_by: float | None) -> None:
    assert told(name, server(), server(), worse_by=worse_by).verdict == SOUND


@pytest.mark.parametrize(
    ("name", "reply", "said"),
    [
        ("whole_prompts", cut_at_the_end, "it cuts prompts"),
        (
            "whole_prompts",
            lambda p: {"outcome": PROMPT_CUT, "error": "truncated"},
            "prompts were cut: the server read at most",
        ),
        ("places", wrong_where(lambda p: p["place"] == 0.5), "at half of prompts"),
        ("places", wrong_where(lambda p: p["place"] == 1 and p["length"] > 10), "at the end of"),
        ("lengths", wrong_where(lambda p: p["length"] == 160), "0 of 30 in those of"),
        ("copies", garbled, "the value with some characters changed"),
        ("own_answers", neighbours, "have one that only another prompt has"),
        (
            "languages",
            in_language("de", "fr"),
            "12 of 12 answers to questions in de are in another",
        ),
        ("model_served", lambda p: {"remarks": [f"{OTHER_MODEL}: tiny"]}, "replies name tiny"),
    ],
)
def test_a_fault_is_named_where_it_is(name: str, reply: Reply, said: str) -> None:
    found = told(name, server(reply))
    assert found.verdict == FAULT and said in found.sentence


def test_answers_that_never_repeat_are_a_fault() -> None:
    found = told("repeats", server(right, chatty))
    assert found.verdict == FAULT and "42 of 42 second answers differ, and 0 of" in found.sentence
    assert found.evidence[0].note.startswith("the second answer: It is ")


BAD = {
    "an error in place of an answer": {"text": "Internal server error"},
    "error in place of an answer, with": {
        "remarks": ["retried: status 200 with the error 502: no"]
    },
    "have no answer, after all attempts": {"outcome": FAILED, "finish_reason": ERROR, "text": ""},
    "were refused as too long": {"outcome": REFUSED, "finish_reason": ERROR, "text": ""},
    "are thoughts that used up": {"outcome": EMPTY, "remarks": [REASONED], "text": ""},
    "thoughts that used up the tokens": {"finish_reason": LENGTH, "text": ""},
    "are empty": {"outcome": EMPTY, "text": ""},
    "characters that are no text": {"remarks": [UNDECODED]},
    "longer than `max_tokens` allows": {"completion_tokens": 200},
}


@pytest.mark.parametrize("said", BAD)
def test_what_comes_in_place_of_answers_is_a_fault(said: str) -> None:
    """On a third of the prompts; if the other server does so too, it is the model's way."""

    def bad(prompt: dict[str, Any]) -> str | dict[str, Any]:
        return BAD[said] if int(prompt["example_id"][1:]) % 3 == 0 else right(prompt)

    found = told("outcomes", server(bad))
    assert found.verdict == FAULT and said in found.sentence and "42 " in found.sentence
    assert told("outcomes", server(bad), server()).verdict == FAULT
    assert told("outcomes", server(bad), server(bad)).verdict == SOUND


@pytest.mark.parametrize(
    ("name", "served"),
    [
        ("whole_prompts", lambda: server(without_counts(apologies))),
        ("places", lambda: server(apologies)),
        ("lengths", lambda: server(apologies)),
        ("copies", lambda: server(apologies)),
        ("own_answers", lambda: server(apologies)),
        ("repeats", lambda: server(each=1)),
        ("outcomes", lambda: server(each=1)),
        ("languages", lambda: server(lambda p: {"answered_in": None})),
        # As a model answers that knows no Chinese.
        ("languages", lambda: server(in_language("zh", "en"))),
    ],
)
def test_what_could_not_show_a_fault_cannot_tell(
    name: str, served: Callable[[], ServerAnswers]
) -> None:
    assert told(name, served()).verdict == OPEN


def test_a_server_that_counts_nothing_shows_what_it_read() -> None:
    found = told("whole_prompts", server(without_counts(right)))
    assert found.verdict == SOUND and "counts no tokens, but" in found.sentence


def test_what_a_model_cannot_do_is_judged_by_its_texts() -> None:
    """Another serving that answers alike is as weak."""
    for name in ("places", "lengths", "copies", "own_answers"):
        assert told(name, server(apologies), server(apologies)).verdict == SOUND


def test_texts_that_never_repeat_are_nobodys() -> None:
    """Neither between servers nor of one, so they say nothing of what a weak model reads."""
    weak = server(apologies, lambda p: f"Sorry: {p['example_id']}.")
    other = server(lambda p: f"No: {p['example_id']}.", apologies)
    for name in ("same_texts", "places", "lengths", "copies", "not_worse"):
        assert told(name, weak, other).verdict == OPEN
    assert told("places", weak, other, worse_by=0.2).verdict == OPEN


def more_tokens(prompt: dict[str, Any]) -> dict[str, Any]:
    return {"prompt_tokens": tokens(prompt) + 9}


@pytest.mark.parametrize(
    ("name", "reply", "said"),
    [
        ("same_prompts", more_tokens, "each of 126 prompts has +9 tokens"),
        ("same_prompts", cut_at_the_end, "it cuts prompts"),
        ("same_texts", chatty, "texts differ on 126 of 126 prompts, and of themselves on 0 of 84"),
        ("not_worse", apologies, "of 126 prompts, 126 lost and 0 won; means 100% and 0%: worse"),
        ("languages", in_language("zh", "en"), "of the other server's, 0 of 12"),
        ("own_answers", lambda p: neighbours(p) if p["lang"] == "zh" else right(p), "to another"),
    ],
)
def test_a_difference_from_the_other_server_is_named(name: str, reply: Reply, said: str) -> None:
    found = told(name, server(reply), server())
    assert found.verdict == FAULT and said in found.sentence


def test_a_comparison_without_numbers_cannot_tell() -> None:
    assert told("same_prompts", server(without_counts(right)), server(chatty)).verdict == OPEN
    assert told("not_worse", server(chatty, each=1), server(each=1)).verdict == OPEN
    once = replace(server(), again=server().again[:4])
    found = told("same_texts", once, once)
    # 8 second answers of both, where 10 would do.
    assert found.verdict == OPEN and found.more.startswith("ask 170 prompts (--prompts), of about ")


def test_changed_values_on_both_servers_are_the_models() -> None:
    def changed(prompt: dict[str, Any]) -> str:
        return right(prompt).replace("a", "b").replace("1", "2")

    alone, both = told("copies", server(changed)), told("copies", server(changed), server(changed))
    assert alone.verdict == FAULT and both.verdict != FAULT


def test_other_texts_are_no_fault_of_a_gate() -> None:
    """`fail_if_worse_by` asks for scores, which a loss of all and too few prompts do not have."""
    assert told("same_texts", server(chatty), server(), worse_by=0.2).verdict == SOUND
    assert told("not_worse", server(chatty), server(), worse_by=0.2).verdict == SOUND
    found = told("not_worse", server(apologies), server(), worse_by=0.2)
    assert found.verdict == FAULT and "worse by " in found.sentence
    found = told("not_worse", server(chatty), server(), worse_by=0.001)
    assert found.verdict == OPEN and "no cell could have shown a loss of" in found.sentence
    missing = server(lambda p: BAD["were refused as too long"] if p["lang"] == "zh" else right(p))
    found = told("not_worse", missing, server(), worse_by=0.2)
    assert found.verdict == OPEN and "served lacks 12 of 126 answers to made" in found.sentence


def test_a_server_without_any_answer_is_faulty() -> None:
    found = checked(seen(server(lambda p: BAD["have no answer, after all attempts"])))
    assert [(one.verdict, one.sentence) for one in found] == [(FAULT, "no prompt was answered")]


def test_what_both_servers_lose_is_the_models_weakness() -> None:
    def forgets(prompt: dict[str, Any]) -> str:
        return "I cannot find it." if prompt["length"] == 160 else right(prompt)

    assert told("lengths", server(forgets)).verdict == FAULT
    assert told("lengths", server(forgets), server()).verdict == FAULT
    assert told("lengths", server(forgets), server(forgets)).verdict != FAULT
