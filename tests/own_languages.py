"""Data and instructions of a user's own in four scripts, without a Latin letter."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")


class Language(NamedTuple):
    """What a language's data and instructions are made of."""

    towns: str
    nouns: str
    question: str
    context: str
    passage: str
    read: str
    exist: str
    ask: str
    answer: str
    document: str
    title: str
    find: str
    key: str
    value: str
    needle: str
    numbers: str
    both: str
    list: str
    otherwise: str
    form: str
    yes: str
    no: str
    none: str
    tag: str
    full_stop: str


LANGUAGES = {
    "ar": Language(
        towns="دمسار حلوان نبراس قطيف سندس ميسان رملة بيسان غدير زهران كوثر واحة",
        nouns="دلو ملعقة بطانية جمل أرنب بومة ضفدع فراشة",
        question="في أي سنة بني برج {town}؟",
        context="بني برج {town} سنة {year} من الحجر الأبيض.",
        passage="سوق {town} مفتوح كل صباح. يبيع التجار فيه الفاكهة والقماش.",
        read="اكتب جوابا جيدا عن السؤال مستعملا النصوص التالية فقط، وقد يكون بعضها بلا صلة.",
        exist="اقرأ النصوص التالية وقل هل في أحدها الجواب الصحيح. اكتب «نعم» أو «لا» فقط.",
        ask="السؤال:",
        answer="الجواب:",
        document="وثيقة",
        title="العنوان",
        find="استخرج القيمة المقابلة للمفتاح من الكائن التالي.",
        key="المفتاح:",
        value="القيمة:",
        needle="الرقم الخاص بكلمة «{key}» هو {value}",
        numbers="ما الأرقام الخاصة بكلمة «{query1}» في النص؟",
        both="ما الأرقام الخاصة بكلمتي «{query1}» و«{query2}» في النص؟",
        list="اذكرها كلها.",
        otherwise="إن لم يوجد رقم كهذا فأجب «معدوم».",
        form="اكتب جوابك هكذا:",
        yes="نعم",
        no="لا",
        none="معدوم",
        tag="الجواب",
        full_stop=".",
    ),
    "hi": Language(
        towns="धरमपुर केसरगढ़ नीलबाग सुरजनगर चंदनपुर मोतीहार फूलबनी रतनपुर गोमती अमराई बेलगाँव तुलसी",
        nouns="बाल्टी चम्मच कंबल ऊँट खरगोश उल्लू मेंढक तितली",
        question="{town} की मीनार किस वर्ष बनी?",
        context="{town} की मीनार वर्ष {year} में सफ़ेद पत्थर से बनी।",
        passage="{town} का बाज़ार हर सुबह खुलता है। वहाँ फल और कपड़े बिकते हैं।",
        read="केवल नीचे दिए अंशों के आधार पर प्रश्न का अच्छा उत्तर लिखिए; कुछ अंश असंगत हो सकते हैं।",
        exist="नीचे के अंश पढ़िए और बताइए कि किसी में सही उत्तर है या नहीं। केवल 'हाँ' या 'नहीं' लिखिए।",
        ask="प्रश्न:",
        answer="उत्तर:",
        document="दस्तावेज़",
        title="शीर्षक",
        find="नीचे की वस्तु में कुंजी का मान बताइए।",
        key="कुंजी:",
        value="मान:",
        needle="“{key}” की विशेष संख्या {value} है",
        numbers="पाठ के अनुसार “{query1}” की विशेष संख्याएँ क्या हैं?",
        both="पाठ के अनुसार “{query1}” और “{query2}” की विशेष संख्याएँ क्या हैं?",
        list="सभी लिखिए।",
        otherwise="यदि ऐसी संख्या न हो तो “कोई नहीं” लिखिए।",
        form="उत्तर इस रूप में दीजिए:",
        yes="हाँ",
        no="नहीं",
        none="कोई नहीं",
        tag="उत्तर",
        full_stop="।",
    ),
    "zh": Language(
        towns="临溪 松岭 白沙 青浦 云台 石桥 柳河 金谷 玉泉 兰亭 梅岭 桐湾",
        nouns="水桶 勺子 毯子 骆驼 兔子 猫头鹰 青蛙 蝴蝶",
        question="{town}的塔建于哪一年?",
        context="{town}的塔于{year}年用白石建成。",
        passage="{town}的集市每天早晨开放。那里卖水果和布匹。",
        read="请只根据下面的段落写出问题的好答案,有些段落可能无关。",
        exist="阅读下面的段落,判断其中是否有正确答案。只写“有”或“没有”。",
        ask="问题:",
        answer="答案:",
        document="文档",
        title="标题",
        find="请在下面的对象中找出键所对应的值。",
        key="键:",
        value="值:",
        needle="“{key}”的特殊数字是{value}",
        numbers="根据文本,“{query1}”的特殊数字是什么?",
        both="根据文本,“{query1}”和“{query2}”的特殊数字是什么?",
        list="请全部列出。",
        otherwise="如果没有这样的数字,请回答“无”。",
        form="请按此格式回答:",
        yes="有",
        no="没有",
        none="无",
        tag="答案",
        full_stop="。",
    ),
    "th": Language(
        towns="บ้านสวน ท่าเรือ เขาขาว หนองบัว ดอนแก้ว คลองใส นาทอง ป่าสัก ห้วยทราย วังน้ำ ทุ่งใหญ่ โคกงาม",
        nouns="ถังน้ำ ช้อน ผ้าห่ม อูฐ กระต่าย นกฮูก กบ ผีเสื้อ",
        question="หอคอยของ{town}สร้างในปีใด",
        context="หอคอยของ{town}สร้างในปี {year} ด้วยหินสีขาว",
        passage="ตลาดของ{town}เปิดทุกเช้า ที่นั่นขายผลไม้และผ้า",
        read="จงตอบคำถามให้ดีโดยใช้เฉพาะข้อความต่อไปนี้ บางข้อความอาจไม่เกี่ยวข้อง",
        exist="อ่านข้อความต่อไปนี้แล้วบอกว่ามีคำตอบที่ถูกต้องหรือไม่ ตอบเพียง 'ใช่' หรือ 'ไม่ใช่'",
        ask="คำถาม:",
        answer="คำตอบ:",
        document="เอกสาร",
        title="ชื่อเรื่อง",
        find="จงหาค่าของกุญแจในวัตถุต่อไปนี้",
        key="กุญแจ:",
        value="ค่า:",
        needle="ตัวเลขพิเศษของ “{key}” คือ {value}",
        numbers="ตามข้อความ ตัวเลขพิเศษของ “{query1}” คืออะไร",
        both="ตามข้อความ ตัวเลขพิเศษของ “{query1}” และ “{query2}” คืออะไร",
        list="เขียนให้ครบ",
        otherwise="ถ้าไม่มีตัวเลขเช่นนั้น ให้ตอบว่า “ไม่มี”",
        form="ตอบในรูปแบบนี้:",
        yes="ใช่",
        no="ไม่ใช่",
        none="ไม่มี",
        tag="คำตอบ",
        full_stop="",
    ),
}


