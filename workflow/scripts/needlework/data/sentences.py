"""Cutting a text into sentences by rules: own rules for ONERULER's languages, general rules for all others.

In doubt, a rule does not cut: a missed end costs one place for a needle, but a wrong end puts a needle into
the middle of a sentence. Nothing is downloaded.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

# Words whose full stop need not end a sentence, by language: the data of `needlework.data.sentences`.
#
# They are listed without their last stop and without spaces ("z. B." is "z.b"). An entry in small letters
# matches in any case, an entry with a capital only as it is written. Abbreviations that are also words which
# may end a sentence (German "Max.", Russian "им.") are left out. Single capitals (initials), short
# words before a number (No. 5) and single letters in a row (J. R., т. е.) need no entry.

# In any language: titles and the like, which translations keep.
INTERNATIONAL = "dr mr mrs ms mme mlle messrs prof st jr sr vs cf ph.d"

# A stop after these ends no sentence: titles, and words that introduce something.
INSIDE: dict[str, str] = {
    "cs": """
        p pí sl ing mgr bc mudr judr rndr phdr mvdr doc gen plk kpt sv např tzn tzv tj resp popř zejm
        s str č čís čl odst obr ul nám tel př.n.l cca pozn ed npor nadp por mjr pplk rtm
        """,
    "da": """
        hr fr frk ing kapt løjtn sct skt f.eks fx bl.a d.v.s dvs ca kl nr s jf jfr vedr inkl ekskl evt
        hhv f.kr e.kr kap
        """,
    "de": """
        hr fr frl dipl ing hl sel z.b z.t z.zt z.h u.a u.u u.ä d.h i.a i.d.r s.o s.u v.a o.ä bzw ca evtl
        ggf inkl exkl insb insbes sog vgl nr bd bde kap abs abb anm aufl hrsg hg jh jhd tel v chr geb
        gest str kath griech franz engl bes ss
        """,
    "en": """
        gen rep gov capt cpt lieut lt sgt cpl col maj cmdr adm revd rev hon supt mt esqre messrs e.g i.e
        viz ca approx eds vols chs secs figs pp nos trans pseud dept univ assn ave blvd
        """,
    "es": """
        sra srta sres sras dra dras dª dña d fr gral cnel tte ud uds vd vds v.m lic arq profa sto sta mons
        rvdo excmo ilmo p.ej ej pág págs p pp núm núms n.º vol vols ed eds aprox av avda c s.m ss.mm
        a.c d.c j.c ee ee.uu uu n.b
        """,
    "fa": "ه ق م ص ج ر ک ش هـ ه‍ صص",
    "fi": """
        hra rva nti maist dos ins kapt luutn rov tkt toht esim mm ks vrt ns nk klo nro osa.n puh toim
        synt kpl huom v t.s ao s
        """,
    "fr": """
        m mm mgr mgrs drs vve cie ste p.ex ex c.à.d env n nos n.b p pp chap vol t éd éds
        trad mss bd boul fbg tél
        """,
    "hi": "डॉ डा प्रो श्री सुश्री पं पृ सं स्व रु क्र मो चौ कु ई कि.मी",
    "hu": """
        ifj id özv gr br hg őrgy alez ezr szds fhdgy ill vö ld pl kb ún u.n tkp sz szt szerk fej jan febr
        márc ápr jún júl aug szept okt nov dec u krt pu vmint
        """,
    "it": """
        sig sigg sig.ra sig.na sigra avv ing arch geom rag dott dott.ssa prof.ssa on cav comm ill.mo ss
        s.m v.e p.es cfr pag pagg p pp artt n nn voll figg tel a.c d.c v.le p.za p.zza
        """,
    "nl": """
        dhr mevr mw mej ir ing drs ds jhr lt kapt z.k.h z.m h.k.h bijv d.w.z dwz o.a o.m o.i m.a.w m.b.t
        m.i m.n n.a.v t.a.v t.b.v t.g.v t.o.v t.z.t i.p.v i.v.m i.h.b vgl zgn z.g resp ca nr nrs blz
        hfst tel v.chr n.chr chr vnl incl excl evt
        """,
    "no": """
        hr fr frk ing kapt løytn skt f.eks fx bl.a d.v.s dvs ca kl nr s jf jfr vedr inkl ekskl evt hhv
        f.kr e.kr kap
        """,
    "pl": """
        p pp ks hab mgr inż doc red gen hr płk ppłk mjr kpt ppor sierż św bł bp abp kard dyr np tzn tzw tj
        m.in ob zob wg ws przyp s str ust rozdz tab nr nry godz dn ul al pl os woj pow tel śp n.e p.n.e
        """,
    "pt": """
        sra srs sras srta dra drs d dª exmo exma ex.mo ex.ma ilmo v.exa v.ex.ª eng arq profa pe cel alm
        sto sta p.ex ex p pág págs pp caps arts n nº n.º núm vol vols eds figs aprox av a.c d.c j.c
        """,
    "ru": """
        г-н г-жа гг гр тов т.е т.н т.к т.наз т.о т.ч и.о напр акад проф доц инж ген кап св преп изд сост
        адм лейт кн о ред ср см стр с гл ст п пп рис табл разд т тт вып ул пл просп пер д корп обл р-н пос
        прибл
        """,
    "sr": """
        g gđa gđica doc ing inž mag akad sv npr tzv tj tzn odn str s br čl st gl t knj izd ul bul cca v
        г гђа гђица др проф доц инг инж мр маг акад св нпр тзв тј тзн одн стр с бр чл ст гл т књ изд ул
        бул цца в
        """,
    "st": "Mong Mof Mofum Moh Ng Mor",
    "sv": """
        hr fr frk ing kapt löjtn kyrkoh doc s:t s:ta t.ex t.o.m bl.a d.v.s dvs fr.o.m f.n f.d f.ö i.o.m p.g.a
        s.k m.a.o m.h.t ca kl nr s sid jfr jämf enl inkl exkl resp f.kr e.kr kap
        """,
    "sw": "bw bi bib dk dkt mhe mh ndg k.m k.v mf taz mwl kapt jen",
    "ta": """
        திரு திருமதி செல்வி டாக்டர் பேரா முனை கி.பி கி.மு எ.கா எஃப் எச் கே எல் எம் என் கியூ ஆர் எஸ் டபிள்யூ எக்ஸ் ஒய்
        பக் ஜே
        """,
    "uk": """
        п пп гр т.зв т.є т.ч напр акад проф доц інж ген кап кн о св ім ред упоряд див ст стор с гл розд табл т
        тт вип вул просп буд обл смт
        """,
    "vi": "TS ThS PGS GS BS KS LS TP TX TT NXB ĐT Mr tr",
}

# These end a sentence if the next word has a capital; single letters only after a number ("1921 г.").
ENDING: dict[str, str] = {
    "cs": "atd apod aj atp hod tis mil mld kč kr r",
    "da": "osv etc m.m m.v m.fl o.s.v o.l mio kr",
    "de": "usw etc usf u.s.w u.a.m u.dgl dgl mio mrd",
    "en": "etc jr sr inc ltd co corp a.m p.m al esq b.c a.d u.s",
    "es": "etc a.m p.m h cía",
    "fi": "jne ym yms mk milj mrd jaa ekr jkr eaa",
    "fr": "etc h",
    "hu": "stb u.i i.sz ft",
    "it": "ecc etc a.m p.m",
    "nl": "enz e.d etc mln mld n.v b.v",
    "no": "osv etc m.m m.v m.fl o.s.v o.l mill mrd kr",
    "pl": "itd itp r w zł gr tys mln mld in",
    "pt": "etc ltda cia a.m p.m h",
    "ru": "т.д т.п др пр г гг в вв р руб коп тыс млн млрд н.э",
    "sr": "itd i.sl i.dr sl din mil god итд и.сл и.др сл дин мил год т.д т.сл",
    "st": "jj jwj",
    "sv": "osv etc m.m m.fl o.s.v o.d milj kr",
    "sw": "n.k k.w.k nk a.m p.m",
    "uk": "т.д т.п ін м р рр в грн коп тис млн млрд",
    "vi": "v.v vv",
}

# Letters that are words, so no initials.
WORDS: dict[str, str] = {"en": "I", "ru": "Я", "uk": "Я", "ta": "நீ வா போ தா பூ தீ ஈ"}


# Longer sentences are cut at a semicolon, a comma or a space: a text may have no stops for pages.
MAX_CHARACTERS = 3000

# Languages that write no space between sentences.
WITHOUT_SPACES = frozenset({"ja", "zh"})

# Languages that write ordinals with a stop, so that one after a number ends nothing. (Not only these:
# every language without an entry in `abbreviations` is taken for one of them.)
WITH_ORDINALS = frozenset({"cs", "da", "de", "fi", "hu", "no", "pl", "sr"})

# Stops that need no space after them, and all others.
_TIGHT = "。｡！？．।॥"
_STOPS = _TIGHT + ".!?…؟۔‼⁇⁈⁉։።។။"

# What may stand between a stop and the end of its sentence. Most quotation marks open in one language
# and close in another: between a stop and a space all of them close.
_NOTE = r"\[(?:\d+|\*+)\]"  # [12], [*]
_END = re.compile(rf"[{_STOPS}](?:[{_STOPS}\"'”’»«›‹“‘)\]}}」』】〕）〉》］*]|{_NOTE})*")
# Before no space these only, and behind a space too ("« Non. »").
_CLOSERS = "”’»›)]」』】〕）〉》］"
# Without spaces between sentences, one behind a quotation is the end of its paragraph.
_END_WITHOUT_SPACES = re.compile(rf"{_END.pattern}|[”」』](?= )")
_TIGHT_END = re.compile(rf"[{_STOPS}](?:[{_STOPS}{re.escape(_CLOSERS)}]|{_NOTE})*")
_LOOSE_CLOSER = re.compile(rf" [{re.escape(_CLOSERS)}]+(?= |$)")

# What may stand before a sentence's first letter (also a page's number, {90}), and a small word that does
# (Dutch "'s Avonds").
_OPENERS = re.compile(r"(?:\.\.+|\{\d+\}|[^\w.!?]){0,40}")
_ELIDED = re.compile(r"['’]\w (?=\w)")

_NUMBER = re.compile(r"\d{1,2}")
_ROMAN = re.compile(r"[IVXLCDM]+")
_MARK = re.compile(r"\d{1,3}|[IVXLCDM]+")
_ROW = re.compile(r"[^\W\d_]{1,3}(?:\.[^\W\d_])+")
_COUNT = re.compile(r"(?:\d|\b[IVXLCDM]+) $")
_WORD = re.compile(r"[^\W_]")
_BEFORE_TOKEN = re.compile(r".*[\s\"'“”‘’«»‹›„‚(\[{¿¡*—–/…]", re.DOTALL)

# Where a sentence without an end is cut: the first of these that it has.
_CUTS = tuple(re.compile(cut) for cut in (r"；|[;؛] ", r"，|[,،] ", " "))

# What goes on after a quotation that ends with a stop: the speaker, or a particle.
_GOES_ON = {
    "en": r"(?<=[!?][”\"’]) (?:[A-Z][\w.’-]* ){1,3}?(?:said|asked|cried|answered|replied|exclaimed"
    r"|whispered|shouted|called|murmured|added|began|continued|repeated|returned|thought)\b",
    "fa": r" (?:\w+ ){0,2}?(?:می‌)?(?:گفت|پرسید|فریاد)(?!\s*[:،])",
    "hi": r"(?<=[\"”’]) (?:और|(?:[^\s।,]+ ){0,2}?(?:कह|कहते)) "
    r"| (?:[^\s।,]+ ){0,3}?(?:कहा|पूछा|बोला|बोली|बोले|कहकर|चिल्लाया|चिल्लाई)(?![\w\u0900-\u0963]|\s*[,:–-])",
    "ja": r"[とっなのをにはがもでや、]",
    "ko": r" ?(?:하[고며는였여니던면]|한다|했|이?라[고며는]|고 )|(?<=[\"”’]) (?:[^\s.,]+ ){0,3}?"
    r"(?:되?물었|말했|말하였|대답했|대답하였|외쳤|소리쳤|속삭였|중얼거렸|덧붙였)다",
    "ta": r" ?(?:என[்\s,]|என்|கேட்ட)",
    "zh": r"[\u4e00-\u9fff]{0,6}?[说道问答喊叫嚷骂叹想][道着]?[，。]",
}


@dataclass(frozen=True)
class Rules:
    """The rules of a language's sentences."""

    # Two kinds of abbreviations (see `needlework.data.sentences`).
    inside: frozenset[str]
    ending: frozenset[str]
    # Single letters that are words.
    words: frozenset[str]
    # Whether "3." means third.
    ordinals: bool
    # Matches a text that continues a sentence behind a closing quotation mark.
    goes_on: re.Pattern[str] | None
    # Stands between two sentences.
    joiner: str


