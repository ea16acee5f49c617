"""mLongRR's tables and figures: the paper's, the tests that it leaves out, and what lies beyond it."""

from __future__ import annotations

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
from needlework.results.result import (
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
    Why,
)

HOOKS = "needlework.benchmarks.mlongrr.hooks:"
LENGTHS = (2000, 8000, 16000, 32000, 64000)
DEPTHS = {1: (0, 25, 50, 75, 100), 3: (0, 25, 50, 75)}

TEXT, PROMPT, DRAWN = (f"{HOOKS}{name}" for name in ("first_text", "first_prompt", "drawn_metric"))
USUAL = (TEXT, PROMPT, DRAWN)
NUMBERS = "task != 'absent' and question == 'number'"
ONE = "task == 'retrieval'"
TOKENIZER, PAPER_MODEL = Factor("tokenizer"), Factor("paper_model")
BY_TOKENIZER = (By(TOKENIZER), By(PAPER_MODEL, nullable=True))
LANGUAGE = Factor("language", order=LANGUAGES, words=NAMES)
SIZE = Factor("size", words={length: f"{length // 1000}k" for length in LENGTHS})
WHAT = Factor("what", order=("haystack_tokens", "sentences"))
ARTICLES = Over("haystack", ("mlongrr_articles",), "other texts")
CHANCE = {"chance": f"{HOOKS}chance"}

