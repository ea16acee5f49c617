"""The settings of a model: its backend's settings, from the module beside the backend."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, get_args

from pydantic_core import to_jsonable_python

from needlework.models.backends.controls_settings import Controls
from needlework.models.backends.inspect.settings import Inspect
from needlework.models.backends.openai.settings import Openai
from needlework.models.backends.openvino.settings import Openvino
from needlework.models.backends.replay_settings import Replay
from needlework.models.backends.transformers_settings import Transformers
from needlework.models.backends.vllm_settings import Vllm
from needlework.settings.base import OfOthers, by, tagged
from needlework.settings.models import ModelSettings

AnyModel = Annotated[
    Annotated[Vllm, tagged("vllm")]
    | Annotated[Openvino, tagged("openvino")]
    | Annotated[Transformers, tagged("transformers")]
    | Annotated[Openai, tagged("openai")]
    | Annotated[Inspect, tagged("inspect")]
    | Annotated[Replay, tagged("replay")]
    | Annotated[Controls, tagged("lexical")],
    by("backend", {"oracle": "lexical", "empty": "lexical"}),
]
MODELS: tuple[type[ModelSettings], ...] = (
    *(Vllm, Openvino, Transformers, Openai, Inspect, Replay),
    Controls,
)


def _keys_of_backends() -> dict[str, OfOthers]:
    """The keys that only some models take."""
    found: dict[str, OfOthers] = {}
    for model in MODELS:
        names = get_args(model.model_fields["backend"].annotation)
        for name, field in model.model_fields.items():
            if name in ModelSettings.model_fields:
                continue
            default = None if field.is_required() else field.get_default(call_default_factory=True)
            own = OfOthers(to_jsonable_python(default), (), model.with_effect(name))
            before = found.get(name, own)
            found[name] = before._replace(kinds=(*before.kinds, *names))
    return found


OF_BACKENDS = MappingProxyType(_keys_of_backends())
for _model in MODELS:
    _model.elsewhere = {k: own for k, own in OF_BACKENDS.items() if k not in _model.model_fields}

# Snakemake compares parameters of jobs as texts, so the keys of an entry keep this order.
_BEGIN = (
    *("name", "chat_template", "template", "system", "answer_prefix", "stop", "gated", "reasoning"),
    *("lora", "repeatable", "variant", "batch_size", "device", "config", "dtype", "rope_scaling"),
    *("base_url", "key_env", "concurrency", "timeout", "batch", "batch_tokens", "request", "chat"),
    "args",
)


def with_all_keys(entry: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of a model with the keys of all backends. The keys that were `given` come first."""
    order = dict.fromkeys([*given, *_BEGIN, *OF_BACKENDS, *ModelSettings.model_fields])
    usual = {name: copy.deepcopy(other.default) for name, other in OF_BACKENDS.items()}
    usual |= {name: given[name] for name in given if name in usual}
    return {name: entry[name] if name in entry else usual[name] for name in order}
