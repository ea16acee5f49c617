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
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from http_server import OpenAIServer, Reply, completion, prompt_of, refusal
from needlework.benchmarks.mlneedle import scores as released_mlneedle
from needlework.errors import UserError
from needlework.journal import Journal
from needlework.records import GENERATIONS, QUESTIONS, TRANSLATIONS
from needlework.scoring import metrics
from needlework.scoring.translation import (
    LANGUAGES,
    Translation,
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
def test_sentences_of_the_paper_s_languages_are_identified():
    assert identify(list(SENTENCES.values())) == list(SENTENCES)


def test_norwegian_has_the_code_of_the_benchmarks():
    assert identify(["Jeg vet ikke hva svaret på spørsmålet er, men det står i teksten."]) == ["no"]


@pytest.mark.parametrize("text", ["", "  ", "1942", "19.42 %", "...", "🙂", "გამარჯობა"])
def test_texts_without_a_known_letter_are_of_unknown_language(text):
    assert identify([text]) == ["und"]


def test_nllb_covers_every_language_that_is_identified():
    assert set(LANGUAGES) == set(FLORES)


# The cache


@pytest.mark.slow
def test_only_what_is_foreign_is_translated_and_each_text_once(tmp_path):
    translator = Dictionary()
    texts = [SENTENCES["de"], SENTENCES["en"], "1942", SENTENCES["es"], SENTENCES["de"], ""]
    assert translate(texts, translator, tmp_path) == [
        Translation("de", f"<{SENTENCES['de']}>"),
        Translation("en", SENTENCES["en"]),
        Translation("und", "1942"),
        Translation("es", f"<{SENTENCES['es']}>"),
        Translation("de", f"<{SENTENCES['de']}>"),
        Translation("und", ""),
    ]
    assert translator.batches == [[(SENTENCES["de"], "de"), (SENTENCES["es"], "es")]]


def test_letters_of_an_unknown_script_are_left_to_the_translator(tmp_path):
    assert translate(["გამარჯობა"], Dictionary({"გამარჯობა": "hello"}), tmp_path) == [
        Translation("und", "hello")
    ]


def test_batches_hold_texts_of_similar_length(tmp_path):
    translator = Dictionary()
    base = SENTENCES["de"]
    translate([base * 4, base, base * 3, base * 2], translator, tmp_path)
    sizes = [[len(text) // len(base) for text, _ in batch] for batch in translator.batches]
    assert sizes == [[1, 2], [3, 4]]


def test_a_second_run_translates_only_what_is_new(tmp_path):
    first = translate([SENTENCES["de"], SENTENCES["es"]], Dictionary(), tmp_path)
    again = Dictionary()
    assert translate([SENTENCES["es"], SENTENCES["de"]], again, tmp_path) == first[::-1]
    assert again.batches == []
    translate(list(SENTENCES.values()), again, tmp_path)
    asked = {language for batch in again.batches for _, language in batch}
    assert asked == {"zh", "vi", "hi", "ar"}


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


def test_another_translator_does_not_believe_the_cache_of_the_first(tmp_path):
    translate([SENTENCES["de"]], Dictionary(), tmp_path)
    other = Dictionary({SENTENCES["de"]: "river"}, version=2)
    assert translate([SENTENCES["de"]], other, tmp_path) == [Translation("de", "river")]


def test_a_torn_last_line_is_translated_again(tmp_path):
    translate([SENTENCES["de"], SENTENCES["es"]], Dictionary(), tmp_path)
    (file,) = tmp_path.glob("*.jsonl")
    file.write_bytes(file.read_bytes()[:-5])
    again = Dictionary()
    translate([SENTENCES["de"], SENTENCES["es"]], again, tmp_path)
    assert again.batches == [[(SENTENCES["es"], "es")]]


def test_a_lone_surrogate_in_a_translation_cannot_break_the_table(tmp_path):
    broken = Dictionary({SENTENCES["de"]: "river \ud800"})
    generations = pa.Table.from_pylist(
        [{"instance_id": "a", "sample": 0, "text": SENTENCES["de"]}], schema=GENERATIONS
    )
    for _ in range(2):
        table = translate_generations(generations, broken, tmp_path)
        assert table["text"].to_pylist() == ["river ?"]


def test_each_generation_gets_its_translation(tmp_path):
    rows = [("a", 0, SENTENCES["de"]), ("a", 1, SENTENCES["en"]), ("b", 0, None)]
    generations = pa.Table.from_pylist(
        [{"instance_id": i, "sample": s, "text": t} for i, s, t in rows], schema=GENERATIONS
    )
    table = translate_generations(generations, Dictionary({SENTENCES["de"]: "river"}), tmp_path)
    assert table.schema == TRANSLATIONS
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        ("a", 0, "de", "river"),
        ("a", 1, "en", SENTENCES["en"]),
        ("b", 0, "und", ""),
    ]


def test_without_a_translator_texts_stay_and_nothing_is_kept(tmp_path):
    translator = load_translator({"kind": "none"})
    translator.check()
    # Nor is its language asked for, which takes seconds to tell.
    assert translate([SENTENCES["de"]], translator, tmp_path / "cache") == [
        Translation("und", SENTENCES["de"])
    ]
    assert not (tmp_path / "cache").exists()


def test_an_unknown_kind_names_the_nearest():
    with pytest.raises(UserError, match=r"'goggle'.*did you mean 'google'"):
        load_translator({"kind": "goggle"})


# The ceiling


def questions(answers: Mapping[str, list[str]]) -> pa.Table:
    """A table of questions with these answers by example_id."""
    return pa.Table.from_pylist(
        [{"example_id": name, "answers": texts} for name, texts in answers.items()],
        schema=QUESTIONS,
    )


def test_the_ceiling_counts_the_gold_answers_that_survive(tmp_path):
    tables = {
        "en": questions({"1": ["the sea"], "2": ["Old Town", "the town"], "3": ["1942"]}),
        "de": questions({"1": ["das Meer dort"], "2": ["die Altstadt"], "3": ["1942"], "9": ["x"]}),
        "es": questions({"2": ["la ciudad vieja", "el pueblo viejo"]}),
    }
    translator = Dictionary(
        {
            "das Meer dort": "the ocean there",
            "die Altstadt": "the old town",
            "la ciudad vieja": "the old city",
            "el pueblo viejo": "town, the",
        }
    )
    ceiling = translation_ceiling(tables, translator, tmp_path, metrics.exact_accuracy)
    assert ceiling.to_pylist() == [
        {"lang": "de", "n": 3, "n_survived": 2},
        {"lang": "es", "n": 2, "n_survived": 0},
    ]
    released = translation_ceiling(
        tables, translator, tmp_path, released_mlneedle.released_accuracy
    )
    assert released["n_survived"].to_pylist() == [2, 1]


def test_the_ceiling_without_english_answers_is_refused(tmp_path):
    with pytest.raises(UserError, match="add en to the benchmark's `answer_languages`"):
        translation_ceiling({"de": questions({})}, Dictionary(), tmp_path, metrics.exact_accuracy)


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
        model = M2M100ForConditionalGeneration(
            M2M100Config(
                vocab_size=len(tokenizer),
                d_model=32,
                encoder_layers=1,
                decoder_layers=1,
                encoder_attention_heads=2,
                decoder_attention_heads=2,
                encoder_ffn_dim=64,
                decoder_ffn_dim=64,
                dropout=0,
                attention_dropout=0,
                activation_dropout=0,
                encoder_layerdrop=0,
                decoder_layerdrop=0,
                decoder_start_token_id=2,
            )
        )
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
    return {"kind": "nllb", "name": str(name), "revision": None, "device": "cpu"} | changes


@pytest.mark.slow
def test_nllb_translates_a_mixed_batch_by_source_language(tiny_nllb):
    check_translator(nllb(tiny_nllb))
    translator = load_translator(nllb(tiny_nllb))
    texts = [text for text, _, _ in NLLB_PAIRS]
    languages = [language for _, language, _ in NLLB_PAIRS]
    expected = [english for _, _, english in NLLB_PAIRS]
    assert translator.translate(texts, languages) == expected
    assert translator.translate(["gift", "pan"], ["und", "pl"]) == ["gift", "mister"]
    assert load_translator(nllb(tiny_nllb, device="auto")).translate(["gift"], ["sv"]) == [
        "married"
    ]


def test_nllb_through_the_cache(tiny_nllb, tmp_path):
    translator = load_translator(nllb(tiny_nllb))
    assert translate(["hola amigo mio", "1942"], translator, tmp_path) == [
        Translation("es", "hello my friend"),
        Translation("und", "1942"),
    ]


def test_nllb_s_identity_is_all_that_its_output_depends_on():
    base = load_translator(nllb("x")).identity()
    assert load_translator(nllb("x", device="cuda")).identity() == base
    for change in ({"name": "y"}, {"revision": "abc"}):
        assert load_translator(nllb("x") | change).identity() != base


def test_nllb_without_a_model_is_an_error_of_one_sentence(tmp_path):
    with pytest.raises(UserError, match=r"not a folder with a model \(it has no config.json\)"):
        check_translator(nllb(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UserError, match="cannot be loaded"):
        load_translator(nllb(tmp_path)).translate(["gift"], ["de"])


@pytest.mark.slow
def test_nllb_without_its_packages_says_which(tiny_nllb, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UserError, match="the package 'transformers' is not installed"):
        load_translator(nllb(tiny_nllb)).translate(["gift"], ["de"])


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
    return {"kind": "google", "key_env": "A_KEY", "base_url": url} | changes


def llm(service: OpenAIServer, **changes: Any) -> dict[str, Any]:
    base = {"kind": "llm", "name": "some-model", "key_env": "A_KEY", "base_url": service.url}
    return base | changes


KINDS = {"google": (google, google_answer), "llm": (llm, llm_answer)}


@pytest.fixture(params=KINDS)
def kind(request) -> tuple[Callable[..., dict[str, Any]], Callable[[Any], Reply]]:
    """A service's block of the configuration, and its right answer to a request."""
    return KINDS[request.param]


def test_a_request_to_google_may_hold_all_that_it_takes() -> None:
    half = google_translator.MAX_CHARACTERS // 2
    texts = ["a" * half, "b" * (google_translator.MAX_CHARACTERS - half), "c"]
    assert [*map(len, google_translator._portions(texts))] == [2, 1]


def test_google_gets_the_texts_and_the_key_in_a_header(service):
    service.reply = lambda number, body: google_answer(body)
    check_translator(google(service))
    english = load_translator(google(service)).translate(["uno & dos", "zwei"], ["es", "de"])
    assert english == ["<uno & dos>", "<zwei>"]
    (got,) = service.received
    assert got.path == "/language/translate/v2"
    assert got.headers["x-goog-api-key"] == SECRET
    assert got.body == {"q": ["uno & dos", "zwei"], "target": "en", "format": "text"}


def test_google_s_limits_on_a_request_are_kept(service):
    service.reply = lambda number, body: google_answer(body)
    texts = [f"{number}" for number in range(300)] + ["a" * 20_000, "b" * 20_000, "c" * 40_000]
    english = load_translator(google(service)).translate(texts, ["es"] * len(texts))
    assert english == [f"<{text}>" for text in texts]
    asked_for = [got.body["q"] for got in service.received]
    sizes = [(len(texts), sum(map(len, texts))) for texts in asked_for]
    assert all(count <= 128 for count, _ in sizes)
    assert all(characters <= 25_000 or count == 1 for count, characters in sizes)
    assert len(sizes) == 5


def test_llm_gets_the_text_as_a_user_s_message(service):
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


def test_llm_without_a_key_sends_none(service, monkeypatch):
    monkeypatch.delenv("A_KEY")
    service.reply = lambda number, body: llm_answer(body)
    check_translator(llm(service, key_env=None))
    assert load_translator(llm(service, key_env=None)).translate(["uno"], ["es"]) == ["<uno>"]
    assert "authorization" not in service.received[0].headers


def test_an_llm_that_refuses_has_translated_nothing(service):
    service.reply = lambda number, body: Reply({"choices": [{"message": {"content": None}}]})
    assert load_translator(llm(service)).translate(["uno"], ["es"]) == [""]


def numbered(count: int) -> list[str]:
    return [f"Der Fluss Nummer {number} fließt durch die alte Stadt." for number in range(count)]


def asked(service: OpenAIServer) -> list[str]:
    """The texts in the requests that came, sorted."""
    bodies = [got.body for got in service.received]
    return sorted(
        text for body in bodies for text in body.get("q") or [body["messages"][-1]["content"]]
    )


def test_a_refused_request_discards_no_translation_that_has_come(
    service, kind, tmp_path, monkeypatch
):
    monkeypatch.setattr("needlework.scoring.translators.google.MAX_TEXTS", 1)
    block, answer = kind
    texts, refused = numbered(20), threading.Event()

    def respond(number: int, body: Any) -> Reply:
        if texts[-1] in json.dumps(body, ensure_ascii=False):
            # The others that were sent with it are still under way.
            refused.set()
            return Reply({"error": {"message": "no such model"}}, 400)
        if block is llm and number >= 17:
            refused.wait(60)
            time.sleep(0.2)
        return answer(body)

    service.reply = respond
    with pytest.raises(UserError, match=r"status 400: .*no such model"):
        translate(texts, load_translator(block(service)), tmp_path)
    assert asked(service) == sorted(texts)
    service.received.clear()
    service.reply = lambda number, body: answer(body)
    assert [text for _, text in translate(texts, load_translator(block(service)), tmp_path)] == [
        f"<{text}>" for text in texts
    ]
    assert asked(service) == texts[-1:]


def test_nothing_is_sent_after_a_refused_request(service, tmp_path):
    texts = numbered(40)
    service.reply = lambda number, body: Reply(b"no such model", 400)
    with pytest.raises(UserError, match="no such model"):
        translate(texts, load_translator(llm(service)), tmp_path)
    assert len(service.received) < 20


def test_nothing_is_sent_once_the_journal_cannot_be_written(service, tmp_path, monkeypatch):
    def respond(number: int, body: Any) -> Reply:
        time.sleep(0.05)
        return llm_answer(body)

    def full(*_: object) -> None:
        raise UserError("the disk is full")

    service.reply = respond
    monkeypatch.setattr("needlework.journal.Journal.append", full)
    with pytest.raises(UserError, match="the disk is full"):
        translate(numbered(60), load_translator(llm(service)), tmp_path)
    assert len(service.received) < 30


@pytest.mark.parametrize(
    "refused",
    [
        refusal(400, "No.", "content_filter"),
        refusal(400, "Azure OpenAI's content management policy"),
        refusal(403, "Your input was flagged"),
        Reply({"choices": [{"message": {"content": "The r"}, "finish_reason": "content_filter"}]}),
    ],
)
def test_a_text_refused_for_its_content_is_not_translated(service, tmp_path, caplog, refused):
    texts = numbered(3)

    def respond(number: int, body: Any) -> Reply:
        return refused if "Nummer 1" in body["messages"][-1]["content"] else llm_answer(body)

    service.reply = respond
    for _ in range(2):
        found = translate(texts, load_translator(llm(service)), tmp_path)
        assert [text for _, text in found] == [f"<{texts[0]}>", "", f"<{texts[2]}>"]
    assert asked(service) == texts
    (warning,) = [r.message for r in caplog.records if r.levelname == "WARNING"]
    assert "begins with 'Der Fluss Nummer 1" in warning
    assert "is left without a translation" in warning


def test_a_refused_key_is_no_refused_text(service, tmp_path):
    service.reply = lambda number, body: refusal(401, "suspended", "content_policy")
    with pytest.raises(UserError, match=r"status 401: .*suspended"):
        translate([SENTENCES["de"]], load_translator(llm(service)), tmp_path)


@pytest.mark.parametrize(
    ("written", "english"),
    [
        ("<think>Could be Paris, London</think>\n\nRome", "Rome"),
        ("Could be Paris</think>Rome", "Rome"),
        ("<think>Could be Paris, London", ""),
        ("Rome", "Rome"),
    ],
)
def test_reasoning_is_no_part_of_a_translation(service, tmp_path, written, english):
    service.reply = lambda number, body: Reply({"choices": [{"message": {"content": written}}]})
    # The second time from the journal, which keeps the reasoning.
    for _ in range(2):
        found = translate([SENTENCES["de"]], load_translator(llm(service)), tmp_path)
        assert found == [Translation("de", english)]
    assert len(service.received) == 1


@pytest.mark.parametrize("reason", ["length", "model_length"])
def test_a_cut_translation_is_an_error_and_not_kept(service, tmp_path, reason):
    cut = {"choices": [{"message": {"content": "The r"}, "finish_reason": reason}]}
    service.reply = lambda number, body: Reply(cut)
    with pytest.raises(UserError, match=r"begins with 'Der Fluss fließt.*: raise the limit"):
        translate([SENTENCES["de"]], load_translator(llm(service)), tmp_path)
    service.reply = lambda number, body: llm_answer(body)
    found = translate([SENTENCES["de"]], load_translator(llm(service)), tmp_path)
    assert found == [Translation("de", f"<{SENTENCES['de']}>")]


FAULTS = {
    "busy": Reply(b"<html>busy</html>", 503),
    "too many requests": Reply(b"", 429, {"Retry-After": "0"}),
    "dropped connection": Reply(stop_after=0),
    "not JSON": Reply(b'{"data": '),
    "another shape": Reply({"data": [], "choices": []}),
    "not text": Reply(
        {
            "data": {"translations": [{"translatedText": 7}]},
            "choices": [{"message": {"content": 7}}],
        }
    ),
    "too few": Reply({"data": {"translations": []}, "choices": [{}]}),
    "deeply nested": Reply(b"[" * 100_000),
    "broken compression": Reply(b"not gzip", headers={"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_transient_fault_is_tried_again(service, kind, fault):
    block, answer = kind
    service.reply = lambda number, body: FAULTS[fault] if number < 2 else answer(body)
    assert load_translator(block(service)).translate(["uno"], ["es"]) == ["<uno>"]
    assert len(service.received) == 3


@pytest.mark.parametrize("fault", FAULTS)
def test_a_lasting_fault_ends_in_one_sentence(service, kind, fault, monkeypatch):
    monkeypatch.setattr(http, "ATTEMPTS", 3)
    block, _ = kind
    service.reply = lambda number, body: FAULTS[fault]
    with pytest.raises(UserError, match=r"failed: .* \(attempt 3\); check .* run again") as error:
        load_translator(block(service)).translate(["uno"], ["es"])
    assert service.address in str(error.value)
    assert len(service.received) == 3


@pytest.mark.parametrize("date", [False, True])
def test_retry_after_is_honoured(service, kind, date):
    block, answer = kind
    # A date counts whole seconds, so two of them are at least one from now.
    after = formatdate(time.time() + 2, usegmt=True) if date else "1"
    times: list[float] = []

    def respond(number: int, body: Any) -> Reply:
        times.append(time.monotonic())
        return Reply(b"", 429, {"Retry-After": after}) if number == 0 else answer(body)

    service.reply = respond
    assert load_translator(block(service)).translate(["uno"], ["es"]) == ["<uno>"]
    assert times[1] - times[0] >= 0.9


def test_a_server_that_asks_for_hours_is_not_waited_for(service, kind):
    block, _ = kind
    service.reply = lambda number, body: Reply(b"", 429, {"Retry-After": "7200"})
    with pytest.raises(UserError, match=r"status 429 \(attempt 1\)"):
        load_translator(block(service)).translate(["uno"], ["es"])


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


def test_nobody_listens(service, kind, monkeypatch):
    monkeypatch.setattr(http, "ATTEMPTS", 2)
    block, _ = kind
    with pytest.raises(UserError, match="the connection failed"):
        load_translator(block(service, base_url="http://127.0.0.1:9")).translate(["uno"], ["es"])


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_key_is_named_before_any_work(service, kind, value, monkeypatch):
    monkeypatch.delenv("A_KEY")
    if value is not None:
        monkeypatch.setenv("A_KEY", value)
    block, _ = kind
    with pytest.raises(UserError, match="needs an API key: set the environment variable A_KEY"):
        check_translator(block(service))


def test_an_unsendable_key_does_not_show_in_the_error(service, kind, monkeypatch):
    block, answer = kind
    monkeypatch.setenv("A_KEY", f"{SECRET}\nx")
    with pytest.raises(UserError, match="A_KEY") as error:
        check_translator(block(service))
    assert SECRET not in str(error.value)
    # What `$(cat file)` or an editor leaves at the end of a key is no part of it.
    monkeypatch.setenv("A_KEY", f" {SECRET}\r\n")
    service.reply = lambda number, body: answer(body)
    load_translator(block(service)).translate(["uno"], ["es"])
    assert any(SECRET in value for value in service.received[0].headers.values())


@pytest.mark.parametrize(
    "url", ["", "localhost:8000/v1", "ftp://host/v1", "http://", "http://a:b:c/"]
)
def test_a_url_that_is_none_is_refused(service, kind, url):
    block, _ = kind
    with pytest.raises(UserError, match=r"\.base_url is not an http"):
        check_translator(block(service, base_url=url))


CHECKS = """
from needlework.scoring.translators.base import check_translator

url = "https://host/v1"
check_translator({"kind": "none"})
check_translator({"kind": "nllb", "name": "some/model"})
check_translator({"kind": "google", "key_env": "A_KEY", "base_url": url})
check_translator({"kind": "llm", "name": "some-model", "key_env": "A_KEY", "base_url": url})
"""


def test_checks_need_the_standard_library_alone(root):
    environment = {"A_KEY": SECRET, "PYTHONPATH": str(root / "workflow" / "scripts")}
    # -S: none of the installed packages can be imported.
    subprocess.run([sys.executable, "-S", "-c", CHECKS], env=environment, check=True)


KILLED = """
import sys
from needlework.scoring.translation import translate
from needlework.scoring.translators import llm
from needlework.scoring.translators.base import load_translator

llm.Llm.batch_size = 4
texts = [f"Der Fluss Nummer {number} fließt durch die alte Stadt." for number in range(40)]
translator = load_translator(
    {"kind": "llm", "name": "some-model", "key_env": None, "base_url": sys.argv[1]}
)
for lang, text in translate(texts, translator, sys.argv[2]):
    print(lang, text)
"""


@pytest.mark.parametrize("status", [200, 400])
def test_broken_replies_give_one_sentence(service, monkeypatch, status):
    monkeypatch.setattr("needlework.scoring.translators.http.ATTEMPTS", 1)
    headers = {"Content-Type": "text/plain; charset=punycode", "Content-Encoding": "gzip"}
    for content in (b"\xff\xfeno", bytes(100_000_000)):
        service.reply = lambda number, body, content=content: Reply(
            gzip.compress(content), status, headers
        )
        with pytest.raises(UserError, match=r"the translator some-model .* failed: "):
            load_translator(llm(service)).translate(["gift"], ["de"])


@pytest.mark.slow
def test_a_killed_run_loses_only_what_was_under_way(service, tmp_path, root):
    command = [sys.executable, "-c", KILLED, service.url, str(tmp_path)]
    environment = os.environ | {
        "PYTHONPATH": str(root / "workflow" / "scripts"),
        "PYTHONIOENCODING": "utf-8",
    }
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
