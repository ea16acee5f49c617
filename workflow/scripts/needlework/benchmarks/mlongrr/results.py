"""mLongRR's tables and figures: the paper's, the tests that it leaves out, and what lies beyond it."""

from __future__ import annotations

from dataclasses import replace

from needlework.benchmarks.columns import MEASURES
from needlework.benchmarks.factor import Factor
from needlework.benchmarks.mlongrr.drawings import DRAWINGS
from needlework.benchmarks.mlongrr.factors import (
    DEPTH,
    HAYSTACK,
    LANG,
    LANGUAGES,
    LENGTH,
    METRIC,
    N_NEEDLES,
    NAMES,
    QUESTION,
    TEMPLATE,
    VERDICT,
)
from needlework.benchmarks.mlongrr.layouts import LAYOUTS
from needlework.benchmarks.mlongrr.plan import DETAILED
from needlework.benchmarks.result import (
    MODEL,
    By,
    Computed,
    Decoding,
    Measure,
    Over,
    Paper,
    Place,
    Result,
    Same,
    View,
    results,
)

HOOKS = "needlework.benchmarks.mlongrr.hooks:"
LENGTHS = (2000, 8000, 16000, 32000, 64000)
DEPTHS = {1: (0, 25, 50, 75, 100), 3: (0, 25, 50, 75)}

TEXT, PROMPT, DRAWN = (f"{HOOKS}{name}" for name in ("first_text", "first_prompt", "drawn_metric"))
USUAL = (TEXT, PROMPT, DRAWN)
NUMBERS = "task != 'absent' and question == 'number'"
ONE = "task == 'retrieval'"
TOKENIZER, PAPER_MODEL = Factor("tokenizer"), Factor("paper_model")
BY_TOKENIZER = (TOKENIZER, By(PAPER_MODEL, nullable=True))
LANGUAGE = Factor("language", order=LANGUAGES, words=NAMES)
SIZE = Factor("size", words={length: f"{length // 1000}k" for length in LENGTHS})
BY_LANGUAGE_NAME = By(LANGUAGE, "lang", text=True)
WHAT = Factor("what", order=("haystack_tokens", "sentences"))
ARTICLES = Over("haystack", ("mlongrr_articles",), "other texts")
CHANCE = {"chance": f"{HOOKS}chance"}
MEASURE = Measure((*MEASURES, "n_exhausted"), f"{HOOKS}measure")

# The abstract's four accuracies; those of English and Somali with one and three needles.
ABSTRACT = Paper(
    tuple(
        Place(
            "abstract",
            f"best models/{NAMES[lang]}",
            f"{n} {'needle' if n == 1 else 'needles'}/number",
            when={
                "lang": lang,
                "n_needles": n,
                "question": "number",
                "metric": ("strict", "released"),
            },
            check=f"{HOOKS}of_best",
            requires=(Over("depth", depths, "other depths"),),
        )
        for lang in ("en", "so")
        for n, depths in DEPTHS.items()
    ),
    (
        Same({"data": "mlongrr", "max_new_tokens": 50}),
        Decoding("the endpoint's own", ours_too=False),
        ARTICLES,
        Over("length", LENGTHS, "other lengths"),
    ),
    silent=True,
)
ACCURACY = View(
    where="task != 'absent'",
    select=(TEXT, PROMPT),
    by=(MODEL, N_NEEDLES, QUESTION, METRIC, By(LANG, margin="all")),
    measure=MEASURE,
    paper=ABSTRACT,
)
BY_DEPTH = View(
    where=NUMBERS,
    select=USUAL,
    by=(MODEL, N_NEEDLES, LENGTH, DEPTH),
    measure=MEASURE,
    derive=CHANCE,
)
BY_LANGUAGE = BY_DEPTH.but(by=(MODEL, N_NEEDLES, LANG, LENGTH, DEPTH))


