"""Translation by an NLLB model (or another M2M100 model with FLORES language codes), run here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.errors import UserError, not_installed, reason
from needlework.scoring.translators.base import Translator

if TYPE_CHECKING:
    from needlework.settings.translation import NllbTranslator

# FLORES codes by ISO 639-1, for the languages of all benchmarks. NLLB knows no Latin Serbian.
FLORES = {
    "ar": "arb_Arab",
    "az": "azj_Latn",
    "cs": "ces_Latn",
    "da": "dan_Latn",
    "de": "deu_Latn",
    "el": "ell_Grek",
    "en": "eng_Latn",
    "es": "spa_Latn",
    "fa": "pes_Arab",
    "fi": "fin_Latn",
    "fr": "fra_Latn",
    "hi": "hin_Deva",
    "hu": "hun_Latn",
    "id": "ind_Latn",
    "it": "ita_Latn",
    "ja": "jpn_Jpan",
    "ko": "kor_Hang",
    "nl": "nld_Latn",
    "no": "nob_Latn",
    "pl": "pol_Latn",
    "pt": "por_Latn",
    "ro": "ron_Latn",
    "ru": "rus_Cyrl",
    "so": "som_Latn",
    "sr": "srp_Cyrl",
    "st": "sot_Latn",
    "sv": "swe_Latn",
    "sw": "swh_Latn",
    "ta": "tam_Taml",
    "th": "tha_Thai",
    "tr": "tur_Latn",
    "uk": "ukr_Cyrl",
    "vi": "vie_Latn",
    "zh": "zho_Hans",
}
# NLLB was trained on up to 512 tokens; a longer text is cut. A translation that runs away ends early.
MAX_SOURCE_TOKENS = 512
MAX_NEW_TOKENS = 256
# Greedy search.
BEAMS = 1


class Nllb(Translator):
    """The model under the keys `name` and `revision`. It takes the likeliest token at each step."""

    config: NllbTranslator
    batch_size = 32

    def identity(self) -> Mapping[str, object]:
        """The model, and how it searches for a translation."""
        return {
            "kind": "nllb",
            "name": self.config.name,
            "revision": self.config.revision,
            "beams": BEAMS,
            "max_tokens": [MAX_SOURCE_TOKENS, MAX_NEW_TOKENS],
        }

    def check(self) -> None:
        """Raise UserError if the model should be in a local folder and is not."""
        name = self.config.name
        local = Path(name).is_absolute() or name.startswith(".")
        if local and not Path(name, "config.json").is_file():
            raise UserError(
                f"the translator {self._where} is not a folder with a model (it has no config.json): "
                "correct translators.*.name."
            )

    def translate(self, texts: Sequence[str], languages: Sequence[str]) -> list[str]:
        """The texts in English. Texts in a language that NLLB does not know are unchanged."""
        translations = list(texts)
        for language in sorted(FLORES.keys() & set(languages)):
            places = [place for place, code in enumerate(languages) if code == language]
            english = self._from([texts[place] for place in places], FLORES[language])
            for place, text in zip(places, english, strict=True):
                translations[place] = text
        return translations

    def _from(self, texts: list[str], flores: str) -> list[str]:
        tokenizer, model = self._loaded
        import torch

        tokenizer.src_lang = flores
        inputs = tokenizer(
            texts, return_tensors="pt", padding=True, truncation=True, max_length=MAX_SOURCE_TOKENS
        ).to(model.device)
        with torch.inference_mode():
            output = model.generate(
                **inputs,
                forced_bos_token_id=tokenizer.convert_tokens_to_ids(FLORES["en"]),
                num_beams=BEAMS,
                do_sample=False,
                max_new_tokens=MAX_NEW_TOKENS,
            )
        return tokenizer.batch_decode(output, skip_special_tokens=True)

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        try:
            import torch
            from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
        except ImportError as error:
            raise not_installed(f"the translator {self._where}", error) from None
        name, device = self.config.name, self.config.device
        revision = None if Path(name).is_dir() else self.config.revision
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            tokenizer = AutoTokenizer.from_pretrained(name, revision=revision)
            model = AutoModelForSeq2SeqLM.from_pretrained(name, revision=revision)
            model = model.to(device).eval()
        except Exception as error:  # the libraries' own errors are many, and none is the user's
            raise UserError(
                f"the translator {self._where} cannot be loaded ({reason(error)}): check `name`, "
                "`revision` and `device`; without internet, set `name` to a local folder."
            ) from None
        return tokenizer, model

    @property
    def _where(self) -> str:
        return f"{self.config.name} (translators.*, kind nllb)"


TRANSLATOR = Nllb
