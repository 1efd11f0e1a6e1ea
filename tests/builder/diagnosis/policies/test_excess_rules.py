"""Each rule of the walk by excess on the smallest program in which it decides."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, distributed, nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import builder
from builder.diagnosis.policies.by_excess import excess_policy
from builder.reasons import sentence
from builder.work.options import BuildOptions
from evaluation.ablation.parts import Part, rules_of, without_rule
from msprobe.pytorch import PrecisionDebugger
from tests.builder.diagnosis import repeating_model, test_healing
from tests.builder.diagnosis.recorded_programs import hooked


class Net(nn.Module):
    """Two layers; what a fixture does between them is a fault where the run is `wrong`."""

    def __init__(self, wrong: bool) -> None:
        super().__init__()
        self.wrong = wrong
        self.put, self.out = nn.Linear(16, 16), nn.Linear(16, 4)
        self.prepare()

    def prepare(self) -> None:
        pass

    def given(self, x: Tensor) -> Tensor:
        return x

    def between(self, x: Tensor) -> Tensor:
        return torch.sin(x)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.between(torch.tanh(self.put(x))))  # type: ignore[no-any-return]


@contextmanager
def unrecorded() -> Iterator[None]:
    with torch._C.DisableTorchFunction():
        yield


class MadeByOneRun(Net):
    """The later of two calls of the problem alone has nothing to do with the value."""

    def between(self, x: Tensor) -> Tensor:
        if not self.wrong:
            return torch.sin(x)
        scaled = x * 1.5
        x.abs()
        return torch.sin(scaled)


class CastForwards(Net):
    def prepare(self) -> None:
        self.inner = nn.Linear(16, 16)

    def between(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.wrong):
            return self.inner(x).float()  # type: ignore[no-any-return]


class MovedByAnother(Net):
    """What a call of the problem alone puts out goes into the value on a way without a record."""

    def between(self, x: Tensor) -> Tensor:
        size = torch.abs(x) if self.wrong else None
        with unrecorded():
            moved = x * 1.0 if size is None else x + 0.5 * size
        return torch.sin(moved)


class FarAway(Net):
    """A way without a record on which a small difference grows more than is usual."""

    power = 48

    def between(self, x: Tensor) -> Tensor:
        made = torch.sin(x * 1.02 if self.wrong else x)
        with unrecorded():
            far = (1 + made) ** self.power
        return torch.tanh(far)


class EvenLogits(Net):
    """The target's logit is the mean of the others: smoothing changes the gradient alone."""

    def forward(self, x: Tensor) -> Tensor:
        others = torch.sin(self.out(x))
        logits = torch.relu(torch.cat((others.mean(1, keepdim=True), others), 1) + 2)
        target = torch.zeros(len(logits), dtype=torch.int64)
        return F.cross_entropy(logits, target, label_smoothing=0.2 if self.wrong else 0.0)


class Moved(Net):
    def between(self, x: Tensor) -> Tensor:
        with unrecorded():
            moved = x.flip(-1) if self.wrong else x
        return torch.sin(moved)


class OtherData(Net):
    def given(self, x: Tensor) -> Tensor:
        return x + 1.0 if self.wrong else x


class Rewired(Net):
    def between(self, x: Tensor) -> Tensor:
        one, other = torch.sin(x), torch.cos(x)
        return torch.exp(other if self.wrong else one) + one * other


class Hooked(Net):
    def between(self, x: Tensor) -> Tensor:
        return torch.sin(hooked(x) if self.wrong else x)


class Inner(nn.Module):
    """A module around one call."""

    def __init__(self, wrong: bool, change: Callable[[bool, Tensor], Tensor]) -> None:
        super().__init__()
        self.wrong, self.change = wrong, change

    def forward(self, x: Tensor) -> Tensor:
        return self.change(self.wrong, x)


def leaky(wrong: bool, x: Tensor) -> Tensor:
    return F.leaky_relu(x, 0.2) if wrong else F.relu(x)


def scaled_unseen(wrong: bool, x: Tensor) -> Tensor:
    made = torch.sin(x)
    with unrecorded():
        return made * 1.3 if wrong else made


def beside_a_call(wrong: bool, x: Tensor) -> Tensor:
    made = torch.sin(x)
    if wrong:
        torch.abs(made)
    with unrecorded():
        return made * 1.3 if wrong else made


class Inside(Net):
    change: Callable[[bool, Tensor], Tensor] = staticmethod(leaky)

    def prepare(self) -> None:
        self.inner = Inner(self.wrong, self.change)

    def between(self, x: Tensor) -> Tensor:
        return torch.exp(self.inner(x))


class Scaled(nn.Module):
    """A module that may be given a scale, with which it computes unseen."""

    def forward(self, x: Tensor, scale: Tensor | None = None) -> Tensor:
        made = torch.sin(x)
        with unrecorded():
            return made if scale is None else made * scale