def rules(lang: str, *, abbreviated: Iterable[str] = (), joiner: str | None = None) -> Rules:
    """The rules of `lang`: its own, or the general rules if the language is unknown.

    `abbreviated` are further words whose stop does not end a sentence. `joiner` replaces the language's own
    (nothing in zh and ja, else a space).
    """
    goes_on = _GOES_ON.get(lang)
    further = (word.rstrip(".").replace(". ", ".") for word in abbreviated)
    return Rules(
        inside=frozenset(
            [
                *INTERNATIONAL.split(),
                *INSIDE.get(lang, "").split(),
                *further,
            ]
        ),
        ending=frozenset(ENDING.get(lang, "").split()),
        words=frozenset(WORDS.get(lang, "").split()),
        ordinals=lang in WITH_ORDINALS or lang not in INSIDE,
        goes_on=re.compile(goes_on) if goes_on else None,
        joiner=("" if lang in WITHOUT_SPACES else " ") if joiner is None else joiner,
    )


def fold_spaces(text: str) -> str:
    """`text` with every run of white space as one space, and none around it."""
    return re.sub(r"\s+", " ", text).strip()


def split(text: str, rules: Rules) -> list[str]:
    """The sentences of `text` (white space folded first), stripped; none is empty.

    A sentence has at most MAX_CHARACTERS characters.
    """
    text = fold_spaces(text)
    sentences = (text[start:end].strip() for start, end in _spans(text, rules))
    return [part for sentence in sentences if sentence for part in _parts(sentence)]


