"""Functions of torch that a user has replaced: the numbers stay his, the names stay torch's."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from msprobe_core import PrecisionDebugger
from msprobe_core.torch.names.api_table import build_table
from msprobe_core.torch.names.call_site import call_sites
from tests.msprobe_core.dump_reading import RankDump

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]
Patch = pytest.MonkeyPatch


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """One decorator for many functions: its bodies share a code object."""

    @functools.wraps(function)
    def louder(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if isinstance(result, torch.Tensor):
            return result * 1.5
        return tuple(each * 1.5 for each in result)

    return louder


class Louder:
    """A replacement that is no function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs) * 1.5


def attention(q: Any, k: Any, v: Any, **_: object) -> Any:
    """A user's own attention, which calls nothing that it replaces."""
    return torch.softmax(q @ k.transpose(-1, -2), -1) @ v


X = torch.linspace(-1.0, 1.0, 24).reshape(2, 3, 4)

Family = tuple[object, str, Callable[[Any], Any], str, Callable[[], Any]]
FAMILY: dict[str, Family] = {
    "functional": (F, "relu", wrapped, "Functional.relu", lambda: F.relu(X)),
    "functional, by a module": (F, "relu", wrapped, "Functional.relu", torch.nn.ReLU().eval),
    "functional, compiled": (F, "gelu", wrapped, "Functional.gelu", lambda: F.gelu(X)),
    "functional with a switch": (
        F,
        "max_pool1d",
        wrapped,
        "Functional.max_pool1d",
        lambda: F.max_pool1d(X, 2),
    ),
    "functional that announces nothing": (
        F,
        "layer_norm",
        wrapped,
        "Functional.layer_norm",
        lambda: F.layer_norm(X, (4,)),
    ),
    "functional, an object": (F, "relu", Louder, "Functional.relu", lambda: F.relu(X)),
    "functional, a partial": (
        F,
        "dropout",
        lambda f: functools.partial(f, training=False),
        "Functional.dropout",
        lambda: F.dropout(X, 0.5),
    ),
    "functional, without the original": (
        F,
        "scaled_dot_product_attention",
        lambda _: attention,
        "Functional.scaled_dot_product_attention",
        lambda: F.scaled_dot_product_attention(X, X, X),
    ),
    "method, compiled": (torch.Tensor, "add", wrapped, "Tensor.add", lambda: X.add(1.0)),
    "method in place": (torch.Tensor, "mul_", wrapped, "Tensor.mul_", lambda: X.clone().mul_(2)),
    "method of Python": (torch.Tensor, "norm", wrapped, "Tensor.norm", lambda: X.norm(2)),
    "method with several results": (torch.Tensor, "max", wrapped, "Tensor.max", lambda: X.max(1)),
    "operator": (torch.Tensor, "__add__", wrapped, "Tensor.__add__", lambda: X + X),
    "operator, reflected": (
        torch.Tensor,
        "__rsub__",
        wrapped,
        "Tensor.__rsub__",
        lambda: 1.0 - X,
    ),
    "torch, compiled": (torch, "matmul", wrapped, "Torch.matmul", lambda: torch.matmul(X, X.mT)),
    "torch, of Python": (
        torch,
        "einsum",
        wrapped,
        "Torch.einsum",
        lambda: torch.einsum("abc,abd->acd", X, X),
    ),
    "torch, two names": (torch, "mm", wrapped, "Torch.mm", lambda: torch.mm(X[0], X[1].T)),
}
"""Where it stands, its name, what replaces it, the name in the dump, a call of it."""


def results_of(call: Callable[[], Any]) -> list[torch.Tensor]:
    """The tensors of one call; a module is run."""
    made = call()
    made = made(X) if isinstance(made, torch.nn.Module) else made
    return [made] if isinstance(made, torch.Tensor) else list(made)


