"""What a situation is, and the list of them: one small declaration each, one file a family."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

Step = Callable[[int], Any]
Made = tuple[Any, Step] | tuple[Any, Step, Any]
"""A model, and a step of it: what it returns must be the same whether it is followed or not. With
it the optimizer that the step itself calls; without, one that moves nothing is called after it.
"""


@dataclass(frozen=True, slots=True)
class Situation:
    """One thing that users do. `core` ones run with every test.

    `later` ones were written after the code that they try. `alone` is the reason why nothing but
    the dumper follows one, `own_gradients` why an optimizer takes others than `grad` holds;
    `uncompared` are followers that show another moment than the optimizer's. One that
    `looks_at_itself` sees the operators that graph mode puts into it, so that mode is left out.
    `ranks` are processes that run it together, of which `followed` are followed (all, if none).
    `needs` are packages without which it cannot run, `start` further arguments of `start`.
    `without_numbers` is the reason why records here have no numbers, `reports` a text of those
    lines of the error log that belong there.
    """

    name: str
    family: str
    make: Callable[[], Made]
    steps: int = 2
    core: bool = False
    needs: tuple[str, ...] = ()
    without_numbers: str = ""
    reports: str = ""
    start: dict[str, Any] = field(default_factory=dict)
    later: bool = False
    alone: str = ""
    own_gradients: str = ""
    uncompared: tuple[str, ...] = ()
    looks_at_itself: bool = False
    ranks: int = 1
    followed: tuple[int, ...] = ()

    @property
    def missing(self) -> list[str]:
        """The packages that are not installed here."""
        return [each for each in self.needs if importlib.util.find_spec(each) is None]


SITUATIONS: dict[str, Situation] = {}


def situation(name: str, **options: Any) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    """Declare a situation by the function that makes its model and its step."""

    def declare(make: Callable[[], Made]) -> Callable[[], Made]:
        family = make.__module__.rpartition(".")[2]
        assert name not in SITUATIONS, name
        SITUATIONS[name] = Situation(name, family, make, **options)
        return make

    return declare


class Block(nn.Sequential):
    """A block with code of its own: torch compiles none of its own modules' code alone."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self:
            x = layer(x)
        return x


class Net(nn.Module):
    """An embedding, residual blocks and a head over 16 tokens."""

    def __init__(self, width: int = 8, blocks: int = 2) -> None:
        super().__init__()
        self.embed = nn.Embedding(16, width)
        self.blocks = nn.ModuleList(
            Block(
                nn.LayerNorm(width),
                nn.Linear(width, 2 * width),
                nn.GELU(),
                nn.Linear(2 * width, width),
            )
            for _ in range(blocks)
        )
        self.head = nn.Linear(width, 16)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.embed(tokens)
        for block in self.blocks:
            hidden = hidden + block(hidden)
        return self.head(hidden)  # type: ignore[no-any-return]


class Around(nn.Module):
    """A model whose only child is a function's module, so that its calls are recorded."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.inner(*args, **kwargs)


class Calls(nn.Module):
    """A module that calls a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def calling(function: Callable[..., Any]) -> nn.Module:
    """A model with one module that calls a function."""
    return Around(Calls(function))


def tokens(batch: int = 2, length: int = 6, below: int = 16, seed: int = 3) -> torch.Tensor:
    """The same tokens each time."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, below, (batch, length), generator=generator)


def normal(*shape: int, seed: int = 4) -> torch.Tensor:
    """The same normal numbers each time."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def loss_of(logits: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """The mean cross entropy."""
    return nn.functional.cross_entropy(logits.flatten(0, -2), wanted.flatten())


def train(
    model: nn.Module, batch: torch.Tensor | None = None, call: Callable[..., Any] | None = None
) -> torch.Tensor:
    """Gradients of one batch; `call` stands for the model, if it is called by another name."""
    batch = tokens() if batch is None else batch
    model.zero_grad()
    loss = loss_of((model if call is None else call)(batch), batch)
    loss.backward()
    return loss


def trained_on(model: nn.Module, *shape: int) -> Made:
    """A step that takes the gradients of the sum of what the model makes of normal numbers."""

    def step(_: int) -> Any:
        model.zero_grad()
        out = model(normal(*shape))
        out.sum().backward()
        return out

    return model, step


def asked_for(model: nn.Module, *shape: int) -> Made:
    """A step that calls the model on normal numbers, without gradients."""

    def step(_: int) -> Any:
        with torch.no_grad():
            return model(normal(*shape))

    return model, step
