"""What is wrong with a configuration is said in one sentence, before any work starts."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from factories import demo_run
from needlework.benchmarks.benchmark import load_benchmark
from needlework.data.corpora.registry import local_files
from needlework.errors import UserError
from needlework.given import given as blocks
from needlework.planning.chosen import lengths_of
from needlework.planning.config import validated
from needlework.planning.json_schema import schema
from needlework.planning.notices import replaced_choices, unknown_target
from needlework.planning.rule_inputs import RuleInputs

ROOT = Path(__file__).resolve().parents[3]
DEFAULT = demo_run(run={"benchmarks": ["mlneedle"]})
TEMPERATURE = "models.lexical.sampling.temperature"


def changed(key: str, value: Any, **sections: Any) -> dict[str, Any]:
    """The default configuration with `value` at the dotted key, and keys of whole sections."""
    sections = {**sections, "run": {"benchmarks": ["mlneedle"], **sections.get("run", {})}}
    config = block = demo_run(**sections)
    *path, last = key.split(".")
    for part in path:
        block = block.setdefault(part, {})
    block[last] = value
    return config


def asks(model: dict[str, Any], *benchmarks: str) -> dict[str, Any]:
    """Sections of a run that asks one model `m` behind vLLM, changed as given."""
    entry = {"backend": "vllm", "name": "some/model", "tokenizer": "words", "context": 32768}
    run = {"models": ["m"], "benchmarks": list(benchmarks) or ["mlneedle"]}
    return {"models": {"m": entry | model}, "run": run}


def complaint(config: Any) -> str:
    """What is said about a wrong configuration: always one line that ends a sentence."""
    with pytest.raises(UserError) as raised:
        validated(config)
    message = str(raised.value)
    assert "\n" not in message and message.endswith(".")
    return message


def test_the_default_is_valid_and_left_as_it_is() -> None:
    config = validated(DEFAULT)
    assert validated(config) == config
    assert config["benchmarks"]["mlneedle"]["needles"] == "sample_questions"
    assert lengths_of(blocks(config), "lexical", "mlneedle") == [512, 1024, 2048]
    config = copy.deepcopy(DEFAULT)
    validated(config)["models"]["lexical"]["sampling"]["top_k"] = 1
    validated(config)["benchmarks"]["mlneedle"]["haystack_languages"].append("xx")
    assert config == DEFAULT
    # Nor do the defaults of one configuration leak into another.
    assert validated(config)["models"]["lexical"]["sampling"]["top_k"] == 50
    assert "xx" not in validated(config)["benchmarks"]["mlneedle"]["haystack_languages"]


def test_defaults_are_filled_in_at_every_level() -> None:
    config = {
        "run": {"models": ["m"], "benchmarks": ["mlneedle"]},
        "tokenizers": {"w": {"kind": "huggingface", "name": "n"}},
        "models": {
            "m": {"backend": "lexical", "tokenizer": "w", "context": 40000},
            "partly": {"backend": "empty", "tokenizer": "w", "context": 1, "sampling": {"seed": 3}},
        },
        "embedders": {"mpnet": {"kind": "sentence-transformers", "name": "n"}},
        "retrieval": {"embedder": "mpnet"},
        "benchmarks": {},
    }
    full = validated(config)
    assert full["journal"] == "journal" and full["mirror"] is None
    assert full["sources"]["mmarco"]["passages"] == 10000
    assert full["translation"] == {"translator": "none"}
    assert full["translators"] == {"none": {"kind": "none"}}
    # Inside the entries of registries, by the kind of each.
    assert full["tokenizers"]["w"]["trust_remote_code"] is False
    assert full["embedders"]["mpnet"]["device"] == "auto"
    assert full["models"]["m"]["samples"] == 1
    sampling = {"temperature": 0.7, "top_k": 50, "top_p": 1, "seed": 3}
    assert full["models"]["partly"]["sampling"] == sampling
    mlneedle = full["benchmarks"]["mlneedle"]
    assert mlneedle["lengths"] == [4096, 8192, 16384, 32768]
    assert mlneedle["comparisons"] == {"instruction_tuning": [], "decoding": []}


def test_a_path_may_begin_in_the_home_folder(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "en.csv").write_text("key,body\n1,One.\n", encoding="utf-8")
    config = changed("journal", "~/journal") | {"mirror": "~/mirror", "runs": {"a": "~/a"}}
    model = {"backend": "vllm", "name": "~/model", "tokenizer": "words", "context": 4096}
    config["models"]["own"] = {**model, "system": "~/ is your home"}
    languages = {"en": {"files": ["~/en.csv"]}}
    mine = {"kind": "passages", "columns": {"text": "body"}, "languages": languages}
    config["corpora"] = {"mine": mine}
    full = validated(config)
    assert full["journal"] == f"{tmp_path}/journal" and full["mirror"] == f"{tmp_path}/mirror"
    assert full["runs"] == {"a": f"{tmp_path}/a"}
    assert full["models"]["own"]["name"] == f"{tmp_path}/model"
    assert full["models"]["own"]["system"] == "~/ is your home"
    assert full["corpora"]["mine"]["languages"]["en"]["files"] == [f"{tmp_path}/en.csv"]


def test_a_validated_configuration_has_every_key_of_the_schema() -> None:
    def missing(value: Any, node: Mapping[str, Any], path: str) -> list[str]:
        lacking = []
        for key, child in node.get("properties", {}).items():
            if key not in value:
                lacking.append(f"{path}.{key}")
            elif isinstance(value[key], Mapping):
                lacking += missing(value[key], child, f"{path}.{key}")
        entries = node.get("additionalProperties")
        if isinstance(entries, Mapping) and "properties" in entries:
            for name, entry in value.items():
                lacking += missing(entry, entries, f"{path}.{name}")
        return lacking

    assert missing(validated(DEFAULT), schema(), "") == []


def test_whole_numbers_and_a_models_own_lengths() -> None:
    # 1.0 and 1 must not make different digests.
    config = changed("benchmarks.mlneedle.lengths", [512.0, 1024, 2048])
    config["models"]["oracle"]["sampling"] = {"temperature": 0.0, "top_p": 0.9}
    full = validated(config)
    assert [type(n) for n in full["benchmarks"]["mlneedle"]["lengths"]] == [int] * 3
    assert repr(full["models"]["oracle"]["sampling"]["temperature"]) == "0"
    assert full["models"]["oracle"]["sampling"]["top_p"] == 0.9
    for own, lengths in (([1024, 512], [512, 1024]), ([], [])):
        config = validated(changed("models.empty.lengths", own))
        assert lengths_of(blocks(config), "empty", "mlneedle") == lengths


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        *(("modles", "models"), ("run.model", "models"), ("sources.mmarco.passage", "passages")),
        *(("models.lexical.contxt", "context"), ("tokenizers.mistral-v1.versoin", "version")),
        *(("translators.google.key-env", "key_env"), ("benchmarks.mlneedel", "mlneedle")),
        ("benchmarks.mlneedle.comparisons.decode", "decoding"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest(key: str, nearest: str) -> None:
    message = complaint(changed(key, []))
    where, _, own = key.rpartition(".")
    assert f"unknown key {own!r} in {where or 'the configuration'}: " in message
    assert f"did you mean {nearest!r}?" in message


def test_unknown_keys_get_the_known_and_names_the_nearest() -> None:
    message = complaint(changed("retrieval.xyz", 1))
    assert "did you mean" not in message
    assert "Known: device, embedder, similarity, top" in message
    # The kind decides: `encoding` is a key of tiktoken's.
    message = complaint(changed("tokenizers.words", {"kind": "words", "encoding": "x"}))
    assert "unknown key 'encoding' in tokenizers.words: Known: kind, reserve." in message
    config = changed("run.models", ["model-4O"])
    for i in range(60):
        config["models"][f"model-{i}"] = config["models"]["lexical"]
    message = complaint(config)
    assert "did you mean 'model-4'" in message and len(message) < 600


@pytest.mark.parametrize(
    ("key", "value", "missing"),
    [
        ("models.new", {"backend": "lexical", "context": 5}, "tokenizer"),
        ("tokenizers.new", {"kind": "tiktoken"}, "encoding"),
        ("run", {"models": ["lexical"]}, "benchmarks"),
        ("tokenizers.words", {"knd": "words"}, "kind': Known: characters"),
        ("models.lexical.backend", "replay", "answers' (A file of answers)"),
    ],
)
def test_a_missing_key_is_named(key, value, missing) -> None:
    where = key.removesuffix(".backend")
    assert f"{where} lacks the key '{missing}" in complaint(changed(key, value))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("models", None), ("run", "mlneedle"), ("run.models", []), ("journal", 5)),
        *(("run.models", ["empty", "empty"]), ("retrieval.top", "300"), ("retrieval.top", True)),
        *(("mirror", ""), ("journal", ""), ("models.lexical", None), ("models.empty.context", 8.5)),
        *(("models.lexical.sampling.top_p", 0), (TEMPERATURE, -1)),
        ("benchmarks.mlneedle.lengths", [512, 512]),
        ("benchmarks.mlneedle.questions", {"en": 5}),
        ("benchmarks.mlneedle.comparisons.decoding", [["lexical", "oracle", "empty"]]),
        ("models.lexical.shards", 1000000),
        *(("run.limit", 0), ("run.limit", True), ("run.limit", "ten")),
    ],
)
def test_wrong_types_are_named_with_their_key(key, value) -> None:
    message = complaint(changed(key, value))
    assert message.startswith(key) and "docs/configuration.md" in message
    # The whole value, or the one of a list that is wrong.
    assert any(repr(v) in message for v in (value, *(value if isinstance(value, list) else ())))


@pytest.mark.parametrize("config", [None, {}, [], "config"], ids=repr)
def test_no_configuration_at_all(config: Any) -> None:
    assert complaint(config).startswith("the configuration ")


def test_only_models_that_run_are_held_to_lengths() -> None:
    validated(changed("models.spare", {"backend": "lexical", "tokenizer": "absent", "context": 1}))
    validated(changed("models.oracle.context", 100, run={"models": ["lexical"]}))
    for name in ("Mistral-7B-v0_2", "a", "_x", "05B"):
        validated(changed(f"models.{name}", DEFAULT["models"]["lexical"], run={"models": [name]}))


@pytest.mark.parametrize(
    ("key", "lang", "known"),
    [
        ("needle_languages", ["en", "fr"], ""),
        ("haystack_languages", ["en", "fr"], ", multilingual"),
        *(("answer_languages", ["en", "fr"], ""), ("multilingual", ["fr"], "")),
        *(("question_lang", "fr", ""), ("needle_languages", ["multilingual"], "")),
    ],
)
def test_a_language_that_the_corpus_does_not_have(key, lang, known) -> None:
    message = complaint(changed(f"benchmarks.mlneedle.{key}", lang))
    wrong = lang if isinstance(lang, str) else lang[-1]
    assert f"benchmarks.mlneedle.{key} has the unknown language {wrong!r}" in message
    assert f"en, de, es, zh, vi, hi, ar{known}" in message


def test_the_languages_are_those_of_the_corpus_that_is_chosen() -> None:
    config = changed("benchmarks.mlneedle.haystack", "mmarco")
    config["benchmarks"]["mlneedle"]["haystack_languages"] = ["en", "fr", "multilingual"]
    validated(config)
    config["benchmarks"]["mlneedle"]["haystack_languages"] = ["en", "el"]
    assert "'el'" in complaint(config)


@pytest.mark.parametrize(("key", "value"), [("question_lang", "de"), ("needle_languages", ["de"])])
def test_answers_are_accepted_in_the_languages_that_are_used(key, value) -> None:
    config = copy.deepcopy(DEFAULT)
    own = config["benchmarks"]["mlneedle"]
    own |= {"answer_languages": ["en", "es"], "needle_languages": ["en", "es"], key: value}
    message = complaint(config)
    assert f"benchmarks.mlneedle.{key} has 'de'" in message
    assert "benchmarks.mlneedle.answer_languages: add it there" in message


@pytest.mark.parametrize("device", ["npu", "AUTO:GPU,NPU"])
def test_an_npu_is_refused(device: str) -> None:
    config = changed("run.models", ["smollm2"])
    config["models"]["smollm2"] |= {"device": device, "optional": False}
    assert f"models.smollm2.device is {device!r}, but no NPU is" in complaint(config)


@pytest.mark.parametrize("benchmarks", [["mlneedle"], ["mlneedle", "oneruler"]])
def test_a_length_above_the_context_proposes_lengths_that_work(benchmarks: list[str]) -> None:
    config = changed("models.lexical.context", 1024, run={"benchmarks": benchmarks})
    message = complaint(config)
    assert "models.lexical: the length 2048 is above the model's context of 1024" in message
    proposed = message.partition("set `lengths: ")[2].partition("` for this model")[0]
    config["models"]["lexical"]["lengths"] = yaml.safe_load(proposed)
    assert lengths_of(blocks(validated(config)), "lexical", "mlneedle") == [512, 1024]
    message = complaint(changed("models.lexical.context", 100))
    assert "`lengths: []`" not in message
    assert "add a shorter one to benchmarks.mlneedle.lengths, of which 512 is the least" in message


@pytest.mark.parametrize(
    ("benchmark", "thoughts", "reserve"),
    # Of 32,768 tokens of MLNeedle's prompts, 64 are kept for an answer and may be another's.
    [
        *(("mlneedle", 64, None), ("mlneedle", 1000, 936), ("oneruler", 1, 1)),
        ("lost_in_the_middle", 1, None),
    ],
)
def test_thoughts_that_leave_no_room_name_the_reserve(benchmark, thoughts, reserve) -> None:
    sections = asks({"reasoning": {"max_tokens": thoughts}}, benchmark)
    config = changed("benchmarks.mlneedle.lengths", [32768], **sections)
    config["benchmarks"]["oneruler"]["lengths"] = [32768]
    if reserve is not None:
        assert f"Set `reserve: {reserve}` for tokenizers.words" in complaint(config)
        config["tokenizers"]["words"]["reserve"] = reserve
    validated(config)


def test_lengths_have_room_for_the_engine_and_the_answer() -> None:
    thinking = {"reasoning": {"max_tokens": 500}, "engine": {"max_model_len": 4500}}
    config = changed("benchmarks.oneruler.lengths", [4096], **asks(thinking, "oneruler"))
    assert "96 too many for the context of 4500. Set `reserve: 96`" in complaint(config)
    config = changed("benchmarks.mlneedle.lengths", [64, 512])
    message = complaint(config)
    assert "benchmarks.mlneedle.lengths has 64" in message and "64 tokens are kept" in message
    config["benchmarks"]["mlneedle"]["lengths"] = [65, 512]
    validated(config)


@pytest.mark.parametrize(
    ("lengths", "said"),
    [
        ([512, 4096], "has 4096, which is not among benchmarks.mlneedle.lengths (512, 1024, 2048)"),
        ({"mlneedel": [512]}, "names 'mlneedel'"),
        ({"lost_in_the_middle": [512]}, "names 'lost_in_the_middle', whose prompts have no length"),
    ],
)
def test_a_models_lengths_are_among_the_benchmarks(lengths: Any, said: str) -> None:
    assert f"models.lexical.lengths {said}" in complaint(changed("models.lexical.lengths", lengths))


@pytest.mark.parametrize("name", ["..", ".hidden", "", "a b", "a\\b", "a\nb", "имя", "a$b", "a/b"])
def test_a_name_that_cannot_be_part_of_a_path(name: str) -> None:
    entries = {
        "models": {"backend": "lexical", "tokenizer": "words", "context": 131072},
        "tokenizers": {"kind": "words"},
        "embedders": {"kind": "ngram"},
        "translators": {"kind": "none"},
    }
    for registry in entries if name == "a/b" else ["models"]:
        config = copy.deepcopy(DEFAULT)
        config[registry][name] = entries[registry]
        message = complaint(config)
        assert f"{registry} has the name {name!r}" in message and "letters" in message


def test_cycles_dates_and_limits() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    assert "contains itself" in complaint(changed("run.models", cycle))
    config = changed("journal", "journal", **asks({"template": {"date": "yesterday"}}))
    assert "template.date is 'yesterday', which is no date" in complaint(config)
    own = validated(changed("run.limit", 2))["benchmarks"]
    assert own["mlneedle"]["questions"] == own["oneruler"]["examples"] == 2
    assert own["lost_in_the_middle"]["questions"] == own["m4le"]["examples"] == 2


def test_a_file_that_overrides_an_earlier_choice_is_reported(tmp_path: Path) -> None:
    mine, preset, other = (tmp_path / name for name in ("mine.yaml", "preset.yaml", "other.yaml"))
    mine.write_text("run: {models: [mine], benchmarks: [mlneedle]}")
    preset.write_text("run: {models: [a, b], benchmarks: [mlneedle]}")
    other.write_text("models: {}")
    (said,) = replaced_choices([mine, other, preset])
    assert said.startswith(f"run.models is ['a', 'b'], from {preset}, and not ['mine'], from")
    assert replaced_choices([mine]) == replaced_choices([mine, other]) == []


def test_answers_in_all_languages_of_the_corpus_are_accepted() -> None:
    """So a further needle language changes no other slice."""

    def slices(*languages: str) -> dict[str, Any]:
        files = RuleInputs(validated(changed("benchmarks.mlneedle.needle_languages", [*languages])))
        names = load_benchmark("mlneedle").plan.slices(files.prompts.settings("mlneedle"))
        read = files.prompts.slice_settings, files.prompts.slice_tables
        return {name: [part("mlneedle", "words", name) for part in read] for name in names}

    before, after = slices("en"), slices("en", "vi")
    assert before.items() <= after.items() and len(after) == 2 * len(before)
    config = changed("benchmarks.mlneedle.needles", "xquad")
    accepted = validated(config)["benchmarks"]["mlneedle"]["answer_languages"]
    assert len(accepted) == 12 and {"ru", "th", "tr"} <= set(accepted)


COMPARISONS = "benchmarks.mlneedle.comparisons"


def own_files(languages: Any) -> dict[str, Any]:
    return {"kind": "passages", "columns": {"text": "text"}, "languages": languages}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        # None of the choices.
        ("run.benchmarks", ["mlnedle"], "run.benchmarks.0 is 'mlnedle': did you mean 'mlneedle'?"),
        ("models.lexical.backend", "lexcal", "models.lexical.backend is 'lexcal': did you mean 'l"),
        ("tokenizers.words.kind", "wrods", "tokenizers.words.kind is 'wrods': did you mean 'words"),
        ("sources.mlqa.split", "tset", "sources.mlqa.split is 'tset': did you mean 'test'?"),
        ("benchmarks.mlneedle.positions", ["start", "midle"], ".positions.1 is 'midle': did you"),
        ("benchmarks.mlneedle.tasks", ["existance"], "did you mean 'existence'?"),
        # In no registry.
        ("run.models", ["lexicl"], "run.models names 'lexicl', … `models`: did you mean 'lexical"),
        ("models.lexical.tokenizer", "word", "names 'word', … `tokenizers`: did you mean 'words'?"),
        ("retrieval.embedder", "ngrams", "retrieval.embedder names … `embedders`: did … mpnet"),
        ("judge", "smolm2", "judge names 'smolm2', which … `models`: did you mean 'smollm2'?"),
        ("judge", "oracle", "judge is 'oracle', which asks no model: name one that does."),
        ("translation.translator", "gogle", "names 'gogle', … `translators`: did you mean 'google"),
        (f"{COMPARISONS}.decoding", [["lexical", "orakle"]], f"{COMPARISONS}.decoding names 'orak"),
        (f"{COMPARISONS}.instruction_tuning", [["base", "lexical"]], "_tuning names 'base'"),
        ("embedders", {}, "which is not in `embedders`: Known: (nothing)."),
        # Out of bounds.
        ("retrieval.top", 10**12, "maximum of 100000"),
        ("tokenizers.words.reserve", 10**9, "maximum of 100000000"),
        ("models.lexical.context", 10**30, "an integer above the largest"),
        ("models.lexical.request", {"x": 10**5000}, "an integer above the largest"),
        ("models.lexical.timeout", math.nan, "models.lexical.timeout is nan, which is not a"),
        (TEMPERATURE, math.inf, "is inf, which is not a finite number"),
        # Also in blocks whose keys the schema does not know.
        ("models.lexical.engine.x", -math.inf, "engine.x is -inf, which is not a finite number"),
        ("models.lexical.request.y", math.nan, "request.y is nan, which is not a finite number"),
        (TEMPERATURE, "hot", "is not of type 'number'"),
        (TEMPERATURE, "0.7", "write 0.7 without quotes"),
        (TEMPERATURE, "1e-5", "write 1.0e-5"),
        (TEMPERATURE, "2.5E3", "write 2.5e+3"),
        ("sources.mmarco", {"pool": 1, "passages": 2}, "passages is 2 … raise sources.mmarco.pool"),
        # Texts.
        ("models.lexical.system", "a\x1bb", "the control character U+001B"),
        ("models.lexical.published", "a\nb", "a tab or a line break"),
        ("models.lexical.name", "x" * 300, "the name of a file or folder has at most 255 bytes"),
        ("models.lexical.engine", {"a\0": 1}, "the control character U+0000"),
        ("journal", "a\ud800b", "half of a character"),
        ("benchmarks.mlneedle.question_lang", "e" * 300, "of 300 characters"),
        ("models.lexical.revision", "x" * 5_000_000, "the most is 100,000"),
        ("models.Lexical", {"backend": "oracle"}, "lacks the key"),
        ("models." + "m" * 300, DEFAULT["models"]["lexical"], "of 300 characters"),
        ("models.LEXICAL", DEFAULT["models"]["lexical"], "the names 'lexical' and 'LEXICAL'"),
        ("benchmarks.mlneedle.needle_languages", [False], "put such a text in quotes"),
        ("corpora.mine", own_files({False: {"files": ["a.csv"]}}), "in quotes"),
        ("corpora.mine", own_files({"en": {"files": ["resources"]}}), "is a folder"),
        ("corpora.mine", own_files({"en": {"files": ["/"]}}), "/ is a folder"),
    ],
)
def test_a_wrong_value_is_told_in_a_short_sentence(key, value, said, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    message = complaint(changed(key, value))
    assert all(part in message for part in said.split(" … ")) and len(message) < 600


def test_every_number_and_text_of_the_schema_has_limits() -> None:
    def unlimited(node: Any, path: str) -> list[str]:
        if isinstance(node, list):
            return [found for part in node for found in unlimited(part, path)]
        if not isinstance(node, Mapping):
            return []
        types = node.get("type", [])
        types = [types] if isinstance(types, str) else types
        found = [where for key, part in node.items() for where in unlimited(part, f"{path}.{key}")]
        if not isinstance(types, list):
            return found
        if {"integer", "number"} & {*types} and not (
            "maximum" in node and {"minimum", "exclusiveMinimum"} & node.keys()
        ):
            found.append(path)
        if "string" in types and "maxLength" not in node:
            found.append(path)
        return found

    assert unlimited(schema(), "") == []


def test_stars_and_colons_in_names_of_files(tmp_path) -> None:
    for name in ("q1.jsonl", "q[1].jsonl", "q?.jsonl", ".q.jsonl", "p.jsonl"):
        (tmp_path / name).touch()

    def found(*patterns: str) -> list[str]:
        return [Path(f).name for f in local_files([f"{tmp_path}/{each}" for each in patterns])]

    assert found("q*.jsonl") == ["q1.jsonl", "q?.jsonl", "q[1].jsonl"]
    assert found("q[1].jsonl") == ["q[1].jsonl"] and found("q?.jsonl") == ["q?.jsonl"]
    assert found("q1.jsonl", "q*.jsonl", "*1*.jsonl") == ["q1.jsonl", "q?.jsonl", "q[1].jsonl"]
    assert found("*q*q*") == found("nothing.jsonl") == found("no/where*") == []
    assert found("*" * 100 + "x") == []
    (tmp_path / "a::b.csv").touch()
    files = {"files": [f"{tmp_path}/*.csv"]}
    own = {"kind": "texts", "columns": {"text": "t"}, "languages": {"tr": files}}
    said = complaint(changed("corpora.mine", own))
    assert f"{tmp_path}/a::b.csv has '::' in its name" in said and said.endswith("rename it.")


@pytest.mark.parametrize("section", ["models", "tokenizers"])
def test_code_of_the_hub_needs_its_commit(section):
    config = changed("tokenizers.hub", {"kind": "huggingface", "name": "some/tokenizer"})
    for part, own in asks({"tokenizer": "hub"}).items():
        config[part] |= own
    entry = config[section]["hub" if section == "tokenizers" else "m"]
    entry["trust_remote_code"] = True
    assert re.search(rf"{section}\.\w+\.revision is missing.*40 digits", complaint(config))
    entry["revision"] = "0" * 40
    validated(config)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("records", "no records of Every Eval Ever are written any more: use `artifact`"),
        ("audit", "audits became the doctor: use `doctor`."),
        ("published", "read the papers' numbers from resources/published."),
        ("lost_in_the_middle_figure15", "the paper's list of unambiguous questions is not public"),
        ("between_papers", "read docs/results.md, whose numbers perf/between_papers.py makes."),
        ("provenence", "did you mean 'provenance'?"),
    ],
)
def test_a_target_that_went_says_what_to_use(target: str, said: str) -> None:
    told = unknown_target(target, ["provenance", "artifact"])
    assert told.startswith(f"there is no target '{target}': {said}")
