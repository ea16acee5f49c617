"""What says that there is no such number, in each of ONERULER's languages, and what only sounds like it."""

from __future__ import annotations

from pathlib import Path

import pytest

import factories.oneruler
from growth import assert_linear
from needlework.benchmarks.oneruler import strict
from needlework.benchmarks.oneruler.strict import says_none
from needlework.benchmarks.oneruler.wording import ANSWER_TAGS, Wording, phrases
from needlework.data import sentences

NONE_WORDS = phrases()

# Of each language, the word for "none" of the released prompts, other ways to say that there is no such
# number, and whole sentences of models: each needs a phrase, or a sign in one, that no other does.
NONE = {
    "cs": (
        "žádné",
        "Taková čísla v textu neexistují.",
        "V textu nejsou žádná taková čísla.",
        "V textu není žádné speciální magické číslo pro „jablko“.",
        "Text neobsahuje speciální kouzelné číslo pro „jablko“.",
        "Není zde zmínka o kouzelném čísle.",
    ),
    "da": (
        "ingen",
        "Der er ingen sådanne tal.",
        "Der er ingen særlige magiske tal forbundet med »æble« i teksten.",
        "De tal findes ikke.",
        "Der er ikke noget særligt magisk tal for »æble«.",
        "Teksten nævner ikke et særligt magisk tal.",
        "Jeg kan ikke finde et magisk tal for »æble«.",
        "»Æble« har ikke et særligt magisk tal.",
    ),
    "de": (
        "Keine vorhanden",
        "Es sind keine vorhanden.",
        "Im Text werden keine besonderen magischen Zahlen erwähnt, die mit «Apfel» verbunden sind.",
        "Zahlen, die mit «Apfel» verbunden sind, werden im Text nicht erwähnt.",
        "Es gibt keine spezielle magische Zahl für „Apfel“.",
        "Der Text enthält keine Zahl zu „Apfel“.",
        "Es gibt keine mit „Apfel“ verbundenen Zahlen.",
    ),
    "en": (
        "none",
        "There are no special magic numbers associated with “apple” in the text.",
        "The answer is none.",
        "The special magic numbers associated with apple are not mentioned.",
        "None of the numbers belongs to apple.",
        "Such numbers don’t exist.",
        "N/A",
        'There isn\'t a special magic number for "apple" in the text.',
        "The provided text doesn't contain a special magic number for “apple”.",
        "I cannot find a magic number for apple.",
    ),
    "es": (
        "ninguno",
        "No hay tales números.",
        "No existen números mágicos especiales asociados con «manzana».",
        "La respuesta es ninguno.",
        "No hay un número mágico especial para «manzana».",
        "El texto no menciona un número mágico para «manzana».",
        "«Manzana» no tiene un número mágico especial.",
        "No encuentro un número mágico en el texto.",
        "No hay ninguna mención de números mágicos.",
    ),
    "fa": (
        "هیچ کدام",
        "در متن هیچ عدد جادویی برای «سیب» وجود ندارد.",
        "متن به عدد جادویی خاصی برای «سیب» اشاره نمی‌کند.",
        "عددی برای «سیب» پیدا نکردم.",
    ),
    "fi": (
        "ei mikään",
        "Sellaisia numeroita ei ole.",
        "Tällaisia taikanumeroita ei ole olemassa.",
        'Annetussa tekstissä ei ole sanaan "omena" liittyviä erityisiä taikanumeroita.',
        "Teksti ei sisällä erityistä taikanumeroa sanalle ”omena”.",
        "En löydä tekstistä taikanumeroa.",
    ),
    "fr": (
        "aucun",
        "Il n'y a pas de tels nombres.",
        "De tels nombres n'existent pas.",
        "Il n'y a pas de numéro magique spécial pour « pomme ».",
        "Le texte ne mentionne pas un numéro magique pour « pomme ».",
        "« Pomme » n'a pas de nombre magique.",
        "Il n'y a aucune mention d'un nombre magique.",
    ),
    "hi": (
        "कोई नहीं",
        "ऐसी कोई संख्या नहीं है।",
        "कोई नंबर नहीं है।",
        "कोई संख्या नहीं बताई गई है",
        'पाठ में "सेब" के लिए कोई विशेष जादुई संख्या नहीं है।',
    ),
    "hu": (
        "nincs",
        "Nincs ilyen szám.",
        "Nincsenek ilyen számok a szövegben.",
        "Ilyen különleges varázsszámok nem szerepelnek a szövegben.",
        'A szövegben nincsenek "alma" szóhoz kapcsolódó különleges varázsszámok.',
        'A szövegben nem található az "alma" szóhoz kapcsolódó varázsszám.',
        "A szöveg nem említ varázsszámot az „alma” szóhoz.",
        "Az „alma” szóhoz nem tartozik varázsszám.",
        "Nem találok ilyen számot a szövegben.",
    ),
    "it": (
        "nessuno",
        "Non ci sono numeri di questo tipo.",
        "Non esistono tali numeri.",
        "Non esiste un numero magico speciale per «mela».",
        "Non c'è un numero magico speciale per «mela».",
        "Il testo non menziona un numero magico per «mela».",
        "«Mela» non ha un numero magico speciale.",
        "Non riesco a trovare un numero magico nel testo.",
    ),
    "ja": (
        "なし",
        "そのような数字はありません。",
        "「リンゴ」に関連する特別な魔法の数字は、上記のテキストにはありません。",
        "なしです。",
        "「リンゴ」に関する特別な数字はテキストに記載されていません。",
        "「リンゴ」の魔法の数字はありません。",
    ),
    "ko": (
        "없음",
        "해당되는 숫자가 없음",
        "글에 그런 번호가 없어요.",
        '텍스트에 "사과"에 대한 특별한 숫자가 없습니다.',
        "특별한 마법의 숫자를 찾을 수 없습니다.",
    ),
    "nl": (
        "geen",
        "Er zijn geen dergelijke getallen.",
        "Er worden geen speciale magische getallen genoemd.",
        "Het antwoord is geen.",
        "Geen, want het woord staat er niet in.",
        'Er is geen speciaal magisch getal voor "appel".',
        "De tekst bevat geen magisch getal voor “appel”.",
        "Er wordt geen speciaal getal genoemd.",
        "Er is geen vermelding van een magisch getal.",
    ),
    "no": (
        "ingen",
        "Det finnes ingen slike tall.",
        "Ingen spesielle magiske tall er nevnt i teksten.",
        "Slike tall finnes ikke.",
        "Teksten nevner ikke et spesielt magisk tall for «eple».",
        "Det finnes ikke et spesielt magisk tall for «eple».",
        "Det er ikke nevnt noe tall for «eple».",
    ),
    "pl": (
        "brak",
        "Nie ma takich liczb.",
        "Takich liczb nie ma w tekście.",
        "Brak, bo tekst o tym milczy.",
        "W tekście nie ma wzmianki o magicznych liczbach dla „jabłko”.",
        "Tekst nie zawiera specjalnej magicznej liczby dla „jabłko”.",
        "W tekście nie ma magicznej liczby dla „jabłko”.",
        "Nie znalazłem magicznej liczby w tekście.",
        "Tekst nie wspomina o magicznej liczbie.",
    ),
    "pt": (
        "nenhum",
        "Não há tais números.",
        "Nenhum número mágico especial é mencionado.",
        "A resposta é nenhum.",
        "Não há um número mágico especial para “maçã”.",
        "Não existe um número mágico para “maçã”.",
        "O texto não menciona um número mágico.",
        "“Maçã” não tem um número mágico especial.",
        "Não encontrei um número mágico no texto.",
    ),
    "ru": (
        "нет",
        "В тексте нет таких чисел.",
        "Нет, таких чисел в тексте нет.",
        "В тексте нет упоминаний о специальных магических числах.",
        "В тексте нет связанных с «яблоко» магических чисел.",
        "Я не нашёл магического числа в тексте.",
        "У «яблока» нет особого волшебного числа.",
    ),
    "sr": (
        "nema",
        "Takvi brojevi ne postoje.",
        "Такви бројеви не постоје.",
        "U tekstu nema magičnog broja za „jabuku“.",
        "Ne postoji poseban magičan broj za „jabuku“.",
        "Нема помена о бројевима.",
        "Нисам нашао посебан магични број.",
    ),
    "st": (
        "ha ho letho",
        "Ha ho dinomoro tse joalo.",
        "Ha ho nomoro e kgethehileng ya boselamose bakeng sa “apole”.",
        "Ha ho na nomoro ya “apole” temaneng.",
        "Nomoro ya “apole” ha e yo temaneng.",
        "Temana ha e bue ka nomoro ya “apole”.",
    ),
    "sv": (
        "inga",
        "Det finns inga sådana tal.",
        "Inga speciella magiska tal nämns i texten.",
        "Sådana tal finns inte.",
        "Texten nämner inte ett speciellt magiskt tal för ”äpple”.",
        "Det finns inte ett magiskt tal för ”äpple”.",
        "Jag kan inte hitta ett magiskt tal.",
        "”Äpple” har inte ett magiskt tal.",
    ),
    "sw": (
        "hakuna",
        "Hakuna nambari kama hizo.",
        "Jibu ni hakuna.",
        "Maandishi hayataji nambari yoyote.",
        "Hakuna nambari maalum ya uchawi kwa “tufaha”.",
        "Maandishi hayana nambari yoyote ya “tufaha”.",
    ),
    "ta": (
        "ஏதுமில்லை",
        "அத்தகைய எண்கள் இல்லை.",
        "உரையில் “ஆப்பிள்” உடன் தொடர்புடைய எண்கள் இல்லை.",
        "எந்த சிறப்பு மந்திர எண்ணும் குறிப்பிடப்படவில்லை.",
        "எண்கள் எதுவும் காணப்படவில்லை.",
        "“ஆப்பிள்” க்கான எண் கொடுக்கப்படவில்லை.",
    ),
    "uk": (
        "немає",
        "У тексті немає таких чисел.",
        "У тексті немає згадок про магічні числа.",
        "У тексті немає пов'язаних з «яблуко» магічних чисел.",
        "Я не знайшов магічного числа в тексті.",
    ),
    "vi": (
        "Không có",
        "Không có con số nào như vậy.",
        "Câu trả lời là không có.",
        "Văn bản không đề cập đến con số đặc biệt nào.",
        "Không có con số ma thuật nào cho “táo”.",
        "Không có một số ma thuật đặc biệt nào cho “táo”.",
    ),
    "zh": (
        "无",
        "文中无相关数字。",
        "答案是无。",
        "无，因为文中只有别的词。",
        "没有",
        "文本中并没有“苹果”的特殊数字",
        "文中没有提到任何数字。",
        "文中不存在与“苹果”相关的魔法数字。",
        "找不到“苹果”的魔法数字。",
    ),
}

