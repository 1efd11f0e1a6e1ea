"""Reads the caller's bytecode: how a call was written, which the called function cannot see.

`x + y`, `x.add(y)` and `1 + x` reach the function mode as one function; so do a positional and
a keyword argument of a Python-level function.
"""

from __future__ import annotations

import dis
import sys
from dataclasses import dataclass
from types import CodeType

from msprobe_core.torch.names.by_code import kept_by_code

_ATTRIBUTE_OPS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_NAME_OPS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE"})
_OLD_BINARY = {
    "BINARY_ADD": "+",
    "BINARY_SUBTRACT": "-",
    "BINARY_MULTIPLY": "*",
    "BINARY_TRUE_DIVIDE": "/",
    "BINARY_FLOOR_DIVIDE": "//",
    "BINARY_MODULO": "%",
    "BINARY_POWER": "**",
    "BINARY_MATRIX_MULTIPLY": "@",
    "BINARY_AND": "&",
    "BINARY_OR": "|",
    "BINARY_XOR": "^",
    "BINARY_LSHIFT": "<<",
    "BINARY_RSHIFT": ">>",
}


_WITH_NAMES = frozenset({"CALL_KW", "CALL_FUNCTION_KW"})
"""Calls before which the tuple of keyword names is loaded."""
_PAIRS = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}
"""What Python 3.13 does in one instruction and others in two."""


@dataclass(frozen=True, slots=True)
class CallShape:
    """How many arguments of a call stood by position, and the names of the others."""

    positional: int
    keywords: tuple[str, ...]


@kept_by_code
def instructions(code: CodeType) -> tuple[list[dis.Instruction], dict[int, int]]:
    """The code's instructions without caches, and the index of the one at each byte offset.

    A frame that waits for a Python function stands at the last cache of its call, so an offset
    belongs to the instruction before it.
    """
    uncached = (i for i in dis.get_instructions(code) if i.opname != "CACHE")
    listing = [single for instruction in uncached for single in _singles(instruction)]
    ends = [i.offset for i in listing[1:]] + [len(code.co_code)]
    index = {
        offset: n
        for n, (instruction, end) in enumerate(zip(listing, ends, strict=True))
        for offset in range(instruction.offset, end, 2)
    }
    return listing, index


@kept_by_code
def operator_at(code: CodeType, offset: int) -> str | None:
    """The symbol of the operator at a byte offset (`+`, `+=`, `<`, `u-`), None for other ones."""
    listing, index = instructions(code)
    if offset not in index:
        return None
    instruction = listing[index[offset]]
    name = instruction.opname
    if name == "BINARY_OP":
        return instruction.argrepr
    if name.startswith("INPLACE_"):
        return _OLD_BINARY["BINARY_" + name[8:]] + "="
    if name in _OLD_BINARY:
        return _OLD_BINARY[name]
    if name == "COMPARE_OP":
        return str(instruction.argrepr).removeprefix("bool(").removesuffix(")")
    if name in ("UNARY_NEGATIVE", "UNARY_INVERT"):
        return {"UNARY_NEGATIVE": "u-", "UNARY_INVERT": "u~"}[name]
    return None


@kept_by_code
def call_shape(code: CodeType, offset: int) -> CallShape | None:
    """The shape of the call at a byte offset; None for `f(*args)` and other code."""
    listing, index = instructions(code)
    if offset not in index:
        return None
    at = index[offset]
    call = listing[at]
    if call.opname not in ("CALL", "CALL_KW", "CALL_METHOD", "CALL_FUNCTION", "CALL_FUNCTION_KW"):
        return None
    keywords = _keywords(code, listing, at)
    return CallShape(int(call.arg or 0) - len(keywords), keywords)


