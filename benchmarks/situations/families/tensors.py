"""Tensors of all kinds as inputs, outputs and gradients of modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from benchmarks.situations.situation import Made, calling, normal, situation


def passing(*makes: Callable[[], Any], use: Callable[[Any], Any] = lambda x: x) -> Made:
    """A module that is given each tensor and returns what `use` makes of it."""
    model = calling(use)

    def step(_: int) -> Any:
        with torch.no_grad():
            return [model(make()) for make in makes]

    return model, step


@situation("sparse tensors", core=True)
def sparse() -> Made:
    return passing(
        lambda: torch.eye(5).to_sparse(),
        lambda: torch.eye(5).to_sparse_csr(),
        lambda: torch.eye(4).to_sparse_bsr((2, 2)),
        lambda: torch.sparse_coo_tensor([[0, 2]], [[1.0, 2.0], [3.0, 4.0]], (3, 2)),
    )


@situation("sparse gradients")
def sparse_gradients() -> Made:
    model = nn.Sequential(nn.Embedding(10, 4, sparse=True), nn.Linear(4, 2))

    def step(_: int) -> Any:
        model.zero_grad()
        loss = model(torch.tensor([1, 3, 3])).sum()
        loss.backward()
        return loss

    return model, step


@situation("nested tensors", core=True)
def nested() -> Made:
    return passing(
        lambda: torch.nested.nested_tensor([normal(2, 3), normal(4, 3)]),
        lambda: torch.nested.nested_tensor([normal(2, 3), normal(4, 3)], layout=torch.jagged),
    )


@situation("complex, conjugated and negated views")
def complex_numbers() -> Made:
    return passing(
        lambda: torch.view_as_complex(normal(4, 2)),
        lambda: torch.view_as_complex(normal(4, 2)).conj(),
        lambda: torch.view_as_complex(normal(4, 2)).conj().imag,
        lambda: torch.fft.fft(normal(64, 64)),
        use=lambda x: x * 2,
    )


@situation("quantised tensors")
def quantised() -> Made:
    return passing(
        lambda: torch.quantize_per_tensor(normal(4, 4), 0.1, 3, torch.quint8),
        lambda: torch.quantize_per_channel(
            normal(4, 4), torch.ones(4) * 0.1, torch.zeros(4, dtype=torch.long), 0, torch.qint8
        ),
    )


@situation("zero-dimensional, empty and large", core=True)
def sizes() -> Made:
    return passing(
        lambda: torch.tensor(3.5),
        lambda: torch.empty(3, 0, 2),
        lambda: normal(1200, 1300),
        lambda: torch.ones(1).expand(10**7),
        lambda: torch.as_strided(normal(5000), (400, 400), (0, 1)),
        lambda: normal(64, 64)[:, ::2],
        use=lambda x: x * 1,
    )


@situation("whole numbers and formats of 8 bits", core=True)
def formats() -> Made:
    return passing(
        lambda: torch.tensor([1, 2**63 + 5, 2**64 - 1], dtype=torch.uint64),
        lambda: torch.tensor([1, 65535], dtype=torch.uint16),
        lambda: torch.tensor([True, False]),
        lambda: normal(20).to(torch.float8_e4m3fn),
        lambda: normal(20).to(torch.float8_e8m0fnu),
        lambda: normal(20).half(),
        lambda: torch.tensor([float("nan"), float("inf"), -float("inf"), 1.0]),
    )


class Wrapping(torch.Tensor):
    """A tensor without memory of its own around another."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Wrapping:
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made  # type: ignore[no-any-return]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def opened(value: Any) -> Any:
            return value.inner if isinstance(value, Wrapping) else value

        given = {name: opened(value) for name, value in (kwargs or {}).items()}
        result = func(*[opened(value) for value in args], **given)
        return Wrapping(result) if isinstance(result, torch.Tensor) else result


class Refusing(Wrapping):
    """One that raises whatever is asked of it but to be passed on."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError(f"{func} is not for you")


class Naming(torch.Tensor):
    """A subclass by functions."""


@situation("subclasses of the user's", core=True)
def subclasses() -> Made:
    return passing(
        lambda: Wrapping(normal(40, 40)),
        lambda: normal(4, 4).as_subclass(Naming),
        use=lambda x: x * 2,
    )


@situation("subclasses that raise", core=True)
def raising() -> Made:
    return passing(lambda: Refusing(normal(3, 4)))


@situation("masked tensors and pairs")
def masked() -> Made:
    from torch.testing._internal.two_tensor import TwoTensor

    return passing(
        lambda: torch.masked.masked_tensor(normal(40), normal(40) > 0).get_data(),
        lambda: TwoTensor(normal(4, 4), normal(4, 4)).a,
    )


@situation("memory that was freed", without_numbers="freed memory has no elements")
def freed() -> Made:
    def make() -> torch.Tensor:
        x = normal(3000)
        x.untyped_storage().resize_(0)
        return x

    model = calling(lambda x: x)

    def step(_: int) -> Any:
        with torch.no_grad():
            return tuple(model(make()).shape)

    return model, step


@situation("arguments of all kinds", reports="no answer")
def arguments() -> Made:
    import os
    from collections import UserDict, namedtuple
    from dataclasses import dataclass

    @dataclass
    class Both:
        left: torch.Tensor
        right: list[torch.Tensor]

    class Lazy(UserDict[str, int]):
        def __getitem__(self, key: str) -> int:
            raise ConnectionError("no answer")

    pair = namedtuple("pair", "a b")
    model = calling(lambda x, *_: x * 2)

    def step(_: int) -> Any:
        x = normal(3)
        own: list[Any] = [x]
        own.append(own)
        values = [
            Both(x, [x]), pair(x, 1), own, {"k": {1: x}}, os.fsdecode(b"caf\xe9.png"), "你好",
            slice(1, None), ..., 3 + 4j, torch.float32, object(), Lazy({"a": 1}), range(3),
        ]  # fmt: skip
        return [model(x, value) for value in values]

    return model, step