def _spans(text: str, rules: Rules) -> Iterator[tuple[int, int]]:
    possible = _END if rules.joiner else _END_WITHOUT_SPACES
    closing = _loose_closing_marks(text)
    start = position = 0
    # What has no word ("...", "***") is no sentence: it belongs to the next one, or at last to the one
    # before it.
    word = _first_word(text, 0)
    while word < len(text) and (found := possible.search(text, max(position, word))):
        end, position = _end(text, found, closing, rules), found.end()
        if end is None or not _is_end(text, start, found.start(), end, rules):
            continue
        word = _first_word(text, end)
        if word == len(text):
            break
        yield start, end
        start = position = end
    yield start, len(text)


def _first_word(text: str, position: int) -> int:
    found = _WORD.search(text, position)
    return found.start() if found else len(text)


def _loose_closing_marks(text: str) -> set[int]:
    """Where a straight quotation mark with spaces on both sides closes: those that open alternate.

    One at a word opens or closes it, and one behind a comma or colon opens.
    """
    closing = set()
    opened = False
    for found in re.finditer('"', text):
        at = found.start()
        before, behind = text[at - 1 : at], text[at + 1 : at + 2]
        if before == " " == behind:
            opened = not opened or text[at - 2] in ",:،："
            if not opened:
                closing.add(at)
        else:
            opened = before in ("", " ", "(", "[")
    return closing