@pytest.fixture(autouse=True)
def _fresh_tables() -> Iterator[None]:
    """A process that has recorded nothing yet: names are looked up anew, before and after."""
    build_table.cache_clear()
    call_sites.cache_clear()
    yield
    build_table.cache_clear()
    call_sites.cache_clear()


WHEN = ("before any table", "after all objects are frozen", "before start", "while recording")
"""Servers freeze what they have loaded (`gc.freeze`): the collector shows nothing of it then."""


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("case", FAMILY)
def test_results_are_those_without_recording(
    case: str, when: str, debugger: Make, dumps: Read, monkeypatch: Patch
) -> None:
    owner, name, replace, entry, call = FAMILY[case]
    if when == "after all objects are frozen":
        gc.freeze()
    elif when != "before any table":
        call_sites("FOCUS")
    replacement = replace(getattr(owner, name))
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, replacement)
        plain = results_of(call)
    target = debugger(level="L1")
    if when != "while recording":
        monkeypatch.setattr(owner, name, replacement)
    target.start()
    if when == "while recording":
        monkeypatch.setattr(owner, name, replacement)
    recorded = results_of(call)
    target.stop()
    target.step()
    again = results_of(call)
    assert getattr(owner, name) is replacement
    for one, other, last in zip(plain, recorded, again, strict=True):
        assert torch.equal(one, other)
        assert torch.equal(one, last)
    seen = dumps()[0].data
    if when == "while recording":  # nothing tells of it: what it calls is recorded
        assert seen
        return
    assert f"{entry}.0.forward" in seen
    outputs = seen[f"{entry}.0.forward"]["output"]
    assert outputs[0]["Norm"] == pytest.approx(
        torch.linalg.vector_norm(recorded[0]).item(), rel=1e-5
    )


def test_one_decorator_over_many_functions_keeps_their_names(
    debugger: Make, dumps: Read, monkeypatch: Patch
) -> None:
    names = ["gelu", "relu", "layer_norm", "softmax"]
    for name in names:
        monkeypatch.setattr(F, name, wrapped(getattr(F, name)))
    target = debugger(level="L1")
    target.start()
    F.gelu(X)
    F.relu(X)
    F.layer_norm(X, (4,))
    F.softmax(X, dim=-1)
    target.stop()
    target.step()
    assert dumps()[0].names == [f"Functional.{name}.0.forward" for name in names]


def test_a_replacement_that_is_restored_while_recording(
    debugger: Make, dumps: Read, monkeypatch: Patch
) -> None:
    original = F.relu
    monkeypatch.setattr(F, "relu", wrapped(original))
    target = debugger(level="L1")
    target.start()
    louder = F.relu(X)
    kept = F.relu  # as `mock.patch` keeps what it replaces, to put it back
    F.relu = original
    plain = F.relu(X)
    target.stop()
    assert F.relu is original
    F.relu = kept
    late = F.relu(X)
    target.step()
    assert torch.equal(louder, plain * 1.5)
    assert torch.equal(late, louder)
    assert dumps()[0].names == ["Functional.relu.0.forward", "Functional.relu.1.forward"]


def test_compiled_functions_of_several_names_keep_the_one_that_was_called(
    debugger: Make, dumps: Read
) -> None:
    target = debugger(level="L1")
    target.start()
    torch.mm(X[0], X[1].T)
    torch.spmm(X[0], X[1].T)
    target.stop()
    target.step()
    assert dumps()[0].names == ["Torch.mm.0.forward", "Torch.spmm.0.forward"]


def test_a_users_own_function_that_announces_itself_runs_once(debugger: Make, dumps: Read) -> None:
    def twice(value: torch.Tensor) -> Any:
        if torch.overrides.has_torch_function_unary(value):
            return torch.overrides.handle_torch_function(twice, (value,), value)
        return value.mul(2)

    target = debugger(level="L1")
    target.start()
    result = twice(X)
    target.stop()
    target.step()
    assert torch.equal(result, X * 2)
