"""What the tests of the MindSpore dumper share: a small net, a configuration, a recorded step.

They need MindSpore, which the environment of `make mindspore` has; elsewhere they are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Thing = Any
"""What MindSpore makes, or a test is given: it has no annotations."""


@pytest.fixture(scope="session")
def ms() -> Thing:
    """MindSpore on the CPU in its dynamic graph; the test is skipped where there is none."""
    mindspore = pytest.importorskip("mindspore", reason="MindSpore is not installed")
    mindspore.set_device("CPU")
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    mindspore.runtime.launch_blocking()
    return mindspore


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., Path]:
    """Writes a configuration and gives its path."""

    def write(task: str = "statistics", level: str = "mix", **section: Thing) -> Path:
        top = {key: section.pop(key) for key in ("rank", "step", "dump_enable") if key in section}
        content = {"task": task, "level": level, "dump_path": str(tmp_path / "dump"), **top}
        path = tmp_path / "config.json"
        path.write_text(json.dumps({"rank": [], "step": [], **content, task: section}))
        return path

    return write


@pytest.fixture
def debugger(ms: Thing) -> Iterator[Callable[[Path], Thing]]:
    """Makes debuggers, which are closed when the test ends."""
    from msprobe.mindspore import PrecisionDebugger

    made: list[Thing] = []

    def make(path: Path) -> Thing:
        made.append(PrecisionDebugger(config_path=path))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def net(ms: Thing) -> Thing:
    """A net of cells, primitives, functions and operators, its weights drawn from a seed."""
    ms.set_seed(3)
    from mindspore import mint, nn, ops

    class Mlp(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.fc1, self.act, self.fc2 = nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 4)

        def construct(self, x: Thing) -> Thing:
            return self.fc2(self.act(self.fc1(x)))

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.mlp = nn.LayerNorm((4,), epsilon=1e-5), Mlp()

        def construct(self, x: Thing) -> Thing:
            x = x + self.mlp(self.norm(x))
            return ops.tanh(mint.add(x, x)).sum()

    return Net()


def train(ms: Thing, net: Thing, seed: int = 0) -> tuple[Thing, list[Thing]]:
    """The loss and the gradients of one step, as arrays."""
    import numpy as np

    batch = ms.Tensor(np.random.RandomState(seed).rand(3, 4).astype(np.float32))
    loss, gradients = ms.value_and_grad(net, None, net.trainable_params())(batch)
    return loss.asnumpy().copy(), [each.asnumpy().copy() for each in gradients]


def read(folder: Path, step: int = 0, file: str = "dump.json") -> dict[str, Thing]:
    """A file of the one process of a step."""
    (found,) = (folder / f"step{step}").glob(f"*/{file}")
    content: dict[str, Thing] = json.loads(found.read_text())
    return content["data"] if file in ("dump.json", "debug.json") else content


def tensors(value: object) -> Iterator[dict[str, Thing]]:
    """The records of tensors in an entry."""
    if isinstance(value, dict) and "dtype" in value:
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from tensors(member)
    elif isinstance(value, list):
        for member in value:
            yield from tensors(member)