def instructions(own: Language) -> dict[str, str]:
    """The texts of MLNeedle and Lost in the Middle."""
    ask = f"{own.ask} {{question}}\n{own.answer}"
    return {
        "exact": f"{own.read}\n\n{{passages}}\n\n{ask}",
        "existence": f"{own.exist}\n\n{{passages}}\n\n{ask}",
        "closed_book": ask,
        "yes": own.yes,
        "no": own.no,
        "documents": f"{own.read}\n\n{{documents}}\n\n{ask}",
        "document": f"{own.document} [{{number}}]",
        "title": f"({own.title}: {{title}})",
        "pairs": f'{own.find}\n\n{{pairs}}\n\n{own.key} "{{key}}"\n{own.value}',
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_language(folder: Path, lang: str) -> None:
    """Write a language's data, in a folder of its own, and its texts, below `languages`."""
    own = LANGUAGES[lang]
    rows = ["q,t,c,a"]
    passages = []
    for number, town in enumerate(own.towns.split()):
        year = 1700 + 7 * number
        context, question = own.context.format(town=town, year=year), own.question.format(town=town)
        rows.append(f'{question},{town},"{context}","[""{year}""]"')
        passages.append(json.dumps({"c": own.passage.format(town=town)}, ensure_ascii=False))
    _write(folder / f"{lang}/questions.csv", "\n".join(rows) + "\n")
    _write(folder / f"{lang}/passages.jsonl", "\n".join(passages) + "\n")
    for name, text in instructions(own).items():
        _write(folder / f"languages/{lang}/{name}.txt", text + "\n")
    niah = {
        "task": f"{own.read}\n\n{{context}}\n\n",
        "needle_numbers": own.needle,
        "question_single_numbers": own.numbers,
        "question_multi_numbers": own.both,
        "please_list": own.list,
        "if_no_numbers": f"{own.otherwise}\n\n",
        "answer_prefix": f"{own.form}\n",
        "answer_numbers": f"<{own.tag}> {own.list} </{own.tag}>",
        "none": own.none,
    }
    _write(folder / f"languages/{lang}/niah.json", json.dumps(niah, ensure_ascii=False))


def write_data(folder: Path) -> None:
    """Write the data and texts of all languages."""
    for lang in LANGUAGES:
        write_language(folder, lang)
    nouns = zip(*(own.nouns.split() for own in LANGUAGES.values()), strict=True)
    lines = ["\t".join(row) for row in [tuple(LANGUAGES), *nouns]]
    _write(folder / "languages/nouns.tsv", "\n".join(lines) + "\n")


def configuration() -> dict[str, Any]:
    """Both kinds of data in all tasks that they serve, in all languages."""
    langs, texts = [*LANGUAGES], {lang: f"languages/{lang}" for lang in LANGUAGES}
    columns = {"question": "q", "title": "t", "context": "c", "answers": "a"}
    benchmarks = {
        "mlneedle": {
            "needles": "asked",
            "haystack": "asked_paragraphs",
            "needle_languages": langs,
            "haystack_languages": ["multilingual"],
            "multilingual": langs,
            "lengths": [800],
            "questions": 4,
            "aligned": True,
            "tasks": ["exact", "existence", "closed_book"],
            "instructions": texts,
        },
        "lost_in_the_middle": {
            "needles": "asked",
            "source": "constructed",
            # The paper's ablations are of numbers of documents and pairs that this run does not ask.
            "query_aware": [],
            "query_aware_pairs": [],
            "random_order": [],
            "random_distractors": [],
            "languages": langs,
            "tasks": ["closed_book", "oracle", "multi_document_qa", "key_value"],
            "n_documents": [{"n": 10, "gold_indices": [0, 9]}],
            "n_pairs": [{"n": 10, "indices": [0, 9]}],
            "keys": ["uuid"],
            "key_languages": langs,
            "examples": 2,
            "instructions": texts,
        },
        "oneruler": {
            "data": "oneruler",
            "haystack": "texts",
            "languages": langs,
            "cross_lingual": [],
            "tasks": [f"niah_{n}" for n in "single multikey multivalue multiquery none".split()],
            "lengths": [1500],
            "examples": 2,
            "none_option": [True, False],
            "none_words": {lang: [own.none] for lang, own in LANGUAGES.items()},
            "answer_tags": [own.tag for own in LANGUAGES.values()],
            "full_stops": {lang: own.full_stop for lang, own in LANGUAGES.items()},
        },
    }
    return {
        "run": {"models": ["spelt"], "benchmarks": [*benchmarks]},
        "tokenizers": {"letters": {"kind": "characters"}},
        "models": {"spelt": {"backend": "oracle", "tokenizer": "letters", "context": 100000}},
        "sources": {"oneruler": {"folder": "languages"}},
        "corpora": {
            "asked": {
                "kind": "questions",
                "columns": columns,
                "languages": {lang: {"files": [f"{lang}/questions.csv"]} for lang in langs},
            },
            "texts": {
                "kind": "texts",
                "columns": {"text": "c"},
                "languages": {lang: {"files": [f"{lang}/passages.jsonl"]} for lang in langs},
            },
        },
        "benchmarks": benchmarks,
    }
