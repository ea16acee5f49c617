"""Translation: language identification, the cache, NLLB, and the ceiling."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from needlework.benchmarks.mlneedle import scores as released_mlneedle
from needlework.errors import UserError
from needlework.given import given
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
from needlework.scoring.translators.base import Translator, check_translator, load_translator
from needlework.scoring.translators.nllb import FLORES

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


@pytest.mark.slow
def test_languages_are_identified_by_the_codes_of_the_benchmarks():
    norwegian = "Jeg vet ikke hva svaret på spørsmålet er, men det står i teksten."
    assert identify([*SENTENCES.values(), norwegian]) == [*SENTENCES, "no"]
    unknown = ["", "  ", "1942", "19.42 %", "...", "🙂", "გამარჯობა"]
    assert identify(unknown) == ["und"] * len(unknown)


def test_only_what_is_foreign_is_translated_and_each_text_once(tmp_path):
    translator = Dictionary()
    texts = [SENTENCES["de"], SENTENCES["en"], "1942", "გამარჯობა", SENTENCES["de"], ""]
    assert translate(texts, translator, tmp_path) == [
        *(Translated("de", f"<{SENTENCES['de']}>"), Translated("en", SENTENCES["en"])),
        *(Translated("und", "1942"), Translated("und", "<გამარჯობა>")),
        *(Translated("de", f"<{SENTENCES['de']}>"), Translated("und", "")),
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


def questions(**answers: list[str]) -> pa.Table:
    rows = [{"example_id": name, "answers": texts} for name, texts in answers.items()]
    return pa.Table.from_pylist(rows, schema=QUESTIONS)


def test_the_ceiling_counts_the_gold_answers_that_survive(tmp_path):
    tables = {
        "en": questions(a=["the sea"], b=["Old Town", "the town"], c=["1942"]),
        "de": questions(a=["das Meer dort"], b=["die Altstadt"], c=["1942"], z=["x"]),
        "es": questions(b=["la ciudad vieja", "el pueblo viejo"]),
    }
    english = {
        **{"das Meer dort": "the ocean there", "die Altstadt": "the old town"},
        **{"la ciudad vieja": "the old city", "el pueblo viejo": "town, the"},
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
    *[("gift", "de", "poison"), ("gift", "sv", "married"), ("pan", "es", "bread")],
    *[("pan", "pl", "mister"), ("hola amigo mio", "es", "hello my friend")],
]


@pytest.fixture(scope="module")
def tiny_nllb(tmp_path_factory) -> Iterator[Path]:
    """A model of NLLB's architecture that was initialised at random and has learnt five texts."""
    import torch
    from transformers import M2M100Config, M2M100ForConditionalGeneration, NllbTokenizer

    # So small a model gains nothing by more threads.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    letters = sorted({c for text, _, english in NLLB_PAIRS for c in text + english} - {" "})
    vocabulary = ["<s>", "<pad>", "</s>", "<unk>", "▁", *letters]
    tokenizer = NllbTokenizer(
        vocab={token: place for place, token in enumerate(vocabulary)},
        merges=[],
        extra_special_tokens=sorted(FLORES.values()),
    )
    of_layers = {"layers": 1, "attention_heads": 2, "ffn_dim": 64, "layerdrop": 0}
    sizes = {f"{side}_{k}": n for side in ("encoder", "decoder") for k, n in of_layers.items()}
    none = dict.fromkeys(["dropout", "attention_dropout", "activation_dropout"], 0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
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
    yield folder
    torch.set_num_threads(threads)


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
