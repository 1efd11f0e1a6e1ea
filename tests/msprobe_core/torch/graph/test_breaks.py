"""Models with graph breaks: recording makes no graph that is not there without it, and no bit else.

Plain PyTorch is the oracle: the same model, compiled by the same backend, without a recording.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from msprobe.compile_check import Case
from msprobe.compile_check.compilation import _recorded, _run
from msprobe.compile_check.options import Compilation
from msprobe.compile_check.results import unequal

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    # Dynamo looks at what its graphs are given.
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning"),
]
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs g++")
BREAKS = ("first", "last", "between", "after", "root", "end")


@pytest.fixture(autouse=True)
def _fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Levels(nn.Module):
    """Features of three sizes; a break in a loop has dynamo run the whole function as it is."""

    def __init__(self, broken: str) -> None:
        super().__init__()
        self.broken, self.stem = broken, nn.Conv2d(3, 8, 3, padding=1)
        self.down = nn.ModuleList([nn.Conv2d(8, 8, 3, stride=2, padding=1) for _ in range(3)])
        self.norm = nn.ModuleList([nn.BatchNorm2d(8) for _ in range(3)])

    def forward(self, x: Tensor) -> dict[int, Tensor]:
        x, levels = F.relu(self.stem(x)), {}
        for at, (down, norm) in enumerate(zip(self.down, self.norm, strict=True)):
            x = levels[at] = F.relu(norm(down(x)))
            if (self.broken, at) in (("first", 0), ("last", 2)):
                torch._dynamo.graph_break()
        if self.broken == "between":
            torch._dynamo.graph_break()
        return levels


class Pyramid(nn.Module):
    def __init__(self, broken: str) -> None:
        super().__init__()
        self.broken, self.levels, self.head = broken, Levels(broken), nn.Conv2d(8, 4, 1)
        self.side = nn.ModuleList([nn.Conv2d(8, 8, 1) for _ in range(3)])
        self.out = nn.ModuleList([nn.Conv2d(8, 8, 3, padding=1) for _ in range(3)])

    def forward(self, x: Tensor) -> list[Tensor]:
        levels = self.levels(x)
        if self.broken == "root":
            torch._dynamo.graph_break()
        top = self.side[2](levels[2])
        if self.broken == "after":
            torch._dynamo.graph_break()
        outs = [self.out[2](top)]
        for at in (1, 0):
            top = self.side[at](levels[at]) + F.interpolate(top, scale_factor=2.0)
            outs.append(self.out[at](top))
        outs = [self.head(out) for out in outs]
        if self.broken == "end":
            torch._dynamo.graph_break()
        return outs


class Layers(nn.Module):
    """Torch's own encoder layers and a recurrent one, with a break in the loop over them."""

    def __init__(self, broken: str) -> None:
        super().__init__()
        self.broken, self.lstm = broken, nn.LSTM(16, 16, batch_first=True)
        self.layers = nn.ModuleList(
            [nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True) for _ in range(2)]
        )
        self.end = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 4))

    def forward(self, x: Tensor) -> Tensor:
        for at, layer in enumerate(self.layers):
            x = layer(x)
            if (self.broken, at) in (("first", 0), ("last", 1)):
                torch._dynamo.graph_break()
        x = self.lstm(x)[0]
        if self.broken in ("between", "root"):
            torch._dynamo.graph_break()
        out: Tensor = self.end(x)
        return out


def case(model: type[nn.Module], broken: str) -> Case:
    torch.manual_seed(0)
    size = (2, 3, 16, 16) if model is Pyramid else (2, 5, 16)
    return Case(model(broken), (torch.randn(size),), {})


@pytest.mark.parametrize("broken", BREAKS)
@pytest.mark.parametrize("model", [Pyramid, Layers])
def test_recording_makes_no_further_graph(
    model: type[nn.Module], broken: str, tmp_path: Path
) -> None:
    def make() -> Case:
        return case(model, broken)

    compiled = Compilation("aot_eager").compiled
    plain, recorded = _run(make, compiled), _recorded(make, tmp_path / "dump", "mix", compiled)
    assert recorded.counts == plain.counts
    assert unequal(plain.results, recorded.results) == []


@needs_compiler
@pytest.mark.parametrize("broken", ["first"])
def test_inductor_computes_the_same_bits_beside_a_break(broken: str, tmp_path: Path) -> None:
    def make() -> Case:
        return case(Pyramid, broken)

    compiled = Compilation("inductor").compiled
    plain, recorded = _run(make, compiled), _recorded(make, tmp_path / "dump", "mix", compiled)
    assert recorded.counts == plain.counts
    assert unequal(plain.results, recorded.results) == []


def test_a_hook_of_somebody_else_is_asked_for_as_before(tmp_path: Path) -> None:
    """Dynamo makes a graph of a module of torch's own that has a hook: with records as without."""

    def make() -> Case:
        made = case(Pyramid, "first")
        made.model.get_submodule("levels.stem").register_forward_hook(lambda _m, _a, out: out * 2)
        return made

    compiled = Compilation("aot_eager").compiled
    plain, recorded = _run(make, compiled), _recorded(make, tmp_path / "dump", "L0", compiled)
    assert plain.counts["graphs"] > _run(lambda: case(Pyramid, "first"), compiled).counts["graphs"]
    assert unequal(plain.results, recorded.results) == []
