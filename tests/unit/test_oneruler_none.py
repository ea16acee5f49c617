"""What says that there is no such number, in each of ONERULER's languages, and what only sounds like it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import oneruler_data
from needlework import sentences
from needlework.benchmarks.oneruler.none_words import ANSWER_TAGS, NONE_WORDS
from needlework.metrics import oneruler_strict as strict
from needlework.metrics.oneruler_none import says_none
from needlework.metrics.oneruler_wording import Wording

# The word for "none" of the released prompts, and other ways to say that there is no such number.
NONE = {
    "cs": (
        "žádné",
        "Taková čísla v textu neexistují.",
        "V textu nejsou žádná taková čísla.",
        "V poskytnutém textu nejsou uvedena žádná speciální kouzelná čísla spojená se slovem „jablko“.",
        "Odpověď: žádné",
    ),
    "da": (
        "ingen",
        "Der er ingen sådanne tal.",
        "Der er ingen særlige magiske tal forbundet med »æble« i teksten.",
        "De tal findes ikke.",
        "Svaret er ingen.",
    ),
    "de": (
        "Keine vorhanden",
        "Es gibt keine solchen Zahlen.",
        "Es sind keine vorhanden.",
        "Im Text werden keine besonderen magischen Zahlen erwähnt, die mit «Apfel» verbunden sind.",
        "Zahlen, die mit «Apfel» verbunden sind, werden im Text nicht erwähnt.",
        "Es gibt keine.",
    ),
    "en": (
        "none",
        "There is no such number.",
        "There are no special magic numbers associated with “apple” in the text.",
        "The answer is none.",
        "The text does not mention any special magic number for apple.",
        "The special magic numbers associated with apple are not mentioned.",
        "No numbers were found.",
        "None of the numbers belongs to apple.",
        "Such numbers don’t exist.",
        "N/A",
    ),
    "es": (
        "ninguno",
        "No hay tales números.",
        "No existen números mágicos especiales asociados con «manzana».",
        "No se menciona ningún número mágico especial.",
        "La respuesta es ninguno.",
        "No hay ninguno.",
    ),
    "fa": (
        "هیچ کدام",
        "هیچ‌کدام",
        "چنین عددی وجود ندارد.",
        "هیچ عدد جادویی خاصی در متن ذکر نشده است.",
        "پاسخ: هیچ‌کدام",
    ),
    "fi": (
        "ei mikään",
        "Sellaisia numeroita ei ole.",
        "Tekstissä ei mainita tällaisia numeroita.",
        "Tällaisia taikanumeroita ei ole olemassa.",
        "Vastaus on: ei mikään",
    ),
    "fr": (
        "aucun",
        "Il n'y a pas de tels nombres.",
        "Aucun numéro magique spécial n’est mentionné dans le texte.",
        "Il n’existe aucun nombre de ce genre.",
        "De tels nombres n'existent pas.",
        "La réponse est « aucun ».",
        "Il n'y en a aucun.",
    ),
    "hi": (
        "कोई नहीं",
        "ऐसी कोई संख्या नहीं है।",
        "ऐसी कोई विशेष जादुई संख्या मौजूद नहीं है।",
        'पाठ में "सेब" से संबंधित किसी भी विशेष जादुई संख्या का उल्लेख नहीं है।',
        "उत्तर: कोई नहीं",
        "कोई नंबर नहीं है।",
    ),
    "hu": (
        "nincs",
        "Nincs ilyen szám.",
        "Nincsenek ilyen számok a szövegben.",
        "Ilyen szám nincs a szövegben.",
        "Ilyen különleges varázsszámok nem szerepelnek a szövegben.",
        "A válasz: nincs.",
    ),
    "it": (
        "nessuno",
        "Non ci sono numeri di questo tipo.",
        "Non esistono tali numeri.",
        "Nel testo non viene citato nessun numero magico speciale relativo a «mela».",
        "La risposta è “nessuno”.",
        "Non ce ne sono.",
    ),
    "ja": (
        "なし",
        "そのような数字はありません。",
        "該当する数字はない",
        "「リンゴ」に関連する特別な魔法の数字は、上記のテキストにはありません。",
        "該当なし",
        "該当する数字は存在しません。",
        "答えは「なし」です。",
        "なしです。",
        "該当する数字は見つかりませんでした。",
    ),
    "ko": (
        "없음",
        "그런 숫자는 없습니다.",
        "해당되는 숫자가 존재하지 않습니다.",
        '주어진 글에 "사과"에 대한 특별한 마법의 숫자가 언급되지 않았습니다.',
        "해당되는 숫자가 없음",
        "답: 없음",
        "해당 없음",
        "글에 그런 번호가 없어요.",
    ),
    "nl": (
        "geen",
        "Er zijn geen dergelijke getallen.",
        "Er worden geen speciale magische getallen genoemd.",
        "Zulke nummers bestaan niet.",
        "Antwoord: geen",
        "Het antwoord is geen.",
        "Geen, want het woord staat er niet in.",
    ),
    "no": (
        "ingen",
        "Det finnes ingen slike tall.",
        "Ingen spesielle magiske tall er nevnt i teksten.",
        "Slike tall finnes ikke.",
        "Svaret er ingen.",
    ),
    "pl": (
        "brak",
        "Nie ma takich liczb.",
        "Takich liczb nie ma w tekście.",
        "Takie liczby nie istnieją.",
        "W podanym tekście nie wspomniano żadnych specjalnych magicznych liczb.",
        "Brak takich liczb.",
        "Odpowiedź: brak",
        "Brak, bo tekst o tym milczy.",
    ),
    "pt": (
        "nenhum",
        "Não há tais números.",
        "Não existem números mágicos especiais associados a “maçã”.",
        "Nenhum número mágico especial é mencionado.",
        "A resposta é nenhum.",
        "Esses números não existem.",
    ),
    "ru": (
        "нет",
        "Таких чисел нет.",
        "В тексте нет таких чисел.",
        "Чисел, связанных с ключом «яблоко», в тексте нет.",
        "Особые волшебные числа для ключа «яблоко» не упоминаются.",
        "Таких чисел не существует.",
        "Ответ: «нет».",
        "Нет, таких чисел в тексте нет.",
    ),
    "sr": (
        "nema",
        "Nema takvih brojeva.",
        "Нема таквих бројева.",
        "Takvi brojevi ne postoje.",
        "Такви бројеви не постоје.",
        "Посебни магични бројеви нису поменути у тексту.",
        "Odgovor: nema",
    ),
    "st": (
        "ha ho letho",
        "Ha ho dinomoro tse joalo.",
        "Karabo: ha ho letho",
    ),
    "sv": (
        "inga",
        "Det finns inga sådana tal.",
        "Inga speciella magiska tal nämns i texten.",
        "Sådana tal finns inte.",
        "Svaret: inga",
        "Det finns inga.",
    ),
    "sw": (
        "hakuna",
        "Hakuna nambari kama hizo.",
        "Nambari hizo hazijatajwa katika maandishi.",
        "Jibu ni hakuna.",
    ),
    "ta": (
        "ஏதுமில்லை",
        "அத்தகைய எண்கள் எதுவும் இல்லை.",
        "அத்தகைய எண்கள் இல்லை.",
        "விடை: ஏதுமில்லை",
    ),
    "uk": (
        "немає",
        "Таких чисел немає.",
        "У тексті немає таких чисел.",
        "Особливі чарівні числа не згадуються.",
        "Таких чисел не існує.",
        "Відповідь: немає",
    ),
    "vi": (
        "Không có",
        "Không có con số nào như vậy.",
        "Không có số ma thuật đặc biệt nào liên quan đến “táo”.",
        "Con số này không được đề cập trong văn bản.",
        "Câu trả lời là không có.",
    ),
    "zh": (
        "无",
        "無",
        "没有这样的数字。",
        "文中无相关数字。",
        "这样的数字不存在。",
        "文中没有与“苹果”有关的魔法数字。",
        "文本中未提及与“苹果”有关的数字。",
        "答案是无。",
        "无，因为文中只有别的词。",
        "没有",
    ),
}

# What says that the answer is not known, and other negations of something else than a number.
OTHER = {
    "cs": ("Nevím.", "Nemám žádnou představu.", "Není možné odpovědět.", "Nic o tom nevím."),
    "da": ("Jeg ved det ikke.", "Jeg har ingen anelse.", "Det er ikke muligt at svare."),
    "de": (
        "Ich weiß es nicht.",
        "Ich habe keine Ahnung.",
        "Es gibt keine Möglichkeit, das zu sagen.",
        "Dazu kann ich nichts sagen.",
    ),
    "en": (
        "I do not know.",
        "I don't know the number.",
        "I have no idea.",
        "There is no way to tell.",
        "There is no answer that I can give.",
        "I cannot find the answer.",
        "I have not found it.",
        "Nothing I can say.",
        "That is not a number.",
        "I have no idea which number is meant.",
    ),
    "es": (
        "No lo sé.",
        "No tengo ninguna idea.",
        "No hay manera de saberlo.",
        "No existe forma de saberlo.",
        "No sé nada de eso.",
    ),
    "fa": ("نمی‌دانم.", "هیچ ایده‌ای ندارم.", "راهی برای دانستن آن وجود ندارد.", "پاسخی ندارم."),
    "fi": ("En tiedä.", "Minulla ei ole aavistustakaan.", "Vastaaminen ei ole mahdollista."),
    "fr": (
        "Je ne sais pas.",
        "Je n'ai aucune idée.",
        "Il n'y a aucun moyen de le savoir.",
        "Il n’existe pas de moyen de le savoir.",
        "Je n'en sais rien.",
    ),
    "hi": (
        "मुझे पता नहीं है",
        "मुझे नहीं पता।",
        "मैं नहीं जानता।",
        "मुझे कोई जानकारी नहीं है।",
        "मुझे कुछ नहीं पता।",
        "मुझे वह संख्या पता नहीं है।",
    ),
    "hu": ("Nem tudom.", "Fogalmam sincs.", "Nincs ötletem.", "Nincs rá válaszom."),
    "it": (
        "Non lo so.",
        "Non c'è modo di saperlo.",
        "Non ne ho nessuna idea.",
        "Non ne so niente.",
        "Non ci sono informazioni sufficienti.",
    ),
    "ja": (
        "わからない",
        "わかりません。",
        "答えられない。",
        "間違いありません",
        "少ない",
        "数字がわからない。",
        "数字ではない",
        "知らない",
        "申し訳ありません。",
        "無理です",
    ),
    "ko": (
        "알 수 없습니다",
        "알 수 없음",
        "모르겠습니다.",
        "답할 수 없습니다.",
        "숫자를 알 수 없습니다.",
        "끝없음",
        "틀림없습니다.",
        "문제 없습니다.",
    ),
    "nl": ("Ik weet het niet.", "Ik heb geen idee.", "Er is geen manier om dat te weten."),
    "no": ("Jeg vet ikke.", "Jeg har ingen anelse.", "Det er ikke mulig å si."),
    "pl": ("Nie wiem.", "Nie mam pojęcia.", "Nie ma sposobu, by to stwierdzić.", "Nic nie wiem."),
    "pt": ("Não sei.", "Não faço ideia.", "Não há como saber.", "Não tenho nenhuma ideia."),
    "ru": (
        "Я не знаю.",
        "Не знаю.",
        "У меня нет ответа.",
        "Нет, я не знаю.",
        "Нет возможности ответить.",
        "Я ничего не знаю.",
    ),
    "sr": ("Ne znam.", "Не знам.", "Nemam pojma.", "Nema načina da se to sazna.", "Нема начина."),
    "st": ("Ha ke tsebe.",),
    "sv": ("Jag vet inte.", "Jag har ingen aning.", "Det finns inget sätt att veta."),
    "sw": ("Sijui.", "Hakuna njia ya kujua."),
    "ta": ("எனக்குத் தெரியாது.", "எனக்குத் தெரியவில்லை."),
    "uk": ("Я не знаю.", "У мене немає відповіді.", "Немає можливості відповісти."),
    "vi": (
        "Tôi không biết.",
        "Tôi không có câu trả lời.",
        "Không có cách nào để biết.",
    ),
    "zh": (
        "我没有看懂问题",
        "我不知道。",
        "我无法回答这个问题",
        "没有足够的信息。",
        "我没有办法确定数字。",
        "无数次",
    ),
}


def pairs(table):
    return [(lang, text) for lang, texts in table.items() for text in texts]


def rated(lang: str, text: str, expected: str | None = None) -> tuple[float, str]:
    """As the None-NIAH task rates it, where the prompt's own word for none is `expected`."""
    own = NONE[lang][0] if expected is None else expected
    return strict.score_none(strict.answer(text, ANSWER_TAGS), (*NONE_WORDS[lang], own))


