"""Writes what the positions of PyTorch's calls are named, from its own signatures.

`python build_backend/argument_names.py` needs torch. Dumps number what a call is given by
position; a sentence about `input.6` of `batch_norm` should say that it is the momentum. Where a
call has several signatures, a position is named only if all that have it name it alike.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import torch

from builder.operators.argument_names import WRITTEN

_OWNERS = {"Functional": torch.nn.functional, "Torch": torch, "Tensor": torch.Tensor}
_SUBSCRIPTS = {
    "Tensor.__getitem__": ["", "index"],
    "Tensor.__setitem__": ["", "index", "value"],
}
_UNTOLD = ("self", "input")
_SIZES = ("List[int]", "List[SymInt]")


def argument_names() -> dict[str, list[str]]:
    """Names by position of every call that a dump may have; "" where none holds."""
    named = {
        f"{prefix}.{call}": _agreed(list(_signatures(owner, call)))
        for prefix, owner in _OWNERS.items()
        for call in sorted(vars(owner) if owner is not torch.Tensor else dir(owner))
        if not call.startswith("__") and callable(getattr(owner, call))
    }
    return {call: names for call, names in named.items() if any(names[1:])} | _SUBSCRIPTS


def _signatures(owner: object, call: str) -> Iterator[list[str]]:
    """The names by position in each signature of a call."""
    try:
        parameters = inspect.signature(getattr(owner, call)).parameters.values()
    except (ValueError, TypeError):
        yield from _schemas(call)
        return
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        # One of two functions, by an argument: both are given the same but for the last few.
        if hasattr(owner, f"_{call}"):
            yield from _signatures(owner, f"_{call}")
        return
    yield [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY]


def _schemas(call: str) -> Iterator[list[str]]:
    """What the operators of a name call their arguments; none where a size may be spread."""
    told = [
        [one for one in schema.arguments if not one.kwarg_only]
        for schema in torch._C._jit_get_schemas_for_operator(f"aten::{call}")
        if not schema.overload_name.endswith("out") and "Dimname" not in str(schema)
    ]
    if not any(len(one) == 2 and str(one[1].type) in _SIZES for one in told):
        yield from ([argument.name for argument in one] for one in told)


def _agreed(signatures: Sequence[Sequence[str]]) -> list[str]:
    places = [set(filter(None, names)) for names in zip_longest(*signatures)]
    told = ["".join(names) if len(names) == 1 else "" for names in places]
    # Nobody names what a method is called on, or gives what begins with an underscore.
    return ["" if name in _UNTOLD or name.startswith("_") else name for name in told]


if __name__ == "__main__":
    lines = (f"{json.dumps(call)}: {json.dumps(names)}" for call, names in argument_names().items())
    Path(WRITTEN).write_text("{\n" + ",\n".join(lines) + "\n}\n")