# The abstract's four accuracies; those of English and Somali with one and three needles.
ABSTRACT = Paper(
    tuple(
        Place(
            "abstract",
            f"best models/{NAMES[lang]}",
            f"{n} {'needle' if n == 1 else 'needles'}/number",
            when={"lang": lang, "n_needles": n, "question": "number", "metric": "strict"},
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
    by=(By(MODEL), By(N_NEEDLES), By(QUESTION), By(METRIC), By(LANG, margin="all")),
    paper=ABSTRACT,
)
BY_DEPTH = View(
    where=NUMBERS,
    select=USUAL,
    by=(By(MODEL), By(N_NEEDLES), By(LENGTH), By(DEPTH)),
    derive=CHANCE,
)
BY_LANGUAGE = BY_DEPTH.but(by=(By(MODEL), By(N_NEEDLES), By(LANG), By(LENGTH), By(DEPTH)))


def _tokens_a_word(table: str, source: str, digits: int) -> View:
    place = Place(table, "{language}", "{paper_model}", digits=digits)
    return View(
        prepare=f"{HOOKS}with_paper_model",
        select=(TEXT,),
        by=(*BY_TOKENIZER, By(LANGUAGE, "lang", margin="Average", last=True, text=True)),
        columns=("tokenizer", "paper_model", "source", "language"),
        measure=Measure(("value",), f"{HOOKS}mean_fertility"),
        paper=Paper(
            (
                place.but(
                    when={"language": "Average"},
                    requires=(Over("lang", LANGUAGES, "other languages"),),
                ),
                place,
            ),
            (ARTICLES, Why(f"{HOOKS}other_tokenizer")),
            (source,),
        ),
    )


def _details(number: int, model: str) -> Result:
    return Result(
        f"figure{number}",
        f"{model} by depth, length, language and number of needles",
        BY_LANGUAGE.but(select=(*USUAL, f"{HOOKS}of_paper?name={model}")),
        DRAWINGS[f"figure{number}"],
        (
            f"**{model} by depth and length**, for each language and number of needles (the paper's "
            f"Figure {number}), of the model that `published` names so. The paper's is an image."
        ),
        place=f"Figure {number}",
        when=("number",),
    )


RESULTS = (
    Result(
        "table2",
        "Tokens per word",
        _tokens_a_word("table2", "paper", 2),
        LAYOUTS["table2"],
        (
            "**Tokens a word**, by tokenizer and language (the paper's Table 2): words are those of "
            "NLTK in the articles whose words the paper counted, where the text is the paper's. No "
            "model is needed. The paper's numbers of GPT-4 and its averages are cut, not rounded."
        ),
        place="Table 2",
        needs="instances",
    ),
    Result(
        "fertility",
        "Tokens per word, to five digits",
        _tokens_a_word("fertility", "repository", 5),
        LAYOUTS["fertility"],
        (
            "**Tokens a word to five digits**, beside those of the authors' notebook. In Somali and "
            "Swahili the text holds all of the articles that they counted; in other languages it ends "
            "before."
        ),
        needs="instances",
    ),
    Result(
        "construction",
        "How haystacks are built",
        View(
            where="task == 'retrieval' and depth == depth",
            prepare=f"{HOOKS}with_what",
            select=(TEXT, PROMPT),
            by=(
                *BY_TOKENIZER,
                By(LANGUAGE, "lang", text=True),
                By(SIZE, "length", text=True),
                By(WHAT),
            ),
            columns=("tokenizer", "paper_model", "source", "language", "size", "what"),
            measure=Measure(("value",), f"{HOOKS}mean_of?column=number"),
            paper=Paper(
                (
                    Place(
                        "construction/GPT4o",
                        "{language}",
                        "{size}/{what}",
                        check=f"{HOOKS}sum_of_articles",
                        digits=0,
                    ),
                ),
                (Same({"source": "released"}), ARTICLES, Why(f"{HOOKS}not_gpt4o")),
                ("repository",),
            ),
        ),
        LAYOUTS["construction"],
        (
            "**How haystacks are built**: tokens and sentences of haystacks with one needle, and "
            "sentences before it, beside the log of the authors' notebook (GPT-4o's). With "
            "`source: released` and o200k_base the sentences are equal to it; its tokens are sums "
            "over articles, up to 30 off those of the joined text."
        ),
        needs="instances",
        when=("one",),
    ),
    Result(
        "accuracy",
        "Accuracy by language and number of needles",
        ACCURACY,
        LAYOUTS["accuracy"],
        (
            "**Accuracy by language and number of needles**, over all lengths and depths, by the "
            "strict rules (exactly the gold number, or city), by the notebooks' (the gold digits "
            "stand in the answer, and with several needles in any answer of the file), and by that of "
            "Claude's notebook. The abstract prints four accuracies of its best models."
        ),
    ),
    Result(
        "absent",
        "Questions without a needle that are refused",
        View(
            where="task == 'absent'",
            select=USUAL,
            by=(By(MODEL), By(N_NEEDLES), By(QUESTION), By(LANG, margin="all")),
        ),
        LAYOUTS["absent"],
        (
            "**Questions without a needle that are refused.** The prompt asks for UNANSWERABLE where "
            "the text has no answer; the paper never asks such a question."
        ),
        when=("absent",),
    ),
    Result(
        "mcnemar",
        "Numbers of needles, languages and models in pairs",
        Computed(f"{HOOKS}pairs", {"kinds": "needles languages models"}),
        LAYOUTS["mcnemar"],
        (
            "**Numbers of needles, languages and models in pairs**, with McNemar's exact test, "
            "corrected by Holm's method for all tests of a kind. Needles of an example are the same in "
            "every language, and the first of more, so prompts pair up."
        ),
    ),
    Result(
        "texts",
        "Haystacks in pairs",
        Computed(f"{HOOKS}texts"),
        LAYOUTS["texts"],
        (
            "**Haystacks in pairs**, with McNemar's exact test (the paper's Figure 1 for GPT-4 with "
            "English news and Paul Graham's essays: p = 1.0)."
        ),
        when=("texts",),
    ),
    Result(
        "translated",
        "Translated prompts",
        Computed(f"{HOOKS}pairs", {"kinds": "prompts"}),
        LAYOUTS["translated"],
        (
            "**Prompts in the haystack's language** less the same in English, with McNemar's exact "
            "test. The paper says that English was better but in Swahili; the notebooks have "
            "translations of `released_gpt4` alone."
        ),
        when=("translated",),
    ),
    Result(
        "slope",
        "Slope of accuracy on tokens per word",
        Computed(f"{HOOKS}slope"),
        LAYOUTS["slope"],
        (
            "**Slope of accuracy on tokens a word** over languages and models. The paper's section "
            "4.4 says that languages of more tokens a word are harder, without a test. With so few "
            "languages, tokens a word and resources cannot be told apart."
        ),
    ),
    Result(
        "certainty",
        "What one answer a cell leaves open",
        Computed(f"{HOOKS}certainty"),
        LAYOUTS["certainty"],
        (
            "**How wide the intervals are** of a cell of Figures 7 to 11, of Figure 4, of a point of "
            "Figure 3, and of a model; and how wide with 20 examples a cell. The paper has one."
        ),
        when=("number",),
    ),
    Result(
        "real_depth",
        "Where needles stand",
        View(
            where=ONE,
            select=(TEXT, PROMPT),
            by=(By(TOKENIZER), By(LENGTH), By(DEPTH)),
            columns=("tokenizer", "source", "length", "depth"),
            measure=Measure(("value", "n", "least", "most"), f"{HOOKS}spread"),
        ),
        LAYOUTS["real_depth"],
        (
            "**Where needles stand**: a needle goes between sentences, so in short haystacks it is not "
            "exactly as deep as its name says."
        ),
        needs="instances",
        when=("one",),
    ),
    Result(
        "figure1",
        "News or essays",
        BY_DEPTH.but(
            where=f"{ONE} and lang == 'en'",
            select=(PROMPT, DRAWN),
            by=(By(MODEL), By(HAYSTACK), By(LENGTH), By(DEPTH)),
            derive={},
        ),
        DRAWINGS["figure1"],
        "**Texts in English**, one needle (the paper's Figure 1, of GPT-4; an image).",
        place="Figure 1",
        when=("one", "texts"),
    ),
    Result(
        "figure2",
        "Two prompts",
        View(
            where=ONE,
            select=(TEXT, DRAWN, f"{HOOKS}english_prompts"),
            by=(By(MODEL), By(TEMPLATE)),
        ),
        DRAWINGS["figure2"],
        "**Prompts**, one needle (the paper's Figure 2; an image).",
        place="Figure 2",
        when=("one", "prompts"),
    ),
    Result(
        "figure3",
        "Accuracy by language",
        ACCURACY.but(
            where=NUMBERS,
            select=USUAL,
            by=(By(MODEL), By(N_NEEDLES), By(QUESTION), By(METRIC), By(LANG)),
            derive=CHANCE,
        ),
        DRAWINGS["figure3"],
        (
            "**Accuracy by language** with one, two and three needles, over all lengths and depths (the "
            "paper's Figure 3). Dotted: a guess among the needles that were read. Hollow: the "
            "abstract's best models."
        ),
        place="Figure 3",
        when=("number",),
    ),
    Result(
        "figure4",
        "Accuracy by depth and length",
        BY_DEPTH,
        DRAWINGS["figure4"],
        "**Accuracy by depth and length**, over all languages (the paper's Figure 4; an image).",
        place="Figure 4",
        when=("number",),
    ),
    Result(
        "figure5",
        "Accuracy by depth, length and language",
        BY_LANGUAGE.but(by=BY_LANGUAGE.by[1:], const={"model": "all"}),
        DRAWINGS["figure5"],
        (
            "**Accuracy by depth and length in each language**, over all models but controls (the "
            "paper's Figure 5; an image)."
        ),
        place="Figure 5",
        when=("number",),
    ),
    Result(
        "figure6",
        "Numbers and cities",
        View(
            where="task == 'reasoning'",
            select=USUAL,
            by=(By(MODEL), By(N_NEEDLES), By(QUESTION), By(LANG)),
            derive=CHANCE,
        ),
        DRAWINGS["figure6"],
        "**Asked for the number or its city** (the paper's Figure 6, of Gemini-1.5; an image).",
        place="Figure 6",
        when=("city",),
    ),
    *map(_details, range(7, 12), ("GPT-4", "Gemini-1.5", "Claude-3", "Llama-3", "GPT-4o")),
    Result(
        "details",
        "Other models by depth, length, language and number of needles",
        BY_LANGUAGE.but(select=(*USUAL, f"{HOOKS}of_no_paper")),
        DRAWINGS["details"],
        "**Models that the paper has not**, as its Figures 7 to 11 show its own.",
        when=("number",),
    ),
    Result(
        "fertility_slope",
        "Accuracy and tokens per word",
        View(
            where=NUMBERS,
            select=USUAL,
            by=(By(MODEL), By(N_NEEDLES), By(LANG)),
            derive={"fertility": f"{HOOKS}fertility", **CHANCE},
            sort=("n_needles", "model", "fertility"),
        ),
        DRAWINGS["fertility_slope"],
        "**Accuracy and tokens a word**, a point a language; `slope` has the slopes.",
        when=("number",),
    ),
    Result(
        "verdicts",
        "What answers say",
        View(
            where="task != 'absent' and metric == 'strict'",
            select=(TEXT, PROMPT, f"{HOOKS}with_verdicts"),
            by=(By(MODEL), By(N_NEEDLES), By(QUESTION), By(VERDICT, shares=True)),
            measure=Measure(("n_answers", "value", "n"), f"{HOOKS}share"),
        ),
        DRAWINGS["verdicts"],
        (
            "**What answers say**, by the strict rules: another needle's number, several, a number of "
            "no needle, UNANSWERABLE, or none."
        ),
    ),
)