def test_every_language_is_here():
    assert set(NONE) == set(OTHER) == set(NONE_WORDS) and len(NONE) == 26


@pytest.mark.parametrize(("lang", "text"), pairs(NONE))
def test_it_says_that_there_is_no_such_number(lang, text):
    for said in (
        text,
        text.upper(),
        f"**{text}**",
        f"<answer>{text}</answer>",
        f"<Answer>\n{text}",
    ):
        assert rated(lang, said) == (1.0, "correct"), said
        read = strict.answer(said, ANSWER_TAGS)
        assert strict.score_numbers(read, ["1234567"], NONE_WORDS[lang]) == (0.0, "none_error")


@pytest.mark.parametrize(("lang", "text"), pairs(OTHER))
def test_it_says_nothing_of_the_kind(lang, text):
    for said in (text, text.upper(), f"<answer>{text}</answer>"):
        assert rated(lang, said) == (0.0, "no_number"), said
        read = strict.answer(said, ANSWER_TAGS)
        assert strict.score_numbers(read, ["1234567"], NONE_WORDS[lang]) == (0.0, "no_number")


@pytest.mark.parametrize("lang", NONE_WORDS)
def test_a_word_that_stands_by_itself(lang):
    for wording in NONE_WORDS[lang]:
        for word in wording.alone.split("; "):
            for text in (word, f'"{word.upper()}".', f"({word})", f"?\n- {word}", f"? – {word}"):
                assert rated(lang, text) == (1.0, "correct"), text


