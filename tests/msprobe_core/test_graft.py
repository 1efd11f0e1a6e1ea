"""The graft section: what a call takes from another run, and that the rest then agrees in bits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from msprobe_core import PrecisionDebugger
from msprobe_core.errors import ConfigError, LifecycleError
from tests.msprobe_core.dump_reading import RankDump, read_rank_dumps


class Net(nn.Module):
    """Two layers; the marked steps are there to be replaced by faults."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.second(self.middle(self.activate(self.first(x))))
        return functional.softmax(hidden, dim=-1)

    def activate(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x)

    def middle(self, x: torch.Tensor) -> torch.Tensor:
        return functional.leaky_relu(x, 0.1)


def dump(folder: Path, change: Callable[[Net], None] | None = None, **config: Any) -> RankDump:
    path = folder.parent / f"{folder.name}.json"
    head = {"level": "mix", "task": "tensor", "dump_path": str(folder)}
    path.write_text(json.dumps(head | config), encoding="utf-8")
    torch.manual_seed(0)
    net = Net()
    if change is not None:
        change(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    debugger = PrecisionDebugger(config_path=str(path))
    x = torch.randn(5, 6, requires_grad=True)
    debugger.start(net)
    (net(x) ** 2).sum().backward()
    optimizer.step()
    debugger.stop()
    debugger.step()
    debugger.close()
    return read_rank_dumps(folder)[0]


@pytest.fixture
def good(tmp_path: Path) -> RankDump:
    return dump(tmp_path / "good")


def graft(good: RankDump, *takes: dict[str, str]) -> dict[str, Any]:
    return {"graft": {"path": str(good.path.parent.parent), "take": list(takes)}}


def bits(rank: RankDump, name: str) -> list[torch.Tensor]:
    """The tensors of an entry, or of its output, as their files hold them."""
    entry, _, part = name.partition(".output")
    held = rank.data[entry]["output"] if name.endswith(".output") else rank.data[entry]
    assert not part
    folder = rank.path / "dump_tensor_data"
    return [torch.load(folder / record["data_name"]) for record in _records(held)]


def _records(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and "data_name" in value:
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _records(inner)


def assert_equal_behind(ours: RankDump, good: RankDump, *names: str) -> None:
    for name in names:
        mine, theirs = bits(ours, name), bits(good, name)
        assert mine and len(mine) == len(theirs), name
        assert all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True)), name


BEHIND = (
    "Module.second.Linear.forward.0.output",
    "Functional.softmax.0.forward.output",
    "Module.first.Linear.parameters_grad.0",
    "Module.second.Linear.parameters_grad.0",
)


def test_another_argument_is_taken(good: RankDump, tmp_path: Path) -> None:
    def change(net: Net) -> None:
        net.middle = lambda x: functional.leaky_relu(x, 0.3)  # type: ignore[method-assign]

    wrong = dump(tmp_path / "wrong", change)
    assert not torch.equal(bits(wrong, BEHIND[0])[0], bits(good, BEHIND[0])[0])
    take = {"at": "Functional.leaky_relu.0.forward", "what": "input"}
    ours = dump(tmp_path / "ours", change, **graft(good, take))
    assert_equal_behind(ours, good, *BEHIND)
    assert {"own": 0.3, "other": 0.1}.items() <= ours.head["grafted"][-1].items()


def test_a_parameter_is_taken(good: RankDump, tmp_path: Path) -> None:
    def change(net: Net) -> None:
        net.second.weight.data.mul_(2)

    take = {"at": "Module.second.Linear.forward.0", "what": "parameters"}
    ours = dump(tmp_path / "ours", change, **graft(good, take))
    assert_equal_behind(ours, good, *BEHIND)


