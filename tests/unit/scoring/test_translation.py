"""Translation: language identification, the cache, each translator, and the ceiling."""

from __future__ import annotations

import gzip
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from http_server import OpenAIServer, Reply, completion, prompt_of, refusal
from needlework.benchmarks.mlneedle import scores as released_mlneedle
from needlework.errors import UserError
from needlework.given import given
from needlework.jobs.stop import FILE, Stopped
from needlework.journal import Journal
from needlework.records import GENERATIONS, QUESTIONS, TRANSLATIONS
from needlework.scoring import metrics
from needlework.scoring.translation import (
    LANGUAGES,
    Translated,
    identify,
    translate,
    translate_generations,
    translation_ceiling,
)
from needlework.scoring.translators import google as google_translator
from needlework.scoring.translators import http
from needlework.scoring.translators.base import Translator, check_translator, load_translator
from needlework.scoring.translators.nllb import FLORES

SECRET = "sk-very-secret-0123456789"
SENTENCES = {
    "en": "The river flows through the old town and into the sea.",
    "de": "Der Fluss fließt durch die alte Stadt und ins Meer.",
    "es": "El río fluye por la ciudad vieja y llega hasta el mar.",
    "zh": "这条河流经古城，最后流入大海。",
    "vi": "Con sông chảy qua khu phố cổ rồi đổ ra biển.",
    "hi": "नदी पुराने शहर से होकर समुद्र में बहती है।",
    "ar": "يتدفق النهر عبر المدينة القديمة إلى البحر.",
}


class Dictionary(Translator):
    """Translates by a dictionary, and remembers in which batches it was asked."""

    batch_size = 2

    def __init__(self, words: Mapping[str, str] | None = None, version: int = 1) -> None:
        super().__init__({})
        self.words, self.version = words or {}, version
        self.batches: list[list[tuple[str, str]]] = []

    def identity(self) -> Mapping[str, Any]:
        return {"kind": "dictionary", "version": self.version}

    def translate(self, texts: Sequence[str], languages: Sequence[str]) -> list[str]:
        self.batches.append(list(zip(texts, languages, strict=True)))
        return [self.words.get(text, f"<{text}>") for text in texts]


# Language identification


@pytest.mark.slow
def test_languages_are_identified_by_the_codes_of_the_benchmarks():
    norwegian = "Jeg vet ikke hva svaret på spørsmålet er, men det står i teksten."
    assert identify([*SENTENCES.values(), norwegian]) == [*SENTENCES, "no"]
    unknown = ["", "  ", "1942", "19.42 %", "...", "🙂", "გამარჯობა"]
    assert identify(unknown) == ["und"] * len(unknown)


# The cache


def test_only_what_is_foreign_is_translated_and_each_text_once(tmp_path):
    translator = Dictionary()
    texts = [SENTENCES["de"], SENTENCES["en"], "1942", "გამარჯობა", SENTENCES["de"], ""]
    assert translate(texts, translator, tmp_path) == [
        Translated("de", f"<{SENTENCES['de']}>"),
        Translated("en", SENTENCES["en"]),
        Translated("und", "1942"),
        Translated("und", "<გამარჯობა>"),
        Translated("de", f"<{SENTENCES['de']}>"),
        Translated("und", ""),
    ]
    assert translator.batches == [[(SENTENCES["de"], "de"), ("გამარჯობა", "und")]]


