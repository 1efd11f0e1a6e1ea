"""Versions of the packages that change what a run computes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata

from msprobe.config_check.sheet import Sheet
from msprobe_core.format.frameworks import frameworks

HEADER = ("package", "bench version", "cmp version", "level")
COMPARED = (
    "transformers",
    "deepspeed",
    "megatron",
    "megatron-core",
    "mindspeed",
    "numpy",
    "datasets",
    "peft",
    *sorted(name for framework in frameworks() for name in framework.distributions),
    "accelerate",
    "flash-attn",
    "transformer-engine",
    "vllm",
    "vllm-ascend",
    "sglang",
    "verl",
)


def installed_packages() -> str:
    """A line `name=version` for each installed distribution, sorted."""
    lines = {
        f"{distribution.name}={distribution.version}"
        for distribution in metadata.distributions()
        if distribution.name
    }
    return "".join(f"{line}\n" for line in sorted(lines))


def parse_packages(text: str) -> dict[str, str]:
    """Version by normalised name."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {_normalised(name): version.strip() for name, _, version in pairs}


def compare_packages(bench: Mapping[str, str], other: Mapping[str, str]) -> Sheet:
    """Rows for versions that differ; a package that is not there is the text None."""
    rows = [
        (name, bench.get(name, "None"), other.get(name, "None"), "error")
        for name in COMPARED
        if bench.get(name) != other.get(name)
    ]
    return Sheet("pip", HEADER, [*rows], "error" if rows else "pass")


def _normalised(name: str) -> str:
    return name.strip().lower().replace("_", "-")
