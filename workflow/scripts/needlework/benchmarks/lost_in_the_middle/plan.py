"""What Lost in the Middle consists of: its factors, its slices, and what each slice depends on.

Paper: Liu et al., arXiv:2307.03172. Sections 3 (multi-document question answering), 4 (key-value
retrieval), 5.2 (the query before and after the data), 6 (open-domain case study), appendices A to C.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from needlework.benchmarks.contract import Result, Search
from needlework.config import check_named
from needlework.corpora.languages import CORPUS_LANGUAGES
from needlework.decoding import decoding
from needlework.errors import UserError

NAME = "lost_in_the_middle"
TITLE = "Lost in the Middle"
# Answers are scored in the language in which they come.
TRANSLATED = False

# Factor columns and their Arrow types, by name: planning needs no Arrow.
FACTORS: dict[str, str] = {
    "lang": "string",
    "n_documents": "int32",
    "gold_index": "int32",
    "distractors": "string",
    "order": "string",
    "query_aware": "bool",
    "answer_present": "bool",
    "unambiguous": "bool",
    "keys": "string",
    "length": "int32",
}

TABLES = {
    "table1": Result("Table 1: closed-book and oracle accuracy"),
    "table2": Result("Table 2: tokens, closed-book and oracle", "instances"),
    "table3": Result("Table 3: tokens, multi-document question answering", "instances"),
    "table4": Result("Table 4: tokens, key-value retrieval", "instances"),
    "table5": Result("Table 5: accuracy with 10 documents"),
    "table6": Result("Table 6: accuracy with 20 documents"),
    "table7": Result("Table 7: accuracy with 30 documents"),
    "accuracy": Result("Accuracy of every cell"),
}
FIGURES = {
    "figure1": Result("Figure 1: the U-shaped curve"),
    "figure5": Result("Figure 5: position of the answer's document"),
    "figure6": Result("Figure 6: number of documents"),
    "figure10": Result("Figure 10: key-value retrieval"),
    "figure11": Result("Figure 11: encoder-decoder models"),
    "figure12": Result("Figure 12: query-aware contextualization"),
    "figure13": Result("Figure 13: instruction tuning"),
    "figure14": Result("Figure 14: open-domain question answering"),
    "figure15": Result("Figure 15: unambiguous questions"),
    "figure16": Result("Figure 16: random distractors"),
    "figure17": Result("Figure 17: distractors in random order"),
    "figure18": Result("Figure 18: GPT-4"),
    "languages": Result("Multi-document question answering by language"),
    "key_value_words": Result("Key-value retrieval with words"),
}

# The questions of the paper, and where distractors of other questions come from.
NQ_OPEN = "nq_open"
HAYSTACKS = {
    "mlqa": "mlqa_passages",
    "xquad": "xquad_passages",
    "sample_questions": "sample_passages",
}
# Passages of the sample have no titles, so its prompts name none: the gold passage would stand out.
UNTITLED = ("sample_questions",)
# How the words of a slice's name after its language read.
_VARIANTS = {
    "plain": {},
    "query-aware": {"query_aware": True},
    "random-order": {"order": "random"},
    "random-distractors": {"order": "random", "distractors": "random"},
}
_DOCUMENTS = "documents"
_PAIRS = "pairs"
# What the released files hold (paper, sections 3.3 and 4.2).
RELEASED_DOCUMENTS = 30
RELEASED_PAIRS = (75, 140, 300)
# The one language of the paper's questions.
_ENGLISH = "en"


def slices(own: Mapping[str, Any]) -> list[str]:
    """The slices of the benchmark's configuration: one a language, task and ablation.

    `<lang>-documents-<variant>` and `<lang>-pairs-<keys>-<variant>` hold all numbers of documents or
    pairs of that variant, so that each document is tokenized once for all of them.
    """
    tasks = own["tasks"]
    found = []
    for lang in own["languages"]:
        kinds = [task.replace("_", "-") for task in ("closed_book", "oracle") if task in tasks]
        if "multi_document_qa" in tasks:
            kinds += [f"{_DOCUMENTS}-{variant}" for variant in _document_numbers(own)]
        if "open_domain" in tasks:
            kinds.append("open-domain")
        found += [f"{lang}-{kind}" for kind in kinds]
    if "key_value" in tasks:
        found += [
            f"{lang}-{_PAIRS}-{keys}-{variant}"
            for keys in own["keys"]
            for lang in _key_languages(own, keys)
            for variant in _pair_numbers(own)
        ]
    return found


def _document_numbers(own: Mapping[str, Any]) -> dict[str, list[int]]:
    """The variants of multi-document question answering, with the numbers of documents of each."""
    numbers = {
        "plain": [entry["n"] for entry in own["n_documents"]],
        "query-aware": own["query_aware"],
        "random-order": own["random_order"],
        "random-distractors": own["random_distractors"],
    }
    return {variant: sorted(found) for variant, found in numbers.items() if found}


def _pair_numbers(own: Mapping[str, Any]) -> dict[str, list[int]]:
    """The variants of key-value retrieval, with the numbers of pairs of each."""
    numbers = {
        "plain": [entry["n"] for entry in own["n_pairs"]],
        "query-aware": own["query_aware_pairs"],
    }
    return {variant: sorted(found) for variant, found in numbers.items() if found}


def _key_languages(own: Mapping[str, Any], keys: str) -> list[str]:
    """The languages of keys and values; UUIDs are in none, and their prompts in English."""
    return own["key_languages"] if keys == "words" else [_ENGLISH]


def settings(own: Mapping[str, Any], name: str, lengths: list[int]) -> dict[str, Any]:
    """All that the instances of a slice depend on, other than files and the tokenizer.

    `lengths` say nothing here: the number of documents or pairs decides how long a prompt is.
    """
    lang, kind, *rest = name.split("-", 2)
    chosen = {"slice": name, "lang": lang, **{k: own[k] for k in ("seed", "max_new_tokens")}}
    if kind == _PAIRS:
        keys, _, variant = rest[0].partition("-")
        return chosen | {
            "task": "key_value",
            "keys": keys,
            "source": own["source"],
            "words": own["words"] if keys == "words" else None,
            "examples": own["examples"],
            "query_aware": variant == "query-aware",
            "places": _places(own["n_pairs"], _pair_numbers(own)[variant], "indices"),
        }
    chosen |= {key: own[key] for key in ("needles", "questions", "gold_without_answer")}
    chosen |= {"unambiguous": None, "unknown_questions": own["unknown_questions"]}
    # No other language has such a subset.
    if own["unambiguous"] is not None and lang == _ENGLISH:
        chosen["unambiguous"] = read_list(own["unambiguous"])
    if kind != _DOCUMENTS:
        chosen["task"] = name.partition("-")[2].replace("-", "_")
        if chosen["task"] == "open_domain":
            chosen["n_passages"] = sorted(own["open_domain"])
        return chosen
    (variant,) = rest
    chosen |= {
        "task": "multi_document_qa",
        "source": own["source"],
        "query_aware": False,
        "order": "relevance",
        "distractors": "retrieved",
        "places": _places(own["n_documents"], _document_numbers(own)[variant], "gold_indices"),
        **_VARIANTS[variant],
    }
    if chosen["distractors"] == "random":
        chosen["random_from"] = own["random_from"]
    return chosen


def _places(entries: list[dict[str, Any]], numbers: list[int], key: str) -> list[list[Any]]:
    """Pairs of a number of documents (or pairs) and the indices of the gold one among them."""
    indices = {entry["n"]: sorted(entry[key]) for entry in entries}
    return [[n, indices[n]] for n in numbers]


def read_list(path: str | Path) -> list[str]:
    """The questions of a user's file, one a line, sorted, each once. UserError where it has none."""
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"benchmarks.{NAME}.unambiguous is {str(path)!r}, which cannot be read as text "
            f"({type(error).__name__}): name a file with one question a line, or null."
        ) from None
    questions = sorted({line.strip() for line in lines} - {""})
    if not questions:
        raise UserError(
            f"benchmarks.{NAME}.unambiguous is {str(path)!r}, which holds no question: write one a line."
        )
    return questions