class GivenAScale(Net):
    def prepare(self) -> None:
        self.inner = Scaled()

    def between(self, x: Tensor) -> Tensor:
        scale = {"scale": torch.full((16,), 1.5)} if self.wrong else {}
        return torch.cos(self.inner(x, **scale))


class Leaf(nn.Module):
    """A module that scales what it is given unseen while it is trained."""

    def forward(self, x: Tensor) -> Tensor:
        with unrecorded():
            return x * 1.3 if self.training else x + 0.0


class Around(Leaf):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(torch.sin(x))


class Evaluated(Net):
    module: type[nn.Module] = Leaf

    def prepare(self) -> None:
        self.inner = self.module().train(self.wrong)

    def between(self, x: Tensor) -> Tensor:
        y: Tensor = torch.cos(self.inner(x))
        return y


class OtherArgument(Net):
    def between(self, x: Tensor) -> Tensor:
        return F.gelu(x, approximate="tanh" if self.wrong else "none")


class WithoutABias(Net):
    def between(self, x: Tensor) -> Tensor:
        return F.linear(x, self.put.weight, None if self.wrong else self.put.bias)


class Overflowed(Net):
    """Behind infinity and its reciprocal nothing can be compared until tanh."""

    def between(self, x: Tensor) -> Tensor:
        large = torch.exp(x * 1000)
        return torch.tanh(1 / large if self.wrong else large * 0)


class WrongKernel(Net):
    """A kernel below the recorded call that puts out a fifth too much."""

    def between(self, x: Tensor) -> Tensor:
        with WrongSines() if self.wrong else nullcontext():
            return torch.sin(x)


class Fusing(Net):
    """The same behind a call that a compiler has fused with it."""

    def between(self, x: Tensor) -> Tensor:
        with WrongSines() if self.wrong else nullcontext():
            return torch.sin(torch.cos(x))


class WrongSines(TorchDispatchMode):
    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        return made.mul_(1.2) if func is torch.ops.aten.sin.default else made


Runs = Callable[[Path], tuple[Path, Path]]


class GathersAShard(Net):
    """A weight that nobody recorded lies in shards, and is gathered before its module reads it."""

    def prepare(self) -> None:
        with torch.no_grad():
            self.put.weight.mul_(1.5 if self.wrong else 1.0)

    def forward(self, x: Tensor) -> Tensor:
        with unrecorded():
            shard = self.put.weight.detach().flatten().clone()
            whole = torch.empty_like(shard)
        distributed.all_gather([whole], shard)
        return super().forward(x)


def _gathering(path: Path) -> tuple[Path, Path]:
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        return both(GathersAShard)(path)
    finally:
        distributed.destroy_process_group()


def both(program: type[Net]) -> Runs:
    return lambda path: (
        _recorded(path / "p", program, True),
        _recorded(path / "b", program, False),
    )


def _recorded(path: Path, program: type[Net], wrong: bool) -> Path:
    torch.manual_seed(0)
    model = program(wrong)
    x = model.given(torch.randn(32, 16))
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    with debugger.recording(model):
        model(x).square().sum().backward()
    debugger.close()
    return path


def _around_the_update(path: Path) -> tuple[Path, Path]:
    """An average of weights is taken before the optimizer writes these, or behind it."""
    for side in ("p", "b"):
        torch.manual_seed(0)
        model = nn.Linear(16, 16)
        average, weight = model.weight.detach().clone(), model.weight.detach()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.5, foreach=False)
        debugger = PrecisionDebugger(level="mix", dump_path=str(path / side))
        with debugger.recording(model):
            model(torch.randn(32, 16)).square().sum().backward()
            if side == "p":
                average.mul_(0.5).add_(weight)
            optimizer.step()
            if side == "b":
                average.mul_(0.5).add_(weight)
        debugger.close()
    return path / "p", path / "b"


def _silent_gradients(path: Path) -> tuple[Path, Path]:
    """Dumps whose backward calls do not say what they hand on."""
    sides = both(Hooked)(path)
    for file in (file for side in sides for file in side.rglob("dump.json")):
        content = json.loads(file.read_text())
        for name, entry in content["data"].items():
            if ".backward" in name:
                entry["output"] = []
        file.write_text(json.dumps(content))
    return sides


def _fused_away(path: Path) -> tuple[Path, Path]:
    """A dump of the problem run that has no numbers of what lies between two calls."""
    ours, theirs = both(Fusing)(path)
    for file in ours.rglob("dump.json"):
        content = json.loads(file.read_text())
        for name, side in (
            ("Torch.cos.0.forward", "output"),
            ("Torch.sin.0.forward", "input_args"),
        ):
            known = content["data"][name][side][0]
            kept = {key: known[key] for key in ("type", "dtype", "shape")}
            content["data"][name][side][0] = {**kept, "fused": True}
        file.write_text(json.dumps(content))
    return ours, theirs


