"""The keys of models of the backend `openvino`."""

from __future__ import annotations

from typing import Literal

from needlework.settings.base import (
    PathText,
    key,
)
from needlework.settings.models import OnDevice


class Openvino(OnDevice):
    """A model that OpenVINO runs."""

    backend: Literal["openvino"]
    name: PathText = key("A GGUF file or an OpenVINO folder.")
