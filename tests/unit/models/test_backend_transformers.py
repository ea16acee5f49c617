"""The backend `transformers` with tiny random Llama and T5 models, on the CPU."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engines.tiny_model import make_model, make_tokenizer
from factories.models import answers, backend_of, configured, requests
from needlework.errors import UserError
from needlework.jobs.stop import Stopped
from needlework.journal import Journal
from needlework.models.backends import transformers
from needlework.models.backends.base import Answer
from needlework.models.generation import generate

GREEDY = {"temperature": 0}
ENDS = [1, *range(5, 512, 25)]
PROMPTS = [f"House {n} of Orveld was built in {1500 + n}." * (1 + n % 4) for n in range(10)]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """So small a model gains nothing by more, and loses much where others compute too."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder-only model with a chat template and a context of 2048 tokens."""
    from transformers import GenerationConfig

    folder = tmp_path_factory.mktemp("llama")
    make_tokenizer(folder)
    make_model(folder)
    # More tokens that end an answer, so that short ones end.
    GenerationConfig(bos_token_id=0, eos_token_id=ENDS).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder-decoder model with relative positions."""
    from transformers import T5Config, T5ForConditionalGeneration

    own = {"decoder_start_token_id": 2, "pad_token_id": 2}
    sizes = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4}
    more = {"eos_token_id": 1, "initializer_factor": 8.0, "tie_word_embeddings": False}
    # What a checkpoint says about sampling is not how we sample.
    said = {**own, "num_beams": 3, "max_length": 7}
    config = T5Config(vocab_size=512, **own, **sizes, **more)
    return saved(tmp_path_factory.mktemp("t5"), T5ForConditionalGeneration, config, said)


def saved(folder: Path, made: type, config: Any, said: dict[str, Any]) -> Path:
    """A folder with a model of random weights, whose checkpoint says how to generate."""
    import torch
    from transformers import GenerationConfig

    make_tokenizer(folder)
    torch.manual_seed(0)
    model = made(config)
    # More tokens that end an answer, so that short ones end.
    model.generation_config = GenerationConfig(eos_token_id=ENDS, **said)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def mpt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder-only model whose attention falls with the distance, among 64 positions."""
    from transformers import MptConfig, MptForCausalLM

    sizes = {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 64}
    config = MptConfig(vocab_size=512, initializer_range=0.5, **sizes)
    return saved(tmp_path_factory.mktemp("mpt"), MptForCausalLM, config, {"bos_token_id": 0})


def backend(folder: Path, **changes: Any) -> transformers.TransformersBackend:
    own = {"backend": "transformers", "name": str(folder), "chat": False, "dtype": "float32"}
    how = {"device": "cpu", "batch_size": 4, "sampling": GREEDY}
    entry = configured("tiny", **{**own, **how, **changes})["models"]["tiny"]
    return backend_of("transformers", {**entry, "model": "tiny"})


def loaded(folder: Path, **changes: Any) -> transformers.TransformersBackend:
    model = backend(folder, **changes)
    model.load()
    return model


@pytest.mark.parametrize("kind", ["llama", "t5"])
@pytest.mark.slow
def test_an_answer_ends_where_the_model_ends_it(kind, request) -> None:
    """Against a plain loop over the model, a prompt at a time, without its generate()."""
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    folder = request.getfixturevalue(kind)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = (AutoModelForSeq2SeqLM if kind == "t5" else AutoModelForCausalLM).from_pretrained(
        folder, dtype=torch.float32
    )
    ends = set(model.generation_config.eos_token_id)
    found = answers(backend(folder), requests(*PROMPTS, new=24))
    for prompt, answer in zip(PROMPTS, found, strict=True):
        tokens, new = tokenizer.encode(prompt), []
        while len(new) < 24 and not ends & set(new):
            with torch.inference_mode():
                if kind == "t5":
                    given = {"decoder_input_ids": torch.tensor([[2, *new]])}
                    logits = model(input_ids=torch.tensor([tokens]), **given).logits
                else:
                    logits = model(input_ids=torch.tensor([tokens + new])).logits
            new.append(int(logits[0, -1].argmax()))
        assert answer == Answer(
            tokenizer.decode(new, skip_special_tokens=True),
            "stop" if ends & set(new) else "length",
            prompt_tokens=len(tokens),
            completion_tokens=len(new),
        )
    assert {answer.finish_reason for answer in found} == {"stop", "length"}