# What says that the answer is not known, other negations, and doubt beside the word for number.
OTHER = {
    "cs": (
        "Nevím.",
        "Nemám žádnou představu.",
        "O tom čísle není pochyb.",
    ),
    "da": (
        "Jeg ved det ikke.",
        "Jeg har ingen anelse.",
        "Der er ingen tvivl om tallet.",
        "Jeg husker ikke tallet.",
    ),
    "de": (
        "Ich weiß es nicht.",
        "Ich habe keine Ahnung.",
        "Es gibt keine Möglichkeit, das zu sagen.",
        "Es gibt keinen Zweifel an der Zahl.",
    ),
    "en": (
        "I do not know.",
        "I don't know the number.",
        "There is no doubt about the number.",
    ),
    "es": (
        "No lo sé.",
        "No tengo ninguna idea.",
        "No hay duda sobre el número.",
    ),
    "fa": (
        "نمی‌دانم.",
        "هیچ ایده‌ای ندارم.",
        "راهی برای دانستن آن وجود ندارد.",
        "در مورد عدد شکی نیست.",
    ),
    "fi": (
        "En tiedä.",
        "Minulla ei ole aavistustakaan.",
        "Numerosta ei ole epäilystäkään.",
        "En muista numeroa.",
    ),
    "fr": (
        "Je ne sais pas.",
        "Je n'ai aucune idée.",
        "Il n'y a aucun moyen de le savoir.",
        "Il n'y a pas de doute sur le nombre.",
        "Je ne connais pas le nombre.",
    ),
    "hi": (
        "मुझे पता नहीं है",
        "मुझे नहीं पता।",
        "संख्या में कोई संदेह नहीं है।",
        "मुझे संख्या याद नहीं।",
    ),
    "hu": (
        "Nem tudom.",
        "Fogalmam sincs.",
        "Nincs kétség a szám felől.",
    ),
    "it": (
        "Non lo so.",
        "Non c'è modo di saperlo.",
        "Non c'è dubbio sul numero.",
        "Non ricordo il numero.",
    ),
    "ja": (
        "わからない",
        "わかりません。",
        "数字がわからない。",
        "数字ではない",
        "数字に間違いありません。",
    ),
    "ko": (
        "알 수 없습니다",
        "알 수 없음",
        "숫자를 알 수 없습니다.",
        "숫자는 틀림없습니다.",
    ),
    "nl": (
        "Ik weet het niet.",
        "Ik heb geen idee.",
        "Er is geen twijfel over het getal.",
        "Ik herinner me het getal niet.",
    ),
    "no": (
        "Jeg vet ikke.",
        "Jeg har ingen anelse.",
        "Det er ingen tvil om tallet.",
        "Jeg husker ikke tallet.",
    ),
    "pl": (
        "Nie wiem.",
        "Nie mam pojęcia.",
        "Nie ma wątpliwości co do liczby.",
    ),
    "pt": (
        "Não sei.",
        "Não faço ideia.",
        "Não há dúvida sobre o número.",
        "Não me lembro do número.",
    ),
    "ru": (
        "Я не знаю.",
        "Не знаю.",
        "Нет сомнений в числе.",
        "Я не помню числа.",
    ),
    "sr": (
        "Ne znam.",
        "Не знам.",
        "Нема начина.",
        "Nema sumnje u broj.",
        "Не сећам се броја.",
    ),
    "st": (
        "Ha ke tsebe.",
        "Ha ke hopole nomoro.",
    ),
    "sv": (
        "Jag vet inte.",
        "Jag har ingen aning.",
        "Det råder ingen tvekan om talet.",
        "Jag minns inte talet.",
    ),
    "sw": (
        "Sijui.",
        "Hakuna njia ya kujua.",
        "Hakuna shaka kuhusu nambari.",
    ),
    "ta": (
        "எனக்குத் தெரியாது.",
        "எனக்குத் தெரியவில்லை.",
        "எண் பற்றி சந்தேகம் இல்லை.",
        "எண் நினைவில் இல்லை.",
    ),
    "uk": (
        "Я не знаю.",
        "У мене немає відповіді.",
        "Немає сумнівів щодо числа.",
        "Я не пам'ятаю числа.",
    ),
    "vi": (
        "Tôi không biết.",
        "Tôi không có câu trả lời.",
        "Không có nghi ngờ gì về con số.",
    ),
    "zh": (
        "我没有看懂问题",
        "我不知道。",
        "我没有办法确定数字。",
        "无数次",
        "数字没有问题。",
    ),
}


