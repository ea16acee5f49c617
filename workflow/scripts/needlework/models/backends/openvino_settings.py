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
    def _an_npu_gets_what_it_has(self) -> Self:
        device = self.device.upper()
        if "NPU" in device and device != "NPU":
            raise wrong(
                ".device",
                f"is {self.device!r}, but an NPU cannot be combined with other devices: set `cpu`, `gpu` or "
                "`npu`.",
            )
        scheduler = sorted(name for name in self.engine.model_extra or {} if not name.isupper())
        if device == "NPU" and scheduler:
            raise wrong(
                f".engine.{scheduler[0]}",
                "is a setting of OpenVINO's scheduler, which an NPU lacks: leave it out. Settings of the "
                "device are in upper case, such as MAX_PROMPT_LEN.",
            )
        return self