@pytest.mark.parametrize("kind", ["llama", "t5"])
@pytest.mark.slow
def test_the_company_changes_no_answer(kind, request) -> None:
    folder = request.getfixturevalue(kind)
    asked = requests(*PROMPTS[:4], samples=2, new=12)
    for sampling in (GREEDY, {"temperature": 20.0, "top_k": 40, "top_p": 0.9}):
        together = answers(backend(folder, sampling=sampling, batch_size=8), asked)
        assert together == answers(backend(folder, sampling=sampling, batch_size=1), asked)
        backwards = answers(backend(folder, sampling=sampling, batch_size=3), asked[::-1])
        assert together == backwards[::-1]
        different = sum(a != b for a, b in zip(together[::2], together[1::2], strict=True))
        assert (different == 0) if sampling == GREEDY else (different >= 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["llama", "t5"])
def test_thoughts_are_no_part_of_an_answer_and_counted(kind, request) -> None:
    """The model does not think: what it says before the middle of an answer stands for thoughts."""
    folder = request.getfixturevalue(kind)
    whole = answers(backend(folder), requests(*PROMPTS, new=24))
    text = max((answer.text for answer in whole), key=len)
    end = text[len(text) // 2 :][:2]
    thinking = backend(folder, reasoning={"max_tokens": 4, "end": end})
    found = answers(thinking, requests(*PROMPTS, new=20))
    kinds = {(end in answer.text, answer.finish_reason) for answer in whole}
    assert kinds >= {(True, "length"), (False, "length"), (False, "stop")}
    for before, answer in zip(whole, found, strict=True):
        assert answer.completion_tokens == before.completion_tokens
        if end in before.text:
            assert 0 < answer.reasoning_tokens < answer.completion_tokens
            # Random bytes are not always text.
            both = (before.text.partition(end)[2], answer.text)
            behind, said = (re.sub("[^ -~]", "", text) for text in both)
            assert behind.strip().endswith(said.strip())
        elif before.finish_reason == "stop":
            assert (answer.text, answer.reasoning_tokens) == (before.text, 0)
        else:
            assert (answer.text, answer.reasoning_tokens) == ("", 24)
    assert backend(folder, reasoning=None).identity() == backend(folder).identity()
    assert backend(folder).identity() != thinking.identity()


def test_seeds_change_samples_and_narrow_choices_are_likeliest(llama) -> None:
    asked = requests(*PROMPTS[:6], new=16)

    def sampled(**sampling: Any) -> list[Answer]:
        return answers(backend(llama, sampling={"temperature": 1.0, **sampling}), asked)

    assert sum(a != b for a, b in zip(sampled(seed=0), sampled(seed=1), strict=True)) >= 5
    likeliest = answers(backend(llama), asked)
    for narrow in ({"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}):
        assert sampled(**{"top_k": None, **narrow}) == likeliest


def test_samples_follow_the_model_s_distribution() -> None:
    """The noise turns the largest score into a draw: shares of 0.5, 0.3, 0.2, and never 0."""
    import torch

    shares = torch.tensor([0.5, 0.3, 0.2, 0.0])
    rows = 6000
    noisy = transformers._gumbel(range(rows))(None, shares.log().expand(rows, 4))
    drawn = noisy.argmax(1).bincount(minlength=4) / rows
    assert drawn[3] == 0
    assert torch.allclose(drawn, shares, atol=0.025)


def test_a_prompt_goes_through_the_chat_template(llama, tmp_path) -> None:
    own = tmp_path / "own.jinja"
    own.write_text("{{ messages[0]['content'] }}!", encoding="utf-8")
    chat, other, raw = (
        loaded(llama, **changes)
        for changes in ({"chat": True}, {"chat": True, "chat_template": str(own)}, {})
    )
    sent = [model._tokenizer.decode(model._encode("Who?")) for model in (chat, other, raw)]
    assert sent == ["<s>[user] Who?\n[assistant] ", "Who?!", "<s>Who?"]
    assert other.identity() != chat.identity()


def test_prompts_beyond_the_context_are_skipped_and_answers_end_there(llama) -> None:
    model = loaded(llama)
    one, two = (len(model._encode("Orveld" + " Orveld" * n)) for n in (0, 1))
    room, each = 2048 - one, two - one
    just, beyond = ("Orveld" + " Orveld" * n for n in ((room - 1) // each, room // each + 1))
    found = list(model.generate(requests(beyond, just, "short", new=64)))
    assert [a.finish_reason == "skipped" for a in found] == [True, False, False]
    assert "the model's context is 2048" in found[0].error
    assert found[1].prompt_tokens + found[1].completion_tokens <= 2048
    assert found[1].prompt_tokens > 2048 - 1 - each
    model.close()


def test_where_all_is_skipped_no_weights_are_loaded(llama, tmp_path) -> None:
    folder = tmp_path / "weightless"
    shutil.copytree(llama, folder)
    (folder / "model.safetensors").unlink()
    (found,) = answers(backend(folder), requests("Orveld " * 3000))
    assert found.finish_reason == "skipped"
    with pytest.raises(UserError, match=r"models\.tiny: .*weightless cannot be loaded: "):
        answers(backend(folder), requests("short"))


@pytest.mark.parametrize(
    ("scaling", "limit"),
    [
        ({"rope_type": "dynamic", "factor": 2.0}, 4096),
        ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512}, 2048),
        ({"rope_type": "linear", "factor": 1.5}, 3072),
    ],
)
def test_scaled_positions_reach_further(llama, scaling, limit) -> None:
    model = loaded(llama, rope_scaling=scaling)
    assert model._limit == limit
    prompt = "Orveld has a harbour. " * 450
    tokens = len(model._encode(prompt))
    assert 2048 < tokens < 3000
    (found,) = model.generate(requests(prompt, new=2))
    assert (found.finish_reason == "skipped") == (limit < tokens)
    assert (found.completion_tokens is None) == (limit < tokens)


def frequencies(model: transformers.TransformersBackend) -> Any:
    return model._model.model.rotary_emb.inv_freq.clone()


def test_yarn_is_what_the_paper_says(llama) -> None:
    """Fast dimensions stay, slow ones are divided by the factor, and attention is scaled."""
    plain, scaled = loaded(llama), loaded(llama, rope_scaling={"rope_type": "yarn", "factor": 4})
    ratio = frequencies(plain) / frequencies(scaled)
    assert (ratio[0].item(), ratio[-1].item()) == pytest.approx((1, 4), rel=1e-5)
    assert bool((ratio.diff() >= -1e-6).all())
    attention = scaled._model.model.rotary_emb.attention_scaling
    assert attention == pytest.approx(0.1 * math.log(4) + 1)


@pytest.mark.slow
def test_dynamic_scaling_forgets_the_prompt_before(llama) -> None:
    """transformers keeps the frequencies of the longest prompt so far; ours depend on the prompt."""
    short, long, longer = ("Orveld has a harbour. " * n for n in (3, 420, 500))
    asked = requests(short, long, longer, new=4)
    model = loaded(llama, rope_scaling={"rope_type": "dynamic", "factor": 4.0})
    apart = [next(iter(model.generate([one]))) for one in asked]
    assert list(model.generate(asked[::-1])) == apart[::-1]
    lengths = [answer.prompt_tokens for answer in apart]
    assert lengths[0] < 2048 < lengths[1] < lengths[2]
    assert apart[0] == answers(backend(llama), asked[:1])[0]
    # The base grows with the prompt: by hand for the last forward pass of the longest one.
    list(model.generate(asked[2:]))
    last = lengths[2] + apart[2].completion_tokens - 1
    base = 10000.0 * (4.0 * last / 2048 - 3.0) ** (64 / 62)
    assert frequencies(model)[-1].item() == pytest.approx(base ** (-62 / 64), rel=1e-4)
    model.close()


YARN = {"rope_type": "yarn"}


@pytest.mark.parametrize(
    ("kind", "change", "wanted"),
    [
        ("llama", {"rope_scaling": {"rope_type": "llama3", "factor": 2}}, "Missing required"),
        ("llama", {"rope_scaling": {"rope_type": "yran", "factor": 2}}, "did you mean 'yarn'"),
        ("llama", {"rope_scaling": YARN}, "lacks the key 'factor'"),
        ("llama", {"rope_scaling": YARN | {"factor": 0.5}}, "factor is 0.5"),
        ("t5", {"rope_scaling": YARN | {"factor": 2}}, "does not have rotary positions"),
        ("mpt", {"config": {"max_len": 512}}, "has the key 'max_len', which the configuration of"),
        ("mpt", {"config": {"max_seq_len": "long"}}, r"\.max_seq_len is 'long': .*Correct it"),
        ("mpt", {"name": "/nothing"}, r"nothing cannot be loaded: .* Check `name`"),
    ],
)
def test_a_wrong_setting_of_a_model_is_named(request, monkeypatch, kind, change, wanted) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match=rf"models\.tiny.*{wanted}"):
        loaded(request.getfixturevalue(kind), **change)


def test_a_key_of_the_model_s_configuration_can_be_changed(mpt) -> None:
    long, short = requests("Orveld has a harbour. " * 30, "Orveld?", new=8)
    plain = answers(backend(mpt), [long, short])
    assert [answer.finish_reason == "skipped" for answer in plain] == [True, False]
    assert "the model's context is 64" in plain[0].error
    changed = answers(backend(mpt, config={"max_seq_len": 512}), [long, short])
    assert 64 < changed[0].prompt_tokens < 512 and changed[0].completion_tokens
    assert changed[1] == plain[1]
    # The model would fail at one token more.
    (found,) = answers(backend(mpt), requests("Orveld has a harbour. " * 10, new=100))
    assert found.finish_reason == "length"
    assert found.prompt_tokens + found.completion_tokens == 64


def batches(model: transformers.TransformersBackend) -> list[tuple[int, int]]:
    """The shapes of all prefills from now on."""
    seen: list[tuple[int, int]] = []

    def remember(module: Any, args: Any, kwargs: Any) -> None:
        shape = tuple(kwargs["input_ids"].shape)
        seen.extend([shape] if shape[1] > 1 else [])

    model._model.register_forward_pre_hook(remember, with_kwargs=True)
    return seen


def memory_for(model: transformers.TransformersBackend, most: int, error: Exception) -> None:
    """Let the model fail with more than `most` tokens at once, as a device does."""

    def refuse(module: Any, args: Any, kwargs: Any) -> None:
        if kwargs["input_ids"].numel() > most:
            raise error

    model._model.register_forward_pre_hook(refuse, with_kwargs=True)


def out_of_memory(kind: str) -> Exception:
    import torch

    if kind == "gpu":
        return torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
    said = "[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"
    return RuntimeError(said)


@pytest.mark.parametrize("kind", ["gpu", "cpu"])
def test_a_batch_too_large_for_the_memory_is_halved(llama, kind, caplog) -> None:
    asked = requests(*["Orveld has a harbour. " * 5] * 8, new=8)
    expected = answers(backend(llama), asked)
    model = loaded(llama, batch_size=8)
    memory_for(model, 2 * expected[0].prompt_tokens, out_of_memory(kind))
    shapes = batches(model)
    assert list(model.generate(asked)) == expected
    assert [rows for rows, _ in shapes[-4:]] == [2, 2, 2, 2]
    said = [r.message for r in caplog.records if "does not fit into memory" in r.message]
    assert [message.rpartition(" ")[2] for message in said] == ["4.", "2."]
    model.close()


def test_a_prompt_beyond_memory_fails_alone(llama, tmp_path) -> None:
    asked, model = requests("Orveld", "Orveld has a harbour. " * 20, "harbour"), loaded(llama)
    memory_for(model, 60, out_of_memory("gpu"))
    found = list(model.generate(asked))
    assert [a.error is None for a in found] == [True, False, True]
    size = len(model._encode(asked[1].prompt))
    assert f"does not suffice for one prompt of {size} tokens" in found[1].error
    # Other failures are not taken for memory.
    memory_for(model, 0, RuntimeError("device-side assert triggered"))
    with pytest.raises(RuntimeError, match="device-side assert"):
        list(model.generate(requests("a")))
    model.close()


def test_each_batch_is_kept_as_soon_as_it_is_answered(llama, tmp_path) -> None:
    """And what was kept is not asked again, whatever the size of batches."""
    asked = requests(*PROMPTS, new=24)
    expected = answers(backend(llama), asked)
    model, groups = backend(llama, batch_size=3), []
    ask = model._ask

    def dying(group: Any) -> Any:
        groups.append(group)
        if len(groups) == 3:
            raise RuntimeError("killed")
        return ask(group)

    model._ask = dying
    with Journal(tmp_path) as journal, pytest.raises(RuntimeError, match="killed"):
        generate(asked, model, journal)
    answered = [prompt.place for group in groups[:2] for prompt in group]
    kept = [record["text"] for record in Journal(tmp_path).records()]
    assert kept == [expected[place].text for place in answered] and len(kept) == 6
    with Journal(tmp_path) as journal:
        table = generate(asked, backend(llama, batch_size=1), journal)
    assert table["text"].to_pylist() == [answer.text for answer in expected]
    assert table["completion_tokens"].null_count == 0
    assert len(list(Journal(tmp_path).records())) == len(PROMPTS)


def test_a_stopped_run_ends_after_a_batch(llama, stop_run, tmp_path) -> None:
    model = backend(llama, batch_size=3)
    ask = model._ask

    def stopped_while_it_asks(group: Any) -> Any:
        stop_run()
        return ask(group)

    model._ask = stopped_while_it_asks
    with Journal(tmp_path) as journal, pytest.raises(Stopped):
        generate(requests(*PROMPTS, new=4), model, journal)
    assert len(list(Journal(tmp_path).records())) == 3


def test_a_stop_string_ends_an_answer(llama) -> None:
    whole = answers(backend(llama), requests(*PROMPTS, new=24))
    long = max(whole, key=lambda answer: len(answer.text))
    stop = long.text[len(long.text) // 2 :][:3]
    stopped = answers(backend(llama, stop=[stop]), requests(*PROMPTS, new=24))
    for before, after in zip(whole, stopped, strict=True):
        assert after.text == before.text.partition(stop)[0]
        if stop in before.text:
            assert after.finish_reason == "stop"
            assert after.completion_tokens <= before.completion_tokens


def test_a_model_without_a_chat_template_says_so(t5, tmp_path) -> None:
    folder = tmp_path / "bare"
    shutil.copytree(t5, folder)
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(UserError, match=r"models\.tiny: .* chat template of .* Set `chat: false`"):
        loaded(folder, chat=True)


def test_a_repeatable_model_answers_one_prompt_at_a_time(llama) -> None:
    assert backend(llama, repeatable=True)._batch_size == 1


def test_system_prompt_and_answer_prefix_are_sent(llama) -> None:
    plain, system, begun = (
        loaded(llama, chat=True, **own)
        for own in ({}, {"system": "Be brief."}, {"answer_prefix": "It is"})
    )
    text = plain.as_sent("Who?")[1]
    assert "Be brief." in system.as_sent("Who?")[1] and "Be brief." not in text
    assert begun.as_sent("Who?")[1] == text + "It is"
    assert begun.identity() == {**plain.identity(), "answer_prefix": "It is"}
    assert system.overhead() > plain.overhead()


def test_the_weights_are_of_the_type_that_is_set(llama) -> None:
    import torch

    for dtype, wanted in (("auto", torch.float32), ("bfloat16", torch.bfloat16)):
        assert loaded(llama, dtype=dtype)._model.dtype == wanted
