"""A parameter that modules share in one run alone is named as that, and as one cause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import builder
from builder.reasons import ParameterDiffers, TiedHere, TiedThere
from builder.work.outcome import StoredFinding
from evaluation.parallel.strip import Dumps, strip
from msprobe.pytorch import PrecisionDebugger

VOCABULARY, WIDTH = 24, 16
Tie = Callable[[nn.Linear, nn.Module], None]


def by_reference(module: nn.Linear, other: nn.Module) -> None:
    module.weight = other.weight  # type: ignore[assignment]  # a parameter


def by_copy(module: nn.Linear, other: nn.Module) -> None:
    module.weight.data.copy_(other.weight)  # type: ignore[arg-type]  # a parameter


def not_at_all(module: nn.Linear, other: nn.Module) -> None: ...


class Language(nn.Module):
    """The rows of an embedding are those of the head."""

    def __init__(self, tie: Tie) -> None:
        super().__init__()
        self.embed, self.middle = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        nn.init.normal_(self.embed.weight, std=0.3)
        tie(self.head, self.embed)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.norm(torch.tanh(self.middle(self.embed(tokens)))))


class Layers(nn.Module):
    """Three layers of one weight, each with a bias of its own."""

    def __init__(self, tie: Tie) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.third, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        tie(self.second, self.first)
        tie(self.third, self.first)

    def forward(self, tokens: Tensor) -> Tensor:
        x = functional.one_hot(tokens, WIDTH).to(self.out.weight.dtype)
        for layer in (self.first, self.second, self.third):
            x = torch.tanh(layer(x))
        return self.out(x)


class Twins(nn.Module):
    """Two equal layers of one input, neither of them shared; a change stands behind one of them."""

    def __init__(self, behind: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.second.load_state_dict(self.first.state_dict())
        self.out, self.behind = nn.Linear(WIDTH, VOCABULARY), behind

    def forward(self, tokens: Tensor) -> Tensor:
        x = functional.one_hot(tokens, WIDTH).float()
        return self.out(torch.tanh(self.first(x)) + self.behind(torch.tanh(self.second(x))))


class Recurrent(nn.Module):
    """One layer is called twice; a change stands behind it."""

    def __init__(self, behind: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.layer, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.behind = behind

    def forward(self, tokens: Tensor) -> Tensor:
        x = functional.one_hot(tokens, WIDTH).float()
        return self.out(self.layer(torch.tanh(self.behind(self.layer(x)))))


class Gain(nn.Module):
    """All elements of its weight get one gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight.mean()


class Constants(nn.Module):
    """Two gains with gradients that are alike by chance; of each a part may be lost."""

    def __init__(self, kept: tuple[float, float]) -> None:
        super().__init__()
        self.embed, self.first, self.second = nn.Embedding(WIDTH, VOCABULARY), Gain(), Gain()
        self.kept = kept

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        both = zip((self.first, self.second), self.kept, strict=True)
        gains = (lost(gain(x.detach()), 1 - kept) for gain, kept in both)
        return sum(gains, x)


def lost(x: Tensor, share: float) -> Tensor:
    """The same, whose gradient lacks a share."""
    return (1 - share) * x + share * x.detach()


@dataclass(frozen=True)
class Recording:
    """How a run is recorded, and what is left of that."""

    level: Literal["L0", "mix"] = "mix"
    task: Literal["statistics", "tensor"] = "statistics"
    dtype: torch.dtype = torch.float32
    dumps: Dumps = "ours"
    steps: tuple[int, ...] = (0, 1)
    batches: int = 1


def recorded(path: Path, model: nn.Module, how: Recording) -> Path:
    model = model.to(how.dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False)
    debugger = PrecisionDebugger(
        level=how.level, task=how.task, dump_path=str(path), step=list(how.steps)
    )
    for step in range(how.steps[-1] + 1):
        torch.manual_seed(step)
        with debugger.recording(model):
            for _ in range(how.batches):
                logits = model(torch.randint(0, WIDTH, (96,))).float()
                functional.cross_entropy(logits, torch.arange(96) % VOCABULARY).backward()  # type: ignore[no-untyped-call]  # torch declares no types here
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    debugger.close()
    strip(path, how.dumps)
    return path


