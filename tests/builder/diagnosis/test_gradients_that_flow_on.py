"""A call that one run alone detaches, in a game of two modules recorded at L0."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

import builder
from builder.results.database import ResultDatabase
from msprobe.pytorch import PrecisionDebugger


class _Game(nn.Module):
    """What the critic says of what the maker makes; each learns from a loss of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.maker = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 6))
        self.critic = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))


def recorded(folder: Path, *, detached: bool) -> Path:
    torch.manual_seed(0)
    game, z = _Game(), torch.randn(16, 4)
    debugger = PrecisionDebugger(dump_path=str(folder), level="L0")
    with debugger.recording(game):
        made = game.maker(z)
        game.critic(made.detach() if detached else made).square().mean().backward()
        game.critic(game.maker(z)).neg().mean().backward()
    debugger.close()
    return folder


def test_gradients_pair_by_the_pass_that_left_them_and_trace_back_to_the_call(
    tmp_path: Path,
) -> None:
    ours = recorded(tmp_path / "problem", detached=False)
    theirs = recorded(tmp_path / "benchmark", detached=True)
    result = builder.build(ours, theirs, tmp_path / "o")
    first, *others = builder.diagnose(result.path).findings
    assert others == []
    assert first.node == "Module.critic.0.Linear.forward.0"
    assert first.reasons[0].startswith("input.0: requires_grad is True here")
    assert first.divergent and first.propagated_to + (first.perhaps or 0) == first.divergent

    nodes = ResultDatabase(result.path).side_nodes(0, 0)[0]
    matched = {name: match >= 0 for name, match in zip(nodes.names, nodes.match, strict=True)}
    gradients = "Module.maker.2.Linear.parameters_grad"
    assert (matched[f"{gradients}.0"], matched[f"{gradients}.1"]) == (False, True)
