"""Records of finished graphs that are shared, run more than once, fit any shape, or are parts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump, read_rank_dumps
from tests.msprobe_core.torch.graph.late_backend import late_backend

# Inductor imports parts of torch that torch itself has deprecated.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    # Dynamo asks each of its inputs for a gradient, and torch warns of that.
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor"),
]


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.act = nn.Linear(6, 6), nn.GELU()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.act(self.up(x))
        return out


class Break(nn.Module):
    """The user's own break between two graphs."""

    def forward(self, x: Tensor) -> Tensor:
        torch._dynamo.graph_break()
        return x * 2


def compile_each_layer(model: nn.Sequential) -> None:
    for layer in list(model)[1:]:
        layer.compile(backend=late_backend, fullgraph=True, dynamic=True)


def compile_all(model: nn.Sequential) -> None:
    model.compile(backend=late_backend, dynamic=True)


def run_two_forward_passes_before_their_backward_passes(model: nn.Sequential) -> None:
    given = [torch.linspace(-1, 1, 6 * rows).reshape(rows, 6) for rows in (4, 7)]
    losses = [model(x).square().mean() for x in given]
    for loss in losses[::-1]:
        loss.backward()


def test_layers_of_one_graph_that_fits_all_shapes_have_their_own_entries(tmp_path: Path) -> None:
    eager = recorded(tmp_path / "eager", lambda _: None)
    late = recorded(tmp_path / "late", compile_each_layer, capture="graph")
    facts = late.head["capture"]
    assert (facts["points"], facts["backend"], facts["graphs"]) == ("late", "inductor", 1)
    assert sorted(late.names) == sorted(eager.names)
    for name in eager.names:
        assert late.construct.get(name) == eager.construct.get(name), name
    found = same_values(eager, late)
    assert found["Module.2.act.GELU.forward.1.output.0"][0] == [7, 6]
    assert found["Module.2.act.GELU.backward.1.input.0"][0] == [7, 6]


def test_a_graph_break_of_the_users_parts_no_entry(tmp_path: Path) -> None:
    parts = [Break(), nn.Tanh()]
    eager = recorded(tmp_path / "eager", lambda _: None, parts)
    late = recorded(tmp_path / "late", compile_all, parts, capture="graph")
    assert late.head["capture"]["graphs"] > 1
    assert sorted(late.names) == sorted(eager.names)
    same_values(eager, late)


def same_values(eager: RankDump, late: RankDump) -> dict[str, tuple[list[int], float]]:
    """The values of the recorded graphs, which are those of the eager run."""
    expected, found = values(eager), values(late)
    assert found.keys() == expected.keys()
    for place, (shape, norm) in expected.items():
        assert found[place] == (shape, pytest.approx(norm, rel=1e-5)), place
    return found


def recorded(
    folder: Path,
    prepare: Callable[[nn.Sequential], None],
    parts: Sequence[nn.Module] = (),
    **more: Any,
) -> RankDump:
    config = folder.with_suffix(".json")
    config.write_text(json.dumps({"dump_path": str(folder), "level": "mix", **more}))
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 6), Layer(), Layer(), *parts)
    debugger = PrecisionDebugger(config)
    try:
        debugger.start(model=model)
        prepare(model)
        run_two_forward_passes_before_their_backward_passes(model)
        debugger.stop()
        debugger.step()
    finally:
        debugger.close()
        torch._dynamo.reset()
    (dump,) = read_rank_dumps(folder)
    return dump


def values(dump: RankDump) -> dict[str, tuple[list[int], float]]:
    """Shape and norm of what both ways of recording have numbers of, by entry and place."""
    return {
        f"{name}.{side}.{at}": (each["shape"], each["Norm"])
        for name, entry in dump.data.items()
        for side in ("input_args", "input" if ".backward" in name else "output")
        for at, each in enumerate(entry.get(side) or [])
        if isinstance(each, dict) and each.get("Norm") is not None
    }
