"""The front end's files and folders import each other one way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.conftest import ROOT

SOURCES = ROOT / "tb_graph_ascend" / "frontend" / "src"


def test_no_circles_in_the_front_end() -> None:
    """Neither files nor folders of `src`, types included."""
    files = {path: _relative_imports(path) for path in SOURCES.rglob("*.ts*")}
    assert len(files) > 50, "no front-end sources found"
    assert _circles(files) == []
    folders: dict[Path, set[Path]] = {}
    for path, imported in files.items():
        folders.setdefault(path.parent, set()).update(other.parent for other in imported)
    assert _circles({folder: others - {folder} for folder, others in folders.items()}) == []


def _relative_imports(path: Path) -> set[Path]:
    named = re.findall(r'(?:from|import)\s*\(?\s*"(\.[^"]+)"', path.read_text(encoding="utf-8"))
    found = ((path.parent / name).resolve() for name in named)
    return {
        file
        for stem in found
        for file in (stem, Path(f"{stem}.ts"), Path(f"{stem}.tsx"))
        if file.is_file() and file.suffix in (".ts", ".tsx")
    }


def _circles(graph: Mapping[Path, set[Path]]) -> list[str]:
    """What lies on circles: all that is left when leaves are taken off until there is none."""
    left = {node: {other for other in others if other in graph} for node, others in graph.items()}
    while leaves := {node for node, others in left.items() if not others}:
        left = {node: others - leaves for node, others in left.items() if node not in leaves}
    # What only leads into a circle is no part of one.
    while unread := left.keys() - set().union(*left.values()):
        left = {node: others for node, others in left.items() if node not in unread}
    return sorted(str(node.relative_to(SOURCES)) for node in left)
