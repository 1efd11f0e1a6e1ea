"""The operators `msprobe::…` that a graph may hold: they write to the log that is current.

They take no table and no cursor: as mutated arguments those fail as soon as there are two graphs.
They are effectful, in order: an operator without a used output would be removed from a graph.

Each has a twin `late_…`, which does nothing: it marks for inductor what `row` and `owner` record
when all passes are over. Those three are kept because they have side effects, and in no order.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch._guards import TracingContext

from msprobe_core.errors import LifecycleError, UnsupportedError
from msprobe_core.torch.graph.late_plans import LATE_SITES, MARK
from msprobe_core.torch.graph.log import GraphLog, Note

_SCHEMAS = {
    "begin": "begin(Tensor owner, int stack) -> ()",
    "end": "end(Tensor owner) -> ()",
    "value": "value(Tensor x, Tensor owner, str place, bool requires_grad) -> ()",
    "gradient": "gradient(Tensor? x, Tensor owner, str place) -> ()",
    "call": "call(Tensor x, int site, str place, bool requires_grad, bool first) -> ()",
    "call_gradient": "call_gradient(Tensor? x, int site, str place) -> ()",
    "save": "save(Tensor x, str path) -> ()",
}
_PLACED = {
    "row": "row(Tensor x, int[] sites) -> ()",
    "owner": "owner(Tensor owner, int site) -> ()",
}
NAMESPACE = "msprobe"
_KEYS = ("CPU", "CUDA", "PrivateUse1")  # the last is where torch_npu registers its devices
# Tensors of these layouts pass unrecorded, outside of graphs and in them.
_WITHOUT_ELEMENTS = (
    *(
        f"{layout}{device}"
        for layout in ("Sparse", "SparseCsr", "NestedTensor")
        for device in _KEYS
    ),
    "AutogradNestedTensor",
)


IS_SUPPORTED = hasattr(torch.library, "_register_effectful_op")
"""Whether this torch has effectful operators."""


class _Current:
    """The log that the operators write to; a second recording replaces the first."""

    log: GraphLog | None = None


def use_log(log: GraphLog | None) -> None:
    """Let the operators write to a log from now on; None for nowhere."""
    _Current.log = log


def current_log() -> GraphLog | None:
    """The log that the operators write to."""
    return _Current.log


def begin(owner: torch.Tensor, stack: int) -> None:
    """A module's call begins. `owner` is its number, a tensor without dimensions."""
    _append(owner, Note("begin", stack=stack), None)


def end(owner: torch.Tensor) -> None:
    """A module's call ends."""
    _append(owner, Note("end"), None)


def value(x: torch.Tensor, owner: torch.Tensor, place: str, requires_grad: bool) -> None:
    """A value that stands at a place of a module's entry."""
    note = Note("value", False, place, False, requires_grad, -1, x.dtype, tuple(x.shape))
    _append(owner, note, x)


def gradient(x: torch.Tensor | None, owner: torch.Tensor, place: str) -> None:
    """The gradient of a module's output or parameter; autograd hands on None where an operator has
    put out several and nobody reads this one.
    """
    if x is None:
        return
    note = Note("gradient", False, place, False, False, -1, x.dtype, tuple(x.shape))
    _append(owner, note, x)


def call(x: torch.Tensor, site: int, place: str, requires_grad: bool, first: bool) -> None:
    """A value of a call of torch's API, made at a place in the code; `first` begins an entry."""
    shape = tuple(x.shape)
    note = Note("value", True, place, first, requires_grad, -1, x.dtype, shape)
    _append(_site_tensor(site, x.device), note, x)


def call_gradient(x: torch.Tensor, site: int, place: str) -> None:
    """The gradient of what a call put out."""
    note = Note("gradient", True, place, False, False, -1, x.dtype, tuple(x.shape))
    _append(_site_tensor(site, x.device), note, x)


def row(x: torch.Tensor, sites: list[int]) -> None:
    """A value in a graph of inductor's, at the places of events of its plan: it is read once."""
    log = _Current.log
    if log is not None:
        notes = [_late_note(x, site) for site in sites]
        log.append_each(_site_tensor(-1, x.device), notes, x.detach())


