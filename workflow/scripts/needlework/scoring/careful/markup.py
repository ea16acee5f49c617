"""An answer without the signs of layout around and inside its words: HTML, Markdown, LaTeX, citations."""

from __future__ import annotations

import html
import re

# Without any of these, nothing is removed.
_ANY = re.compile("[<>&*_`#\\\\$|\u20e3\ufe0f【†¹²³⁰⁴-⁹\u200b-\u200f\u2060\ufeff~^\\[]")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,60}>")
_BREAK = re.compile(r"<(?:br|p|li|div|tr|/p|/li|/div|/tr)\s*/?>", re.IGNORECASE)
_CITATION = re.compile(r"【[^】\n]{0,80}】|\[\^?\d{1,3}\](?=[\s.,;:)]|$)")
_SUPERSCRIPT = re.compile("(?<=[\\w.)])[¹²³⁰⁴-⁹]+")
_LATEX_TEXT = re.compile(r"\\(?:text|textbf|mathbf|mathrm|boxed|emph|textit|mathit)\s*(?=\{)")
# 1{,}234 1\,234 1\ 234
_LATEX_GROUP = re.compile(r"\{([,.])\}|\\([,;: !])")
_LATEX_SIGNS = re.compile(r"\\[()\[\]]|[{}$]")
_EMPHASIS = re.compile(r"\*+|`+|~~+|(?<![^\W_])_+|_+(?![^\W_])")
_LINE_START = re.compile(r"(?m)^[ \t]*(?:#{1,6} |>+ |[-•–] )")
_LINK = re.compile(r"\[([^\]\n]{1,200})\]\([^)\s]{1,300}\)")
_INVISIBLE = re.compile("[\u200b\u200d-\u200f\u2060\ufeff\ufe0f\u20e3]")


def plain(text: str) -> str:
    """`text` without layout; a number's groups stay together."""
    if not _ANY.search(text):
        return text
    if "&" in text:
        text = html.unescape(text)
    if "<" in text:
        text = _TAG.sub(" ", _BREAK.sub("\n", text))
    if not text.isascii():
        text = _SUPERSCRIPT.sub("", _INVISIBLE.sub("", text))
    if "【" in text or "[" in text:
        text = _CITATION.sub("", _LINK.sub(r"\1", text))
    if "\\" in text or "$" in text:
        text = _LATEX_GROUP.sub(lambda sign: sign[1] or " ", _LATEX_TEXT.sub("", text))
        text = _LATEX_SIGNS.sub("", text)
    return _EMPHASIS.sub("", _LINE_START.sub("", text))
