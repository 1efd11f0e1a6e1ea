"""mindstudio-probe's own readers take dumps with sketches and layouts, and say the same without.

It lives in an environment of its own, which PEER names: `PEER=/path make contract`.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from openpyxl import load_workbook

from msprobe.pytorch import PrecisionDebugger
from tests.evaluation.contract.conftest import SmallModel

PEER = os.environ.get("PEER")
pytestmark = pytest.mark.skipif(PEER is None, reason="PEER names no environment of the peer")

IDS, POSITIONS = torch.tensor([1, 2, 3]), torch.arange(3)
OURS_ALONE = ("sketch", "sketch_version", "source", "parallel", "inputs", "micro_batch")
LAYOUT = {
    "axes": {"pp": {"rank": 0, "size": 2, "ranks": [0, 1]}},
    "groups": {"77849d8c": "pp"},
    "tied": [["embedding.weight", "head.weight"]],
}


@pytest.fixture
def dumps(model: SmallModel, tmp_path: Path) -> Path:
    """Two runs with sketches, the second with another weight, and the same without sketches."""
    for side in ("problem", "benchmark"):
        debugger = PrecisionDebugger(dump_path=tmp_path / "with" / side, level="mix")
        with debugger.recording(model):
            model(IDS, POSITIONS).square().mean().backward()
        debugger.close()
        with torch.no_grad():
            model.mlp.weight[0, 0] += 1.0
    for file in (tmp_path / "with").rglob("dump.json"):
        content = json.loads(file.read_text())
        numbers = {name: 0 for name in content["data"] if ".forward." in name}
        file.write_text(json.dumps({**content, "parallel": LAYOUT, "micro_batch": numbers}))
    shutil.copytree(tmp_path / "with", tmp_path / "without")
    for file in (tmp_path / "without").rglob("dump.json"):
        assert '"sketch"' in file.read_text()
        file.write_text(json.dumps(plain(json.loads(file.read_text()))))
    return tmp_path


def plain(content: Any) -> Any:
    """The same without the members that mindstudio-probe does not write."""
    if isinstance(content, dict):
        return {key: plain(value) for key, value in content.items() if key not in OURS_ALONE}
    return [plain(item) for item in content] if isinstance(content, list) else content


def peer(command: str, folder: Path, output: Path, *flags: str) -> Path:
    """Run one of its commands on both sides of a folder; returns the one file it wrote."""
    sides = (folder / side / "step0" for side in ("problem", "benchmark"))
    paths = [word for flag, path in zip(("-tp", "-gp"), sides) for word in (flag, str(path))]
    words = [f"{PEER}/bin/msprobe", command, *paths, "-o", str(output), *flags]
    subprocess.run(words, check=True, capture_output=True, timeout=600)
    (written,) = output.iterdir()
    return written


def test_its_tables_are_the_same(dumps: Path) -> None:
    tables = []
    for name in ("with", "without"):
        sheet = load_workbook(peer("compare", dumps / name, dumps / f"out-{name}", "--xlsx")).active
        assert sheet is not None
        tables.append([[cell.value for cell in row] for row in sheet.iter_rows()])
    assert tables[0] == tables[1]
    assert len(tables[0]) > 50


def test_its_graphs_are_the_same_but_for_the_member_itself(dumps: Path) -> None:
    rows = []
    for name in ("with", "without"):
        written = peer("graph_visualize", dumps / name, dumps / f"out-{name}")
        with closing(sqlite3.connect(written)) as database:
            found = database.execute("SELECT * FROM tb_nodes").fetchall()
        rows.append([[_cell(cell) for cell in row] for row in found])
    assert rows[0] == rows[1]
    assert len(rows[0]) > 20


def _cell(cell: object) -> object:
    """Values stand in their cells as JSON text."""
    return plain(json.loads(cell)) if isinstance(cell, str) and cell.startswith("{") else cell