def test_a_wrong_output_is_replaced_and_gradients_flow_as_through_the_call(
    good: RankDump, tmp_path: Path
) -> None:
    class Wrong(torch.autograd.Function):
        """Wrong forwards, right backwards: a kernel alone."""

        @staticmethod
        def forward(_: Any, x: torch.Tensor) -> torch.Tensor:
            return x.roll(1, -1)

        @staticmethod
        def backward(_: Any, gradient: torch.Tensor) -> torch.Tensor:
            return gradient

    def change(net: Net) -> None:
        net.first.register_forward_hook(lambda *rest: Wrong.apply(rest[-1]))

    take = {"at": "Module.first.Linear.forward.0"}
    ours = dump(tmp_path / "ours", change, **graft(good, take))
    assert_equal_behind(ours, good, "Torch.tanh.0.forward.output", *BEHIND)


def test_an_extra_call_hands_its_input_through(good: RankDump, tmp_path: Path) -> None:
    def change(net: Net) -> None:
        net.activate = lambda x: torch.clamp(torch.tanh(x), -0.1, 0.1)  # type: ignore[method-assign]

    take = {"at": "Torch.clamp.0.forward", "what": "through"}
    ours = dump(tmp_path / "ours", change, **graft(good, take))
    assert_equal_behind(ours, good, *BEHIND)


def test_a_gradient_is_taken(good: RankDump, tmp_path: Path) -> None:
    def change(net: Net) -> None:
        def doubled(x: torch.Tensor) -> torch.Tensor:
            y = torch.tanh(x)
            y.grad_fn.register_hook(lambda inner, _: (inner[0] * 2,))  # type: ignore[union-attr]
            return y

        net.activate = doubled  # type: ignore[method-assign]

    first = "Module.first.Linear.parameters_grad.0"
    wrong = dump(tmp_path / "wrong", change)
    assert not torch.equal(bits(wrong, first)[0], bits(good, first)[0])
    ours = dump(tmp_path / "ours", change, **graft(good, {"at": "Torch.tanh.0.backward"}))
    assert_equal_behind(ours, good, first)


def test_the_gradients_of_parameters_are_taken(good: RankDump, tmp_path: Path) -> None:
    def change(net: Net) -> None:
        net.second.weight.register_hook(lambda gradient: gradient * 3)

    at = "Module.second.Linear.parameters_grad.0"
    take = {"at": at, "what": "output"}
    ours = dump(tmp_path / "ours", change, **graft(good, take))
    assert len(ours.head["grafted"]) == 2
    wrong = dump(tmp_path / "wrong", change)
    step = "Optimizer.SGD.step.0"

    def updated(rank: RankDump) -> object:
        return rank.head["optimizer"][step]["output"]["second.weight"]["Norm"]

    assert updated(ours) == updated(good) != updated(wrong)


def test_an_update_in_place_is_taken(good: RankDump, tmp_path: Path) -> None:
    name = "Tensor.add_.0.forward"
    assert name in good.data
    take = {"at": name}

    def change(net: Net) -> None:
        net.first.weight.register_hook(lambda gradient: gradient * 3)

    ours = dump(tmp_path / "ours", change, **graft(good, take))
    assert_equal_behind(ours, good, f"{name}.output")


def test_what_cannot_be_taken_is_said_and_left(
    good: RankDump, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    take = {"at": "Torch.tanh.0.forward", "from": "Torch.none.0.forward"}
    ours = dump(tmp_path / "ours", None, **graft(good, take))
    assert_equal_behind(ours, good, *BEHIND)
    assert "is not in that dump" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"take": [{"at": "a"}]}, "path is missing"),
        ({"path": ".", "take": []}, "take is"),
        ({"path": ".", "take": [{"on": "a"}]}, "take holds"),
        ({"path": ".", "take": [{"at": "a", "what": "all"}]}, "what is 'all'"),
        ({"path": ".", "take": [{"at": "a", "form": "b"}]}, "did you mean 'from'?"),
    ],
)
def test_mistakes_in_the_section_are_named(
    tmp_path: Path, section: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said.replace("?", r"\?")):
        dump(tmp_path / "out", None, graft=section)


def test_a_dump_without_tensors_cannot_serve(tmp_path: Path) -> None:
    plain = dump(tmp_path / "plain", None, task="statistics")
    with pytest.raises(LifecycleError, match="task 'statistics'"):
        dump(tmp_path / "out", None, **graft(plain, {"at": "Torch.tanh.0.forward"}))
