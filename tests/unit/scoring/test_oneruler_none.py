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

# What models answer in whole sentences: an article, attributes or the key between negation and number.
SENTENCES = {
    "cs": (
        "V textu není žádné speciální magické číslo pro „jablko“.",
        "Text neobsahuje speciální kouzelné číslo pro „jablko“.",
        "Text se nezmiňuje o žádném čísle pro „jablko“.",
        "Nenašel jsem v textu žádné číslo.",
        "Není zde zmínka o kouzelném čísle.",
    ),
    "da": (
        "Der er ikke noget særligt magisk tal for »æble«.",
        "Teksten nævner ikke et særligt magisk tal.",
        "Jeg kan ikke finde et magisk tal for »æble«.",
        "»Æble« har ikke et særligt magisk tal.",
        "Der findes intet magisk tal for »æble« i teksten.",
    ),
    "de": (
        "Es gibt keine spezielle magische Zahl für „Apfel“.",
        "Der Text enthält keine Zahl zu „Apfel“.",
        "„Apfel“ hat keine magische Zahl.",
        "Ich kann im Text keine magische Zahl für „Apfel“ finden.",
        "Es gibt keine mit „Apfel“ verbundenen Zahlen.",
    ),
    "en": (
        'There isn\'t a special magic number for "apple" in the text.',
        "The provided text doesn't contain a special magic number for “apple”.",
        "I cannot find a magic number for apple.",
        '"apple" does not have a special magic number',
        "There is no mention of a special magic number for apple.",
    ),
    "es": (
        "No hay un número mágico especial para «manzana».",
        "El texto no menciona un número mágico para «manzana».",
        "«Manzana» no tiene un número mágico especial.",
        "No encuentro un número mágico en el texto.",
        "No hay ninguna mención de números mágicos.",
    ),
    "fa": (
        "در متن هیچ عدد جادویی برای «سیب» وجود ندارد.",
        "متن به عدد جادویی خاصی برای «سیب» اشاره نمی‌کند.",
        "عددی برای «سیب» پیدا نکردم.",
        "اعداد جادویی مرتبط با «سیب» ذکر نشده‌اند.",
        "متن شامل عدد خاصی برای «سیب» نیست.",
    ),
    "fi": (
        'Annetussa tekstissä ei ole sanaan "omena" liittyviä erityisiä taikanumeroita.',
        "Teksti ei sisällä erityistä taikanumeroa sanalle ”omena”.",
        "En löydä tekstistä taikanumeroa.",
        "Omenalla ei ole erityistä taikanumeroa.",
        "Tekstissä ei mainita omenaan liittyviä numeroita.",
    ),
    "fr": (
        "Il n'y a pas de numéro magique spécial pour « pomme ».",
        "Le texte ne mentionne pas un numéro magique pour « pomme ».",
        "« Pomme » n'a pas de nombre magique.",
        "Je ne trouve aucun nombre magique dans le texte.",
        "Il n'y a aucune mention d'un nombre magique.",
    ),
    "hi": (
        "कोई संख्या नहीं बताई गई है",
        'पाठ में "सेब" के लिए कोई विशेष जादुई संख्या नहीं है।',
        "पाठ में कोई संख्या मौजूद नहीं है।",
        "कोई विशेष जादुई संख्या नहीं दी गई है।",
        "सेब से संबंधित जादुई संख्याओं का कोई उल्लेख नहीं है।",
    ),
    "hu": (
        'A szövegben nincsenek "alma" szóhoz kapcsolódó különleges varázsszámok.',
        'A szövegben nem található az "alma" szóhoz kapcsolódó varázsszám.',
        "A szöveg nem említ varázsszámot az „alma” szóhoz.",
        "Az „alma” szóhoz nem tartozik varázsszám.",
        "Nem találok ilyen számot a szövegben.",
    ),
    "it": (
        "Non esiste un numero magico speciale per «mela».",
        "Non c'è un numero magico speciale per «mela».",
        "Il testo non menziona un numero magico per «mela».",
        "«Mela» non ha un numero magico speciale.",
        "Non riesco a trovare un numero magico nel testo.",
    ),
    "ja": (
        "「リンゴ」に関する特別な数字はテキストに記載されていません。",
        "「リンゴ」の魔法の数字はありません。",
        "テキストには「リンゴ」の特別な数字は含まれていません。",
        "特別な数字は示されていません。",
        "本文に「リンゴ」に関連する数字は見つかりません。",
    ),
    "ko": (
        '텍스트에 "사과"에 대한 특별한 숫자가 없습니다.',
        "특별한 마법의 숫자를 찾을 수 없습니다.",
        "그 숫자에 대한 언급이 없습니다.",
        "“사과”에 대한 마법의 숫자는 존재하지 않습니다.",
        "제공된 텍스트에는 해당 숫자가 나와 있지 않습니다.",
    ),
    "nl": (
        'Er is geen speciaal magisch getal voor "appel".',
        "De tekst bevat geen magisch getal voor “appel”.",
        "Er wordt geen speciaal getal genoemd.",
        "Ik kan geen magisch getal vinden voor “appel”.",
        "Er is geen vermelding van een magisch getal.",
    ),
    "no": (
        "Teksten nevner ikke et spesielt magisk tall for «eple».",
        "Det finnes ikke et spesielt magisk tall for «eple».",
        "Jeg finner ikke noe magisk tall for «eple».",
        "Det er ikke nevnt noe tall for «eple».",
        "«Eple» har ikke et magisk tall.",
    ),
    "pl": (
        "W tekście nie ma wzmianki o magicznych liczbach dla „jabłko”.",
        "Tekst nie zawiera specjalnej magicznej liczby dla „jabłko”.",
        "W tekście nie ma magicznej liczby dla „jabłko”.",
        "Nie znalazłem magicznej liczby w tekście.",
        "Tekst nie wspomina o magicznej liczbie.",
    ),
    "pt": (
        "Não há um número mágico especial para “maçã”.",
        "Não existe um número mágico para “maçã”.",
        "O texto não menciona um número mágico.",
        "“Maçã” não tem um número mágico especial.",
        "Não encontrei um número mágico no texto.",
    ),
    "ru": (
        "В тексте нет упоминаний о специальных магических числах.",
        "В тексте нет связанных с «яблоко» магических чисел.",
        "Текст не содержит магического числа для «яблоко».",
        "Я не нашёл магического числа в тексте.",
        "У «яблока» нет особого волшебного числа.",
    ),
    "sr": (
        "U tekstu nema magičnog broja za „jabuku“.",
        "Ne postoji poseban magičan broj za „jabuku“.",
        "Tekst ne sadrži poseban broj za „jabuku“.",
        "Нема помена о бројевима.",
        "Нисам нашао посебан магични број.",
    ),
    "st": (
        "Ha ho nomoro e kgethehileng ya boselamose bakeng sa “apole”.",
        "Ha ho na nomoro ya “apole” temaneng.",
        "Nomoro ya “apole” ha e yo temaneng.",
        "Temana ha e bue ka nomoro ya “apole”.",
        "Ha ke fumane nomoro ya “apole”.",
    ),
    "sv": (
        "Texten nämner inte ett speciellt magiskt tal för ”äpple”.",
        "Det finns inte ett magiskt tal för ”äpple”.",
        "Jag kan inte hitta ett magiskt tal.",
        "Det finns inget magiskt tal i texten.",
        "”Äpple” har inte ett magiskt tal.",
    ),
    "sw": (
        "Maandishi hayataji nambari yoyote.",
        "Hakuna nambari maalum ya uchawi kwa “tufaha”.",
        "Maandishi hayana nambari yoyote ya “tufaha”.",
        "Sijapata nambari maalum ya “tufaha”.",
        "Nambari ya “tufaha” haijatajwa.",
    ),
    "ta": (
        "உரையில் “ஆப்பிள்” உடன் தொடர்புடைய எண்கள் இல்லை.",
        "எந்த சிறப்பு மந்திர எண்ணும் குறிப்பிடப்படவில்லை.",
        "எண்கள் எதுவும் காணப்படவில்லை.",
        "எந்த எண்ணும் இல்லை.",
        "“ஆப்பிள்” க்கான எண் கொடுக்கப்படவில்லை.",
    ),
    "uk": (
        "У тексті немає згадок про магічні числа.",
        "У тексті немає пов'язаних з «яблуко» магічних чисел.",
        "Текст не містить магічного числа для «яблуко».",
        "Я не знайшов магічного числа в тексті.",
        "Магічне число для «яблуко» не згадується.",
    ),
    "vi": (
        "Văn bản không đề cập đến con số đặc biệt nào.",
        "Không có con số ma thuật nào cho “táo”.",
        "Không có một số ma thuật đặc biệt nào cho “táo”.",
        "Tôi không tìm thấy số ma thuật nào trong văn bản.",
        "Văn bản không nhắc đến số đặc biệt nào.",
    ),
    "zh": (
        "文本中并没有“苹果”的特殊数字",
        "文中没有提到任何数字。",
        "文中不存在与“苹果”相关的魔法数字。",
        "找不到“苹果”的魔法数字。",
        "没有任何与苹果相关的数字。",
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

# The same beside the word for number.
OF_NUMBERS = {
    "cs": ("O tom čísle není pochyb.", "Nemám dost informací o čísle."),
    "da": ("Der er ingen tvivl om tallet.", "Jeg husker ikke tallet."),
    "de": (
        "Es gibt keinen Zweifel an der Zahl.",
        "Ich habe keine Ahnung, welche Zahl gemeint ist.",
    ),
    "en": (
        "There is no doubt about the number.",
        "There is no way to tell the number.",
        "I do not have enough information to find the number.",
        "There isn't enough time to read a number.",
        "I cannot read the number.",
    ),
    "es": (
        "No hay duda sobre el número.",
        "No tengo información sobre el número.",
        "No hay tiempo.",
    ),
    "fa": ("در مورد عدد شکی نیست.", "من عدد را نمی‌دانم."),
    "fi": ("Numerosta ei ole epäilystäkään.", "En muista numeroa."),
    "fr": ("Il n'y a pas de doute sur le nombre.", "Je ne connais pas le nombre."),
    "hi": ("संख्या में कोई संदेह नहीं है।", "मुझे संख्या याद नहीं।"),
    "hu": ("Nincs kétség a szám felől.", "Nem emlékszem a számra."),
    "it": ("Non c'è dubbio sul numero.", "Non ricordo il numero."),
    "ja": ("数字に間違いありません。", "数字を覚えていません。"),
    "ko": ("숫자는 틀림없습니다.", "숫자를 기억하지 못합니다."),
    "nl": ("Er is geen twijfel over het getal.", "Ik herinner me het getal niet."),
    "no": ("Det er ingen tvil om tallet.", "Jeg husker ikke tallet."),
    "pl": (
        "Nie ma wątpliwości co do liczby.",
        "Nie pamiętam liczby.",
        "Nie ma możliwości podania liczby.",
    ),
    "pt": ("Não há dúvida sobre o número.", "Não me lembro do número."),
    "ru": ("Нет сомнений в числе.", "Я не помню числа.", "Нет возможности назвать число."),
    "sr": ("Nema sumnje u broj.", "Не сећам се броја."),
    "st": ("Ha ke hopole nomoro.",),
    "sv": ("Det råder ingen tvekan om talet.", "Jag minns inte talet."),
    "sw": ("Hakuna shaka kuhusu nambari.", "Sikumbuki nambari."),
    "ta": ("எண் பற்றி சந்தேகம் இல்லை.", "எண் நினைவில் இல்லை."),
    "uk": ("Немає сумнівів щодо числа.", "Я не пам'ятаю числа."),
    "vi": ("Không có nghi ngờ gì về con số.", "Tôi không nhớ con số."),
    "zh": ("数字没有问题。", "我不记得数字。", "没有足够的信息来确定数字。"),
}


def pairs(table):
    return [(lang, text) for lang, texts in table.items() for text in texts]


def rated(lang: str, text: str, expected: str | None = None) -> tuple[float, str]:
    """As the None-NIAH task rates it, where the prompt's own word for none is `expected`."""
    own = NONE[lang][0] if expected is None else expected
    return strict.score_none(strict.answer(text, ANSWER_TAGS), (*NONE_WORDS[lang], own))


def test_every_language_is_here():
    assert set(NONE) == set(OTHER) == set(NONE_WORDS) and len(NONE) == 26
    assert set(SENTENCES) == set(OF_NUMBERS) == set(NONE)
    assert {len(said) for said in SENTENCES.values()} == {5}


@pytest.mark.parametrize(("lang", "text"), pairs(NONE) + pairs(SENTENCES))
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


@pytest.mark.parametrize(("lang", "text"), pairs(OTHER) + pairs(OF_NUMBERS))
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
