"""What followers are told of the calls of modules that have hooks of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.modules import module as modules

from msprobe_core.torch.monitor.module_calls import ModuleCalls

Told = list[Any]


@pytest.fixture
def calls() -> Iterator[ModuleCalls]:
    following = ModuleCalls()
    yield following
    following.close()


def follow(calls: ModuleCalls, module: nn.Module) -> Told:
    told: Told = []
    calls.after(module, lambda _module, _args, _kwargs, output: told.append(output))
    return told


@pytest.mark.parametrize("prepend", [False, True])
def test_the_output_is_that_behind_the_modules_own_hooks(calls: ModuleCalls, prepend: bool) -> None:
    module = nn.Identity()
    module.register_forward_hook(lambda _m, _a, output: output * 8, prepend=prepend)
    told = follow(calls, module)
    outputs = [module(torch.ones(1)), module(torch.full((1,), 2.0))]
    assert [float(one) for one in told] == [float(one) for one in outputs] == [8.0, 16.0]
    assert len(module._forward_hooks) == 1


def test_a_call_that_raises_has_not_ended_and_leaves_no_hook(calls: ModuleCalls) -> None:
    module = nn.Linear(2, 2)
    module.register_forward_hook(lambda *_: None)
    told = follow(calls, module)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            module(torch.ones(3))
    assert told == []
    assert len(module._forward_hooks) == 1
    try:
        raise ValueError
    except ValueError:  # what is handled around a call is not of the call
        module(torch.ones(2))
    assert len(told) == 1


def test_a_hook_that_raises_ends_no_call(calls: ModuleCalls) -> None:
    module, raises = nn.Identity(), [True]

    def hook(*_: object) -> None:
        if raises:
            raises.pop()
            raise ValueError

    module.register_forward_hook(hook)
    told = follow(calls, module)
    with pytest.raises(ValueError):
        module(torch.ones(1))
    module(torch.ones(1))
    assert len(told) == 1
    assert len(module._forward_hooks) == 1


class Nested(nn.Module):
    """Calls itself."""

    def forward(self, depth: int) -> int:
        return self(depth - 1) if depth else 0


def test_a_module_that_calls_itself_is_told_of_once_a_call(calls: ModuleCalls) -> None:
    module = Nested()
    module.register_forward_hook(lambda _m, args, output: output + 1)
    told = follow(calls, module)
    assert module(2) == 3
    assert told == [1, 2, 3]
    assert len(module._forward_hooks) == 1


def test_a_hook_that_is_put_on_while_the_module_runs_changes_nothing(calls: ModuleCalls) -> None:
    module = nn.Identity()
    told = follow(calls, module)
    handle = module.register_forward_pre_hook(
        lambda m, _: m.register_forward_hook(lambda *_: None) and None
    )
    module(torch.ones(1))
    handle.remove()
    assert len(told) == 1


def test_a_follower_that_begins_inside_compiled_code_is_told_when_it_ends(
    calls: ModuleCalls,
) -> None:
    """Nobody has told it that the code began; what runs uncompiled turns the switch on again."""
    module, told = nn.Linear(3, 3), []

    @torch._dynamo.disable
    def begin() -> None:
        calls.before(module, lambda *_: told.append(torch.compiler.is_compiling()))

    @torch._dynamo.disable
    def aside(x: torch.Tensor) -> torch.Tensor:
        return x.relu()

    def program(x: torch.Tensor) -> torch.Tensor:
        x = module(x)
        begin()
        out: torch.Tensor = module(aside(x))
        return out

    with torch.no_grad():  # torch itself warns of gradients where a graph breaks
        torch.compile(program, backend="eager")(torch.ones(2, 3))
    told.clear()
    module(torch.ones(2, 3))
    assert told == [False]
    torch.export.export(module, (torch.ones(2, 3),), strict=True)  # dynamo refuses our hooks
    module(torch.ones(2, 3))
    assert told == [False, False]


def test_who_only_asks_for_compiled_code_lays_no_hook_on_modules(calls: ModuleCalls) -> None:
    before, told = len(modules._global_forward_pre_hooks), []
    calls.around_compiled(lambda: told.append("begins"), lambda: told.append("ends"))
    assert len(modules._global_forward_pre_hooks) == before
    torch.compile(nn.Linear(2, 2), backend="eager")(torch.ones(2))
    assert told == ["begins", "ends"]
