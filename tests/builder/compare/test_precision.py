"""A run under autocast computes in its lower precision, whatever dtype most values have."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
import torch
from torch import nn

import builder
from builder.claim import evidence_told
from builder.compare.precision import working_precision
from builder.dump.reader import read_dump
from builder.match.nodes import match_trees
from builder.match.tree import Tree, build_tree
from builder.reasons import PrecisionSetting
from builder.results.database import ResultDatabase
from builder.results.extent import formats_told
from msprobe_core import PrecisionDebugger
from tb_graph_ascend.view.answer import answer
from tb_graph_ascend.view.html import html_report
from tb_graph_ascend.view.slide import slide
from tests.builder.dumps import forward, tensor, write_dump

BASE = ("float32", "float32")


def run(folder: Path, linear: list[str], rest: str = "torch.float32") -> Tree:
    """A dump of linear layers with results in these dtypes, other calls, and one other product."""
    data: dict[str, object] = {
        f"Functional.linear.{n}.forward": forward([tensor(1)], [tensor(2, dtype=f"torch.{dtype}")])
        for n, dtype in enumerate(linear)
    }
    data["Torch.matmul.0.forward"] = forward([tensor(1)], [tensor(2, dtype=rest)])
    for n in range(20):
        data[f"Torch.exp.{n}.forward"] = forward([tensor(1)], [tensor(2)])
    return build_tree(read_dump(write_dump(folder, data, dict.fromkeys(data))))


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        (["bfloat16"] * 5, ("bfloat16", "float32")),
        (["bfloat16"] * 3, BASE),  # so few may be a fault
        (["bfloat16"] * 4 + ["float32"], BASE),  # one that is not: no whole class
        (["float64"] * 5, ("float32", "bfloat16")),
        (["bfloat16"] * 4 + ["float64"], BASE),
    ],
)
def test_whole_classes_of_products_tell(
    ours: list[str], expected: tuple[str, str], tmp_path: Path
) -> None:
    other = "bfloat16" if expected[1] == "bfloat16" else "float32"
    sides = run(tmp_path / "p", ours), run(tmp_path / "b", [other] * len(ours))
    assert working_precision(match_trees(*sides), BASE) == expected
    assert working_precision(match_trees(*sides[::-1]), BASE) == expected[::-1]


class Blocks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(6))
        self.norm = nn.LayerNorm(16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = self.norm(x + torch.relu(layer(x)) * 0.5).float()
        return x


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_autocast_against_float32_is_one_note(level: str, tmp_path: Path) -> None:
    for side in ("problem", "benchmark"):
        torch.manual_seed(0)
        model, x = Blocks(), torch.randn(8, 16)
        debugger = PrecisionDebugger(level=level, dump_path=str(tmp_path / side))
        with debugger.recording(model), torch.autocast("cpu", enabled=side == "problem"):
            (model(x) * torch.randn(8, 16)).sum().backward()
        debugger.close()
    result = builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o")
    assert result.findings == ()
    note = PrecisionSetting("bfloat16", "float32")
    assert list(result.summary) == [note]
    _check_extent(result.path)


def _check_extent(path: Path) -> None:
    """What is said of how far the two runs are apart is what all their values say."""
    said = builder.diagnose(path).extent
    assert said is not None and said.largest is not None
    database = ResultDatabase(path)
    (pair,) = database.summary().pairs
    ours = database.side_nodes(pair.step, pair.rank)[0]
    nodes = [database.details(int(id_)) for id_ in ours.id]
    values = [(value, one.node) for one in nodes for value in one.values]
    errors = [value.error for value, _ in values if value.error is not None]
    assert said.largest.error == max(errors) > 0
    largest = [(n.id, f"{v.role}.{v.path}") for v, n in values if v.error == said.largest.error]
    assert (said.largest.node, said.largest.value) in largest
    floats = [
        (node.id, value.problem.dtype, value.benchmark.dtype)
        for value, node in values
        if node.kind == "api" and value.role == "output" and value.problem and value.benchmark
        if "float" in str(value.problem.dtype)
    ]
    lowered = {id_ for id_, one, other in floats if (one, other) == ("bfloat16", "float32")}
    if lowered:
        assert said.formats is not None
        assert (said.formats.coarser, said.formats.coarse) == ("problem", "bfloat16")
        assert said.formats.calls == len(lowered)
        assert said.formats.total == len({id_ for id_, *_ in floats})
    drawn = unescape(re.sub("<[^>]+>", " ", slide(database, answer(database))))
    report = unescape(html_report(path, 5))
    database.close()
    found = builder.diagnose(path).claim
    assert found.code in ("rounding", "close"), evidence_told(found)
    largest = evidence_told(found)[0 if found.code == "rounding" else 1]
    for told in filter(None, (formats_told(said), largest)):
        assert told in report
        assert told.partition(" is ")[0].removeprefix("the ")[:20] in drawn


@pytest.mark.parametrize(
    ("backend", "expected"),
    [("inductor", "bfloat16"), ("aot_eager", "float32"), (None, "float32")],
)
def test_what_a_compiler_keeps_unrounded_differs_by_the_rounding_of_the_products(
    backend: str | None, expected: str, tmp_path: Path
) -> None:
    """Most values are float32, as in norms that compute in it between products in bfloat16."""
    ours, theirs = (run(tmp_path / side, ["bfloat16"] * 3) for side in "pb")
    if backend is not None:
        file = ours.dump.path / "dump.json"
        head = json.loads(file.read_text())
        file.write_text(json.dumps({**head, "capture": {"mode": "graph", "backend": backend}}))
        ours = build_tree(read_dump(ours.dump.path))
    assert working_precision(match_trees(ours, theirs), BASE) == (expected, expected)


class Summed(nn.Module):
    """Products in bfloat16, and a norm that computes in float32 of their sum."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))

    def terms(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x
        for layer in self.layers:
            y = layer(y)
        return x, y

    def forward(self, x: torch.Tensor, unrounded: torch.Tensor | None = None) -> torch.Tensor:
        one, other = self.terms(x)
        wide = (one + other).float()
        return (wide if unrounded is None else unrounded).pow(2).mean(-1)


@pytest.mark.parametrize(("backend", "findings"), [("inductor", 0), ("aot_eager", 1)])
def test_a_float32_value_that_a_compiler_has_not_rounded_before_is_no_finding(
    backend: str, findings: int, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    model, x = Summed().bfloat16(), torch.randn(32, 64).bfloat16()
    with torch.no_grad():
        one, other = model.terms(x)
        for side, unrounded in (("p", one.float() + other.float()), ("b", None)):
            debugger = PrecisionDebugger(level="L1", dump_path=str(tmp_path / side))
            with debugger.recording(model):
                model(x, unrounded)
            debugger.close()
    (file,) = (tmp_path / "p").rglob("dump.json")
    capture = {"capture": {"mode": "graph", "backend": backend}}
    file.write_text(json.dumps({**json.loads(file.read_text()), **capture}))
    result = builder.build(tmp_path / "p", tmp_path / "b", tmp_path / "o")
    assert len(builder.diagnose(result.path).findings) == findings
