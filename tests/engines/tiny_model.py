"""A tiny model with random weights, its tokenizer and a LoRA adapter, for tests of real engines.

    python tiny_model.py FOLDER      writes FOLDER/model and FOLDER/adapter

Needs torch and transformers. The architecture is Llama's; every eightieth token ends an answer, so
some answers stop and some are cut.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

VOCABULARY, CONTEXT, WIDTH, LAYERS, RANK = 512, 2048, 256, 2, 8

TEXT = """
Orveld has a harbour. House 1 of Orveld was built in 1501. Nobody lives there. Answer the question
with the help of the passages. Question: When was house 12 of Quillmouth built? Tamsin Brackwater
Ilmar Sedgeby [user] [assistant]
"""

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}[{{ message['role'] }}] {{ message['content'] }}\n"
    "{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}"
)


def make_tokenizer(folder: Path) -> None:
    """A byte-level BPE tokenizer with a chat template; it puts <s> before raw text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator([TEXT] * 10, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    wrapped.chat_template = CHAT_TEMPLATE
    wrapped.save_pretrained(folder)


def make_model(folder: Path) -> None:
    """A Llama of two layers."""
    import torch
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_attention_heads=4,
        num_key_value_heads=4,
        num_hidden_layers=LAYERS,
        max_position_embeddings=CONTEXT,
        bos_token_id=0,
        eos_token_id=1,
        # Wide enough for answers that depend on the prompt.
        initializer_range=0.2,
    )
    model = LlamaForCausalLM(config).to(torch.float32)
    model.generation_config = GenerationConfig(
        bos_token_id=0, eos_token_id=[1, *range(40, VOCABULARY, 80)]
    )
    model.save_pretrained(folder)


def make_adapter(folder: Path) -> None:
    """A LoRA adapter of the model's query and value projections, strong enough to be seen."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir()
    torch.manual_seed(1)
    weights = {}
    for layer in range(LAYERS):
        for projection in ("q_proj", "v_proj"):
            name = f"base_model.model.model.layers.{layer}.self_attn.{projection}"
            weights[f"{name}.lora_A.weight"] = torch.randn(RANK, WIDTH) * 0.3
            weights[f"{name}.lora_B.weight"] = torch.randn(WIDTH, RANK) * 0.3
    save_file(weights, folder / "adapter_model.safetensors")
    settings = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "r": RANK,
        "lora_alpha": RANK,
        "target_modules": ["q_proj", "v_proj"],
        "bias": "none",
    }
    (folder / "adapter_config.json").write_text(json.dumps(settings), encoding="utf-8")


if __name__ == "__main__":
    made = Path(sys.argv[1])
    make_tokenizer(made / "model")
    make_model(made / "model")
    make_adapter(made / "adapter")
