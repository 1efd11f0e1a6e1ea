"""An invented transformer training step, emitted call by call the way a dumper would record it.

A tensor keeps its number from the call that made it to those that read it. From the seeded fault
on, the problem side's values are off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

Side = Literal["problem", "benchmark"]
Shape = tuple[int, ...]

HIDDEN = (4, 8, 16)
INNER = (4, 8, 64)
SCORES = (4, 8, 8)
LINEAR = {"weight": (64, 16), "bias": (64,)}
NORM = {"weight": (16,), "bias": (16,)}


@dataclass(frozen=True, slots=True)
class Call:
    """An API call: its output's shape, and shapes of operands beside the running activation."""

    api: str
    out: Shape = HIDDEN
    operands: tuple[Shape, ...] = ()
    faulty: bool = False
    backward: bool = True


@dataclass(frozen=True, slots=True)
class Module:
    """A module: attribute path, class, what it calls, and its parameters."""

    path: str
    type_name: str
    body: tuple[Module | Call, ...]
    parameters: dict[str, Shape] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Value:
    """One tensor of an entry; `diverged` says that the fault has reached it."""

    number: int
    shape: Shape
    requires_grad: bool
    diverged: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of dump.json with its parent; `line` identifies the source line that called it."""

    name: str
    parent: str | None
    line: str
    inputs: tuple[Value, ...] = ()
    outputs: tuple[Value, ...] = ()
    parameters: dict[str, Value] = field(default_factory=dict)


def transformer(blocks: int, faulty_block: int, ranks: int) -> tuple[Module | Call, ...]:
    """Embedding, pre-norm blocks, head, loss; with several ranks each block reduces twice."""
    layers = [_block(index, index == faulty_block, ranks > 1) for index in range(blocks)]
    embedding = Call("Functional.embedding", operands=((32, 16),))
    return (
        Module("emb", "Embedding", (embedding,), {"weight": (32, 16)}),
        *layers,
        _linear("head", (4, 8, 32)),
        Call("Functional.cross_entropy", ()),
    )


def wide(calls: int) -> tuple[Module | Call, ...]:
    """One module with `calls` children, the middle one faulty."""
    body = tuple(
        Call("Tensor.__mul__", faulty=index == calls // 2, backward=False) for index in range(calls)
    )
    return (Module("wide", "Wide", body),)


def record(model: tuple[Module | Call, ...]) -> Iterator[Entry]:
    """Emit the forward pass, then the backward pass, in order of completion."""
    recorder = _Recorder()
    for part in model:
        yield from recorder.forward(part, None)
    for part in reversed(model):
        yield from recorder.backward(part, None)


class _Recorder:
    def __init__(self) -> None:
        self.diverged = False
        self._made = 0
        self._flowing = self._value(HIDDEN)
        self._parameters: dict[str, dict[str, Value]] = {}
        self._counts: dict[str, int] = {}
        self._numbers: dict[int, str] = {}

    def forward(self, part: Module | Call, parent: str | None) -> Iterator[Entry]:
        emit: Callable[..., Iterator[Entry]]
        emit = self._forward_call if isinstance(part, Call) else self._forward_module
        return emit(part, parent)

    def _forward_call(self, call: Call, parent: str | None) -> Iterator[Entry]:
        number = self._counts.get(call.api, 0)
        self._counts[call.api] = number + 1
        inputs = (self._flowing, *self._operands(call, parent or ""))
        self.diverged = self.diverged or call.faulty
        self._flowing = self._value(call.out)
        self._numbers[id(call)] = f"{call.api}.{number}"
        yield Entry(f"{call.api}.{number}.forward", parent, call.api, inputs, (self._flowing,))

    def _operands(self, call: Call, parent: str) -> Iterable[Value]:
        parameters = self._parameters.get(parent, {}).values()
        if tuple(value.shape for value in parameters) == call.operands:
            return parameters
        return (self._value(shape, diverged=False) for shape in call.operands)

    def _forward_module(self, module: Module, parent: str | None) -> Iterator[Entry]:
        name = f"Module.{module.path}.{module.type_name}.forward.0"
        inputs = (self._flowing,)
        parameters = {
            key: self._value(shape, diverged=False) for key, shape in module.parameters.items()
        }
        self._parameters[name] = parameters
        for part in module.body:
            yield from self.forward(part, name)
        yield Entry(name, parent, _line(module), inputs, (self._flowing,), parameters)

    def backward(self, part: Module | Call, parent: str | None) -> Iterator[Entry]:
        if isinstance(part, Call):
            if part.backward:
                name = f"{self._numbers[id(part)]}.backward"
                gradient = self._gradient(part.out)
                self._flowing = self._value(HIDDEN, False)
                yield Entry(name, parent, "", (gradient,), (self._flowing,))
            return
        stem = f"Module.{part.path}.{part.type_name}"
        name = f"{stem}.backward.0"
        gradient = self._gradient(HIDDEN)
        for inner in reversed(part.body):
            yield from self.backward(inner, name)
        if part.parameters:
            gradients = {key: self._value(shape, False) for key, shape in part.parameters.items()}
            yield Entry(f"{stem}.parameters_grad.0", None, "", parameters=gradients)
        yield Entry(name, parent, "", (gradient,), (self._flowing,))

    def _gradient(self, shape: Shape) -> Value:
        """The gradient that flows into a call; another one where its shape is not what flows."""
        if self._flowing.shape != shape or self._flowing.requires_grad:
            self._flowing = self._value(shape, False)
        return self._flowing

    def _value(
        self, shape: Shape, requires_grad: bool = True, diverged: bool | None = None
    ) -> Value:
        self._made += 1
        off = self.diverged if diverged is None else diverged
        return Value(self._made, shape, requires_grad, off)


def _block(index: int, faulty: bool, reduce: bool) -> Module:
    path = f"layers.{index}"
    reduction = (Call("Distributed.all_reduce", backward=False),) if reduce else ()
    return Module(
        path,
        "Block",
        (
            _norm(f"{path}.ln1"),
            _attention(f"{path}.attn", reduction),
            Call("Tensor.__add__", operands=(HIDDEN,)),
            _norm(f"{path}.ln2"),
            _mlp(f"{path}.mlp", faulty, reduction),
            Call("Tensor.__add__", operands=(HIDDEN,)),
        ),
    )


def _attention(path: str, reduction: tuple[Call, ...]) -> Module:
    body = (
        _linear(f"{path}.qkv", (4, 8, 48)),
        Call("Torch.matmul", SCORES, (HIDDEN,)),
        Call("Tensor.__truediv__", SCORES),
        Call("Torch.softmax", SCORES),
        Call("Torch.matmul", HIDDEN, (HIDDEN,)),
        _linear(f"{path}.proj", HIDDEN),
        *reduction,
    )
    return Module(path, "Attention", body)


def _mlp(path: str, faulty: bool, reduction: tuple[Call, ...]) -> Module:
    body = (
        _linear(f"{path}.fc1", INNER),
        Call("Functional.gelu", INNER, faulty=faulty),
        _linear(f"{path}.fc2", HIDDEN),
        *reduction,
    )
    return Module(path, "MLP", body)


def _linear(path: str, out: Shape) -> Module:
    call = Call("Functional.linear", out, tuple(LINEAR.values()))
    return Module(path, "Linear", (call,), LINEAR)


def _norm(path: str) -> Module:
    call = Call("Functional.layer_norm", HIDDEN, tuple(NORM.values()))
    return Module(path, "LayerNorm", (call,), NORM)


def _line(module: Module) -> str:
    attribute = module.path.rpartition(".")[2]
    return "layer" if attribute.isdigit() else attribute
