"""English names of languages, in tables and figures.

It is separate from the modules that build prompts, so that a further name does not rebuild prompts.
"""

from __future__ import annotations

LANGUAGE_NAMES = {
    "ar": "Arabic",
    "az": "Azerbaijani",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "hi": "Hindi",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "multilingual": "Multilingual",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "so": "Somali",
    "sr": "Serbian",
    "st": "Sesotho",
    "sv": "Swedish",
    "sw": "Swahili",
    "ta": "Tamil",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}


def language_name(code: str) -> str:
    """The English name of a language, or its code if the name is unknown."""
    return LANGUAGE_NAMES.get(code, code)