def corpora(chosen: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """The tables that a slice reads, by input name.

    `questions`; `passages`, of which the distractors are; `words`; and `pairs_<n>`, the released
    key-value pairs.
    """
    lang, task = chosen["lang"], chosen["task"]
    if task == "key_value":
        if chosen["keys"] == "words":
            return {"words": [(chosen["words"], lang)]}
        if chosen["source"] == "constructed":
            return {}
        return {f"pairs_{n}": [(f"key_value_{n}", lang)] for n, _ in chosen["places"]}
    questions = question_corpus(chosen)
    found = {"questions": [(questions, lang)]}
    if (passages := passage_corpus(chosen)) is not None:
        found["passages"] = [(passages, lang)]
    return found


def question_corpus(chosen: Mapping[str, Any]) -> str:
    """The corpus of a slice's questions and gold passages."""
    if chosen["needles"] != NQ_OPEN or chosen["task"] in ("closed_book", "oracle"):
        return chosen["needles"]
    retrieved = chosen["task"] == "open_domain" or chosen["source"] == "constructed"
    return f"{NQ_OPEN}_{'retrieved' if retrieved else 'released'}"


def passage_corpus(chosen: Mapping[str, Any]) -> str | None:
    """The corpus of a slice's other passages, if it has any."""
    if chosen["task"] in ("closed_book", "oracle"):
        return None
    if chosen.get("random_from") == "wikipedia":
        return "wikipedia"
    if chosen["needles"] == NQ_OPEN:
        return f"{question_corpus(chosen)}_passages"
    return HAYSTACKS[chosen["needles"]]


def searches(chosen: Mapping[str, Any]) -> list[str]:
    """The languages in which a slice needs distractors of our own retrieval."""
    own_retrieval = chosen.get("needles", NQ_OPEN) != NQ_OPEN
    return [chosen["lang"]] if own_retrieval and chosen.get("distractors") == "retrieved" else []


def search(own: Mapping[str, Any], lang: str) -> Search:
    """The search of distractors in a language: questions, answers and passages are all in it."""
    haystack = HAYSTACKS[own["needles"]]
    return Search(own["needles"], lang, haystack, lang, [lang], ["semantic"], "subspan_screen")


def documents(own: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every table that a prompt of this configuration can refer to."""
    found = []
    for name in slices(own):
        chosen = settings(own, name, [])
        for kind, tables in corpora(chosen).items():
            if kind != "words":
                found += tables
    return list(dict.fromkeys(found))


def tables(own: Mapping[str, Any]) -> dict[str, Result]:
    """The tables that a configuration of this benchmark fills."""
    tasks = own["tasks"]
    numbers = [entry["n"] for entry in own["n_documents"]]
    qa = "multi_document_qa" in tasks
    filled = {
        **dict.fromkeys(("table1", "table2"), "closed_book" in tasks or "oracle" in tasks),
        "table3": qa,
        "table4": "key_value" in tasks,
        **{f"table{k}": qa and n in numbers for k, n in ((5, 10), (6, 20), (7, 30))},
        "accuracy": True,
    }
    return {name: TABLES[name] for name in TABLES if filled[name]}


def figures(own: Mapping[str, Any]) -> dict[str, Result]:
    """The figures that a configuration of this benchmark fills."""
    tasks, comparisons, languages = own["tasks"], own["comparisons"], own["languages"]
    # The paper's figures are of English questions, and of UUIDs.
    qa = "multi_document_qa" in tasks and _ENGLISH in languages
    uuids = "key_value" in tasks and "uuid" in own["keys"]
    variants = _document_numbers(own)
    filled = {
        **dict.fromkeys(("figure1", "figure5", "figure6", "figure18"), qa),
        "figure10": uuids,
        "figure11": qa and bool(comparisons["encoder_decoder"]),
        "figure12": (qa and "query-aware" in variants)
        or (uuids and "query-aware" in _pair_numbers(own)),
        "figure13": qa and bool(comparisons["instruction_tuning"]),
        "figure14": "open_domain" in tasks and _ENGLISH in languages,
        "figure15": qa and own["unambiguous"] is not None,
        "figure16": qa and "random-distractors" in variants,
        "figure17": qa and "random-order" in variants,
        "languages": "multi_document_qa" in tasks and set(languages) != {_ENGLISH},
        "key_value_words": "key_value" in tasks and "words" in own["keys"],
    }
    return {name: FIGURES[name] for name in FIGURES if filled[name]}


def scoring_settings(own: Mapping[str, Any]) -> dict[str, Any]:
    """Nothing: each task has one metric, which its instances name."""
    return {}


def result_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the tables and figures need to know of a run."""
    own, run = config["benchmarks"][NAME], config["run"]
    entries = {model: config["models"][model] for model in run["models"]}
    tokenizers = [entry["tokenizer"] for entry in entries.values()] + run["tokenizers"]
    return {
        "models": run["models"],
        "published": {m: e["published"] for m, e in entries.items() if e["published"]},
        "decoding": {m: decoding(e) for m, e in entries.items()},
        **own["comparisons"],
        "tokenizers": list(dict.fromkeys(tokenizers)),
        # The paper's token counts of GPT-3.5-Turbo are those of its encoding (appendix F).
        "published_tokenizers": {
            name: "GPT-3.5-Turbo"
            for name in dict.fromkeys(tokenizers)
            if config["tokenizers"][name].get("encoding") == "cl100k_base"
        },
        "setup": {
            "corpus": own["needles"],
            **{key: own[key] for key in ("source", "gold_without_answer", "max_new_tokens")},
        },
    }


def check(config: Mapping[str, Any]) -> None:
    """Raise UserError where the benchmark's configuration cannot be built.

    Nothing is said of keys that no task of the run reads.
    """
    own, where = config["benchmarks"][NAME], f"benchmarks.{NAME}"
    _check_corpora(own, where)
    for task, known, numbers, ablations in (
        (
            "multi_document_qa",
            "n_documents",
            "gold_indices",
            ("query_aware", "random_order", "random_distractors"),
        ),
        ("key_value", "n_pairs", "indices", ("query_aware_pairs",)),
    ):
        if task not in own["tasks"]:
            continue
        _check_places(own[known], f"{where}.{known}", numbers)
        for key in ablations:
            for n in own[key]:
                if n not in (entry["n"] for entry in own[known]):
                    raise UserError(
                        f"{where}.{key} has {n}, which is not among the numbers of {where}.{known}: add "
                        "it there, with the indices that it is to be asked at."
                    )
    if own["unambiguous"] is not None:
        read_list(own["unambiguous"])
    comparisons = own["comparisons"]
    for kind, names in (
        (
            "instruction_tuning",
            [name for pair in comparisons["instruction_tuning"] for name in pair],
        ),
        ("encoder_decoder", comparisons["encoder_decoder"]),
    ):
        check_named(f"{where}.comparisons.{kind}", names, config["models"], "models")


def _check_corpora(own: Mapping[str, Any], where: str) -> None:
    """Raise UserError where languages, source and tasks do not fit the corpora."""
    needles, tasks, source = own["needles"], own["tasks"], own["source"]
    qa, pairs = "multi_document_qa" in tasks, "key_value" in tasks
    for key, corpus, read in (
        ("languages", needles, set(tasks) != {"key_value"}),
        ("key_languages", own["words"], pairs and "words" in own["keys"]),
    ):
        known = CORPUS_LANGUAGES[corpus]
        for lang in own[key] if read else ():
            if lang not in known:
                raise UserError(
                    f"{where}.{key} has the unknown language {lang!r}: the corpus {corpus} has "
                    f"{', '.join(known)}."
                )
    if needles != NQ_OPEN:
        for key, value in (("source", "released"), ("random_from", "wikipedia")):
            if qa and own[key] == value and (key == "source" or own["random_distractors"]):
                other = {"source": "constructed", "random_from": "other_questions"}[key]
                raise UserError(
                    f"{where}.{key} is {value!r}, which there is for `needles: {NQ_OPEN}` only: set "
                    f"`{key}: {other}`."
                )
        if "open_domain" in tasks:
            raise UserError(
                f"{where}.tasks has 'open_domain', which needs the released retrieval results: leave it "
                f"out, or set `needles: {NQ_OPEN}`."
            )
    if qa and source == "released":
        for n in (entry["n"] for entry in own["n_documents"]):
            if n > RELEASED_DOCUMENTS:
                raise UserError(
                    f"{where}.n_documents has {n}, but the released files have {RELEASED_DOCUMENTS} "
                    "documents at most: choose a smaller number, or set `source: constructed`."
                )
    if pairs and "uuid" in own["keys"] and source == "released":
        for n in (entry["n"] for entry in own["n_pairs"]):
            if n not in RELEASED_PAIRS:
                raise UserError(
                    f"{where}.n_pairs has {n}, but the released files have "
                    f"{', '.join(map(str, RELEASED_PAIRS))} pairs: choose among them, or set `source: "
                    "constructed`."
                )


def _check_places(entries: list[dict[str, Any]], where: str, key: str) -> None:
    """Raise UserError where a number comes twice, or an index is beyond it."""
    seen = set()
    for entry in entries:
        n = entry["n"]
        if n in seen:
            raise UserError(f"{where} has the number {n} twice: join their `{key}`.")
        seen.add(n)
        for index in _beyond(entry[key], n):
            raise UserError(
                f"{where} has the index {index} for {n}: indices count from 0, so the last is {n - 1}."
            )


def _beyond(indices: list[int], n: int) -> Iterator[int]:
    return (index for index in indices if index >= n)
