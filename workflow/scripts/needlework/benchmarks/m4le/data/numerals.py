"""Numbers in words, as the prompts of topic retrieval write them."""

from __future__ import annotations

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_DIGITS = "零一二三四五六七八九"
_PLACES = ((1000, "千"), (100, "百"), (10, "十"))


def counted(n: int, lang: str) -> str:
    """A number from 0 to 9999 in English words ("sixty one") or Chinese ones ("六十一"), else in digits."""
    if lang == "zh":
        return _chinese(n)
    return _english(n) if lang == "en" else str(n)


def _english(n: int) -> str:
    if n < 20:
        return _UNITS[n]
    if n < 100:
        return _TENS[n // 10 - 2] + (f" {_UNITS[n % 10]}" if n % 10 else "")
    if n < 1000:
        return f"{_UNITS[n // 100]} hundred" + (f" and {_english(n % 100)}" if n % 100 else "")
    return f"{_english(n // 1000)} thousand" + (f", {_english(n % 1000)}" if n % 1000 else "")


def _chinese(n: int) -> str:
    if n < 10:
        return _DIGITS[n]
    if n < 20:
        return "十" + (_DIGITS[n % 10] if n % 10 else "")
    for place, name in _PLACES:
        if n >= place:
            rest = n % place
            # A missing place is read as one zero.
            gap = "零" if rest and rest < place // 10 else ""
            if rest and 10 <= rest < 20:
                return _DIGITS[n // place] + name + gap + "一" + _chinese(rest)
            return _DIGITS[n // place] + name + (gap + _chinese(rest) if rest else "")
    raise ValueError(n)