def test_a_second_run_translates_only_what_is_new(tmp_path):
    first = translate([SENTENCES["de"], SENTENCES["es"]], Dictionary(), tmp_path)
    again = Dictionary()
    assert translate([SENTENCES["es"], SENTENCES["de"]], again, tmp_path) == first[::-1]
    assert again.batches == []
    # A torn last line is no translation, and another translator's is not this one's.
    (file,) = tmp_path.glob("*.jsonl")
    file.write_bytes(file.read_bytes()[:-5])
    assert translate([SENTENCES["de"], SENTENCES["es"]], again, tmp_path) == first
    assert again.batches == [[(SENTENCES["es"], "es")]]
    other = Dictionary({SENTENCES["de"]: "river"}, version=2)
    assert translate([SENTENCES["de"]], other, tmp_path) == [Translated("de", "river")]
    # Batches hold texts of similar length.
    base, lengths = SENTENCES["de"], Dictionary()
    translate([base * 5, base * 2, base * 4, base * 3], lengths, tmp_path)
    sizes = [[len(text) // len(base) for text, _ in batch] for batch in lengths.batches]
    assert sizes == [[2, 3], [4, 5]]


def test_runs_that_share_the_cache_end_with_the_same_translations(tmp_path):
    """The first asks, a second does all of its work meanwhile, and the first answers otherwise."""
    second = []

    class Slow(Dictionary):
        def translate(self, texts, languages):
            if not second:
                second.extend(translate(list(SENTENCES.values()), Dictionary(), tmp_path))
            return [f"late {text}" for text in texts]

    assert translate(list(SENTENCES.values()), Slow(), tmp_path) == second
    assert translate(list(SENTENCES.values()), Dictionary(), tmp_path) == second


def test_each_generation_gets_its_translation(tmp_path):
    rows = [("a", 0, SENTENCES["de"]), ("a", 1, SENTENCES["en"]), ("b", 0, None)]
    generations = pa.Table.from_pylist(
        [{"instance_id": i, "sample": s, "text": t} for i, s, t in rows], schema=GENERATIONS
    )
    # A lone surrogate breaks no table, nor what is read from the journal.
    for _ in range(2):
        river = Dictionary({SENTENCES["de"]: "river \ud800"})
        table = translate_generations(generations, river, tmp_path)
        assert table.schema == TRANSLATIONS
        assert [tuple(row.values()) for row in table.to_pylist()] == [
            ("a", 0, "de", "river ?"),
            ("a", 1, "en", SENTENCES["en"]),
            ("b", 0, "und", ""),
        ]


def test_without_a_translator_texts_stay_and_nothing_is_kept(tmp_path):
    translator = load_translator(given({"kind": "none"}))
    translator.check()
    # Nor is its language asked for, which takes seconds to tell.
    stays = [Translated("und", SENTENCES["de"])]
    assert translate([SENTENCES["de"]], translator, tmp_path / "cache") == stays
    assert not (tmp_path / "cache").exists()
    with pytest.raises(UserError, match=r"'goggle'.*did you mean 'google'"):
        load_translator(given({"kind": "goggle"}))


# The ceiling


def questions(**answers: list[str]) -> pa.Table:
    """A table of questions with these answers by example_id."""
    rows = [{"example_id": name, "answers": texts} for name, texts in answers.items()]
    return pa.Table.from_pylist(rows, schema=QUESTIONS)


def test_the_ceiling_counts_the_gold_answers_that_survive(tmp_path):
    tables = {
        "en": questions(a=["the sea"], b=["Old Town", "the town"], c=["1942"]),
        "de": questions(a=["das Meer dort"], b=["die Altstadt"], c=["1942"], z=["x"]),
        "es": questions(b=["la ciudad vieja", "el pueblo viejo"]),
    }
    english = {
        "das Meer dort": "the ocean there",
        "die Altstadt": "the old town",
        "la ciudad vieja": "the old city",
        "el pueblo viejo": "town, the",
    }
    ceiling = translation_ceiling(tables, Dictionary(english), tmp_path, metrics.exact_accuracy)
    assert ceiling.to_pylist() == [
        {"lang": "de", "n": 3, "n_survived": 2},
        {"lang": "es", "n": 2, "n_survived": 0},
    ]
    released = translation_ceiling(
        tables, Dictionary(english), tmp_path, released_mlneedle.released_accuracy
    )
    assert released["n_survived"].to_pylist() == [2, 1]
    with pytest.raises(UserError, match="add en to the benchmark's `answer_languages`"):
        translation_ceiling({"de": questions()}, Dictionary(), tmp_path, metrics.exact_accuracy)


# NLLB

NLLB_PAIRS = [
    # The same text in two languages: only the source language's code can tell them apart.
    ("gift", "de", "poison"),
    ("gift", "sv", "married"),
    ("pan", "es", "bread"),
    ("pan", "pl", "mister"),
    ("hola amigo mio", "es", "hello my friend"),
]


@pytest.fixture(scope="module")
def tiny_nllb(tmp_path_factory) -> Path:
    """A model of NLLB's architecture that was initialised at random and has learnt five texts."""
    import torch
    from transformers import M2M100Config, M2M100ForConditionalGeneration, NllbTokenizer

    letters = sorted({c for text, _, english in NLLB_PAIRS for c in text + english} - {" "})
    vocabulary = ["<s>", "<pad>", "</s>", "<unk>", "▁", *letters]
    tokenizer = NllbTokenizer(
        vocab={token: place for place, token in enumerate(vocabulary)},
        merges=[],
        extra_special_tokens=sorted(FLORES.values()),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        sizes = dict.fromkeys(["encoder_layers", "decoder_layers"], 1)
        sizes |= dict.fromkeys(["encoder_attention_heads", "decoder_attention_heads"], 2)
        sizes |= dict.fromkeys(["encoder_ffn_dim", "decoder_ffn_dim"], 64)
        dropouts = ["dropout", "attention_dropout", "activation_dropout"]
        none = dict.fromkeys([*dropouts, "encoder_layerdrop", "decoder_layerdrop"], 0)
        config = M2M100Config(
            vocab_size=len(tokenizer), d_model=32, decoder_start_token_id=2, **sizes, **none
        )
        model = M2M100ForConditionalGeneration(config)
        rows = []
        for text, language, english in NLLB_PAIRS:
            tokenizer.src_lang, tokenizer.tgt_lang = FLORES[language], FLORES["en"]
            rows.append(tokenizer(text, text_target=english))
        inputs = tokenizer.pad(
            [{"input_ids": row["input_ids"]} for row in rows], return_tensors="pt"
        )
        labels = torch.nn.utils.rnn.pad_sequence(
            [torch.tensor(row["labels"]) for row in rows], batch_first=True, padding_value=-100
        )
        # It learns no first token, so only a forced one begins an English text.
        prompts = labels.roll(1, dims=1)
        prompts[prompts == -100] = tokenizer.pad_token_id
        prompts[:, 0], labels[:, 0] = tokenizer.eos_token_id, -100
        optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
        for _ in range(500):
            loss = model(**inputs, decoder_input_ids=prompts, labels=labels).loss
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if loss < 0.01:
                break
    folder = tmp_path_factory.mktemp("nllb")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def nllb(name: Path | str, **changes: Any) -> dict[str, Any]:
    own = {"kind": "nllb", "name": str(name), "revision": None, "device": "cpu"}
    return given(own | changes)


@pytest.mark.slow
def test_nllb_translates_a_mixed_batch_by_source_language(tiny_nllb, tmp_path):
    check_translator(nllb(tiny_nllb))
    translator = load_translator(nllb(tiny_nllb))
    texts, languages, expected = map(list, zip(*NLLB_PAIRS, strict=True))
    assert translator.translate(texts, languages) == expected
    assert translator.translate(["gift", "pan"], ["und", "pl"]) == ["gift", "mister"]
    assert translate(["hola amigo mio", "1942"], translator, tmp_path) == [
        Translated("es", "hello my friend"),
        Translated("und", "1942"),
    ]
    of_any_device = load_translator(nllb(tiny_nllb, device="auto"))
    assert of_any_device.translate(["gift"], ["sv"]) == ["married"]


def test_nllb_s_identity_is_all_that_its_output_depends_on():
    base = load_translator(nllb("x")).identity()
    assert load_translator(nllb("x", device="cuda")).identity() == base
    for change in ({"name": "y"}, {"revision": "abc"}):
        assert load_translator(given(nllb("x") | change)).identity() != base
    assert set(LANGUAGES) == set(FLORES)


def test_nllb_without_a_model_or_its_packages_says_which(tmp_path, monkeypatch):
    with pytest.raises(UserError, match=r"not a folder with a model \(it has no config.json\)"):
        check_translator(nllb(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UserError, match="cannot be loaded"):
        load_translator(nllb(tmp_path)).translate(["gift"], ["de"])
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UserError, match="the package 'transformers' is not installed"):
        load_translator(nllb(tmp_path)).translate(["gift"], ["de"])


# The services


def google_answer(body: Any) -> Reply:
    return Reply({"data": {"translations": [{"translatedText": f"<{q}>"} for q in body["q"]]}})


def llm_answer(body: Any) -> Reply:
    return completion(body, f" <{prompt_of(body)}>\n")


@pytest.fixture
def service(monkeypatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("A_KEY", SECRET)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(http, "FIRST_PAUSE_S", 0.01)
    with OpenAIServer() as running:
        yield running


def google(service: OpenAIServer, **changes: Any) -> dict[str, Any]:
    url = service.url.removesuffix("/v1")
    return given({"kind": "google", "key_env": "A_KEY", "base_url": url} | changes)


def llm(service: OpenAIServer, **changes: Any) -> dict[str, Any]:
    own = {"name": "some-model", "base_url": service.url}
    return given(google(service, kind="llm") | own | changes)


KINDS = {"google": (google, google_answer), "llm": (llm, llm_answer)}


@pytest.fixture(params=KINDS)
def kind(request) -> tuple[Callable[..., dict[str, Any]], Callable[[Any], Reply]]:
    """A service's block of the configuration, and its right answer to a request."""
    return KINDS[request.param]


def test_a_request_to_google_holds_all_that_it_takes() -> None:
    most = google_translator.MAX_CHARACTERS
    texts = ["a" * (most // 2), "b" * (most - most // 2), "c", "d" * (most + 1), *"e" * 129]
    portions = [*google_translator._portions(texts)]
    assert [*map(len, portions)] == [2, 1, 1, 128, 1]
    assert [text for portion in portions for text in portion] == texts


def test_google_gets_the_texts_and_the_key_in_a_header(service):
    service.reply = lambda number, body: google_answer(body)
    check_translator(google(service))
    texts = ["uno & dos", *map(str, range(128))]
    english = load_translator(google(service)).translate(texts, ["es"] * len(texts))
    assert english == [f"<{text}>" for text in texts]
    got, _ = service.received
    assert got.path == "/language/translate/v2"
    assert got.headers["x-goog-api-key"] == SECRET
    assert got.body == {"q": texts[:128], "target": "en", "format": "text"}


def test_llm_gets_the_text_as_a_user_s_message(service, monkeypatch):
    service.reply = lambda number, body: llm_answer(body)
    check_translator(llm(service))
    texts = [f"texto {number}" for number in range(30)]
    english = load_translator(llm(service)).translate(texts, ["es"] * 30)
    assert english == [f"<{text}>" for text in texts]
    got = service.received[0]
    assert got.path == "/v1/chat/completions"
    assert got.headers["authorization"] == f"Bearer {SECRET}"
    assert (got.body["model"], got.body["temperature"]) == ("some-model", 0)
    assert [message["role"] for message in got.body["messages"]] == ["system", "user"]
    # Without a key none is sent. A model may answer nothing.
    monkeypatch.delenv("A_KEY")
    service.reply = lambda number, body: Reply({"choices": [{"message": {"content": None}}]})
    check_translator(llm(service, key_env=None))
    assert load_translator(llm(service, key_env=None)).translate(["uno"], ["es"]) == [""]
    assert "authorization" not in service.received[-1].headers


def numbered(count: int) -> list[str]:
    return [f"Der Fluss Nummer {number} fließt durch die alte Stadt." for number in range(count)]


def asked(service: OpenAIServer) -> list[str]:
    """The texts in the requests that came, sorted."""
    bodies = [got.body for got in service.received]
    return sorted(
        text for body in bodies for text in body.get("q") or [body["messages"][-1]["content"]]
    )


@pytest.mark.parametrize("ends", ["refused", "stopped", "full"])
def test_what_is_translated_when_a_run_ends_is_kept(
    service, kind, stop_run, tmp_path, monkeypatch, ends
) -> None:
    """A lasting fault, a signal, a full disk: nothing more is sent, and nothing again."""
    monkeypatch.setattr(google_translator, "MAX_TEXTS", 1)
    block, answer = kind
    texts, append = numbered(40), Journal.append

    def respond(number: int, body: Any) -> Reply:
        if number == 9 and ends == "refused":
            return Reply({"error": {"message": "no such model"}}, 400)
        if number == 9 and ends == "stopped":
            stop_run()
        return Reply(answer(body).body, delay=0.05)

    def full(journal: Journal, records: Any) -> None:
        if len(service.received) > 9:
            raise UserError("the disk is full")
        append(journal, records)

    service.reply = respond
    with monkeypatch.context() as patch, pytest.raises((UserError, Stopped)) as error:
        if ends == "full":
            patch.setattr(Journal, "append", full)
        translate(texts, load_translator(block(service)), tmp_path)
    said = {"refused": "status 400: ", "stopped": "SIGTERM", "full": "the disk is full"}
    assert said[ends] in str(error.value)
    assert len(service.received) < 30
    monkeypatch.setattr("needlework.jobs.stop._signal", "")
    monkeypatch.delenv(FILE)
    kept = len([*Journal(tmp_path).records()])
    service.received.clear()
    service.reply = lambda number, body: answer(body)
    found = translate(texts, load_translator(block(service)), tmp_path)
    assert [text for _, text in found] == [f"<{text}>" for text in texts]
    assert len(service.received) == 40 - kept < 40


def test_a_text_refused_for_its_content_is_not_translated(service, tmp_path, caplog):
    texts = numbered(3)
    cut = {"message": {"content": "The r"}, "finish_reason": "content_filter"}
    for place, refused in enumerate(
        (
            refusal(400, "No.", "content_filter"),
            refusal(400, "Azure OpenAI's content management policy"),
            refusal(403, "Your input was flagged"),
            Reply({"choices": [cut]}),
        )
    ):
        caplog.clear()
        service.received.clear()
        service.reply = lambda number, body, refused=refused: (
            refused if "Nummer 1" in body["messages"][-1]["content"] else llm_answer(body)
        )
        for _ in range(2):
            found = translate(texts, load_translator(llm(service)), tmp_path / str(place))
            assert [text for _, text in found] == [f"<{texts[0]}>", "", f"<{texts[2]}>"]
        assert asked(service) == texts
        (warning,) = [r.message for r in caplog.records if r.levelname == "WARNING"]
        assert "begins with 'Der Fluss Nummer 1" in warning
        assert "is left without a translation" in warning
    # A refused key is no refused text.
    service.reply = lambda number, body: refusal(401, "suspended", "content_policy")
    with pytest.raises(UserError, match=r"status 401: .*suspended"):
        translate([SENTENCES["de"]], load_translator(llm(service)), tmp_path)


def test_reasoning_is_no_part_of_a_translation(service, tmp_path):
    written = {
        "<think>Could be Paris, London</think>\n\nRome": "Rome",
        "Could be Paris</think>Rome": "Rome",
        "<think>Could be Paris, London": "",
        "Rome": "Rome",
    }
    for place, (reply, english) in enumerate(written.items()):
        service.reply = lambda number, body, reply=reply: completion(body, reply)
        # The second time from the journal, which keeps the reasoning.
        for _ in range(2):
            found = translate(
                [SENTENCES["de"]], load_translator(llm(service)), tmp_path / str(place)
            )
            assert found == [Translated("de", english)]
    assert len(service.received) == 4


def test_a_cut_translation_is_an_error_and_not_kept(service, tmp_path):
    for reason in ("length", "model_length"):
        cut = {"choices": [{"message": {"content": "The r"}, "finish_reason": reason}]}
        service.reply = lambda number, body, cut=cut: Reply(cut)
        with pytest.raises(UserError, match=r"begins with 'Der Fluss fließt.*: raise the limit"):
            translate([SENTENCES["de"]], load_translator(llm(service)), tmp_path)
    service.reply = lambda number, body: llm_answer(body)
    found = translate([SENTENCES["de"]], load_translator(llm(service)), tmp_path)
    assert found == [Translated("de", f"<{SENTENCES['de']}>")]


A_NUMBER = {"translations": [{"translatedText": 7}]}
FAULTS = {
    "busy": Reply(b"<html>busy</html>", 503),
    "too many requests": Reply(b"", 429, {"Retry-After": "0"}),
    "dropped connection": Reply(stop_after=0),
    "not JSON": Reply(b'{"data": '),
    "another shape": Reply({"data": [], "choices": []}),
    "not text": Reply({"data": A_NUMBER, "choices": [{"message": {"content": 7}}]}),
    "too few": Reply({"data": {"translations": []}, "choices": [{}]}),
    "deeply nested": Reply(b"[" * 100_000),
    "broken compression": Reply(b"not gzip", headers={"Content-Encoding": "gzip"}),
}


def test_a_fault_is_tried_again_and_told_if_it_lasts(service, kind, monkeypatch):
    monkeypatch.setattr(http, "ATTEMPTS", 3)
    block, answer = kind
    translator = load_translator(block(service))
    lasts = r"failed: .* \(attempt 3\); check .* run again"
    for fault in FAULTS.values():
        service.received.clear()
        service.reply = lambda number, body, fault=fault: fault if number < 2 else answer(body)
        assert translator.translate(["uno"], ["es"]) == ["<uno>"]
        service.reply = lambda number, body, fault=fault: fault
        with pytest.raises(UserError, match=lasts) as error:
            translator.translate(["uno"], ["es"])
        assert service.address in str(error.value)
        assert len(service.received) == 6
    nobody = block(service, base_url="http://127.0.0.1:9")
    with pytest.raises(UserError, match=r"the connection failed .*\(attempt 3\)"):
        load_translator(nobody).translate(["uno"], ["es"])


def test_retry_after_is_honoured_unless_it_asks_for_hours(service, kind, monkeypatch):
    block, answer = kind
    pauses, after = [], "7"
    monkeypatch.setattr(http, "rest", pauses.append)
    service.reply = lambda number, body: (
        answer(body) if number == 1 else Reply(b"", 429, {"Retry-After": after})
    )
    translator = load_translator(block(service))
    assert translator.translate(["uno"], ["es"]) == ["<uno>"] and pauses == [7]
    after = "7200"
    with pytest.raises(UserError, match=r"status 429 \(attempt 1\)"):
        translator.translate(["uno"], ["es"])


def test_refused_requests_are_not_retried_and_hide_the_key(service, kind, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    block, answer = kind
    denied = f"\x1b[31mAPI key {SECRET} is not valid\n" + "x" * 5000
    service.reply = lambda number, body: (
        answer(body) if number == 0 else Reply(denied.encode(), 403)
    )
    with_password = service.url.replace("://", f"://user:{SECRET}@")
    translator = load_translator(block(service, base_url=f"{with_password}?key={SECRET}"))
    translate([SENTENCES["de"]], translator, tmp_path)
    with pytest.raises(UserError, match=r"status 403: .*API key \*\*\* is not valid") as error:
        translate([SENTENCES["es"]], translator, tmp_path)
    assert len(service.received) == 2
    assert "\x1b" not in str(error.value)
    assert len(str(error.value)) < 600
    assert SECRET not in str(error.value) + caplog.text
    assert not any(SECRET in file.read_text("utf-8") for file in tmp_path.rglob("*.jsonl"))


def test_a_key_that_json_escapes_shows_nowhere(service, kind, tmp_path, caplog, monkeypatch):
    caplog.set_level(logging.DEBUG)
    key = "ABSKabc/def+ghi0123456789=="
    monkeypatch.setenv("A_KEY", key)
    written = key.replace("/", "\\/").replace("=", "\\u003d").encode()
    block, answer = kind

    def respond(number: int, body: Any) -> Reply:
        reply = refusal(403, "not with KEY") if number else answer(body)
        content = json.dumps(reply.body).encode().replace(b"KEY", written)
        return Reply(content, reply.status)

    service.reply = respond
    translator = load_translator(block(service))
    text = SENTENCES["de"] + " KEY"
    (found,) = translate([text], translator, tmp_path)
    assert "***" in found.text
    with pytest.raises(UserError, match=r"not with \*\*\*") as error:
        translate([SENTENCES["es"]], translator, tmp_path)
    kept = "".join(file.read_text("utf-8") for file in tmp_path.rglob("*.jsonl"))
    assert "***" in kept
    assert "ABSK" not in kept + str(error.value) + caplog.text


def test_missing_keys_and_wrong_urls_are_named_before_work(service, kind, monkeypatch):
    block, answer = kind
    for url in ("", "localhost:8000/v1", "ftp://host/v1", "http://", "http://a:b:c/"):
        with pytest.raises(UserError, match=r"\.base_url is not an http"):
            check_translator(block(service, base_url=url))
    # What `$(cat file)` or an editor leaves at the end of a key is no part of it.
    monkeypatch.setenv("A_KEY", f" {SECRET}\r\n")
    service.reply = lambda number, body: answer(body)
    load_translator(block(service)).translate(["uno"], ["es"])
    assert any(SECRET in value for value in service.received[0].headers.values())
    monkeypatch.setenv("A_KEY", f"{SECRET}\nx")
    with pytest.raises(UserError, match="A_KEY") as error:
        check_translator(block(service))
    assert SECRET not in str(error.value)
    monkeypatch.setenv("A_KEY", "  ")
    for _ in range(2):
        with pytest.raises(UserError, match="needs an API key: set the environment variable A_KEY"):
            check_translator(block(service))
        monkeypatch.delenv("A_KEY", raising=False)


CHECKS = """
from needlework.given import given
from needlework.scoring.translators.base import check_translator

service = {"key_env": "A_KEY", "base_url": "https://host/v1", "name": "some/model"}
for kind in ("none", "nllb", "google", "llm"):
    check_translator(given({"kind": kind, **service}))
"""


def test_checks_need_the_standard_library_alone(root):
    environment = {"A_KEY": SECRET, "PYTHONPATH": str(root / "workflow" / "scripts")}
    # -S: none of the installed packages can be imported.
    subprocess.run([sys.executable, "-S", "-c", CHECKS], env=environment, check=True)


KILLED = """
import sys
from needlework.given import given
from needlework.scoring.translation import translate
from needlework.scoring.translators import llm
from needlework.scoring.translators.base import load_translator

llm.Llm.batch_size = 4
texts = [f"Der Fluss Nummer {number} fließt durch die alte Stadt." for number in range(40)]
translator = load_translator(
    given({"kind": "llm", "name": "some-model", "key_env": None, "base_url": sys.argv[1]})
)
for lang, text in translate(texts, translator, sys.argv[2]):
    print(lang, text)
"""


def test_broken_replies_give_one_sentence(service, monkeypatch):
    monkeypatch.setattr(http, "ATTEMPTS", 1)
    headers = {"Content-Type": "text/plain; charset=punycode", "Content-Encoding": "gzip"}
    for status, content in ((200, bytes(70_000_000)), (400, b"\xff\xfeno")):
        reply = Reply(gzip.compress(content, 1), status, headers)
        service.reply = lambda number, body, reply=reply: reply
        with pytest.raises(UserError, match=r"the translator some-model .* failed: "):
            load_translator(llm(service)).translate(["gift"], ["de"])


@pytest.mark.slow
def test_a_killed_run_loses_only_what_was_under_way(service, tmp_path, root):
    command = [sys.executable, "-c", KILLED, service.url, str(tmp_path)]
    library = str(root / "workflow/scripts")
    environment = os.environ | {"PYTHONPATH": library, "PYTHONIOENCODING": "utf-8"}
    in_the_middle, killed = threading.Event(), threading.Event()

    def respond(number: int, body: Any) -> Reply:
        if number < 18:
            return llm_answer(body)
        in_the_middle.set()
        killed.wait(60)
        return Reply(stop_after=0)

    service.reply = respond
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    assert in_the_middle.wait(60)
    # All that was answered is on the disk, the half of a batch too.
    deadline = time.monotonic() + 60
    while sum(1 for _ in Journal(tmp_path).records()) < 18 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed.set()
    kept = {prompt_of(got.body) for got in service.received[:18]}

    service.received.clear()
    service.reply = lambda number, body: llm_answer(body)
    done = subprocess.run(
        command, env=environment, capture_output=True, encoding="utf-8", check=True
    )
    texts = numbered(40)
    assert done.stdout.splitlines() == [f"de <{text}>" for text in texts]
    assert asked(service) == sorted(set(texts) - kept)


def test_a_dummy_key_corrupts_no_translation(service, monkeypatch) -> None:
    for secret in ("none", "1234", "text"):
        monkeypatch.setenv("A_KEY", secret)
        service.reply = lambda number, body, said=f"The word {secret}.": completion(body, said)
        english = load_translator(llm(service)).translate(["x"], ["es"])
        assert english == [f"The word {secret}."]
    assert len(service.received) == 3


def test_an_unusable_proxy_is_named_without_its_password(monkeypatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:pa/ssword1@proxy:8080")
    with pytest.raises(UserError, match="HTTP_PROXY, HTTPS_PROXY and ALL_PROXY") as error:
        http.Endpoint("https://nowhere", translator="t", secret="", header="", scheme="")
    assert "ssword1" not in str(error.value)


def test_a_proxy_that_answers_for_a_local_service_is_named(service, kind, monkeypatch) -> None:
    block, answer = kind
    monkeypatch.setenv("NO_PROXY", "elsewhere")
    monkeypatch.setenv("http_proxy", f"http://someone:{SECRET}@{service.address}")
    own = block(service, base_url="http://127.0.0.1:9/v1")
    for number, status in enumerate((200, 403, 503), 1):
        service.reply = lambda number, body, status=status: Reply(b"<html>no</html>", status)
        with pytest.raises(UserError, match=r"proxy in http_proxy; .* to NO_PROXY") as error:
            load_translator(own).translate(["uno"], ["es"])
        assert len(service.received) == number and SECRET not in str(error.value)
    service.reply = lambda number, body: answer(body)
    assert load_translator(own).translate(["uno"], ["es"]) == ["<uno>"]
