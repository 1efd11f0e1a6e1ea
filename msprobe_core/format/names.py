"""The grammar of entry names in dump.json, construct.json and stack.json.

A name is read from its right end, so attributes called `input` or `forward` cannot confuse it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from msprobe_core.format.records import Direction

EntryKind = Literal["module", "api", "parameters_grad"]

MODULE_PREFIXES = ("Module", "Cell")
API_PREFIXES = (
    "Tensor",
    "Torch",
    "Functional",
    "VF",
    "Aten",
    "Distributed",
    "NPU",
    "MindSpeed",
    "Triton",
    "Mint",
    "MintFunctional",
    "Primitive",
    "Jit",
)
_DIRECTIONS: dict[str, Direction] = {"forward": "forward", "backward": "backward"}


class NameSyntaxError(ValueError):
    """A text that is no entry name."""


@dataclass(frozen=True, slots=True)
class EntryName:
    """One parsed entry name.

    `path` is the attribute path of a module and empty for an API call; `type_name` is the
    module's class or the API's name; `call` counts from 0 and is None only for the old,
    unnumbered form of `parameters_grad`.
    """

    kind: EntryKind
    prefix: str
    path: str
    type_name: str
    call: int | None
    direction: Direction

    @property
    def owner(self) -> str:
        """The name without direction and call number: what stays the same between calls."""
        middle = f"{self.path}." if self.path else ""
        return f"{self.prefix}.{middle}{self.type_name}"

    def twin(self, direction: Direction) -> str:
        """The entry name of the same call in the given direction."""
        if self.kind == "api":
            return f"{self.owner}.{self.call}.{direction}"
        return f"{self.owner}.{direction}.{self.call or 0}"


def parse_entry(name: str) -> EntryName:
    """Split an entry name by the grammar; raises NameSyntaxError when it is none."""
    parts = name.split(".")
    entry = _parse_module(parts) if parts[0] in MODULE_PREFIXES else _parse_api(parts)
    if entry is None:
        raise NameSyntaxError(
            f"{name!r} is no entry name; expected <Prefix>.<api>.<call>.<forward|backward> "
            "or Module.<path>.<Class>.<forward|backward>.<call>"
        )
    return entry


def api_entry(prefix: str, api: str, call: int, direction: Direction) -> str:
    """The name of an API call's entry."""
    return f"{prefix}.{api}.{call}.{direction}"


def module_entry(path: str, class_name: str, call: int, direction: Direction) -> str:
    """The name of a module's entry; `path` is the attribute path below the started model."""
    return f"Module.{path}.{class_name}.{direction}.{call}"


def parameters_grad_entry(path: str, class_name: str, call: int) -> str:
    """The name of the entry that holds a module's parameter gradients."""
    return f"Module.{path}.{class_name}.parameters_grad.{call}"


def _parse_api(parts: list[str]) -> EntryName | None:
    if len(parts) < 4 or parts[-1] not in _DIRECTIONS or not _is_count(parts[-2]):
        return None
    api = ".".join(parts[1:-2])
    return EntryName("api", parts[0], "", api, int(parts[-2]), _DIRECTIONS[parts[-1]])


def _parse_module(parts: list[str]) -> EntryName | None:
    if len(parts) >= 3 and parts[-1] == "parameters_grad":
        return _module(parts, parts[1:-1], None, "parameters_grad", "backward")
    if len(parts) < 4 or not _is_count(parts[-1]):
        return None
    call = int(parts[-1])
    if parts[-2] == "parameters_grad":
        return _module(parts, parts[1:-2], call, "parameters_grad", "backward")
    if parts[-2] in _DIRECTIONS:
        return _module(parts, parts[1:-2], call, "module", _DIRECTIONS[parts[-2]])
    return None


def _module(
    parts: list[str], owner: list[str], call: int | None, kind: EntryKind, direction: Direction
) -> EntryName | None:
    if not all(owner):
        return None
    return EntryName(kind, parts[0], ".".join(owner[:-1]), owner[-1], call, direction)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit()
