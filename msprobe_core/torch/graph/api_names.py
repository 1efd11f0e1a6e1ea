"""The names of calls as an eager dump has them, where dynamo traces and where code just runs.

A function mode sees the method behind an operator of the language; the caller's code tells which of
the two was written. Where dynamo traces, that is the code that it translates.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FrameType
from typing import Any, cast

import torch

from msprobe_core.torch.graph.compilers import translators
from msprobe_core.torch.graph.sites import (
    Owner,
    is_own_file,
    number_of,
    stack_of_frames,
    stack_of_trace,
)
from msprobe_core.torch.names.api_table import Api, build_table
from msprobe_core.torch.names.bytecode import instructions
from msprobe_core.torch.names.call_site import call_sites

Function = Callable[..., Any]
NONE = -1
"""The site of a call that is not recorded."""
_GRAPH_FILE, _INDUCTOR = "<eval_with_key>", "torch._inductor."


def traced_site(function: Function, risk_level: str, between_tensors: bool) -> int:
    """The site of a call that dynamo traces; `NONE` for what has no values in a dump."""
    api = _traced_api(function, risk_level, between_tensors)
    if api is None or not api.has_values:
        return NONE
    return number_of(Owner(None, api.owner, stack_of_trace()))


def eager_site(function: Function, args: tuple[Any, ...], risk_level: str) -> int:
    """The site of a call that runs now, seen by a function mode one frame above."""
    sites = call_sites(risk_level)
    frame = sys._getframe(2)
    function = sites.originals.of(function, frame)
    if function not in sites.table.watched:
        return NONE
    api, caller, _ = sites.resolve(function, args, frame)
    if _is_generated(caller):
        return NONE  # a graph that dynamo has traced: it has sites of its own
    if api is None or not api.has_values:
        return NONE
    return number_of(Owner(None, api.owner, stack_of_frames()))


def _is_generated(caller: FrameType) -> bool:
    """Whether a compiler wrote the calling code: a graph as it stands, or inductor's wrapper."""
    module = str(caller.f_globals.get("__name__"))
    return caller.f_code.co_filename.startswith(_GRAPH_FILE) or module.startswith(_INDUCTOR)


@lru_cache(maxsize=1)
def shown_functions() -> frozenset[Function]:
    """Functions of torch that are recorded, private ones and those in place among them: eager code
    shows all of them to a function mode, dynamo only those that it is told of.
    """
    functions = build_table("ALL").functions.items()
    return frozenset(
        f for f, api in functions if type(f) is BuiltinFunctionType or api.prefix == "Functional"
    )


@dataclass(frozen=True, slots=True)
class _TracedFrame:
    """What is known of a frame that dynamo translates in place of running it."""

    f_code: CodeType
    f_lasti: int
    f_globals: dict[str, Any]
    f_locals: dict[str, object]


def _traced_api(function: Function, risk_level: str, between_tensors: bool) -> Api | None:
    table = build_table(risk_level)
    frame = _translated_frame()
    if frame is not None and (function in table.operators or function in table.ambiguous):
        # Which locals are tensors is known of such a frame too: no more is asked of it.
        sites = call_sites(risk_level)
        return sites.api_at(function, between_tensors, cast("FrameType", frame))
    return table.functions.get(function)


def _translated_frame() -> _TracedFrame | None:
    """The frame of the user's code that dynamo translates now."""
    for at in translators():
        if not is_own_file(at.f_code.co_filename):
            known = {name: _shown(value) for name, value in at.symbolic_locals.items()}
            return _TracedFrame(at.f_code, _offset_in_code(at), at.f_globals, known)
    return None


def _offset_in_code(at: Any) -> int:
    """Where the instruction that dynamo translates now stands in the frame's code.

    Dynamo rewrites some instructions (a test for None becomes three) and counts offsets anew.
    """
    now = at.current_instruction
    alike = [each for each in instructions(at.f_code)[0] if each.opname == now.opname]
    if now.positions is not None:
        alike = [each for each in alike if getattr(each, "positions", None) == now.positions]
        place = 0
    else:  # Python 3.10 has no positions: the first of a name stays the first, and so on
        before = at.instructions[: at.instructions.index(now)]
        place = sum(each.opname == now.opname for each in before)
    return alike[place].offset if place < len(alike) else int(now.offset)


_A_TENSOR = torch.empty(0)


def _shown(variable: Any) -> object:
    """A value of the same kind as a variable that dynamo follows."""
    try:
        kind = variable.python_type()
        if issubclass(kind, torch.Tensor):
            return _A_TENSOR
        return kind(0) if kind in (int, float, complex) else getattr(variable, "value", None)
    except Exception:  # it is followed no further, and has no type
        return None