def _tokens_a_word(table: str, digits: int) -> View:
    place = Place(table, "{language}", "{paper_model}", digits=digits)
    return View(
        prepare=f"{HOOKS}with_paper_model",
        select=(TEXT,),
        by=(*BY_TOKENIZER, replace(BY_LANGUAGE_NAME, margin="Average", last=True)),
        measure=Measure(("value",), f"{HOOKS}mean_fertility"),
        paper=Paper(
            (
                place.but(
                    when={"language": "Average"},
                    requires=(Over("lang", LANGUAGES, "other languages"),),
                ),
                place,
            ),
            (ARTICLES, f"{HOOKS}other_tokenizer", f"{HOOKS}other_end"),
        ),
    )


def _details(model: str) -> Result:
    return Result(
        f"{model} by depth, length, language and number of needles",
        BY_LANGUAGE.but(select=(*USUAL, f"{HOOKS}of_paper?name={model}")),
        "Of the model that `published` names so. The paper's is an image.",
        ("number", model),
    )


RESULTS = results(
    {**LAYOUTS, **DRAWINGS},
    table2=Result(
        "Tokens per word",
        _tokens_a_word("table2", 2),
        "Words are NLTK's, in those articles whose words the authors counted, where the text is theirs. No "
        "model is needed. The paper's numbers of GPT-4 and its averages are cut, not rounded.",
        needs="instances",
    ),
    fertility=Result(
        "Tokens per word, to five digits",
        _tokens_a_word("fertility", 5),
        "Beside the authors' notebook. In Somali and Swahili the text holds all of the articles that they "
        "counted; in other languages it ends elsewhere.",
        needs="instances",
    ),
    construction=Result(
        "How haystacks are built",
        View(
            where="task == 'retrieval'",
            prepare=f"{HOOKS}with_what",
            select=(TEXT, PROMPT),
            by=(*BY_TOKENIZER, BY_LANGUAGE_NAME, By(SIZE, "length", text=True), WHAT),
            measure=Measure(("value",), f"{HOOKS}mean_number"),
            paper=Paper(
                (
                    Place(
                        *("construction/GPT4o", "{language}", "{size}/{what}"),
                        check=f"{HOOKS}sum_of_articles",
                        digits=0,
                    ),
                ),
                (Same({"source": "released"}), ARTICLES, f"{HOOKS}not_gpt4o"),
            ),
        ),
        "Tokens and sentences of haystacks with one needle, and sentences before it, beside the log of the "
        "authors' notebook. With `source: released` the sentences are equal to it; its tokens (o200k_base) "
        "are sums over articles, up to 30 off those of the whole text, which ours count where the needle "
        "stands before or behind it.",
        ("one",),
        needs="instances",
    ),
    accuracy=Result(
        "Accuracy by language and number of needles",
        ACCURACY,
        "By the strict rules (exactly the gold number, or city), by the notebooks' (the gold digits stand in "
        "the answer; with several needles, in any answer of the file), and by that of Claude's notebook. The "
        "abstract prints four accuracies of its best models, by the notebooks' rules.",
    ),
    absent=Result(
        "Questions without a needle that are refused",
        View(
            where="task == 'absent'",
            select=USUAL,
            by=(MODEL, N_NEEDLES, QUESTION, By(LANG, margin="all")),
            measure=MEASURE,
        ),
        "The prompt asks for UNANSWERABLE where the text has no answer; the paper has no such question.",
        ("absent",),
    ),
    mcnemar=Result(
        "Numbers of needles, languages and models in pairs",
        Computed(f"{HOOKS}pairs", {"kinds": "needles languages models"}),
        "McNemar's exact test, corrected by Holm's method for all tests of a kind. Prompts of one length, "
        "depth and example pair up. In constructed ones the needles are the same in every language, and the "
        "first of those of more; released ones of two languages or numbers of needles have different ones.",
    ),
    texts=Result(
        "Haystacks in pairs",
        Computed(f"{HOOKS}texts"),
        "McNemar's exact test; in the paper p = 1.0 for GPT-4 with English news and essays (Figure 1).",
        ("texts",),
    ),
    translated=Result(
        "Translated prompts",
        Computed(f"{HOOKS}pairs", {"kinds": "prompts"}),
        "Prompts in the haystack's language less the same in English, with McNemar's exact test. The "
        "paper says that English was better but in Swahili.",
        ("translated",),
    ),
    slope=Result(
        "Slope of accuracy on tokens per word",
        Computed(f"{HOOKS}slope"),
        "The paper's section 4.4 says that languages of more tokens a word are harder, without a test. "
        "Over all models each has a level of its own; controls are left out. With so few languages, tokens a "
        "word and resources cannot be told apart.",
    ),
    certainty=Result(
        "What one answer a cell leaves open",
        Computed(f"{HOOKS}certainty"),
        "The mean width of intervals of a cell of Figures 7 to 11, of Figure 4, of a point of Figure 3, and "
        "of a model; and with 20 examples a cell of which as many are right. The paper has one.",
        ("number",),
    ),
    real_depth=Result(
        "Where needles stand",
        View(
            where=ONE,
            select=(TEXT, PROMPT),
            by=(TOKENIZER, LENGTH, DEPTH),
            measure=Measure(("value", "n", "least", "most"), f"{HOOKS}spread"),
        ),
        "A needle goes between sentences, so it is not exactly as deep as its cell says.",
        ("one",),
        needs="instances",
    ),
    figure1=Result(
        "News or essays",
        BY_DEPTH.but(
            where=f"{ONE} and lang == 'en'",
            select=(PROMPT, DRAWN),
            by=(MODEL, HAYSTACK, LENGTH, DEPTH),
            derive={},
        ),
        "The paper's is an image, of GPT-4; the table `texts` has the test.",
        (
            "one",
            "texts",
            "english",
        ),
    ),
    figure2=Result(
        "Two prompts",
        BY_DEPTH.but(
            where=ONE,
            select=(TEXT, DRAWN, f"{HOOKS}english_prompts"),
            by=(MODEL, TEMPLATE),
            derive={},
        ),
        "One needle. The paper's is an image.",
        (
            "one",
            "prompts",
        ),
    ),
    figure3=Result(
        "Accuracy by language",
        ACCURACY.but(
            where=NUMBERS,
            select=USUAL,
            by=(MODEL, N_NEEDLES, QUESTION, METRIC, LANG),
            derive=CHANCE,
        ),
        "Over all lengths and depths. The paper's is an image; four of its numbers are in the abstract.",
        ("number",),
    ),
    figure4=Result(
        "Accuracy by depth and length",
        BY_DEPTH,
        "Over all languages. The paper's is an image.",
        ("number",),
    ),
    figure5=Result(
        "Accuracy by depth, length and language",
        BY_LANGUAGE.but(by=BY_LANGUAGE.by[1:], const={"model": "all"}),
        "Over all models but controls. The paper's is an image.",
        ("number",),
    ),
    figure6=Result(
        "Numbers and cities",
        BY_DEPTH.but(where="task == 'reasoning'", by=(MODEL, N_NEEDLES, QUESTION, LANG)),
        "The paper's is an image, of Gemini-1.5.",
        ("city",),
    ),
    **{f"figure{n}": _details(model) for n, model in enumerate(DETAILED, 7)},
    details=Result(
        "Other models by depth, length, language and number of needles",
        BY_LANGUAGE.but(select=(*USUAL, f"{HOOKS}of_no_paper")),
        "Models that the paper has not, as its Figures 7 to 11 show its own.",
        ("number",),
    ),
    fertility_slope=Result(
        "Accuracy and tokens per word",
        BY_DEPTH.but(
            by=(MODEL, N_NEEDLES, LANG),
            derive={"fertility": f"{HOOKS}fertility", **CHANCE},
            sort=("n_needles", "model", "fertility"),
        ),
        "A point a language; the table `slope` has the slopes.",
        ("number",),
    ),
    verdicts=Result(
        "What answers say",
        View(
            where="task != 'absent' and metric == 'strict'",
            select=(TEXT, PROMPT, f"{HOOKS}with_verdicts"),
            by=(MODEL, N_NEEDLES, QUESTION, By(VERDICT, shares=True)),
            measure=Measure(("n_answers", "value", "n"), f"{HOOKS}share"),
        ),
        "By the strict rules.",
    ),
)
