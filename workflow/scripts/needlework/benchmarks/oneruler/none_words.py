"""How each language says "none", and the name of its answer tag.

A word counts as a word of its own (`metrics.oneruler_strict.says_none`), so its inflected forms are
listed. The first of a language is the released prompt's. Bare negations ("no", "ne") are left out:
they stand in too many answers that say something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from needlework.errors import UserError

NONE_WORDS: dict[str, tuple[str, ...]] = {
    "cs": (
        *("žádné", "žádná", "žádný", "žádného", "žádnou", "nic", "není", "nejsou", "neexistují"),
        *("neexistuje", "neuvedeno"),
    ),
    "da": ("ingen", "intet", "ikke nogen", "findes ikke", "ikke nævnt"),
    "de": (
        *("keine vorhanden", "keine", "kein", "keiner", "keines", "keinen", "nicht vorhanden"),
        *("nicht erwähnt", "nichts"),
    ),
    "en": (
        *("none", "nothing", "no such", "no special", "no magic", "no number", "no numbers"),
        *("there are no", "there is no", "not mentioned", "not found", "n/a"),
    ),
    "es": (
        *("ninguno", "ninguna", "ningún", "nada", "no hay", "no existe", "no existen"),
        *("no se menciona", "no se mencionan", "no aparece", "no aparecen"),
    ),
    "fa": (
        *("هیچ کدام", "هیچ‌کدام", "هیچکدام", "هیچ", "هیچ‌یک", "هیچ یک", "وجود ندارد", "وجود ندارند"),
        *("ندارد", "موجود نیست"),
    ),
    "fi": (
        *("ei mikään", "ei mitään", "ei yhtään", "ei ole", "ei löydy", "ei mainita"),
        *("ei mainittu", "ei esiinny", "eivät esiinny", "ei löytynyt"),
    ),
    "fr": (
        *("aucun", "aucune", "aucuns", "aucunes", "rien", "néant", "n'existe pas"),
        *("n'existent pas", "il n'y a pas"),
    ),
    "hi": ("कोई नहीं", "कोई भी नहीं", "कुछ नहीं", "कोई संख्या नहीं", "नहीं है", "नहीं हैं"),
    "hu": ("nincs", "nincsenek", "nincsen", "semmi", "egyik sem", "egy sem", "nem található"),
    "it": (
        *("nessuno", "nessuna", "nessun", "niente", "nulla", "non ci sono", "non c'è"),
        *("non esistono", "non esiste"),
    ),
    "ja": ("なし", "無し", "ありません", "存在しません", "存在しない", "ない", "無"),
    "ko": ("없음", "없습니다", "없다", "없어요", "없는", "없으며", "존재하지"),
    "nl": ("geen", "geen enkel", "geen enkele", "niets", "niet vermeld", "niet aanwezig"),
    "no": ("ingen", "ingenting", "intet", "ikke noen", "finnes ikke", "ikke nevnt"),
    "pl": (
        *("brak", "żaden", "żadna", "żadne", "żadnych", "żadnego", "nic", "nie ma"),
        *("nie istnieje", "nie istnieją", "nie występują"),
    ),
    "pt": (
        *("nenhum", "nenhuma", "nenhuns", "nada", "não há", "não existe", "não existem"),
        *("inexistente", "não são mencionados"),
    ),
    "ru": (
        *("нет", "никакой", "никакие", "никаких", "ничего", "ни одного", "ни одно"),
        *("отсутствует", "отсутствуют", "не существует", "не упоминается", "не упоминаются"),
    ),
    # Instructions and answers come in both alphabets.
    "sr": (
        *("nema", "nijedan", "nijedna", "nijedno", "nikakvi", "ništa", "ne postoji", "ne postoje"),
        *("нема", "ниједан", "ниједна", "ниједно", "никакви", "ништа", "не постоји", "не постоје"),
    ),
    "st": ("ha ho letho", "ha ho", "ha e yo", "ha di yo", "ha li eo", "ha e eo", "ha di teng"),
    "sv": ("inga", "ingen", "inget", "ingenting", "finns inte", "nämns inte"),
    "sw": ("hakuna", "hamna", "hazipo", "haipo", "hakuna chochote", "hazijatajwa"),
    "ta": ("ஏதுமில்லை", "ஏதும் இல்லை", "எதுவுமில்லை", "எதுவும் இல்லை", "இல்லை", "ஒன்றுமில்லை"),
    "uk": (
        *("немає", "нема", "жодного", "жодне", "жодних", "жоден", "нічого", "відсутні"),
        *("відсутнє", "не існує", "не згадується", "не згадуються"),
    ),
    "vi": ("không có", "không tồn tại", "không được đề cập", "chẳng có"),
    "zh": (
        "无",
        "無",
        "没有",
        "沒有",
        "不存在",
        "未提及",
        "未提到",
        "未找到",
        "并无",
        "无此",
        "无任何",
        "无相关",
    ),
}

# <Answer> ... </Answer> as the released prompts ask for it, and as models write it in any language.
ANSWER_TAGS = (
    *("answer", "odpověď", "svar", "antwort", "respuesta", "پاسخ", "vastaus", "réponse", "उत्तर"),
    *("válasz", "risposta", "答え", "答案", "답변", "antwoord", "odpowiedź", "resposta", "ответ"),
    *("odgovor", "одговор", "karabo", "jibu", "விடை", "відповідь", "câu trả lời"),
)


def check(languages: Iterable[str], more: Mapping[str, Sequence[str]]) -> None:
    """Raises UserError where one of the instructions' `languages` has no word for "none".

    `more` are the configured words by language, beside those above.
    """
    for lang in languages:
        if not (NONE_WORDS.get(lang) or more.get(lang)):
            raise UserError(
                f"benchmarks.oneruler.none_words has no words for the language {lang!r}, and it is not "
                f"among the known ones ({', '.join(sorted(NONE_WORDS))}): give the word or words that "
                "say in an answer that there is no such number."
            )