def found(
    folder: Path, program: Callable[..., nn.Module], sides: tuple[object, object], how: Recording
) -> tuple[StoredFinding, ...]:
    paths = []
    for name, side in zip(("problem", "benchmark"), sides, strict=True):
        torch.manual_seed(0)
        paths.append(recorded(folder / name, program(side), how))
    return builder.build(*paths, folder / "o", builder.BuildOptions(workers=1)).findings


@pytest.mark.parametrize(
    "how",
    [
        Recording(),
        Recording(level="L0"),
        Recording(level="L0", task="tensor", dtype=torch.bfloat16),
        Recording(task="tensor"),
        Recording(dumps="no sketches"),
        Recording(dumps="peer"),
        Recording(level="L0", dumps="peer"),
        Recording(batches=2),
    ],
)
@pytest.mark.parametrize("program", [Language, Layers])
@pytest.mark.parametrize("told", [TiedThere, TiedHere])
def test_a_weight_that_one_run_alone_shares_is_one_cause(
    tmp_path: Path,
    program: type[Language | Layers],
    told: type[TiedThere | TiedHere],
    how: Recording,
) -> None:
    ties = (by_copy, by_reference) if told is TiedThere else (by_reference, by_copy)
    (cause,) = found(tmp_path, program, ties, how)
    names = {
        Language: "head.weight, embed.weight",
        Layers: "third.weight, second.weight, first.weight",
    }[program]
    assert cause.reasons[0] == told(names, names.count(",") + 1)
    places = {cause.name, *(place.name for place in cause.places)}
    holders = [name.partition(".")[0] for name in names.split(", ")]
    assert {name.split(".")[1] for name in places if "parameters_grad" in name} == set(holders)
    assert cause.basis == ("scores" if how.dumps in ("peer", "no sketches") else "called")


@pytest.mark.parametrize("ties", [(not_at_all, by_reference), (by_reference, not_at_all)])
def test_weights_that_were_never_one_say_so_behind_their_difference(
    tmp_path: Path, ties: tuple[Tie, Tie]
) -> None:
    first = found(tmp_path, Language, ties, Recording())[0]
    told = TiedThere if ties[1] is by_reference else TiedHere
    assert isinstance(first.reasons[0], ParameterDiffers)
    assert first.reasons[1] == told("head.weight, embed.weight", 2)


def test_what_was_recorded_after_the_copies_went_apart_says_so(tmp_path: Path) -> None:
    findings = found(tmp_path, Language, (by_copy, by_reference), Recording(steps=(2, 3)))
    reason = TiedThere("head.weight, embed.weight", 2)
    gradients = [finding for finding in findings if "parameters_grad" in finding.name]
    assert reason in findings[0].reasons
    assert [finding.reasons[0] for finding in gradients] == [reason]


@pytest.mark.parametrize(
    ("program", "sides"),
    [
        (Twins, (lambda x: 2.0 * x, lambda x: 1.0 * x)),
        (Twins, (lambda x: 1.0 * x, lambda x: 2.0 * x)),
        (Twins, (partial(lost, share=1.0), lambda x: 1.0 * x)),
        (Recurrent, (functional.softplus, functional.relu)),
        (Recurrent, (torch.Tensor.detach, functional.relu)),
        (Constants, ((0.4, 0.6), (1.0, 1.0))),
        (Layers, (by_reference, by_reference)),
        (Layers, (by_copy, by_copy)),
    ],
)
@pytest.mark.parametrize("dumps", ["ours", "no sketches", "peer"])
def test_what_only_is_equal_is_not_called_shared(
    tmp_path: Path, program: type[nn.Module], sides: tuple[object, object], dumps: Dumps
) -> None:
    findings = found(tmp_path, program, sides, Recording(level="L0", dumps=dumps, steps=(0,)))
    if program is not Layers:
        assert findings  # something is said of it, and not that
    assert not [r for f in findings for r in f.reasons if isinstance(r, TiedThere | TiedHere)]