def _end(text: str, found: re.Match[str], closing: Collection[int], rules: Rules) -> int | None:
    """Where the sentence would end that the stop `found` ends; None if no sentence can end."""
    end = found.end()
    if end < len(text) and text[end] != " ":
        tight = _TIGHT_END.match(text, found.start())
        assert tight is not None, "it begins with the stop that was found"
        if not (
            any(stop in _TIGHT for stop in tight[0])
            or (rules.joiner == "" and tight[0][-1] in _CLOSERS)
        ):
            return None
        return tight.end()
    if loose := _LOOSE_CLOSER.match(text, end):
        return loose.end()
    return end + 2 if end + 1 in closing else end


def _is_end(text: str, start: int, stop: int, end: int, rules: Rules) -> bool:
    """Whether a sentence that begins at `start` ends at `end`, behind the stop at `stop`."""
    if text[stop - 1 : stop] in ("(", "["):  # (!)
        return False
    run = text[stop:end]
    stops = [character for character in run if character in _STOPS]
    closed = len(stops) < len(run)
    if not stops:
        return True
    if rules.goes_on and (closed or stops[-1] in "！？!?") and rules.goes_on.match(text, end):
        return False
    opened = _OPENERS.match(text, end)
    following = opened.end() if opened else end
    first = text[following : following + 1]
    if first and first in ".!?":  # spaced dots: the last of them counts
        return False
    if first.islower() and first.title() != first:
        elided = _ELIDED.match(text, following - 1)
        if not (elided and text[elided.end()].isupper()):
            return False
    capital = first.isupper() or first.istitle()
    if set(stops) <= {"…", "."} and (len(stops) > 1 or stops[0] == "…"):
        return capital or closed
    if stops != ["."]:
        return True
    return _full_stop_ends(text, start, stop, first, capital, rules)


