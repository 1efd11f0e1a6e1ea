"""Maps the functions that torch's function mode sees to the names users know.

The tables hold function objects of torch; nothing in torch is replaced.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any

import torch
import torch.nn.functional

from msprobe_core.torch.names.api_list import CORE, MOVES_DATA_ONLY, RECORDED
from msprobe_core.torch.names.replaced import NAMESPACES, is_torchs_own, original_member

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Api:
    """A recorded API. `has_values` is False where the risk level leaves values out."""

    prefix: str
    name: str
    has_values: bool

    @property
    def owner(self) -> str:
        """The entry name without call number and direction."""
        return f"{self.prefix}.{self.name}"


@dataclass(frozen=True, slots=True)
class ApiTable:
    """What to record.

    `operators` are functions that an operator of the language reaches too; `ambiguous` are those
    that two namespaces share; `bodies` are Python functions that torch does not announce, known
    by their code; `unwrapped` are unrecorded functions whose inner calls are recorded; `watched`
    are all functions that may be recorded; `dispatched` leads from the branches of a function
    with a switch (`return_indices`) to that function. `aliases` are compiled functions that have
    several names, as `mm` and `spmm`: the caller's code tells which one was meant.
    """

    functions: dict[Function, Api]
    operators: dict[Function, str]
    ambiguous: dict[Function, tuple[Api, ...]]
    bodies: dict[int, Api]
    unwrapped: dict[Function, Function]
    dunders: dict[str, Api]
    watched: frozenset[Function]
    dispatched: dict[Function, Function]
    aliases: dict[Function, dict[str, Api]]


_OPERATOR_METHODS = (
    "add sub mul div matmul pow remainder gt ge lt le neg abs bitwise_and bitwise_or bitwise_xor "
    "bitwise_not eq ne add_ sub_ mul_ div_ pow_ remainder_ floor_divide_ __eq__ __ne__ "
    "__floordiv__ __and__ __or__ __xor__ __lshift__ __rshift__ __invert__ __rdiv__ __rsub__ "
    "__rmod__ __rfloordiv__ __rpow__"
).split()


@lru_cache(maxsize=3)
def build_table(risk_level: str) -> ApiTable:
    """The table for one risk level: `ALL`, `FOCUS` or `CORE`."""
    functions: dict[Function, Api] = {}
    owners: dict[Function, list[Api]] = {}
    for prefix, namespace in NAMESPACES:
        for name in sorted(RECORDED[prefix]):
            function = _member(prefix, namespace, name)
            if function is None:
                continue
            api = Api(prefix, name, has_values(name, risk_level))
            functions[function] = api
            owners.setdefault(function, []).append(api)
    functions[torch.linalg.norm] = Api("Torch", "norm", has_values("norm", risk_level))
    ambiguous = {f: tuple(apis) for f, apis in owners.items() if _in_two_namespaces(apis)}
    tensor_methods = {name: _member("Tensor", torch.Tensor, name) for name in _OPERATOR_METHODS}
    operators = {f: name for name, f in tensor_methods.items() if f is not None}
    return ApiTable(
        functions=functions,
        operators=operators,
        ambiguous=ambiguous,
        bodies=_unannounced(functions),
        unwrapped=_unwrapped(functions),
        dunders=_dunders(risk_level),
        watched=frozenset(functions) | frozenset(operators),
        dispatched={
            branch: outer
            for outer, info in torch._jit_internal.boolean_dispatched.items()
            for branch in (info["if_true"], info["if_false"])
        },
        aliases={
            function: {api.name: api for api in apis}
            for function, apis in owners.items()
            if len(apis) > len({api.prefix for api in apis})
        },
    )


def has_values(name: str, risk_level: str) -> bool:
    """Whether calls of that name get values at a risk level."""
    if risk_level == "CORE":
        return name in CORE
    return risk_level == "ALL" or name not in MOVES_DATA_ONLY


def _member(prefix: str, namespace: object, name: str) -> Function | None:
    member = getattr(namespace, name, None)
    if callable(member) and not is_torchs_own(member):
        member = original_member(prefix, name)
    return None if not callable(member) or inspect.ismethod(member) else member


def _in_two_namespaces(apis: list[Api]) -> bool:
    return len({api.prefix for api in apis}) > 1


def _unannounced(functions: dict[Function, Api]) -> dict[int, Api]:
    """Recorded Python functions that never ask for an override: known by their caller's code."""
    return {
        id(function.__code__): api
        for function, api in functions.items()
        if isinstance(function, FunctionType)
        and api.prefix == "Functional"
        and function.__name__ == api.name
        and not any("torch_function" in name for name in function.__code__.co_names)
    }


def _unwrapped(functions: dict[Function, Api]) -> dict[Function, Function]:
    return {
        member: member.__wrapped__
        for member in vars(torch.Tensor).values()
        if isinstance(member, FunctionType)
        and hasattr(member, "__wrapped__")
        and is_torchs_own(member)
    }


def _dunders(risk_level: str) -> dict[str, Api]:
    return {
        name: Api("Tensor", name, has_values(name, risk_level))
        for name in RECORDED["Tensor"]
        if name.startswith("__")
    }
