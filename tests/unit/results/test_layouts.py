"""Tables as LaTeX: sound, complete, and small enough for a page, from descriptions alone."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from io import StringIO

import pandas as pd
import pyarrow as pa
import pytest

import factories.lost_in_the_middle
import factories.mlneedle
import factories.oneruler
import golden_runs
from described import each
from needlework.benchmarks.benchmark import load_benchmark
from needlework.factor import Factor
from needlework.records import write_table
from needlework.results import written_tables
from needlework.results.numbers.prompt_table import describe
from needlework.results.result import PERCENT, FurtherLine, Grid, Mark, Number, PromptTable
from needlework.results.written_tables import escape, html_table, lay_out

TABLES = each("tables")


@cache
def mlneedle():
    """Scores of two models and of a base model, at all their lengths."""
    models = ("mistral", "mistral-base", "llama3")
    return factories.mlneedle.make(models, questions=1)


def laid_out(benchmark, name, table):
    layout = load_benchmark(benchmark).by_name[name].shown
    return lay_out(table, layout, f"{benchmark}-{name}", "A_title")


def changed(benchmark, name, rows, **run):
    """The text of a table from other rows."""
    return laid_out(benchmark, name, golden_runs.changed(benchmark, name, rows, **run))


def check(text):
    """Balanced braces and environments, as many cells a row as columns, labels of its own each."""
    plain = re.sub(r"\\[\\%&#_{}$]", "", text)
    depth = 0
    for character in plain:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    assert plain.count("$") % 2 == 0
    begun = re.findall(r"\\begin\{([^}]*)\}", text)
    assert sorted(begun) == sorted(re.findall(r"\\end\{([^}]*)\}", text))
    labels = re.findall(r"\\label\{(.*)\}", text)
    assert len(labels) == len(set(labels)) == text.count(r"\begin{tabular}") > 0
    for columns, body in re.findall(
        r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", text, re.DOTALL
    ):
        for line in body.splitlines():
            if line.endswith(r"\\"):
                spans = sum(int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", line))
                assert len(re.sub(r"\\&", "", line).split("&")) + spans == len(columns), line
    assert "nan" not in text and "<NA>" not in text and "None &" not in text


def lines(text, start):
    """The lines of the first block that begins so, cell by cell."""
    found = text[text.index("\n" + start) + 1 :].split(r"\addlinespace")[0]
    return [line.removesuffix(r" \\").split(" & ") for line in found.strip().splitlines()]


@pytest.mark.parametrize(("benchmark", "name"), TABLES)
def test_every_table_is_sound_and_has_every_number(benchmark, name):
    """Also from its CSV. Of shares that are shown, each stands as the layout writes it, in HTML too."""
    table = golden_runs.table(benchmark, name)
    text = laid_out(benchmark, name, table)
    again = pd.read_csv(StringIO(table.to_csv(index=False)))
    assert laid_out(benchmark, name, again) == text
    texts = [text, laid_out(benchmark, name, table.iloc[:0])]
    if "model" in table:
        odd = table.assign(model=table["model"] + r" a_b&c 50% {x} \y $#~^<>")
        texts.append(laid_out(benchmark, name, odd))
        assert r"a\_b\&c 50\% \{x\} \textbackslash{}y" in texts[-1]
    for one in texts:
        check(one)
        assert r"A\_title" in one
    layout = load_benchmark(benchmark).by_name[name].shown
    page = html_table(table, layout, "A_title").replace(",", "")
    for grid in layout:
        rows = table.query(grid.where) if grid.where else table
        if grid.number.column == "value" and "value" in table:
            for value in rows["value"].dropna():
                number = f"{grid.number.scale * value:.{grid.number.digits}f}"
                assert number.removeprefix("-") in text.replace("{,}", "").replace(",", "")
                assert number in page


def test_latex_compiles_every_table_onto_its_page(tmp_path):
    """In one document of two columns, that of most conferences."""
    compiler = shutil.which("pdflatex")
    if compiler is None:
        pytest.skip("needs pdfLaTeX: apt-get install texlive-latex-recommended")
    for number, (benchmark, name) in enumerate(case.values for case in TABLES):
        table = golden_runs.table(benchmark, name)
        if "model" in table:
            table = table.assign(model=table["model"] + r" a_b&c {x} \y $#~^<>")
        text = laid_out(benchmark, name, table)
        (tmp_path / f"{number}.tex").write_text(text, encoding="utf-8")
    inputs = [rf"\input{{{number}}}\clearpage" for number in range(len(TABLES))]
    packages = r"\usepackage[utf8]{inputenc}\usepackage{booktabs,graphicx}"
    begin, end = r"\documentclass[twocolumn]{article}", r"\begin{document}"
    whole = [begin, packages, end, *inputs, r"\end{document}"]
    (tmp_path / "all.tex").write_text("\n".join(whole), encoding="utf-8")
    command = [compiler, "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert ran.returncode == 0, ran.stdout[-2000:]
    assert not re.findall(r"(?m)^(?:Overfull .*|.*Float too large.*)", ran.stdout)
    assert (tmp_path / "all.pdf").stat().st_size > 10_000


def test_table1_is_laid_out_like_the_papers():
    rows = mlneedle()
    text = changed(
        "mlneedle", "table1", rows.assign(value=rows["length"].isin([0, 4096]).astype(float))
    )
    assert "Model & Claimed & Effective & Baseline & 4K & 8K & 16K & 32K & Avg." in text
    ours, interval, paper = lines(text, "llama3")
    one = r"\underline{1.000}"
    assert ours == ["llama3", "8K", "4K", one, one, "0.000", "--", "--", "0.667"]
    assert interval[3].startswith(r"{\scriptsize[.") and interval[1] == ""
    number = r"\textit{0.622}\textsuperscript{$=$}"
    assert paper[:4] == [r"\quad \textit{paper}", r"\textit{8K}", r"\textit{4K}", number]
    assert lines(text, r"\textit{Cohere-Aya-23-8B} (paper)")[0][-1] == r"\textit{0.536}"
    assert "Underlined: at least 75\\% of the baseline." in text


def test_variants_short_lengths_and_missing_answers_are_told():
    rows = mlneedle()
    rows = rows[rows["model"] == "mistral"]
    # The paper's effective length is below its own shortest.
    short = rows.assign(length=rows["length"].replace({4096: 512}))
    text = changed("mlneedle", "table1", short.assign(value=(short["length"] == 0).astype(float)))
    assert lines(text, "mistral")[0][2] == "$<$512"
    llama = lines(text, r"\textit{Llama2-7B-Chat} (paper)")[0]
    assert llama[1:3] == [r"\textit{4K}", r"\textit{$<$4K}"]
    # Variants have rows and names of their own.
    random = rows[rows["length"] > 0].assign(retrieval="random", value=1.0)
    here = rows[(rows["task"] == "exact") & (rows["length"] == 4096)].index
    rows = rows.copy()
    rows.loc[here[:5], ["finish_reason", "value"]] = ["skipped", 0.0]
    rows.loc[here[5:8], ["finish_reason", "value"]] = ["error", 0.0]
    rows.loc[here[8:10], "finish_reason"] = "length"
    text = changed("mlneedle", "table1", pd.concat([rows, random], ignore_index=True))
    assert lines(text, "mistral (random)")[0][4] == r"\underline{1.000}"
    assert "mistral (semantic) &" in text and "(random) (paper)" not in text
    assert "5 answers were skipped (longer than the model's context)." in text
    assert "3 requests failed." in text and "2 answers were cut" in text


def test_pairs_show_difference_and_mcnemar():
    table = golden_runs.table("mlneedle", "table3")
    delta = table[(table["role"] == "delta") & (table["column"] == "8192")].iloc[0]
    text = laid_out("mlneedle", "table3", table)
    ours, interval, paper, test = lines(text, r"$\Delta$ second $-$ first")
    at = ours.index(f"${delta['value']:+.3f}$")
    assert interval[at].startswith(r"{\scriptsize[") and "$?$" in paper[at]
    p = delta["p_mcnemar"]
    assert test[0] == r"\quad McNemar's p"
    assert test[at] == ("$<$0.001" if p < 0.001 else f"{p:.3f}")


def test_lost_answers_stand_in_their_cell():
    rows = factories.lost_in_the_middle.make(("gpt-16k",), questions=12)
    found = rows.query(
        "task == 'multi_document_qa' and lang == 'en' and n_documents == 20 and gold_index == 4 "
        "and order == 'relevance' and distractors == 'retrieved' and query_aware == False"
    )
    rows.loc[found.index[:5], ["value", "finish_reason"]] = [0.0, "skipped"]
    rows.loc[found.index[5], "finish_reason"] = "error"
    text = changed("lost_in_the_middle", "table6", rows)
    block = {line[0]: line[1:] for line in lines(text, "gpt-16k")}
    assert block[r"\quad skipped, failed"] == ["", "5, 1", "", "", ""]
    assert text.count("skipped, failed") == 1


def test_percentages_have_intervals_and_the_papers_number_below():
    table = golden_runs.table("lost_in_the_middle", "table6")
    text = laid_out("lost_in_the_middle", "table6", table)
    row = table.query("model == 'gpt-16k' and lang == 'en' and column == '0'").iloc[0]
    ours, interval, paper = lines(text, "gpt-16k (en)")
    assert ours[1] == f"{100 * row['value']:.1f}"
    low, high = 100 * row["ci_low"], 100 * row["ci_high"]
    assert interval[1] == rf"{{\scriptsize[{low:.1f}, {high:.1f}]}}"
    assert paper[1].startswith(r"\textit{75.7}\textsuperscript{$")


def test_numbers_of_the_released_code_are_marked():
    scores = golden_runs.scores("lost_in_the_middle")
    theirs = {"mpt": "Llama-2-70B-chat", "mpt-instruct": "MPT-30B-Instruct"}
    text = changed("lost_in_the_middle", "table1", scores, published=theirs)
    assert r"\textit{84.7}\textsuperscript{\dag}" in text
    assert r"\textit{81.9}\textsuperscript{\dag}" not in text
    assert r"\textsuperscript{\dag}: from the released code's EXPERIMENTS.md." in text
    table = golden_runs.table("lost_in_the_middle", "table1")
    assert "EXPERIMENTS.md" not in laid_out("lost_in_the_middle", "table1", table)


def test_the_overall_table_has_one_float_a_size():
    table = golden_runs.table("lost_in_the_middle", "accuracy")
    text = laid_out("lost_in_the_middle", "accuracy", table)
    captions = [c.split(" (part")[0].rstrip(".") for c in re.findall(r"\\caption\{(.*)\}", text)]
    sizes = ["10 documents", "20 documents", "30 documents", "140 pairs", "300 pairs"]
    sizes.append("retrieved documents")
    assert list(dict.fromkeys(captions)) == [r"A\_title", *(rf"A\_title: {n}" for n in sizes)]
    assert "gpt-16k (en, query aware) &" in text and "gpt-16k (words, de) &" in text


def test_token_counts_are_compared_one_by_one():
    table = golden_runs.table("lost_in_the_middle", "table2").copy()
    mine = table["tokenizer"] == "cl100k_base"
    table.loc[mine, "comparison"] = "differs: stdev"
    text = laid_out("lost_in_the_middle", "table2", table)
    paper = next(b for b in lines(text, r"cl100k\_base") if "paper" in b[0])
    assert [re.findall(r"\$(.*)\$", cell)[0] for cell in paper[1:4]] == ["=", r"\neq", "="]
    assert "last digit" in text


def test_languages_have_both_metrics_ranks_and_denominators():
    shape = {"examples": 4, "crossed": False}
    rows = factories.oneruler.make(("o3", "qwen7b"), ("en", "ko", "pl"), (64000, 128000), **shape)
    table = golden_runs.changed("oneruler", "languages", rows, metric="strict")
    text = laid_out("oneruler", "languages", table)
    polish = lines(text, "Polish")
    row = table.query("context_lang == 'pl' and model == 'all'").set_index("metric")
    ranks = [str(row["rank"]["strict"]), f"{row['rank']['released']} (1)"]
    shown = [f"{100 * row['value'][metric]:.1f}" for metric in ("strict", "released")]
    assert polish[0][1:6] == [*ranks, "high", *shown]
    below = next(line for line in polish if "all prompts" in line[0])
    assert below[4] == f"{100 * row['value_all']['strict']:.1f}"
    dropped = table.query("metric == 'strict' and model != 'all'")["n_dropped"].sum()
    assert f"{dropped} answers of needle tasks are left out" in text


# The engine alone


def tidy(models=2, colours=("red", "green"), **columns):
    """A tidy table that no benchmark has."""
    rows = [
        {"model": f"m{i:02}", "source": "ours", "colour": colour, "value": 0.25 + 0.01 * i, "n": 7}
        | {"ci_low": 0.125, "ci_high": 0.5, "published": 0.5 if i else None}
        | {"comparison": "below: x", "n_skipped": 0, "n_error": 0}
        for i in range(models)
        for colour in colours
    ]
    return pd.DataFrame(rows).assign(**columns)


COLOUR = Factor("colour", label="Colour", order=("green", "red"), words={"red": "Red & more"})
BY_COLOUR = Grid(rows=(Factor("model", label="Model"),), columns=(COLOUR,), number=PERCENT)


def test_a_new_table_is_a_description_alone():
    text = lay_out(tidy(), (BY_COLOUR,), "new-colours", "By colour")
    check(text)
    assert r"\caption{By colour.}" in text and r"\label{tab:new-colours}" in text
    assert r"& \multicolumn{2}{c}{Colour} \\" in text
    assert "Model & green & Red \\& more \\\\\n{$n$} & 7 & 7 \\\\\n\\midrule" in text
    assert lines(text, "m01") == [
        ["m01", "26.0", "26.0"],
        ["", *2 * [r"{\scriptsize[12.5, 50.0]}"]],
        [r"\quad \textit{paper}", *2 * [r"\textit{50.0}\textsuperscript{$<$}"]],
    ]
    assert len(lines(text, "m00")) == 2


def test_cells_that_lack_answers_are_marked_with_their_bounds():
    table = tidy(2, lowest=0.2, highest=0.4).assign(n=99)
    table.loc[0, "n_skipped"], table.loc[1, "n_error"] = 1, 2
    text = lay_out(table, (BY_COLOUR,), "x", "X", "m00 was asked only colour_ red.")
    check(text)
    block = lines(text, "m00")
    # 1 of 100 is not more than 1%, 2 of 101 is.
    assert block[0] == ["m00", r"25.0\textsuperscript{\ddag}", "25.0"]
    assert block[-1] == [r"\quad if wrong, if right", "20.0, 40.0", ""]
    assert r"\textsuperscript{\ddag}: more than 1\%" in text
    assert text.count("if wrong") == 1
    assert r"m00 was asked only colour\_ red." in text


def test_marks_and_lines_stand_where_their_condition_holds():
    table = tidy(2, odd=[1, 0, 0, 0])
    grid = Grid(
        rows=BY_COLOUR.rows,
        columns=(COLOUR,),
        marks=(Mark("odd > 0", "odd"), Mark("odd < 1", "even", underline=True)),
        lines=(FurtherLine("oddity", ("odd", "n"), Number(0), "odd > 0"),),
    )
    text = lay_out(table, (grid,), "x", "X")
    block = lines(text, "m00")
    assert block[0] == ["m00", r"\underline{0.250}", r"0.250\textsuperscript{\dag}"]
    assert block[-1] == [r"\quad oddity", "", "1, 7"]
    assert r"\textsuperscript{\dag}: odd. Underlined: even." in text
    assert "oddity" not in text.split("m01")[1]


def test_tall_tables_are_parted_between_blocks():
    text = lay_out(tidy(40), (BY_COLOUR,), "tall", "Tall")
    check(text)
    floats = text.split(r"\begin{table}")[1:]
    assert len(floats) == 4 and "Tall (part 4 of 4)." in text
    for one in floats:
        assert one.count(r"\\") + one.count(r"\addlinespace") / 2 < written_tables.DOWN
        assert "Brackets: 95" in one and "Model & green" in one
    assert re.findall(r"^m\d\d", text, re.MULTILINE) == [f"m{i:02}" for i in range(40)]
    # Blocks of one unit share a page.
    parts = written_tables._packed(["a", "a", "b", "b", "b", "c"], [2, 2, 2, 2, 2, 1], 7)
    assert parts == [[0, 1], [2, 3, 4, 5]]
    assert written_tables._packed(["a"] * 4, [3, 3, 3, 3], 7) == [[0, 1], [2, 3]]
    assert written_tables._packed([], [], 7) == [[]]


def test_wide_tables_are_parted_between_outer_columns():
    both = pd.concat([tidy(9, metric=metric) for metric in ("strict", "released")])
    across = (Factor("model"), Factor("metric"))
    text = lay_out(both, (Grid(rows=(COLOUR,), columns=across),), "wide", "Wide")
    check(text)
    widths = [len(spec) for spec in re.findall(r"\\begin\{tabular\}\{l(c+)\}", text)]
    assert widths == [10, 8] and text.count(r"\multicolumn{2}{c}{m0") == 9


def test_names_are_text_and_a_cell_has_one_row():
    assert escape("a_b 5% {x} & $y$ #1 ~^\\") == (
        r"a\_b 5\% \{x\} \& \$y\$ \#1 \textasciitilde{}\textasciicircum{}\textbackslash{}"
    )
    assert escape("<b>\n\n x") == r"\textless{}b\textgreater{} x"
    # A row that begins with a bracket is no argument.
    assert "{}[x] & " in lay_out(tidy(1, model="[x]"), (BY_COLOUR,), "x", "X")
    with pytest.raises(ValueError, match="no column of the layout"):
        lay_out(pd.concat([tidy(), tidy()]), (BY_COLOUR,), "x", "X")


# Tables of prompts


def test_prompts_of_any_benchmark_are_described(tmp_path):
    spec = PromptTable(
        by=("colour", "size"),
        counts=(
            ("prompts", "example_id", "size"),
            ("questions", "example_id", "nunique"),
            ("share", "share", "mean"),
            ("tokens_mean", "n_tokens", "mean"),
        ),
        slice_names=("", "colour"),
        computed={"share": "n_tokens / room"},
        digits={"share": 3},
        kept=("doubtful",),
    )
    rows = {"colour": ["red", "red", "blue"], "size": [2, 2, 1], "example_id": ["a", "a", "b"]}
    rows |= {"n_tokens": [2, 3, 5], "room": [6, 6, 7]}
    notes = {"left_out": {"torn": 2, "doubtful": 3, "odd_kept": 1, "none": 0}}
    write_table(pa.table(rows), tmp_path / "x-dark-red.parquet", notes=notes)
    write_table(pa.table(rows), tmp_path / "y-red.parquet", notes={"left_out": {}})
    text = describe(spec, sorted(tmp_path.glob("*.parquet"))).to_csv(index=False)
    assert text.splitlines() == [
        "colour,size,prompts,questions,share,tokens_mean,task",
        "blue,1,2,1,0.714,5.0,",
        "red,2,4,1,0.417,2.5,",
        "dark-red,,3,,,,found: doubtful",
        "dark-red,,1,,,,found: odd",
        "dark-red,,2,,,,left out: torn",
    ]