def _full_stop_ends(
    text: str, start: int, stop: int, first: str, capital: bool, rules: Rules
) -> bool:
    """Whether the full stop at `stop` ends a sentence, by the word before it and `first` behind it."""
    left = max(start, stop - 40)
    whole = text[left:stop]
    if opened := _BEFORE_TOKEN.match(whole):
        whole = whole[opened.end() :]
    token = whole.rpartition("-")[2]
    before = text[left : stop - len(whole)]
    if not token:
        return True
    # The number or letter of a heading or list: "1. ", "IV. ", "a. " at the start of a sentence.
    if _is_mark(token) and not _WORD.search(text, start, stop - len(token)):
        return token in rules.words
    if token.isdigit():
        return not first.isdigit() and not (rules.ordinals and _NUMBER.fullmatch(token))
    if rules.ordinals and _ROMAN.fullmatch(token) and len(token) > 1:
        return False
    # "z. B.", "J. R.": single letters in a row are one abbreviation.
    row = token
    while len(before) >= 3 and before.endswith(". ") and (previous := _last_letter(before)):
        row = f"{previous}.{row}"
        before = before[: -len(previous) - 2]
    # "bl. a.": the first part may be longer.
    first_part = before[:-2].rpartition(" ")[2] if before.endswith(". ") else ""
    known_as = (token, whole, row, f"{first_part}.{row}")
    names = {name for known in known_as for name in (known, known.lower())}
    if names & rules.ending:
        # "14 h.", "1921 г.", but "г. Минск": a unit counts something.
        return capital and (len(row) > 1 or bool(_COUNT.search(before)))
    if names & rules.inside:
        return False
    if token in rules.words and row == token:
        return True
    if _ROW.fullmatch(row) or _is_initial(token) or _letter_and_stop(text, stop + 2, token):
        return False
    # "No. 5", "kl. 14": a short word before a number may be short for one.
    return not (first.isdigit() and len(token) <= 4 and token.lower() != token.upper())


def _last_letter(before: str) -> str | None:
    """The single letter at the end of `before`, if a stop and a space follow it; else None."""
    token = before[:-2].rpartition(" ")[2]
    return token if len(token) == 1 and token.isalpha() else None


def _letter_and_stop(text: str, position: int, token: str) -> bool:
    """Whether `token` is a letter and another follows, with a stop ("т. е.")."""
    return len(token) == 1 and bool(re.match(r"[^\W\d_]\.", text[position : position + 2]))


def _is_mark(token: str) -> bool:
    """Whether `token` may number a heading: a number, a letter."""
    return bool(_MARK.fullmatch(token)) or (len(token) == 1 and token.lower() != token.upper())


def _is_initial(token: str) -> bool:
    """Whether `token` is one capital, or one letter (with its signs) of a script without capitals."""
    letter = token[0]
    if not letter.isalpha() or any(unicodedata.category(sign)[0] != "M" for sign in token[1:]):
        return False
    if letter.isupper():
        return True
    # A syllable of Hangul and a Chinese character are words.
    return not letter.islower() and not _is_word_character(letter)


def _is_word_character(letter: str) -> bool:
    return "\u3040" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7a3"


def _parts(sentence: str) -> Iterator[str]:
    """`sentence`, cut where it is too long: behind the last ";", else ",", else space that fits."""
    while len(sentence) > MAX_CHARACTERS:
        at = MAX_CHARACTERS
        for cut in _CUTS:
            ends = [found.end() for found in cut.finditer(sentence, 0, MAX_CHARACTERS)]
            if ends and ends[-1] > MAX_CHARACTERS // 2:
                at = ends[-1]
                break
        yield sentence[:at].strip()
        sentence = sentence[at:].strip()
    yield sentence
