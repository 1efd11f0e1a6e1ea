"""Finds the function or primitive of MindSpore that a recorded call names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindspore
from mindspore import ops
from mindspore.ops import operations

from msprobe.acc_check.mindspore.primitives import Primitive
from msprobe.acc_check.values import NotReproducible
from msprobe_core.mindspore.function_spaces import spaces

Function = Callable[..., Any]


def find_function(prefix: str, api: str) -> Function:
    """The function behind `<prefix>.<api>`; raises NotReproducible where there is none.

    A dump may come from anywhere, so only what a recording takes for a call is found.
    """
    for space in spaces():
        if space.prefix == prefix and api in space.names:
            found: Function = getattr(space.owner, api)
            return found
    version = mindspore.__version__
    raise NotReproducible(f"there is no {prefix}.{api} to run in MindSpore {version}")


def make_primitive(primitive: Primitive) -> Function:
    """The primitive, made anew; raises NotReproducible where this MindSpore has none."""
    kind = primitive.kind
    found = getattr(operations, kind, None) or getattr(ops, kind, None)
    if found is None:
        raise NotReproducible(
            f"there is no primitive {kind} to run in MindSpore {mindspore.__version__}"
        )
    made: Function = found(**primitive.settings)
    return made
