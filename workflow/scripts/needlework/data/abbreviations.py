"""Words whose full stop need not end a sentence, by language: the data of `needlework.data.sentences`.

They are listed without their last stop and without spaces ("z. B." is "z.b"). An entry in small letters
matches in any case, an entry with a capital only as it is written. Abbreviations that are also words which
may end a sentence (German "Max.", Russian "им.") are left out. Single capitals (initials), short
words before a number (No. 5) and single letters in a row (J. R., т. е.) need no entry.
"""

from __future__ import annotations

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