def repeating(**faults: Any) -> Runs:
    """The model of equal blocks, with faults and without."""

    def runs(path: Path) -> tuple[Path, Path]:
        return (
            repeating_model.recorded(path / "p", repeating_model.Faults(**faults)),
            repeating_model.recorded(path / "b", repeating_model.Faults()),
        )

    return runs


def _passing_back(path: Path) -> tuple[Path, Path]:
    ways = (test_healing.passing_back(scale) for scale in (2.0, 1.5))
    ours, theirs = (
        test_healing.recorded(path / side, way) for side, way in zip("pb", ways, strict=True)
    )
    return ours, theirs


def inside(change: Callable[[bool, Tensor], Tensor]) -> Runs:
    return both(type("Inside", (Inside,), {"change": staticmethod(change)}))


# By list and rule: the two runs, and what is named first.
FIXTURES: dict[tuple[str, str], tuple[Runs, str]] = {
    ("EDGES", "made_by_a_changed_call"): (both(MadeByOneRun), "Tensor.__mul__.0.forward"),
    ("EDGES", "rounded_as_its_forward_call"): (both(CastForwards), "Functional.linear.1.forward"),
    ("EDGES", "behind_a_changed_call"): (both(MovedByAnother), "Torch.abs.0.forward"),
    ("EDGES", "gradient_of_a_changed_call"): (
        both(EvenLogits),
        "Functional.cross_entropy.0.forward",
    ),
    ("EDGES", "ran_on_another_side_of_its_writer"): (_around_the_update, "Tensor.add_.0.forward"),
    ("EDGES", "elements_moved"): (both(Moved), "Torch.sin.0.forward"),
    ("EDGES", "gathers_parts_of_a_parameter"): (_gathering, "Module.put.Linear.forward.0"),
    ("EDGES", "fed_other_data"): (both(OtherData), "Module.put.Linear.forward.0"),
    ("EDGES", "follows_the_latest_finding"): (both(FarAway), "Tensor.__mul__.0.forward"),
    ("EDGES", "handed_on_unrecorded"): (_silent_gradients, "Torch.sin.0.backward"),
    ("EDGES", "reads_otherwise"): (both(Rewired), "Torch.exp.0.forward"),
    ("MODULES", "made_by_a_changed_call"): (inside(leaky), "Functional.leaky_relu.0.forward"),
    ("MODULES", "holds_a_changed_call"): (inside(beside_a_call), "Torch.abs.0.forward"),
    ("MODULES", "gradient_of_one_run"): (repeating(detach=True), "Tensor.detach.0.forward"),
    ("MODULES", "runs_in_another_mode"): (
        both(type("AroundEvaluated", (Evaluated,), {"module": Around})),
        "Module.inner.Around.forward.0",
    ),
    ("MODULES", "given_otherwise"): (both(GivenAScale), "Module.inner.Scaled.forward.0"),
    ("MODULES", "introduces_a_difference"): (inside(scaled_unseen), "Module.inner.Inner.forward.0"),
    ("OUTPUTS", "called_otherwise"): (both(OtherArgument), "Functional.gelu.0.forward"),
    ("OUTPUTS", "backward_of_a_changed_call"): (_passing_back, "Torch.mul.0.forward"),
    ("OUTPUTS", "hidden_by_infinity"): (both(Overflowed), "Tensor.reciprocal.0.forward"),
    ("OUTPUTS", "reads_what_was_fused"): (_fused_away, "Torch.cos.0.forward"),
    ("OUTPUTS", "runs_in_another_mode"): (both(Evaluated), "Module.inner.Leaf.forward.0"),
    ("OUTPUTS", "given_otherwise"): (both(WithoutABias), "Functional.linear.1.forward"),
    ("OUTPUTS", "introduces_a_difference"): (both(WrongKernel), "Torch.sin.0.forward"),
}


def said(path: Path, runs: tuple[Path, Path], off: list[Part]) -> list[tuple[str, str]]:
    with ExitStack() as stack:
        for part in off:
            stack.enter_context(patch.object(*part))
        made = builder.build(*runs, path, BuildOptions(workers=1))
    return [(finding.name, sentence(finding.reasons[0])) for finding in made.findings]


def test_every_rule_has_a_fixture() -> None:
    rules = rules_of(excess_policy).items()
    listed = {
        (name.removeprefix("RULES_FOR_"), rule.__name__) for name, all in rules for rule in all
    }
    assert listed == set(FIXTURES)


@pytest.mark.parametrize(("listed", "rule"), FIXTURES, ids=lambda name: name)
def test_a_rule_decides_in_its_fixture(tmp_path: Path, listed: str, rule: str) -> None:
    record, first = FIXTURES[listed, rule]
    runs = record(tmp_path)
    off = [part for part in without_rule(excess_policy, rule) if part[1] == f"RULES_FOR_{listed}"]
    found = said(tmp_path / "with", runs, [])
    assert found[0][0] == first
    assert said(tmp_path / "without", runs, off) != found