def test_a_prompt_s_own_word_counts_as_the_wording_has_it():
    assert rated("nl", "Ik heb geen idee.", "geen") == (0.0, "no_number")
    assert rated("nl", "Ik heb nul idee.", "nul") == (1.0, "correct")


def test_a_plain_phrase_is_no_pattern():
    assert says_none("It is (nil?).", ["nil?)*|"])
    assert not says_none("nilx", ["nil*"]) and not says_none("other", ["."])


def test_a_phrase_ends_with_its_sentence():
    wording = Wording("number", "such", "none", "no #; number… missing.; ^nil.")
    for text in ("No such such number", "The number is, alas, missing, sorry.", "“None!” Nil, so"):
        assert says_none(text, [wording]), text
    for text in (
        "No. Number it.",
        "The number is missing two digits.",
        "number. missing",
        "None yet",
        "It is nil, or nil",
        "Nil it is",
    ):
        assert not says_none(text, [wording]), text


@pytest.mark.parametrize("lang", NONE_WORDS)
def test_an_answer_that_repeats_itself_is_read_in_no_time(lang):
    wording = NONE_WORDS[lang][0]
    such = wording.such.replace("*", "").replace(";", "")
    number = wording.number.replace("*", "").split("; ")[0]
    began = time.perf_counter()
    for part in (f"{such} ", such.split()[-1], f"{number} ", f"{number} {such} ,"):
        says_none(part * 300, NONE_WORDS[lang])
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize("lang", NONE_WORDS)
def test_sentences_of_a_book_do_not_say_it(mirror, lang):
    """A hundredth at the most: "Nothing.", "I have none."; of bare negations there are many."""
    (book,) = oneruler_data.files(mirror, "oneruler_books", lang)
    text = Path(book).read_text(encoding="utf-8")[:60_000]
    found = sentences.split(text, sentences.rules(lang))
    assert sum(says_none(sentence, NONE_WORDS[lang]) for sentence in found) <= 0.01 * len(found)
