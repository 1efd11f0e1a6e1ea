"""Dumps whose modules have other names, as those of a ported model have."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path


def port(dump: Path, to: Path, names: Sequence[tuple[str, str]]) -> Path:
    """A copy of a dump with parts of names replaced, in their order."""
    shutil.copytree(dump, to)
    for file in to.rglob("*.json"):
        text = file.read_text("utf-8")
        for old, new in names:
            text = text.replace(old, new)
        file.write_text(text, "utf-8")
    return to


LAYERS = (("Module.layers.", "Module.h."), ("Module.emb.", "Module.wte."), (".mlp.", ".ffn."))
