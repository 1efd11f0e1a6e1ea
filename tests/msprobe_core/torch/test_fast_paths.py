"""Torch's fast paths, taken only where nothing overrides it, are those of the run alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from msprobe_core import PrecisionDebugger
from msprobe_core.torch.fast_paths import FastPaths, OwnMode
from tests.msprobe_core.dump_reading import RankDump

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]
pytestmark = [
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors"),
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated"),
]
Guard = Callable[[], AbstractContextManager[object]]


class Padded(nn.Module):
    """An encoder whose rows of padding are zeros on the fast path only."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = torch.zeros(x.shape[:2], dtype=torch.bool)
        mask[1, 3:] = True
        result: torch.Tensor = self.encoder(x, src_key_padding_mask=mask)
        return result


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.attention(x, x, x)[0]
        return result


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.layer(x)
        return result


class UsersMode(TorchFunctionMode):
    def __torch_function__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Seeing(OwnMode):
    def __torch_function__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        return "seen" if func is announcing else func(*args, **(kwargs or {}))


class Marked(torch.Tensor):
    """A tensor that overrides torch's functions, as all subclasses do."""


INPUT = torch.linspace(-1, 1, 2 * 5 * 8).view(2, 5, 8)


def model_of(kind: type[nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    return kind().eval()


@pytest.mark.parametrize("level", ["L1", "mix", "L2"])
@pytest.mark.parametrize("guard", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("kind", [Padded, Layer, Attention])
def test_the_result_is_that_of_the_run_alone(
    kind: type[nn.Module], guard: Guard, level: str, debugger: Make, dumps: Read, tmp_path: Path
) -> None:
    model = model_of(kind)
    with guard():
        alone = model(INPUT)
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"level": level, "statistics": {"list": ["Torch."]}}))
    target = debugger(config_path=config)
    target.start(model=model)
    with guard():
        recorded = model(INPUT)
    target.stop()
    target.step()
    assert torch.equal(alone, recorded)
    if kind is Padded:
        assert not recorded[1, 3:].any()
    called = {Attention: "_native_multi_head_attention"}.get(kind, "_transformer_encoder_layer_fwd")
    assert f"Torch.{called}.0.forward" in dumps()[0].data


@pytest.fixture
def entered() -> Iterator[OwnMode]:
    paths, mode = FastPaths(), Seeing()
    paths.start()
    with mode:
        yield mode
    paths.stop()


@pytest.mark.parametrize("users", [UsersMode, nullcontext])
@pytest.mark.parametrize("kind", [torch.Tensor, Marked])
def test_what_the_user_overrides_is_told(
    kind: type[torch.Tensor], users: Guard, entered: OwnMode
) -> None:
    given = (torch.ones(2).as_subclass(kind),)
    before = torch.overrides._get_current_function_mode_stack()
    with users():
        expected = kind is Marked or users is UsersMode
        assert torch.overrides.has_torch_function(given) is expected
        assert torch.overrides.has_torch_function_unary(given[0]) is expected
        assert torch.overrides.has_torch_function_variadic(*given) is expected
    assert torch.overrides._get_current_function_mode_stack() == before == [entered]


def announcing(x: torch.Tensor) -> object:
    if torch.overrides.has_torch_function_unary(x):
        return torch.overrides.handle_torch_function(announcing, (x,), x)
    return "not seen"


def test_functions_that_announce_themselves_are_seen(entered: OwnMode) -> None:
    assert announcing(torch.ones(2)) == "seen"


def test_scripts_compile_to_the_same(debugger: Make) -> None:
    model = model_of(Layer)
    alone = torch.jit.script(model).code
    target = debugger(level="mix")
    target.start(model=model)
    recorded = torch.jit.script(model).code
    target.stop()
    target.step()
    assert recorded == alone


def test_the_questions_are_torchs_own_again() -> None:
    own = torch._C._has_torch_function
    first, second = FastPaths(), FastPaths()
    first.start()
    second.start()
    first.stop()
    assert torch.overrides.has_torch_function is not own
    second.stop()
    second.stop()
    assert torch.overrides.has_torch_function is own