@kept_by_code
def callee_at(code: CodeType, offset: int) -> str | None:
    """The attribute that is called at a byte offset: empty when it is no attribute, None where
    the code does not tell.
    """
    listing, index = instructions(code)
    shape = call_shape(code, offset)
    if shape is None:
        return None
    end = index[offset]
    if listing[end].opname in _WITH_NAMES:
        end -= 1
    while listing[end - 1].opname in ("PRECALL", "KW_NAMES"):
        end -= 1
    for _ in range(shape.positional + len(shape.keywords)):
        start = _operand_start(listing, end)
        if start is None:
            return None
        end = start
    before = listing[end - 1] if end else None
    if before is None:
        return None
    return str(before.argval) if before.opname in _ATTRIBUTE_OPS else ""


@kept_by_code
def base_of(code: CodeType, offset: int, attribute: str) -> tuple[str, str] | None:
    """What stands before `.attribute` nearest before the offset.

    `("name", n)` for `n.attribute`, `("attribute", a)` for `….a.attribute`, `("bare", attribute)`
    when it is read as a plain name; None when it does not occur.
    """
    listing, index = instructions(code)
    for at in range(index.get(offset, 0), -1, -1):
        instruction = listing[at]
        if instruction.argval != attribute:
            continue
        if instruction.opname in _ATTRIBUTE_OPS and at > 0:
            before = listing[at - 1]
            kind = "attribute" if before.opname in _ATTRIBUTE_OPS else "name"
            return kind, str(before.argval)
        if instruction.opname in _NAME_OPS:
            return "bare", attribute
    return None


@kept_by_code
def stored_after(code: CodeType, offset: int) -> str | None:
    """The variable that gets the result of the call at a byte offset; None where there is none."""
    listing, index = instructions(code)
    at = index.get(offset, len(listing)) + 1
    if at >= len(listing) or not listing[at].opname.startswith("STORE_FAST"):
        return None
    return str(listing[at].argval)


@kept_by_code
def is_used_at_once(code: CodeType, offset: int) -> bool:
    """Whether the next operator or call uses the result of the call at a byte offset."""
    listing, index = instructions(code)
    for instruction in listing[index.get(offset, len(listing)) + 1 :]:
        if instruction.opname.startswith(("BINARY_", "CALL", "COMPARE_OP")):
            return True
        if not instruction.opname.startswith(("LOAD_", "PUSH_NULL", "PRECALL", "KW_NAMES")):
            return False
    return False


@kept_by_code
def operands_at(
    code: CodeType, offset: int
) -> tuple[tuple[dis.Instruction, ...], tuple[dis.Instruction, ...]] | None:
    """The instructions that compute the left and the right operand of a binary operator."""
    listing, index = instructions(code)
    right = _operand_start(listing, index[offset])
    left = None if right is None else _operand_start(listing, right)
    if right is None or left is None:
        return None
    return tuple(listing[left:right]), tuple(listing[right : index[offset]])


def _singles(instruction: dis.Instruction) -> list[dis.Instruction]:
    pair = _PAIRS.get(instruction.opname)
    if pair is None:
        return [instruction]
    return [
        instruction._replace(opname=name, opcode=dis.opmap[name], arg=0, argval=argval)
        for name, argval in zip(pair, instruction.argval, strict=True)
    ]


def _operand_start(listing: list[dis.Instruction], end: int) -> int | None:
    depth = 0
    for at in range(end - 1, -1, -1):
        instruction = listing[at]
        if "JUMP" in instruction.opname:
            return None
        argument = instruction.arg if instruction.opcode >= dis.HAVE_ARGUMENT else None
        depth += dis.stack_effect(instruction.opcode, argument)
        if depth == 1:
            return at
    return None


def _keywords(code: CodeType, listing: list[dis.Instruction], at: int) -> tuple[str, ...]:
    call = listing[at]
    if call.opname in _WITH_NAMES:
        return _as_names(listing[at - 1].argval)
    if call.opname != "CALL" or sys.version_info >= (3, 13):
        return ()
    for before in listing[max(at - 2, 0) : at]:
        if before.opname == "KW_NAMES":
            return _as_names(code.co_consts[before.arg or 0])
    return ()


def _as_names(value: object) -> tuple[str, ...]:
    return tuple(str(name) for name in value) if isinstance(value, tuple) else ()
