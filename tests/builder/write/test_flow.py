"""Flow over a dump of a real model: what one module handed to another is found, and exactly."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import builder
from builder import BuildOptions
from msprobe_core import PrecisionDebugger


class Block(nn.Module):
    """Pre-norm with two residuals, so that rails skip."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.up, self.down = (
            nn.Linear(width, width),
            nn.Linear(width, 2 * width),
            nn.Linear(2 * width, width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.mix(self.norm1(x)).transpose(0, 1).contiguous().transpose(0, 1)
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    """Blocks between an embedding and a head."""

    def __init__(self, layers: int = 4, width: int = 8) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(layers))
        self.head = nn.Linear(width, 11)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        out: torch.Tensor = self.head(x)
        return out


def handed_on(model: nn.Module) -> tuple[set[tuple[str, str]], list[Any]]:
    """Pairs of leaf modules of which one gave the other its very tensor, told by torch's hooks."""
    made: dict[int, str] = {}
    kept: list[Any] = []  # an object's id is its own while it lives
    found: set[tuple[str, str]] = set()
    for name, module in model.named_modules():
        if next(module.children(), None) is not None:
            continue

        def before(_: nn.Module, given: tuple[Any, ...], name: str = name) -> None:
            found.update((made[id(x)], name) for x in given if id(x) in made)

        def after(_: nn.Module, given: Any, output: Any, name: str = name) -> None:
            made[id(output)] = name
            kept.append((given, output))

        module.register_forward_pre_hook(before)
        module.register_forward_hook(after)
    return found, kept


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[tuple[str, str]]]:
    folder = tmp_path_factory.mktemp("flow")
    torch.manual_seed(0)
    model = Model()
    wanted, _kept = handed_on(model)
    debugger = PrecisionDebugger(
        dump_path=str(folder / "dump"), task="statistics", level="mix", step=[0]
    )
    debugger.start(model=model)
    model(torch.arange(6).reshape(2, 3))
    debugger.stop()
    debugger.step()
    debugger.close()
    made = builder.build(folder / "dump", None, folder / "out", BuildOptions(workers=1))
    return made.path, wanted


def edges(path: Path) -> list[tuple[str, str, int]]:
    """Producer, consumer, exact of every edge."""
    query = (
        "SELECT p.name, c.name, exact FROM flow JOIN node p ON p.id = producer "
        "JOIN node c ON c.id = consumer"
    )
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_every_tensor_that_a_module_handed_to_another_is_an_exact_edge(
    dumped: tuple[Path, set[tuple[str, str]]],
) -> None:
    path, wanted = dumped
    assert len(wanted) >= 4
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT id, last, name FROM node WHERE kind = 'module'"
        ).fetchall()
        exact = connection.execute("SELECT producer, consumer FROM flow WHERE exact").fetchall()
    modules = {name.split(".", 1)[1].rsplit(".", 3)[0]: (id_, last) for id_, last, name in rows}
    for one, other in wanted:
        (start, stop), (reader, end) = modules[one], modules[other]
        joined = [(p, c) for p, c in exact if start <= p <= stop and reader <= c <= end]
        assert joined, f"nothing leads from {one} to {other}"


def test_what_no_recorded_call_made_is_told_by_its_values_and_marked(
    dumped: tuple[Path, set[tuple[str, str]]],
) -> None:
    found = edges(dumped[0])
    assert len(found) > 40
    # `contiguous` is not recorded, so its copy is known by its values alone.
    copies = {
        (f"Functional.linear.{3 * n}.forward", f"Tensor.__add__.{2 * n}.forward", 0)
        for n in range(4)
    }
    assert {edge for edge in found if not edge[2]} == copies
    # The second addition of a block reads what the first put out, past the norm and the layers.
    assert ("Tensor.__add__.0.forward", "Tensor.__add__.1.forward", 1) in found