def _late_note(x: torch.Tensor, site: int) -> Note:
    at = LATE_SITES[site]
    note = at.plan.events[at.event].note
    return replace(note, late=site, shape=tuple(x.shape) if note.shape is None else note.shape)


def owner(owner: torch.Tensor, site: int) -> None:
    """A module that runs in a graph of inductor's, by its number."""
    _append(owner, Note("begin", late=site), None)


def save_file(x: torch.Tensor, path: str) -> None:
    """Save a tensor as the next file of a path, `<path without its ending>_<n>.pt`.

    Raises OSError, and LifecycleError while a graph is being captured on a device.
    """
    if is_capturing():
        raise LifecycleError(
            f"acl_save(…, {path!r}) while a graph is being captured; a file can only be written "
            "outside of it"
        )
    base = str(Path(path).with_suffix(""))
    number = _SAVED.get(base, 0)
    _SAVED[base] = number + 1
    Path(base).parent.mkdir(parents=True, exist_ok=True)
    torch.save(x.detach().cpu().clone(), f"{base}_{number}.pt")


_SAVED: dict[str, int] = {}


def is_capturing() -> bool:
    """Whether a graph is being captured on a device, where nothing may wait for the host."""
    cuda = torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()
    npu: Any = getattr(torch, "npu", None)
    return cuda or bool(npu is not None and npu.is_current_stream_capturing())


def _append(owner: torch.Tensor, note: Note, x: torch.Tensor | None) -> None:
    # To know their results torch runs operators whose tensors are all constants while it traces
    # (`torch.tensor(2.0)` in the code): that is no run of the graph.
    if _Current.log is not None and TracingContext.try_get() is None:
        _Current.log.append(owner, note, None if x is None else x.detach())


@lru_cache(maxsize=100_000)
def _site_tensor(site: int, device: torch.device) -> torch.Tensor:
    return torch.full((), site, dtype=torch.int64, device=device)


_IMPLEMENTATIONS: dict[str, Any] = {
    "begin": begin,
    "end": end,
    "value": value,
    "gradient": gradient,
    "call": call,
    "call_gradient": call_gradient,
    "save": save_file,
    "row": row,
    "owner": owner,
}


@lru_cache(maxsize=1)
def define_operators() -> torch.library.Library:
    """Define the operators, once in a process. Raises UnsupportedError where torch is too old."""
    if not IS_SUPPORTED:
        raise UnsupportedError(
            f"graph mode needs effectful operators, which torch {torch.__version__} does not have; "
            "install torch 2.13"
        )
    from torch._higher_order_ops.effects import _EffectType

    register = torch.library._register_effectful_op
    library = torch.library.Library(NAMESPACE, "DEF")
    for name, schema in _SCHEMAS.items():
        _define(library, name, schema, _IMPLEMENTATIONS[name])
        register(f"{NAMESPACE}::{name}", _EffectType.ORDERED)
    marks = {f"{MARK}{name}": f"{MARK}{schema}" for name, schema in _SCHEMAS.items()}
    for name, schema in {**marks, **_PLACED}.items():
        _define(library, name, schema, _IMPLEMENTATIONS.get(name, _nothing))
        torch.fx.node.has_side_effect(getattr(torch.ops.msprobe, name).default)
    return library


def _define(library: torch.library.Library, name: str, schema: str, run: Any) -> None:
    library.define(schema)
    for key in _KEYS:
        library.impl(name, run, key)
    for key in ("Meta", *_WITHOUT_ELEMENTS):
        library.impl(name, _nothing, key)
    if "Tensor " not in schema:
        # A gradient that nobody has sent leaves a call without a tensor, hence without a device.
        # Not "Undefined": torch takes that for what an operator is made of, and puts that there.
        library.impl(name, _nothing, "CompositeExplicitAutograd")
    torch.library.register_vmap(f"{NAMESPACE}::{name}", _not_batched, lib=library)


def _nothing(*_: object) -> None:
    """There is nothing to record: shapes alone, or rows and blocks that are no one tensor."""


def _not_batched(*_: object) -> tuple[None, None]:
    """Below vmap a value is one of a batch and is not recorded."""
    return None, None
