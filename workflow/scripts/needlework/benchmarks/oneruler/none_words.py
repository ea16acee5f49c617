"""How each language says that there is no such number, and the name of its answer tag.

`metrics.oneruler_wording` says how the phrases are written, `metrics.oneruler_none` how they are read.
Of those that stand alone the first is the released prompt's. A negation counts only where what it denies
is a number or the mention of one: "I have no idea", "there is no way to tell" say nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from needlework.errors import UserError
from needlework.metrics.oneruler_wording import Wording

_LATIN = (
    *("lj", "nj", "dž", "a", "b", "v", "g", "d", "đ", "e", "ž", "z", "i", "j", "k", "l", "m", "n"),
    *("o", "p", "r", "s", "t", "ć", "u", "f", "h", "c", "č", "š"),
)
_CYRILLIC = "љњџабвгдђежзијклмнопрстћуфхцчш"


def _cyrillic(wording: Wording) -> Wording:
    """A Serbian wording in the other alphabet."""
    made = []
    for phrases in wording:
        for latin, cyrillic in zip(_LATIN, _CYRILLIC, strict=True):
            phrases = phrases.replace(latin, cyrillic)
        made.append(phrases)
    return Wording(*made)


_SERBIAN = Wording(
    number="broj; brojevi; broja; brojeva; brojeve; brojevima; brojem; broju",
    such=(
        "takav; takv*; tih; ti; ovih; nijedan; nikakv*; poseb*; magičn*; specijaln*; tajn*; "
        "magič*; nekakav; jedan; o; poseban; određen*"
    ),
    alone=(
        "nema; nijedan; nijedna; nijedno; nikakvi; ništa; ne postoji; ne postoje; nema ih; "
        "nisu navedeni"
    ),
    said=(
        "^nema.; nema #; nema takvih; #… nema.; #… nema u tekstu; nijedan (od )?#; nikakv* #; "
        "odgovor je nema; ne postoj* #; #… ne postoj*; (nije|nisu) pronađen* #; "
        "#… (nije|nisu) pronađen*; (nije|nisu) (naveden*|pomenut*|spomenut*); ne (po|s)minj* se; "
        "se ne (po|s)minj*; ne (pominje|spominje|sadrži|navodi) (nijedan )?#; "
        "nema (nikakv* )?(pomen*|spomen*); "
        "(nisam|nismo|ne mogu|ne mogu da) (našao|našla|pronašao|pronašla|pronađem|pronaći|naći) "
        "~#; ne (pominje|spominje|sadrži|navodi) ~#; nema (poseb*|magič*) ~#; "
        "(nije|nisu) (dat*|naveden*) #; nema (povezanih|vezanih) ~#"
    ),
)

NONE_WORDS: dict[str, tuple[Wording, ...]] = {
    "cs": (
        Wording(
            number="číslo; čísla; čísel; čísly; číslech; číslům; čísle",
            such=(
                "takov*; tato; těchto; toto; žádn*; speciální*; kouzeln*; zvláštní*; magick*; "
                "uveden*; z; o; speciálním; jediné; jedno"
            ),
            alone=(
                "žádné; žádná; žádný; žádného; žádnou; nic; není; nejsou; neexistují; neexistuje; "
                "neuvedeno; nejsou uvedena; není uvedeno"
            ),
            said=(
                "žádn* (z |ze )?#; ^žádné.; (není|nejsou|neexistují) žádné.; "
                "žádn* (neexistuj*|není|nejsou) (uveden*|zmíněn*); neexistuj* #; #… neexistuj*; "
                "#… (není|nejsou) (uveden*|zmíněn*|v textu|v poskytnutém textu); #… nenacház*; "
                "(není|nejsou) (zde |v textu )?(uveden*|zmíněn*); neobsahuj* #; nenalezen* #; "
                "#… nenalezen*; (se )?nevyskytuj*; odpověď je žádné; "
                "(není|nejsou) (zde |v textu )?(žádná )?zmínka o ~#; žádná zmínka; neobsahuj* ~#; "
                "nezmiňuj* ~#; nemá (žádné )?#; (nenašel|nenašla|nemohu najít|nelze najít) ~#"
            ),
        ),
    ),
    "da": (
        Wording(
            number="tal; tallet; tallene; numre; nummer",
            such=(
                "sådan; sådanne; sådant; særlige; særligt; specielle; specielt; magiske; magisk; "
                "hemmelige; af; de; disse; nogen; nogle; noget; et; en; særlig; specifikt; "
                "hemmeligt"
            ),
            alone=(
                "ingen; ingenting; intet; ikke nogen; findes ikke; ikke nævnt; ingen nævnt; "
                "der er ingen"
            ),
            said=(
                "^ingen.; (ingen|intet) #; ikke (nogen|nogle|noget|sådanne) #; "
                "(er|findes|nævnes) ingen.; svaret er ingen; ingen (af dem|nævnt|nævnes); "
                "findes ikke #; #… (findes|eksisterer|nævnes|optræder) ikke; eksisterer ikke #; "
                "(de|det) findes ikke.; ikke (nævnt|nævnes|omtalt); nævnes (der )?ikke; "
                "(nævner|indeholder|omtaler) ikke (nogen|nogle|noget|sådanne) #; "
                "(nævner|indeholder|omtaler) ikke ~#; har ikke (et|noget|nogen|nogle) #; "
                "ikke (finde|fundet) ~#; ingen omtale af"
            ),
        ),
    ),
    "de": (
        Wording(
            number="zahl; zahlen; nummer; nummern; zahlenwert*",
            such=(
                "solch*; derartig*; besonder*; magisch*; speziell*; geheim*; passend*; "
                "entsprechend*; genannt*; erwähnt*; zugehörig*; der; dieser; diese; eine; einer; "
                "spezifisch*; geheimnisvoll*"
            ),
            alone=(
                "keine vorhanden; keine; kein; keiner; keines; keinen; nichts; nicht vorhanden; "
                "nicht erwähnt; keine erwähnt; keine genannt; keine angabe"
            ),
            said=(
                "keine (zahlen )?vorhanden; kein* (einzige )?#; "
                "(gibt es|es gibt|sind|wird|werden) keine.; "
                "es gibt keine (davon|solche*|im text|in diesem text|in dem text); keine solche*; "
                "keine (erwähnt|genannt|gefunden|angegeben|aufgeführt|enthalten); "
                "nicht (vorhanden|erwähnt|genannt|aufgeführt); #… existier* nicht; "
                "existier* nicht.; existier* kein* #; "
                "(kommt|kommen) (hier |dort |im text |in diesem text )?nicht vor; "
                "#… nicht (gefunden|zu finden|enthalten|angegeben); kein* (mit|zu|für) ~#; "
                "kein* erwähnung*; (enthält|erwähnt|nennt) ~nicht #"
            ),
        ),
    ),
    "en": (
        Wording(
            number="number; numbers",
            such=(
                "such; special; magic; magical; secret; matching; relevant; corresponding; "
                "associated; any; specific; particular; a; an; single; of"
            ),
            alone=(
                "none; nothing; no such; not mentioned; not found; not present; not listed; n/a; "
                "not applicable"
            ),
            said=(
                "none; no #; no (single )?such; (not|never) mentioned; no mentions?; "
                "(not|doesn't|don't|didn't|does not|did not) mention; there (is|was) nothing.; "
                "(not|isn't|aren't|wasn't|weren't) any #; "
                "(is|are|was|were) not (found|present|listed|included|stated) in the text; "
                "#… (not|doesn't|don't|didn't) (exist|appear|occur); "
                "#… not (found|present|listed|included|given); "
                "(does not|doesn't|do not|did not) (contain|include|list|specify|have|give|"
                "provide) #; (not|don't|didn't|cannot|can't|couldn't) (find|see) (any|such) #; "
                "nothing (is |was )?(mentioned|listed|found|given); "
                "there (isn't|aren't|is not|are not|wasn't|was not) #; "
                "(no|any) (mention of|reference to) #; "
                "(cannot|can not|can't|could not|couldn't|unable to|not able to|didn't|did not|"
                "don't|do not) (find|see|locate|identify) (any )?(mention of |reference to )?#; "
                "(does not|doesn't|do not|did not|didn't) (contain|include|list|specify|give|"
                "provide|have|assign|reference) (any )?(mention of |reference to )?#; "
                "(has|have|contains|includes) no #"
            ),
        ),
    ),
    "es": (
        Wording(
            number="número; números; numero; numeros; cifra; cifras",
            such=(
                "tal; tales; de; los; las; esos; esas; estos; estas; dichos; ningún; ninguna; "
                "ninguno; tipo; este; ese; mágico; mágicos; especial; especiales; un; una; único; "
                "especifico; específico"
            ),
            alone=(
                "ninguno; ninguna; ningún; nada; no hay; no existe; no existen; no hay ninguno; "
                "no se menciona; no se mencionan; no se menciona ninguno"
            ),
            said=(
                "(ningún|ninguna|ninguno) #; ^ninguno.; respuesta es ninguno; "
                "ninguno (se menciona|aparece|existe|está); no hay (ningún )?#; no hay ninguno; "
                "no existen? #; #… no existen?; no existen.; no se mencionan?; no aparecen?; "
                "no se encontraron #; no se encontró #; no se encuentran? #; "
                "#… no se (encuentra|encuentran|encontraron); no se han? mencionado; "
                "no (menciona|contiene|incluye|especifica) #; "
                "no hay (ninguna )?(mención|menciones|referencia|referencias); no tienen? #; "
                "no (encuentro|encontré|he encontrado|puedo encontrar|pude encontrar|logro "
                "encontrar) #; no (hace|hacen) (mención|referencia)"
            ),
        ),
    ),
    "fa": (
        Wording(
            number=(
                "عدد; عددی; اعداد; اعدادی; عددهای; عددها; شماره; شماره‌ای; شماره‌ها; شماره‌های; "
                "رقمی; مقداری"
            ),
            such="چنین; این; آن; از; جادویی; خاص; خاصی; هیچ; به; یک; مخصوص; ویژه; مرتبط",
            alone=(
                "هیچ کدام; هیچ‌کدام; هیچ; هیچ‌یک; هیچ یک; وجود ندارد; وجود ندارند; ندارد; "
                "موجود نیست; نیست"
            ),
            said=(
                "(هیچ کدام|هیچ‌کدام|هیچ‌یک|هیچ یک).; "
                "(هیچ کدام|هیچ‌کدام|هیچ‌یک|هیچ یک) (است|از #|ذکر*|وجود*); هیچ #; "
                "#… (وجود ندارد|وجود ندارند|وجود نداشت|موجود نیست|موجود نیستند); "
                "#… (ذکر نشده*|نیامده*|یافت نشد|پیدا نشد); (عددی|اعدادی|شماره‌ای)… نیست.; "
                "ذکر نشده*; ذکری نشده*; اشاره نشده*; اشاره‌ای نشده*; "
                "#… (اشاره نمی‌کند|اشاره نکرده*|ذکر نمی‌کند|ذکر نکرده*|نشده*); "
                "#… (پیدا|یافت) (نکردم|نمی‌کنم|نشد|نمی‌شود|نکرده‌ام); "
                "شامل #… (نیست|نمی‌شود|نمی‌باشد); #… (ندارد|ندارند).; #… داده نشده*"
            ),
        ),
    ),
    "fi": (
        Wording(
            number=(
                "lukua; lukuja; luvut; luvuista; numeroa; numeroita; numerot; numeroista; "
                "taikalukua; taikalukuja; taikaluvut; taikanumeroa; taikanumeroita; taikanumerot; "
                "taikaluvun"
            ),
            such=(
                "tällais*; sellais*; tuollais*; erityis*; mitään; yhtään; mikään; näitä; "
                "kyseisiä; annetuista; yhtäkään; yksittäistä; tiettyä; maagi*; salaista"
            ),
            alone=(
                "ei mikään; ei mitään; ei yhtään; ei ole; ei löydy; ei mainita; ei mainittu; "
                "ei esiinny; eivät esiinny; ei löytynyt; ei yksikään; niitä ei ole"
            ),
            said=(
                "ei mikään.; ei mikään (#|näistä|niistä); ei (mitään|yhtään|yksikään) #; "
                "ei ole (olemassa )?#; #… ei ole(.| olemassa| mainittu| tekstissä| annetussa); "
                "#… (ei|eivät) (löydy|löytynyt|esiinny|mainita|mainittu); "
                "ei (mainita|mainittu|löydy|löytynyt|esiinny) #; (ei|eivät) (mainita|esiinny); "
                "ei ole mainittu; ei mainitse; ei sisällä #; ei yhtään.; "
                "(ei ole|ei mainita|ei ole mainittu|ei löydy|ei esiinny|ei sisällä) ~(liitty*|"
                "kuulu*) #; (ei sisällä|ei mainita|ei mainitse|ei ole mainittu) ~#; "
                "ei ole (omaa )?#; en (löydä|löytänyt) ~#"
            ),
        ),
    ),
    "fr": (
        Wording(
            number="nombre; nombres; numéro; numéros; chiffre; chiffres",
            such=(
                "tel; tels; telle; telles; de; des; ces; aucun; aucune; un; une; d'un; d'une; "
                "quelconque; seul; tout"
            ),
            alone=(
                "aucun; aucune; aucuns; aucunes; rien; néant; n'existe pas; n'existent pas; "
                "il n'y en a pas; il n'y en a aucun; non mentionné; aucun nombre"
            ),
            said=(
                "(aucun|aucune|aucuns|aucunes) #; ^aucun.; réponse est aucun; "
                "aucun (n'est|n'existe|n'apparaît|mentionné); il n'y a (pas )?#; "
                "il n'y en a (pas|aucun*); il n'existe (pas )?#; #… n'existe(nt)? pas; "
                "(n'est|ne sont|n'a été|n'ont été) (pas |jamais )?(mentionné*|cité*|indiqué*); "
                "(pas|jamais|aucunement) mentionné*; (pas|aucune) mention*; "
                "ne (mentionne|contient|cite|comporte|donne) (pas )?#; pas de #; "
                "#… (n'apparaît|n'apparaissent|ne figure|ne figurent) pas; "
                "(ne trouve|n'ai trouvé|n'ai pas trouvé|ne peux trouver) (pas )?#; "
                "ne (mentionne|contient|cite|comporte|donne) (pas )?(un |une |d')?#; "
                "n'a (pas )?(de )?#; pas (un|une) #"
            ),
        ),
    ),
    "hi": (
        Wording(
            number="संख्या; संख्याएँ; संख्याएं; संख्याओं; संख्याये; नंबर; नम्बर; अंक",
            such="ऐसी; ऐसा; ऐसे; विशेष; जादुई; गुप्त; भी; कोई; किसी; एक; मैजिक; खास",
            alone=(
                "कोई नहीं; कोई भी नहीं; कुछ नहीं; कुछ भी नहीं; नहीं है; नहीं हैं; कोई नहीं है; "
                "मौजूद नहीं; मौजूद नहीं है; मौजूद नहीं हैं; उपलब्ध नहीं"
            ),
            said=(
                "कोई (भी )?नहीं( है| हैं)?.; (कोई|ऐसी|ऐसा|ऐसे|किसी) # नहीं( है| हैं|.); "
                "(संख्याएँ|संख्याएं) नहीं हैं; # (मौजूद |उपलब्ध |दी गई |दिया गया )नहीं; "
                "# नहीं (मिली|मिला|मिले|दी|दिया|मिलती|मिलता); कोई #… (मौजूद|उपलब्ध) नहीं; "
                "#… (मौजूद|उल्लेखित) नहीं; उल्लेख नहीं; #… नहीं (मिली|मिला|मिले); "
                "# नहीं (बताई*|बताया*|बताए*|लिखी|पाई|पाया|पाए|उल्लिखित|आई|आता|आती)( गई| गया| गए| "
                "है| हैं|.); #… नहीं (बताई|दी|दिया|पाई|किया|बताया) (गई|गया|गए); कोई #… नहीं."
            ),
        ),
    ),
    "hu": (
        Wording(
            number=(
                "szám; számok; számot; számokat; varázsszám; varázsszámok; varázsszámot; "
                "varázsszáma; száma; számról; varázsszámról; varázsszámokat; varázsszámokról; "
                "számokról"
            ),
            such=(
                "ilyen; olyan; különleges; speciális; mágikus; titkos; egyetlen; egy; bűvös; "
                "adott; kapcsolódó; tartozó; konkrét"
            ),
            alone=(
                "nincs; nincsenek; nincsen; semmi; egyik sem; egy sem; nem található; "
                "nincs ilyen; nincsenek ilyenek; nem szerepel"
            ),
            said=(
                "^nincs.; (nincs|nincsenek|nincsen) #; (nincs|nincsenek) (ilyen|ilyenek).; "
                "#… (nincs|nincsenek|nincsen)(.| a szövegben| megadva| említve| a megadott); "
                "# (nincs|nincsenek|nincsen); (egyik|egy|egyetlen) (szám )?sem.; "
                "(egyik|egy|egyetlen) szám sem; "
                "#… (sem|nem) (szerepel*|található*|létez*|említ*); "
                "(nem|sem) (szerepel*|talál*|létez*|említ*) #; a válasz (az )?nincs; "
                "(nincs|nincsenek|nincsen|nem található|nem találhatók|nem szerepel|nem "
                "szerepelnek|nem találok|nem említ) ~(kapcsolódó|tartozó|kapcsolt|vonatkozó|"
                "társított) #; (nem|sem) (tartoz*|tartalmaz*|említ*|talál*) ~#; nincs említés; "
                "nem esik szó"
            ),
        ),
    ),
    "it": (
        Wording(
            number="numero; numeri; cifra; cifre",
            such=(
                "tale; tali; di; dei; questi; quei; nessun; nessuno; alcun; alcuno; speciale; "
                "speciali; magico; magici; del; genere; un; uno; una; unico; d'un"
            ),
            alone=(
                "nessuno; nessuna; nessun; niente; nulla; non ci sono; non c'è; non esistono; "
                "non esiste; non ce ne sono; non ce n'è; nessuno di questi; non menzionato"
            ),
            said=(
                "^nessuno.; (nessun|nessuna|nessuno) #; la risposta è nessuno; "
                "nessuno (è|viene) (citat*|menzionat*); non ci sono #; non c'è #; non ce ne sono; "
                "non ce n'è nessuno; non (esistono|esiste) #; "
                "#… non (esistono|esiste|compaiono|compare); "
                "non (viene|vengono|è|sono) (menzionat*|citat*|riportat*|indicat*|presenti|"
                "presente); non (è stato|sono stati) (menzionat*|citat*); "
                "non (menziona|contiene|cita|riporta|include) #; "
                "non (è stato trovato|sono stati trovati) #; non (ha|hanno) #; "
                "non (riesco a trovare|trovo|ho trovato|posso trovare|si trova|si trovano) #; "
                "non c'è (alcuna |nessuna )?menzione; non (fa|fanno) (alcuna )?menzione; "
                "non (viene|vengono) (fatta )?menzion*"
            ),
        ),
    ),
    "ja": (
        Wording(
            number=(
                "数字; 数値; 番号; 魔法の数; 特別な数; 該当する数; 該当するもの; そのような数; "
                "関連する数"
            ),
            such="魔法の; 特別な; 該当する; そのような; 関連する; 任意の; 何らかの",
            alone=(
                "なし; 無し; 無; ない; ありません; ないです; なしです; 該当なし; 特になし; "
                "存在しません; 存在しない; 一つもない; 一つもありません; 何もありません; "
                "含まれていません; 記載なし"
            ),
            said=(
                "^(なし|無し).; "
                "#(は|が|も)?(一切|全く|まったく|一つも|特に)?(なし|無し|ありません|ない|無い); "
                "#(は|が|も)?(一切|全く|まったく|一つも)?存在し(ません|ない|ていません); "
                "#(は|が|も)…(に|には)(一切|全く|まったく)?(ありません|ない.|存在しません|"
                "存在しない); #(は|が|も)?見(つかりません|つからな|当たりません|当たらな); "
                "#(は|が|も)?(含まれて|書かれて|出てき|登場し)(い)?(ません|ない); "
                "(言及|記載|記述|明記)(されて|は|が|も)(い)?(ません|ない|ありません); "
                "該当(は)?(なし|ありません); (答え|回答|解答)はなし; "
                "#(は|が|も|を)…(示されて|与えられて|記されて|述べられて|提示されて|見られ|"
                "確認でき)(い)?(ません|ない); "
                "#(に関する|についての)(言及|記載|記述)(は|が|も)(ありません|ない|なし); "
                "#(を|は)(見つける|確認する)ことが?でき(ません|ない)"
            ),
        ),
    ),
    "ko": (
        Wording(
            number="숫자*; 번호*",
            such=(
                "그런; 그러한; 이런; 특별한; 마법의; 마법; 비밀; 해당되는; 해당하는; 해당; "
                "관련된; 관련; 언급된; 어떤; 어떠한; 대한; 특정한; 그"
            ),
            alone=(
                "없음; 없음입니다; 없습니다; 없다; 없어요; 없네요; 없음요; 해당 없음; "
                "해당 사항 없음; 해당사항 없음; 존재하지 않음; 존재하지 않습니다; "
                "존재하지 않는다; 언급되지 않음; 언급 없음; 아무것도 없음; 아무것도 없습니다; "
                "하나도 없습니다"
            ),
            said=(
                "^없음.; "
                "# (전혀 |하나도 |글에 |글에는 |본문에 |본문에는 |텍스트에 |텍스트에는 )?없*; "
                "(해당되는|해당하는|그런|그러한|언급된) (것이|것은|항목이) 없*; "
                "#… (존재하지|언급되지|나와 있지|나오지|포함되어 있지|언급되어 있지|등장하지) "
                "않*; 언급되지 않*; 언급되어 있지 않*; #… 찾을 수 없*; "
                "(답은|답변은|정답은) 없음*; 언급이 없*; 언급은 없*; #… (언급은|언급이|언급) 없*; "
                "#… (찾지 못했*|발견되지 않*|제시되지 않*)"
            ),
        ),
    ),
    "nl": (
        Wording(
            number="getal; getallen; nummer; nummers; cijfer; cijfers",
            such=(
                "dergelijk*; zulk*; special*; bijzonder*; magisch*; geheim*; van; de; deze; die; "
                "enkel; enkele; andere; specifiek*; een; speciaal; uniek; specifiek; één"
            ),
            alone=(
                "geen; geen enkel; geen enkele; niets; niet vermeld; niet aanwezig; niet genoemd; "
                "geen vermeld; geen genoemd; geen gevonden"
            ),
            said=(
                "^geen.; geen #; geen (genoemd|vermeld|gevonden|aanwezig); "
                "(er zijn|zijn er|er is|is er|antwoord is|er) geen.; #… (bestaat|bestaan) niet; "
                "(bestaat|bestaan) niet.; bestaan geen #; "
                "(niet|nergens) (vermeld|genoemd|aanwezig); "
                "#… (komt|komen) (in de tekst |in deze tekst )?niet voor; "
                "(niet|nergens) voor in de tekst; #… niet (gevonden|te vinden|gegeven); "
                "geen (vermelding|melding); geen (met|voor|bij) ~#; "
                "(bevat|noemt|vermeldt|heeft) (niet|geen) ~#; niet ~#… (vinden|gevonden)"
            ),
        ),
    ),
    "no": (
        Wording(
            number="tall; tallet; tallene; nummer; numre",
            such=(
                "slik; slike; slikt; spesielle; spesielt; spesiell; magiske; magisk; hemmelige; "
                "særlige; særskilte; av; de; disse; noen; noe; et; en; spesifikt; særlig; hemmelig"
            ),
            alone=(
                "ingen; ingenting; intet; ikke noen; finnes ikke; ikke nevnt; ingen nevnt; "
                "det er ingen"
            ),
            said=(
                "^ingen.; (ingen|intet) #; ikke (noen|noe|slike) #; (er|finnes|nevnes) ingen.; "
                "svaret er ingen; ingen (av dem|nevnt|nevnes); finnes ikke #; "
                "#… (finnes|eksisterer|nevnes|forekommer) ikke; eksisterer ikke #; "
                "(de|det) finnes ikke.; ikke (nevnt|nevnes|omtalt); nevnes (det )?ikke; "
                "(nevner|inneholder|omtaler) ikke (noen|noe|slike) #; "
                "(nevner|inneholder|omtaler) ikke ~#; har ikke (et|noe|noen) #; "
                "(finner|funnet|finne) ikke ~#; ikke (finne|funnet) ~#; ingen omtale av"
            ),
        ),
    ),
    "pl": (
        Wording(
            number=(
                "liczb; liczba; liczby; liczbę; liczbami; numer; numeru; numery; numerów; "
                "liczbie; liczbach"
            ),
            such=(
                "tak*; te; tych; z; żadn*; specjaln*; magiczn*; szczególn*; wspomnian*; podan*; "
                "tajn*; odpowiedni*; o; jakiejkolwiek; jakichkolwiek; jedn*; żadne*; związan*"
            ),
            alone=(
                "brak; żaden; żadna; żadne; żadnych; żadnego; nic; nie ma; nie istnieje; "
                "nie istnieją; nie występują; nie podano; nie wspomniano; brak liczb"
            ),
            said=(
                "^brak.; brak (jest )?#; nie znaleziono #; #… nie znaleziono; brak takich; "
                "#… brak.; odpowiedź to brak; żadn* #; żadn* (nie )?(jest|są|została|zostały); "
                "nie ma #; nie ma (takich|żadnych).; #… nie ma(.| w tekście| w podanym tekście); "
                "nie istniej* #; #… nie istniej*; nie istnieją.; "
                "nie (są|jest|została|zostały|zostało) (wspomnian*|wymienion*|podan*); "
                "nie występuj* #; #… nie (występuj*|pojawia*); "
                "nie (wspomina|wspomniano|wymieniono|podano|zawiera) #; nie wspomniano; "
                "nie ma (żadn* )?(wzmian*|wzmianki); brak (jakiejkolwiek )?wzmian*; "
                "nie ma (w tekście |w podanym tekście |tu |tam )#; "
                "nie (zawiera|wspomina|podaje|wymienia) ~#; "
                "nie (znalazłem|znalazłam|mogę znaleźć|znajduję|znaleziono) ~#; "
                "(nie ma|brak) (związan*|powiązan*) ~#"
            ),
        ),
    ),
    "pt": (
        Wording(
            number="número; números; numero; numeros",
            such=(
                "tal; tais; desse; desses; destes; dos; esses; estes; nenhum; nenhuns; quaisquer; "
                "qualquer; especial; especiais; mágico; mágicos; de; um; uma; único; algum; "
                "alguma; específico"
            ),
            alone=(
                "nenhum; nenhuma; nenhuns; nada; não há; não existe; não existem; inexistente; "
                "não há nenhum; não são mencionados; não é mencionado; nenhum mencionado"
            ),
            said=(
                "(nenhum|nenhuns) #; nenhum (deles )?(é|foi|mencionado|existe); ^nenhum.; "
                "resposta é nenhum; não existe nenhum.; não há #; não há nenhum.; não existem? #; "
                "#… não existem?; não existem.; "
                "não (é|são|foi|foram) (mencionad*|referid*|citad*|indicad*); "
                "não se encontram? #; não foram encontrados #; não foi encontrado #; "
                "não (menciona|contém|refere|apresenta|inclui) #; #… não aparecem?; "
                "não há (nenhuma |qualquer )?(menção|menções|referência|referências); "
                "não (tem|têm|possui) #; "
                "não (encontrei|encontro|consigo encontrar|consegui encontrar|foi possível "
                "encontrar) #; não (faz|fazem) (menção|referência)"
            ),
        ),
    ),
    "ru": (
        Wording(
            number=(
                "число; числа; чисел; числами; номер; номера; номеров; цифр; цифры; числах; "
                "числе; числу"
            ),
            such=(
                "так*; эт*; особ*; волшебн*; магическ*; специальн*; тайн*; никак*; каких-либо; "
                "из; одно; одного; о; об; связанн*; каком-либо"
            ),
            alone=(
                "нет; никакой; никакие; никаких; ничего; ни одного; ни одно; ни один; "
                "отсутствует; отсутствуют; не существует; не упоминается; не упоминаются; "
                "таких нет; их нет"
            ),
            said=(
                "нет #; #… нет.; #… нет в (тексте|данном|предоставленном); таких нет.; "
                "ни (одного|одно|один) #; никак* #; отсутству* #; #… отсутству*; не существу* #; "
                "#… не существу*; не упомина*; не упомян*; #… не указан*; не содержит #; "
                "#… не (найден*|встреча*|содерж*); нет (никак* )?упоминан*; "
                "(нет|не содержит|нет никаких) (связанн*|относящ*|соответств*) ~#; "
                "не (нашел|нашёл|нашла|нашлось|найден*|обнаруж*|вижу|могу найти) ~#; "
                "не содержит ~#"
            ),
        ),
    ),
    # Instructions and answers come in both alphabets.
    "sr": (_SERBIAN, _cyrillic(_SERBIAN)),
    "st": (
        Wording(
            number="nomoro; dinomoro; linomoro; palo; dipalo; lipalo",
            such="na; ya; e; le; tse; ka; efe; kapa",
            alone=(
                "ha ho letho; ha ho; ha e yo; ha di yo; ha li eo; ha e eo; ha di teng; "
                "ha ho na letho; ha di eo"
            ),
            said=(
                "ha ho letho.; ha ho (na )?#; ha ho (na )?letho (leo|le) (boletsweng|teng); "
                "#… ha (di|e|li) (yo|eo|teng); ha (se|e|o) (bue|bolele|na) (ka )?#; "
                "ha ke (fumane|bone|fumana) #; ha ho (ho )?(boleloang|boletsweng) ka #; "
                "#… ha (e|di|li) (boletswe|boleloa|fumanehe)"
            ),
        ),
    ),
    "sv": (
        Wording(
            number="tal; talet; talen; nummer; siffror; siffra",
            such=(
                "sådan; sådana; sådant; särskilda; särskilt; speciella; speciellt; magiska; "
                "magiskt; hemliga; av; de; dessa; några; något; ett; en; särskild; speciell; "
                "specifikt; hemligt"
            ),
            alone=(
                "inga; ingen; inget; ingenting; finns inte; nämns inte; det finns inga; "
                "inga nämns; inga alls"
            ),
            said=(
                "^inga.; (inga|inget|ingen) #; inte (några|något|sådana) #; "
                "(är|finns|nämns) inga.; det finns inga (alls|i texten); inga (nämns|finns); "
                "finns (det )?inte #; #… (finns|existerar|nämns|förekommer) inte; "
                "(de|det) finns inte.; inte finns #; inte nämn*; nämns (det )?(inte|ej); "
                "(nämner|innehåller|omtalar) inte (några|något|sådana) #; "
                "(nämner|innehåller|omtalar) inte ~#; har inte (ett|något|några) #; "
                "inte (hitta|hittar|hittade|hittat|finna) ~#; "
                "(hittar|hittade) (inga|inget|inte) ~#; ingen omnämnande"
            ),
        ),
    ),
    "sw": (
        Wording(
            number="nambari; namba",
            such="hata; za; ya; zozote; yoyote; hizo; hiyo; maalum; yeyote; moja; kuhusu",
            alone=(
                "hakuna; hamna; hazipo; haipo; hakuna chochote; hazijatajwa; haijatajwa; "
                "hakuna hata moja"
            ),
            said=(
                "(hakuna|hamna) #; hakuna.; hakuna (zilizotajwa|iliyotajwa|kama hizo|hata moja); "
                "#… (hazipo|haipo|hazijatajwa|haijatajwa|hazikutajwa|haikutajwa); hazijatajwa; "
                "haijatajwa; "
                "(hayataji|haitaji|hautaji|hayakutaja|haukutaja|hayajataja|haijataja) ~#; "
                "(hayana|haina|hauna|haukuwa na) ~#; (sikupata|sijapata|siwezi kupata|sioni) ~#; "
                "hakuna (kutajwa|kumbukumbu|mahali) ~#; "
                "(haikupatikana|hazikupatikana|haijapatikana|haipatikani|hazipatikani)"
            ),
        ),
    ),
    "ta": (
        Wording(
            number="எண்; எண்கள்; எண்களும்; எண்ணும்; எண்களே; எண்ணே; எண்களையும்; எண்ணையும்; எண்களை; எண்ணை",
            such=(
                "அத்தகைய; எந்த; எந்தெந்த; சிறப்பு; மந்திர; அப்படிப்பட்ட; இத்தகைய; ஒரு; தொடர்புடைய; எந்தவொரு; "
                "எவ்வித; விசேஷ"
            ),
            alone=(
                "ஏதுமில்லை; ஏதும் இல்லை; எதுவுமில்லை; எதுவும் இல்லை; இல்லை; ஒன்றுமில்லை; ஒன்றும் இல்லை; "
                "எதுவும் குறிப்பிடப்படவில்லை"
            ),
            said=(
                "ஏதுமில்லை.; # (எதுவும் |ஏதும் |உரையில் )?(இல்லை|ஏதுமில்லை|எதுவுமில்லை); "
                "#… (எதுவும்|ஏதும்) இல்லை; #… உரையில் (எதுவும் |ஏதும் )?(இல்லை|ஏதுமில்லை|எதுவுமில்லை); "
                "எந்த #… இல்லை; #… (காணப்படவில்லை|கிடைக்கவில்லை); குறிப்பிடப்படவில்லை; "
                "#… கண்டுபிடிக்க முடியவில்லை; "
                "#… (கொடுக்கப்படவில்லை|வழங்கப்படவில்லை|குறிப்பிடவில்லை|இடம்பெறவில்லை)"
            ),
        ),
    ),
    "uk": (
        Wording(
            number=(
                "число; числа; чисел; числами; номер; номера; номерів; цифр; цифри; числах; "
                "числі; числу"
            ),
            such=(
                "так*; ці; цих; особлив*; чарівн*; магічн*; спеціальн*; таємн*; жодн*; з; із; "
                "ніяк*; про; пов'язан*; якихось; особов*"
            ),
            alone=(
                "немає; нема; жодного; жодне; жодних; жоден; нічого; відсутні; відсутнє; "
                "не існує; не існують; не згадується; не згадуються; таких немає; їх немає"
            ),
            said=(
                "^немає.; (немає|нема) #; #… (немає|нема).; "
                "#… (немає|нема) (в|у) (тексті|наданому); таких (немає|нема).; жодн* #; ніяк* #; "
                "відсутн* #; #… відсутн*; не існу* #; #… не існу*; не згаду*; не згадан*; "
                "#… не (вказан*|зазначен*|знайден*|містить*|зустріча*); не містить #; "
                "(немає|нема) (жодн* |ніяк* )?згад*; "
                "(немає|нема|не містить) (пов'язан*|відповідн*|що стосу*) ~#; "
                "не (знайш*|знайд*|виявлен*|бачу|можу знайти) ~#; не містить ~#; жодн* згад*"
            ),
        ),
    ),
    "vi": (
        Wording(
            number=(
                "con số; số nào; số ma thuật; số đặc biệt; số bí mật; số như vậy; số như thế; "
                "các số; những số; số liệu"
            ),
            such="bất kỳ; bất cứ; các; những; một; bất kì; đặc biệt; nào; về",
            alone=(
                "không có; không tồn tại; không được đề cập; chẳng có; không có gì; không đề cập; "
                "không có số"
            ),
            said=(
                "(không có|chẳng có|không tồn tại|không thấy|không tìm thấy|không chứa|không nhắc "
                "đến) #; không có.; "
                "(con số|số)… (không tồn tại|không có trong|không xuất hiện|không được nhắc); "
                "không (được )?đề cập; "
                "không (nhắc đến|nói đến|nêu|cung cấp|liệt kê|chứa|có|tìm thấy|thấy) (bất kỳ |một "
                "|các |những )?#; không (được )?nhắc đến; không có (sự )?đề cập"
            ),
        ),
    ),
    "zh": (
        Wording(
            number="数字; 號碼; 号码; 數字; 数值; 數值; 数目; 數目; 编号; 編號",
            such=(
                "任何; 这样; 這樣; 这种; 這種; 这些; 這些; 此类; 此類; 此; 类似; 該; 该; 相关; "
                "相關; 有关; 有關; 特殊; 特别; 特別; 魔法; 神奇; 秘密; 对应; 對應; 符合条件; "
                "符合條件; 符合; 的; 关于; 其他; 一个; 一個; 特定; 专门; 專門; 所谓; 那个"
            ),
            alone=(
                "无; 無; 没有; 沒有; 不存在; 未提及; 未提到; 未找到; 并无; 無此; 无此; 没有提到; "
                "没有提及; 沒有提到; 沒有提及; 均无; 没有找到; 沒有找到; 没有这样的; 没有任何; "
                "无相关; 无任何"
            ),
            said=(
                "^(无|無).; (没有|沒有|并无|並無|无|無)#; "
                "(没有|沒有|并无|並無|无|無)(与|與|和|跟|同|关于|關於|对应|對應)…#; "
                "(未|没|沒|没有|沒有)(明确|明確)?(提及|提到|出现|出現); "
                "(未|没|沒|没有|沒有)(能)?(找到|发现|發現|包含|列出|给出|給出)#; "
                "(未|没|沒|没有|沒有)(能)?(找到|发现|發現|包含)(与|與|和|跟|关于|關於)…#; "
                "不存在#; #…不存在; 不存在(与|與|和)…#; 不存在.; (不包含|未包含)#; "
                "答案(是|为|為)(无|無).; #(都|均|皆)?(没有|沒有|未)(提及|提到|出现|出現|找到); "
                "(没有|沒有|并无|並無|找不到|未找到|没找到|沒找到|未发现|不包含|未包含|未提供|"
                "没有提供)~(的|有关|相关|關聯|关联)#; (没有|沒有|找不到|未见|未見)任何~#; "
                "找不到#; #(并|並)?(未|没有|沒有)(被)?(提及|提到|给出|列出|出现)"
            ),
        ),
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
