"""Every preset can be planned, within seconds, and none of its models is wrong."""

from __future__ import annotations

import copy
import resource
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from needlework.config import validated
from runs import ROOT, Workflow

DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
PRESETS = sorted((ROOT / "presets").glob("*.yaml"))
PAGE = ROOT / "docs/models.md"


def merged(text: str) -> dict:
    """The default configuration with what `text` (YAML) says laid over it, as --configfile does."""
    config = copy.deepcopy(DEFAULT)
    update_config(config, yaml.safe_load(text))
    return config
