"""Sentences: checked by hand in every language of ONERULER, and what holds of any text."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from typing import NamedTuple

import pytest

from growth import assert_linear
from needlework.data import sentences
from needlework.data.corpora.registry import languages_of

# Written for this test. Each list is one text: joined, it must be cut into the same sentences again.
BY_HAND = {
    "cs": [
        "Pan Novák přišel 3. května 1921 ve 14.30.",
        "„Kdy přijdete?“ zeptala se.",
        "„Nevím.“",
        "Bydlel zde např. dr. Svoboda, tj. soused, a také J. K. Tyl.",
        "To je konec…",
        "Koupil chleba, mléko atd.",
        "Potom odešel!",
    ],
    "da": [
        "Hr. Jensen kom den 3. maj kl. 14 i regnvejr.",
        "»Kommer du?« spurgte hun.",
        "»Nej.«",
        "Det kostede ca. 3,5 mio. kr. i alt, bl.a. på grund af vejret.",
        "Han ventede … og gik.",
        "Det var den 17. Juli!",
    ],
    "de": [
        "Herr Dr. Meier kam am 3. Mai im 19. Jahrhundert um 14.30 Uhr.",
        "„Kommst du?“, fragte sie.",
        "»Nein.«",
        "„Warum nicht?“ rief Max.",
        "Das sind z. B. Äpfel, d. h. Obst, usw. aus dem Garten von J. P. Vogel.",
        "Ludwig XIV. Bourbon war König bis 1715.",
        "Und dann …",
        "Gut!",
    ],
    "en": [
        "Dr. Ames met Mrs. J. R. Hollis at 5 p.m. in St. Albans.",
        "“Are you coming?” she asked.",
        "“No,” he said.",
        "“Not today!” Jo said.",
        "“It is I.”",
        "It cost $3.14 million, e.g. more than in No. 5.",
        "He waited... and then he left!",
        "(Nobody saw him.)",
        "They came at 6 p.m.",
        'She asked, "Why?"',
        "Silence.",
    ],
    "es": [
        "El Sr. García y la Dra. Ruiz llegaron a las 14.30 h. a la pág. 12.",
        "—¿Vienes? —preguntó ella.",
        "—No.",
        "—¡Qué día!",
        "—Así es.",
        "«¿Qué hora es?»",
        "Vivía, p. ej., en EE. UU. durante años...",
        "¿Y tú?",
    ],
    "fa": [
        "دکتر احمدی ساعت ۸٫۳۰ رسید.",
        "آیا شما می‌آیید؟",
        "او گفت: «من فردا می‌روم.»",
        "در سال ۱۳۲۰ ه. ش. به تهران آمد.",
        "این جمله چنین تمام می‌شود۔",
        "چه روز زیبایی بود!",
        "«کجا می‌روی؟» پرسید و خندید.",
    ],
    "fi": [
        "Hra Virtanen tuli 3. toukokuuta klo. 14.30 kotiin.",
        "”Tuletko?” hän kysyi.",
        "”En.”",
        "Siellä oli mm. prof. Laine, ks. s. 12 alla.",
        "Kustaa II. Aadolf odotti... ja lähti.",
        "Hän osti leipää, maitoa ym.",
        "Sitten satoi!",
    ],
    "fr": [
        "M. Dupont et Mme Leroy sont arrivés à 14 h. 30 au no. 5.",
        "— Venez-vous ? demanda-t-elle.",
        "« Non. »",
        "« Venez ! » dit-il.",
        "Il habitait, p. ex., chez J.-P. Martin…",
        "Quelle journée !",
        "Il acheta du pain, du lait, etc.",
        "Puis il partit.",
    ],
    "hi": [
        "डॉ. शर्मा सुबह 9.30 बजे पहुँचे।",
        "“क्या आप आएँगे?” उसने धीरे से पूछा।",
        "‘नहीं।’",
        "मोहन ने कहा, “मैं कल जाऊँगा।”",
        "कितना सुंदर दृश्य है!",
        "पं. रामलाल वहीं थे॥",
    ],
    "hu": [
        "Dr. Kovács 1848. március 15-én érkezett.",
        "– Mikor jön? – kérdezte az asszony.",
        "– Nem tudom.",
        "A 3. fejezet pl. a kb. ötven oldalas rész.",
        "„Igen.”",
        "IV. Béla király volt...",
        "Almát, körtét stb.",
        "Aztán elment!",
    ],
    "it": [
        "Il sig. Rossi e l'avv. G. B. Verdi arrivarono alle 14.30 del 3 maggio.",
        "«Vieni?» chiese lei.",
        "«No.»",
        "— Perché no? — disse lui.",
        "Comprò pane, latte, ecc.",
        "Che giornata!",
        "E poi…",
        "Silenzio.",
    ],
    "ja": [
        "昨日は雨でした。",
        "「もう帰るの？」と母が聞いた。",
        "「うん。」",
        "彼は「行かない。」と言って、外へ出た。",
        "価格は3.5ドルです！",
        "本当ですか？！",
        "（彼は来なかった。）",
        "「でも……」",
        "私は『山の本。』の三章を読んだ。",
    ],
    "ko": [
        "김 박사는 오후에 3.5km를 걸었다.",
        '"어디 가세요?"라고 그가 물었다.',
        '"집에 가요." 하고 그녀가 말했다.',
        "“아니요.”",
        "1919. 3. 1. 에 그 일이 있었다!",
        "정말 그랬을까?",
        "네.",
        "알겠습니다.",
    ],
    "nl": [
        "Dhr. J. P. de Vries woonde o.a. in Den Haag.",
        "‘Kom je mee?’ vroeg ze.",
        "‘Nee.’",
        "'s Avonds bleef hij thuis, d.w.z. bij dr. Bakker.",
        "Het kostte ca. 3,5 miljoen euro!",
        "Hij kocht brood, melk enz.",
        "Toen ging hij...",
    ],
    "no": [
        "Hr. Hansen kom den 3. mai kl. 14 i regnvær.",
        "«Kommer du?» spurte hun.",
        "«Nei.»",
        "– Hvorfor ikke?",
        "– Fordi det regner.",
        "Det kostet ca. 3,5 mill. kr. i alt.",
        "Hun bodde f.eks. i Bergen …",
        "Så vakker den 17. Mai var!",
    ],
    "pl": [
        "Pan prof. Kowalski przyjechał o godz. 14.30 dn. 3 maja 1921 r. do Warszawy.",
        "– Idziesz? – zapytała.",
        "– Nie.",
        "Kupił m.in. chleb, tj. bułki, mleko itp. rzeczy dla J. K. Nowaka.",
        "„Dobrze.”",
        "Powiedział im...",
        "Potem wyszedł!",
    ],
    "pt": [
        "O Sr. Silva e a Sra. D. Maria chegaram às 14.30 ao n.º 5.",
        "— Vens? — perguntou ela.",
        "«Não.»",
        "Custou aprox. 3,5 milhões, p. ex., em 1921.",
        "Que dia!",
        "Comprou pão, leite, etc.",
        "Depois saiu…",
    ],
    "ru": [
        "Проф. А. С. Иванов приехал в 1921 г. в Москву.",
        "— Вы идёте? — спросила она.",
        "«Нет», — сказал он.",
        "Он купил хлеб, т. е. самое нужное, молоко и т. д. до вечера.",
        "Это был я.",
        "«Который час?..»",
        "Он думал о нем.",
        "Тогда он ушёл...",
        "Вот и всё!",
    ],
    "sr": [
        "Проф. др Петровић је дошао 3. маја 1921. године.",
        "„Идеш ли?“ упита она.",
        "„Не.“",
        "Na stolu su bili npr. hleb, tj. pogača, itd. za goste.",
        "— Kada dolazite? — upita ga ona.",
        "Карађорђе је био ту…",
        "Дошао је и Петар II. Карађорђевић!",
    ],
    "st": [
        "Ngaka Mokoena o fihlile ka 3.30 thapama.",
        "“Na o tla tla?” a botsa.",
        "“Tjhe.”",
        "Mong. Molefe o ile Maseru le Mof. Thabo.",
        "Ke yena mong.",
        "Ke letsatsi le letle!",
    ],
    "sv": [
        "Hr. Svensson kom den 3 maj kl. 14.30.",
        "”Kommer du?” frågade hon.",
        "”Nej.”",
        "»Aldrig!» ropade han.",
        "Det kostade ca. 3,5 milj. kr. t.ex. förra året, dvs. mycket.",
        "– Vem är där?",
        "– Jag.",
        "Han köpte bröd, mjölk o.s.v.",
        "Sedan gick han …",
    ],
    "sw": [
        "Dkt. Juma alifika saa 3.30 asubuhi.",
        "“Unakuja?” aliuliza.",
        "“Hapana.”",
        "Bw. Ali na Bi. Asha walikaa Dar es Salaam.",
        "Siku nzuri kabisa!",
        "Alinunua mkate, maziwa n.k.",
        "Kisha akaondoka...",
    ],
    "ta": [
        "டாக்டர் கே. எஸ். ராமன் காலை 9.30 மணிக்கு வந்தார்.",
        "“நீங்கள் வருகிறீர்களா?” என்று அவள் கேட்டாள்.",
        "“இல்லை.”",
        "திரு. முத்து கி.பி. 985 பற்றிப் பேசினார்.",
        "என்ன அழகான நாள்!",
        "வா.",
        "மு. கண்ணன் சிரித்தார்.",
    ],
    "uk": [
        "Проф. І. Я. Франко приїхав у 1921 р. до Львова.",
        "— Ви йдете? — спитала вона.",
        "«Ні», — сказав він.",
        "Він купив хліб, т. є. найпотрібніше, молоко і т. д. для гостей.",
        "Це був я.",
        "Котра година?..",
        "Тоді він пішов!",
    ],
    "vi": [
        "TS. Nguyễn Văn An đến TP. Hồ Chí Minh lúc 9.30 sáng.",
        "“Anh có đi không?” chị hỏi.",
        "“Không.”",
        "Giá là 3,5 triệu đồng, v.v. và nhiều thứ khác.",
        "Thật là một ngày đẹp!",
        "Anh ấy chờ...",
        "Rồi anh đi.",
    ],
    "zh": [
        "今天下雨了。",
        "他说：“我们明天见。”",
        "她点了点头。",
        "“你去哪儿？”母亲问道。",
        "“我……我不去……”",
        "他低下头。",
        "价格是3.5元！",
        "真的吗？！",
        "『山之书』有五章（第一章最长。）。",
        "“为什么？”他问，“你不知道吗？”",
        "她笑了。",
    ],
}


LANGUAGES = languages_of("oneruler_books")


def cut(text: str, lang: str, **own) -> list[str]:
    return sentences.split(text, sentences.rules(lang, **own))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_sentences_that_were_checked_by_hand(lang):
    rules = sentences.rules(lang)
    assert sentences.split(rules.joiner.join(BY_HAND[lang]), rules) == BY_HAND[lang]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_white_space_does_not_matter(lang):
    joiner = "\n\u3000" if lang in sentences.WITHOUT_SPACES else "\n\t\n "
    wide = joiner.join(sentence.replace(" ", "  \n") for sentence in BY_HAND[lang])
    assert cut(wide, lang) == BY_HAND[lang]


# What rules alone cannot decide stays whole, and what a language does not know is known in another.


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("de", "Er kam am 3. Juli."),
        ("en", "She lives at No. 5."),
        ("en", "It is (!) Bob."),
        ("de", "»Ja?« {90}sagte sie."),
        ("en", "He read J. R. Tolkien."),
        ("fr", "« Venez ! » dit M. Martin."),
        ("hi", "वह … चला गया।"),
        ("ja", "「はい。」と言った。"),
        ("zh", "“好。”他说。"),
        ("ru", "Он родился в г. Минске, на ул. Ленина, д. 5."),
        ("st", "Mong. Molefe."),
        ("uk", "Він народився в м. Київ на о. Хортиця біля р. Дніпро, театр ім. Франка."),
        ("ru", "На о. Сахалин жил кн. Вяземский."),
        ("pl", "To był gen. Anders i hr. Potocki."),
        ("cs", "Přišel npor. Lukáš a nadp. Novák."),
        ("it", "Parlò l'on. Rossi con on. Bianchi."),
        ("ta", "டாக்டர். ராமன், செல்வி. கமலா வந்தனர்."),
        ("no", "Han så bl. a. Kari."),
        ("da", "Han så bl. a. Kari."),
        ("sv", "Han såg bl. a. Karin."),
        ("ko", '"누구냐?" 그가 물었다.'),
        ("ko", "“가자.” 어머니가 조용히 말했다."),
        ("hi", '"मैं जाऊँगा।" और चला गया।'),
        ("hi", "‘मैं जाती हूँ।’ यह कह कर चपला चली गई।"),
    ],
)
def test_a_stop_that_ends_nothing(lang, text):
    assert cut(text, lang) == [text]


@pytest.mark.parametrize(
    ("lang", "parts"),
    [
        # The same words without the language's reason.
        ("en", ["He was 3.", "Max laughed."]),
        ("en", ["She said no.", "He left."]),
        ("en", ["I.", "You."]),
        ("ja", ["「はい。」", "山田が言った。"]),
        ("zh", ["“好。”", "他笑了。"]),
        ("zh", ["“好。”", "他说：“走！”"]),
        ("st", ["Ke mong.", "Molefe."]),
        ("ru", ["Он родился в 1921 г.", "Отец ушёл."]),
        ("ko", ['그가, " 가자.', '어서. "', "그는 갔다."]),
        ("ko", ['"누구냐?"', "그는 웃었다."]),
        ("ko", ["누구냐?", "그가 물었다."]),
        ("hi", ["क्या तुम जाओगे?", "और वह चला गया।"]),
        ("hi", ["“नहीं।”", "कहानी लंबी थी।"]),
        ("uk", ["Довжина 5 м.", "Потім він пішов."]),
        ("uk", ["У 1910 р.", "Батько пішов."]),
        ("pl", ["Dał im.", "Potem wyszedł."]),
        ("en", ["Wait . . .", "Bob is here."]),
        ("hi", ["वह आया।", "मैं गया।"]),
        ("en", ["Is it so?", "… Nobody knew."]),
        ("en", ["It was said.[12]", "Nobody knew.*", "Then (it rained.)", "Bob left."]),
    ],
)
def test_a_stop_that_ends_a_sentence(lang, parts):
    assert cut(" ".join(parts) if lang not in ("ja", "zh") else "".join(parts), lang) == parts


def test_dandas_need_no_space():
    assert cut("वह आया।मैं गया।", "hi") == ["वह आया।", "मैं गया।"]


def test_a_paragraph_ends_a_quotation_where_no_spaces_are_written():
    assert cut("「はい」\n「いいえ」\n私は行った。", "ja") == [
        "「はい」",
        "「いいえ」",
        "私は行った。",
    ]


# Languages without rules of their own


def test_a_further_language_has_general_rules():
    text = [
        "D-ro Zamora venis je la 3. Majo.",
        "“Ĉu vi venas?” ŝi demandis.",
        "Prof. J. K. Nova ridis…",
        "Jes!",
    ]
    assert cut(" ".join(text), "eo") == text


def test_a_further_language_may_have_abbreviations():
    text = ["S-ro. Zamora venis, k. t. p. Morgaŭ li foriros.", "Jes."]
    assert len(cut(" ".join(text), "eo")) == 3
    assert cut(" ".join(text), "eo", abbreviated=["k. t. p.", "s-ro."]) == text


def test_a_further_language_may_have_no_spaces():
    assert cut("ខ្ញុំទៅ។ អ្នកមក។", "km", joiner="") == ["ខ្ញុំទៅ។", "អ្នកមក។"]
    assert sentences.rules("km", joiner="").joiner == ""


@pytest.mark.parametrize(
    ("lang", "parts"),
    [
        ("ka", ["ის მოვიდა.", "მე წავედი."]),  # letters that Unicode calls small, without capitals
        ("ar", ["أين أنت؟", "ذهبت إلى البيت."]),
        ("el", ["Ήρθε χθες.", "Μετά έφυγε!"]),
        ("am", ["መጣ።", "ሄደ።"]),
        ("hy", ["Նա եկավ։", "Հետո գնաց։"]),
    ],
)
def test_stops_of_further_scripts(lang, parts):
    assert cut(" ".join(parts), lang) == parts


# Any text


@pytest.mark.parametrize("text", ["", " \n ", "***"])
def test_no_words_are_no_sentences_or_one(text):
    assert cut(text, "en") == [text.strip()] * bool(text.strip())


def test_wordless_remainders_join_the_sentence_before():
    assert cut("He left. Then it rained. ***", "en") == ["He left.", "Then it rained. ***"]


@pytest.mark.parametrize(
    ("separator", "lang"), [("; ", "en"), (", ", "en"), (" ", "en"), ("；", "zh"), ("，", "zh")]
)
def test_a_text_without_stops_is_cut_at_what_it_has(separator, lang):
    text = separator.join(["一二三四五六" if lang == "zh" else "abcdef"] * 2000)
    found = cut(text, lang)
    assert len(found) > 3
    assert all(0 < len(part) <= sentences.MAX_CHARACTERS for part in found)
    assert all(part.endswith(separator.strip()) for part in found[:-1])
    assert sentences.rules(lang).joiner.join(found) == text


def test_a_text_without_any_separator_is_cut():
    assert [len(part) for part in cut("字" * 7000, "zh")] == [3000, 3000, 1000]


def test_text_that_defeats_slow_patterns():
    for piece in ("A. ", "a. b? ", '" ', "« ( — ", ".", ". ", "! ", "… ", "x. … ", "1. "):
        assert_linear(lambda count, piece=piece: cut(piece * count, "en"), 1_000)


def test_every_language_has_its_abbreviations():
    # Without an entry it would have the general rules.
    spaced = set(LANGUAGES) - {"ja", "zh", "ko"}
    assert spaced <= set(sentences.INSIDE)
    entries = [*sentences.INSIDE.values(), *sentences.ENDING.values()]
    words = [word for entry in entries for word in entry.split()]
    assert not [word for word in words if word.endswith(".")]


# Real books


class Book(NamedTuple):
    text: str
    sentences: list[str]
    seconds: float


@pytest.fixture(scope="module", params=LANGUAGES)
def book(request, mirror) -> tuple[str, Book]:
    """A language and its book, cut once for all tests."""
    (path,) = (mirror / "oneruler/OneRuler/data/books" / request.param).glob("*.txt")
    text = path.read_text(encoding="utf-8")
    started = time.monotonic()
    found = cut(text, request.param)
    return request.param, Book(sentences.fold(text), found, time.monotonic() - started)


def test_a_book_in_sentences_is_the_book(book):
    lang, (text, found, seconds) = book
    rules = sentences.rules(lang)
    assert seconds < 15  # the largest takes less than one
    assert re.sub(r"\s", "", "".join(found)) == re.sub(r"\s", "", text)
    assert all(found) and all(sentence == sentence.strip() for sentence in found)
    if lang not in ("hi", "ja", "zh"):  # dandas without spaces; paragraphs
        assert rules.joiner.join(found) == text
    lengths = sorted(map(len, found))
    assert 20 <= lengths[len(lengths) // 2] <= 200
    assert lengths[len(lengths) * 99 // 100] <= 1000
    assert lengths[-1] <= sentences.MAX_CHARACTERS


def test_book_sentences_end_after_stops_not_before_small_letters(book):
    lang, (_, found, _) = book
    stop = r"[.!?…。！？।॥۔؟][^\w\s]*(?: [»”\]\"])*(?:\[\d+\])*$"
    if lang in sentences.WITHOUT_SPACES:
        stop += "|[」』”]$"
    cut_for_length = [sentence for sentence in found[:-1] if not re.search(stop, sentence)]
    assert all(sentence[-1] in ";," for sentence in cut_for_length)
    # A sentence of Les Misérables, and the Swahili book's glossary.
    assert len(cut_for_length) <= {"fr": 1, "sw": 5}.get(lang, 0)
    small = [
        sentence
        for before, sentence in pairwise(found)
        if re.search(r"\w", sentence)[0].islower() and before not in cut_for_length
    ]
    assert all(re.match(r"\W*['’]\w \w", sentence) for sentence in small)  # Dutch "'s Avonds"
    assert len(small) < 0.02 * len(found)