def rated(lang: str, text: str, expected: str | None = None) -> tuple[float, str]:
    """As the None-NIAH task rates it, where the prompt's own word for none is `expected`."""
    own = NONE[lang][0] if expected is None else expected
    return strict.score_none(strict.answer(text, ANSWER_TAGS), (*NONE_WORDS[lang], own))


def test_every_language_is_here():
    assert set(NONE) == set(OTHER) == set(NONE_WORDS) and len(NONE) == 26


@pytest.mark.parametrize("lang", NONE)
def test_it_says_that_there_is_no_such_number(lang):
    for text in NONE[lang]:
        tagged = (f"<answer>{text}</answer>", f"<Answer>\n{text}")
        for said in (text, text.upper(), f"**{text}**", *tagged):
            assert rated(lang, said) == (1.0, "correct"), said
            read = strict.answer(said, ANSWER_TAGS)
            numbers = strict.score_numbers(read, ["1234567"], NONE_WORDS[lang])
            assert numbers == (0.0, "none_error"), said


@pytest.mark.parametrize("lang", OTHER)
def test_it_says_nothing_of_the_kind(lang):
    for text in OTHER[lang]:
        for said in (text, text.upper(), f"<answer>{text}</answer>"):
            assert rated(lang, said) == (0.0, "no_number"), said
            read = strict.answer(said, ANSWER_TAGS)
            numbers = strict.score_numbers(read, ["1234567"], NONE_WORDS[lang])
            assert numbers == (0.0, "no_number"), said


