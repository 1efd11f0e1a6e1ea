"""The grammar of entry names in dump.json, construct.json and stack.json.

A name is read from its right end, so attributes called `input` or `forward` cannot confuse it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from msprobe_core.format.frameworks import MODULE_PREFIXES

Direction = Literal["forward", "backward"]
EntryKind = Literal["module", "api", "parameters_grad"]

# Both sides of a comparison, all ranks and all steps have mostly the same names; a cache that holds
# fewer than one side has would keep none for the other.
_REMEMBERED = 1 << 18
_DIRECTIONS: dict[str, Direction] = {"forward": "forward", "backward": "backward"}


class NameSyntaxError(ValueError):
    """A text that is no entry name."""


class EntryName(NamedTuple):
    """One parsed entry name.

    `path` is the attribute path of a module and empty for an API call; `type_name` is the
    module's class or the API's name; `call` counts from 0 and is None only for the old,
    unnumbered form of `parameters_grad`; `owner` is the name without direction and call number:
    what stays the same between calls.
    """

    kind: EntryKind
    prefix: str
    path: str
    type_name: str
    call: int | None
    direction: Direction
    owner: str

    def twin(self, direction: Direction) -> str:
        """The entry name of the same call in the given direction."""
        if self.kind == "api":
            return f"{self.owner}.{self.call}.{direction}"
        return f"{self.owner}.{direction}.{self.call or 0}"


@lru_cache(_REMEMBERED)
def parse_entry(name: str) -> EntryName:
    """Split an entry name by the grammar; raises NameSyntaxError when it is none."""
    pieces = name.rsplit(".", 2)
    if len(pieces) == 3:
        head, middle, tail = pieces
        direction = _DIRECTIONS.get(tail)
        if direction is not None and _is_count(middle):
            prefix, _, api = head.partition(".")
            if api and prefix not in MODULE_PREFIXES:
                return EntryName("api", prefix, "", api, int(middle), direction, head)
        entry = _parse_module(name, head, middle, tail)
        if entry is not None:
            return entry
    raise NameSyntaxError(
        f"{name!r} is no entry name; expected <Prefix>.<api>.<call>.<forward|backward> "
        "or Module.<path>.<Class>.<forward|backward>.<call>"
    )


def api_entry(prefix: str, api: str, call: int, direction: Direction) -> str:
    """The name of an API call's entry."""
    return f"{prefix}.{api}.{call}.{direction}"


def module_entry(path: str, class_name: str, call: int, direction: Direction) -> str:
    """The name of a module's entry; `path` is the attribute path below the started model."""
    return f"Module.{path}.{class_name}.{direction}.{call}"


def parameters_grad_entry(path: str, class_name: str, call: int) -> str:
    """The name of the entry that holds a module's parameter gradients.

    The started model itself has an empty path.
    """
    owner = f"{path}.{class_name}" if path else class_name
    return f"Module.{owner}.parameters_grad.{call}"


def saved_entry(name: str, call: int) -> str:
    """The name in debug.json of a value saved by a name of the user's."""
    return f"{name}.{call}.debug"


def saved_gradient_entry(name: str, call: int) -> str:
    """The name in debug.json of the gradient of a saved value."""
    return f"{name}_grad.{call}.debug"


def nth_pass(backward: str, number: int) -> str:
    """The name of a backward entry in the n-th pass through one graph, counted from 1.

    `Torch.exp.0.backward` is `Torch.exp@2.0.backward` in the second, `Module.a.Linear.backward.0`
    is `Module.a.Linear@2.backward.0`.
    """
    if number == 1:
        return backward
    head, middle, tail = backward.rsplit(".", 2)
    return f"{head}@{number}.{middle}.{tail}"


def of_any_pass(name: str) -> str:
    """A name of `nth_pass`, or the owner of such an entry, without the number of the pass."""
    return _PASS.sub("", name)


_PASS = re.compile(r"@\d+(?=\.|$)")


def _parse_module(name: str, head: str, middle: str, tail: str) -> EntryName | None:
    if tail == "parameters_grad":
        return _module(name.rpartition(".")[0], None, "parameters_grad", "backward")
    if not _is_count(tail):
        return None
    if middle == "parameters_grad":
        return _module(head, int(tail), "parameters_grad", "backward")
    direction = _DIRECTIONS.get(middle)
    return None if direction is None else _module(head, int(tail), "module", direction)


def _module(
    owner: str, call: int | None, kind: EntryKind, direction: Direction
) -> EntryName | None:
    prefix, _, rest = owner.partition(".")
    path, _, class_name = rest.rpartition(".")
    if prefix not in MODULE_PREFIXES or not class_name or ".." in owner:
        return None
    return EntryName(kind, prefix, path, class_name, call, direction, owner)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit()
