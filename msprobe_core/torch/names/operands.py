"""What the operands of an operator are, told from the code that computes them.

`math.sqrt(2) * x` and `x * math.sqrt(2)` reach the function mode as one call with the tensor first;
which of the two stood there decides whether it is `__rmul__` or `__mul__`. The instructions are
followed with kinds in place of values; nothing of the user's is run.
"""

from __future__ import annotations

import builtins
import dis
import math
from dis import Instruction
from types import FrameType, ModuleType
from typing import Any, Literal, NamedTuple

import torch

from msprobe_core.torch.names.frame_locals import local_of

Kind = Literal["tensor", "number"] | None
Operand = tuple[Instruction, ...]

_MISSING = object()
_NUMBER_METHODS = frozenset(
    """
    dim get_seq_length item ndimension nelement numel size storage_offset stride tolist
    """.split()
)
_NUMBER_ATTRIBUTES = frozenset({"ndim", "shape", "itemsize"})
_LOCALS = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_DEREF"})
_CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION", "CALL_METHOD"})
_WITHOUT_EFFECT = frozenset({"PRECALL", "KW_NAMES", "NOP", "CACHE", "EXTENDED_ARG", "RESUME"})


class _Seen(NamedTuple):
    """What is known of a place of the stack: its kind, its value, and how it was reached."""

    kind: Kind = None
    value: Any = _MISSING
    name: str = ""
    owner: _Seen | None = None


_NULL = _Seen(name="null")


def is_reflected(left: Operand, right: Operand, frame: FrameType) -> bool:
    """Whether the tensor of an operator between a tensor and a number stands on the right."""
    first = kind_of(left, frame)
    if first is not None:
        return first == "number"
    return kind_of(right, frame) == "tensor"


def kind_of(operand: Operand, frame: FrameType) -> Kind:
    """Whether an operand is a tensor or a number; None where the code does not tell."""
    stack: list[_Seen] = []
    try:
        for step in operand:
            if not _follow(step, stack, frame):
                return None
    except IndexError:  # the operand does not stand on its own
        return None
    return stack[-1].kind if stack else None


def _follow(step: Instruction, stack: list[_Seen], frame: FrameType) -> bool:
    """Run one instruction on kinds; False for one that is not known."""
    name = step.opname
    if name in _WITHOUT_EFFECT:
        return True
    if name in ("LOAD_ATTR", "LOAD_METHOD"):
        owner = stack.pop()
        stack.append(_attribute(owner, str(step.argval)))
        if dis.stack_effect(step.opcode, step.arg) == 1:
            stack.append(_NULL)
    elif name.startswith(("LOAD_", "PUSH_NULL")):
        stack += _loaded(step, frame)
    elif name in _CALLS:
        _call(step, stack)
    elif name.startswith("UNARY_"):
        stack.append(_Seen(stack.pop().kind))
    elif name.startswith(("BINARY_", "COMPARE_OP", "INPLACE_")):
        right, left = stack.pop(), stack.pop()
        stack.append(_Seen(_combined(name, left.kind, right.kind)))
    else:
        return False
    return True


def _loaded(step: Instruction, frame: FrameType) -> list[_Seen]:
    name = step.opname
    if name in ("LOAD_CONST", "LOAD_SMALL_INT"):
        return [_of_value(step.argval)]
    if name in _LOCALS or name == "LOAD_NAME":
        value = local_of(frame, step.argval, _MISSING)
        return [_of_value(_global(step.argval, frame) if value is _MISSING else value)]
    if name == "LOAD_GLOBAL":
        seen = _of_value(_global(step.argval, frame))
        return [_NULL, seen] if dis.stack_effect(step.opcode, step.arg) == 2 else [seen]
    return [_NULL if name == "PUSH_NULL" else _Seen()]


def _call(step: Instruction, stack: list[_Seen]) -> None:
    count = int(step.arg or 0) + {"CALL_FUNCTION": 1, "CALL_KW": 3}.get(step.opname, 2)
    taken = [stack.pop() for _ in range(count)][::-1]
    callee = next((each for each in taken[:2] if each is not _NULL), _NULL)
    stack.append(_Seen(_kind_of_call(callee)))


def _kind_of_call(callee: _Seen) -> Kind:
    owner = callee.owner
    module = str(getattr(callee.value, "__module__", "") or "")
    if callee.value is not _MISSING and module in ("math", "builtins"):
        return "number" if owner is None or owner.value in (math, builtins) else None
    if owner is not None and owner.value is math:
        return "number"
    if owner is not None and callee.name in _NUMBER_METHODS:
        return "number"
    if owner is not None and (owner.value is torch or owner.value is torch.nn.functional):
        return "tensor"
    if isinstance(callee.value, torch.nn.Module) or module.startswith("torch"):
        return "tensor"
    return "tensor" if owner is not None and owner.kind == "tensor" else None


def _combined(name: str, left: Kind, right: Kind) -> Kind:
    if name == "BINARY_SUBSCR":
        return left
    if "tensor" in (left, right):
        return "tensor"
    return "number" if left == right == "number" else None


def _of_value(value: object) -> _Seen:
    if isinstance(value, torch.Tensor):
        return _Seen("tensor", value)
    return _Seen("number" if isinstance(value, (int, float, complex)) else None, value)


def _global(name: str, frame: FrameType) -> Any:
    return frame.f_globals.get(name, vars(builtins).get(name, _MISSING))


def _attribute(owner: _Seen, name: str) -> _Seen:
    value = _MISSING if owner.value is _MISSING else _looked_up(owner.value, name)
    kind = _of_value(value).kind
    if kind is None and name in _NUMBER_ATTRIBUTES:
        kind = "number"
    return _Seen(kind, value, name, owner)


def _looked_up(value: object, name: str) -> Any:
    """An attribute that can be read without running code: of an instance, module or class."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return _MISSING
    tables = [own]
    if isinstance(value, torch.nn.Module):
        tables += [own.get(each, {}) for each in ("_parameters", "_buffers", "_modules")]
    if not isinstance(value, ModuleType):
        tables += [vars(kind) for kind in type(value).__mro__]
    attribute = next((table[name] for table in tables if name in table), _MISSING)
    return _MISSING if isinstance(attribute, property) else attribute