@pytest.mark.parametrize("lang", NONE_WORDS)
def test_a_word_that_stands_by_itself(lang):
    for wording in NONE_WORDS[lang]:
        for word in wording.alone.split("; "):
            for text in (word, f'"{word.upper()}".', f"({word})", f"?\n- {word}", f"? – {word}"):
                assert rated(lang, text) == (1.0, "correct"), text


def test_a_prompts_own_word_counts_as_worded():
    assert rated("nl", "Ik heb geen idee.", "geen") == (0.0, "no_number")
    assert rated("nl", "Ik heb nul idee.", "nul") == (1.0, "correct")


def test_a_plain_phrase_is_no_pattern():
    assert says_none("It is (nil?).", ["nil?)*|"])
    assert not says_none("nilx", ["nil*"]) and not says_none("other", ["."])


def test_a_few_words_end_with_a_comma():
    wording = Wording("number", "such", "none", "lacks ~#; no #")
    for text in ("It lacks a fine such number", "lacks number", "It lacks a b c d e f number"):
        assert says_none(text, [wording]), text
    for text in ("It lacks wit, a number", "lacks a b c d e f g number", "no fine number"):
        assert not says_none(text, [wording]), text


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "None of the others, but for apple it is 12345."),
        ("en", "There is no doubt that the number is 12345."),
        ("de", "Keine anderen Zahlen als 12345."),
        ("ru", "Нет других чисел, кроме 12345."),
        ("zh", "没有其他数字，只有12345。"),
        ("hi", "कोई और संख्या नहीं है, केवल १२३४५।"),
    ],
)
def test_an_answer_that_names_a_number_is_not_none(lang, text):
    assert rated(lang, text) == (0.0, "wrong_number")
    assert strict.score_numbers(text, ["12345"], NONE_WORDS[lang]) == (1.0, "correct")


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
def test_a_repeating_answer_is_read_in_linear_time(lang):
    wording = NONE_WORDS[lang][0]
    such = wording.such.replace("*", "").replace(";", "")
    number = wording.number.replace("*", "").split("; ")[0]

    def work(count: int) -> None:
        for part in (f"{such} ", such.split()[-1], f"{number} ", f"{number} {such} ,"):
            says_none(part * count, NONE_WORDS[lang])

    assert_linear(work, 30)


@pytest.mark.parametrize("lang", NONE_WORDS)
def test_sentences_of_a_book_do_not_say_it(mirror, lang):
    """A hundredth at the most: "Nothing.", "I have none."; of bare negations there are many."""
    (book,) = factories.oneruler.files(mirror, "oneruler_books", lang)
    text = Path(book).read_text(encoding="utf-8")[:60_000]
    found = sentences.split(text, sentences.rules(lang))
    assert sum(says_none(sentence, NONE_WORDS[lang]) for sentence in found) <= 0.01 * len(found)
