"""The keys of models of the backend `openvino`."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from needlework.settings.base import PathText, wrong
from needlework.settings.models import OnDevice


class Openvino(OnDevice):
    """A model that OpenVINO runs."""

    backend: Literal["openvino"]
    name: PathText
    """A GGUF file or an OpenVINO folder."""

    @model_validator(mode="after")
    def _on_a_cpu_or_gpu(self) -> Self:
        if "NPU" in self.device.upper():
            raise wrong(
                ".device",
                f"is {self.device!r}, but no NPU is supported any more: set `cpu` or `gpu`.",
            )
        return self
