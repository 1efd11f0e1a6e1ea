"""What flows through calls that are on no list, as `__getitem__`, `view` and `contiguous`.

They get no entry and no place in construct.json, so that dumps look as other tools write them; only
flow.json tells of them. What is no call but gives another tensor, as `.T`, hands on the maker.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from msprobe_core.capture.entry import Entry, ModuleCall
from msprobe_core.torch.memory.memory_trace import MemoryTrace
from msprobe_core.torch.memory.unwritten import mark_overwritten
from msprobe_core.torch.names.api_list import RECORDED
from msprobe_core.torch.names.unlisted import unlisted_api
from msprobe_core.torch.record.entries import begin_passing, write_output

_PASSES = (torch.Tensor, tuple, list)
_VIEWS = frozenset({"T", "mT", "H", "mH", "real", "imag", "data"})
"""Properties that show the memory of their tensor; `grad` and the others are of something else."""
_SETS_A_FLAG = frozenset({"requires_grad_", "retain_grad", "share_memory_", "rename_"})
_VIEW = ""
"""In place of a name: a property that shows the memory of its tensor."""
_Call = tuple[tuple[Any, ...], dict[str, Any]]


class UnlistedFlow:
    """Follows tensors through the unlisted calls of one step."""

    def __init__(
        self, trace: MemoryTrace, around: Callable[[FrameType], ModuleCall | None]
    ) -> None:
        self._trace, self._around = trace, around
        self._owners: dict[Callable[..., Any], str | None] = {}

    @property
    def is_on(self) -> bool:
        """Whether calls without values are followed."""
        return self._trace.passing is not None

    def begin(self, func: Callable[..., Any], call: _Call, frame: FrameType) -> Entry | None:
        """Before a call that writes an argument: what it is given, as it is now."""
        return self._trace.safely("flow", self._begin, func, call, frame)

    def end(
        self,
        func: Callable[..., Any],
        call: _Call,
        begun: Entry | None,
        result: object,
        frame: FrameType,
    ) -> None:
        """After a call: remember whose output the tensors are that it returned."""
        if begun is not None or (isinstance(result, _PASSES) and self._owner(func) is not None):
            self._trace.safely("flow", self._end, func, call, begun, result, frame)

    def _begin(self, func: Callable[..., Any], call: _Call, frame: FrameType) -> Entry | None:
        owner = self._owner(func)
        if owner in (None, _VIEW) or not self._trace.selection.forward:
            return None
        parent = self._around(frame)
        name = f"{owner}.{self._trace.next_call(owner)}.forward"
        written = mark_overwritten(owner.partition(".")[2], *call)
        return begin_passing(self._trace, name, parent, written, frame)

    def _end(
        self,
        func: Callable[..., Any],
        call: _Call,
        begun: Entry | None,
        result: object,
        frame: FrameType,
    ) -> None:
        if begun is None:
            if not _holds_tensor(result) or (call[0] and result is call[0][0]):
                return
            if self._owner(func) == _VIEW:
                self._hand_on(call[0], result)
                return
            begun = self._begin(func, call, frame)
        if begun is not None:
            write_output(self._trace, begun, result)
            self._trace.pass_on(begun, self._around(frame), is_placed=False)

    def _owner(self, func: Callable[..., Any]) -> str | None:
        """The name of a function's calls; None of what makes no tensor of what it is given."""
        try:
            return self._owners[func]
        except KeyError:
            owner = self._owners[func] = _owner_of(func)
            return owner

    def _hand_on(self, args: tuple[Any, ...], result: object) -> None:
        """Give what a property shows of a tensor the tensor's own maker."""
        if not (isinstance(result, torch.Tensor) and args and isinstance(args[0], torch.Tensor)):
            return
        with torch._C.DisableTorchFunction():
            maker = self._trace.book.maker_of(args[0])
            if maker is not None:
                self._trace.book.put_out(result, maker)


def _owner_of(func: Callable[..., Any]) -> str | None:
    api = unlisted_api(func)
    if api is None:
        of_property = getattr(getattr(func, "__self__", None), "__name__", "")
        return _VIEW if of_property in _VIEWS else None
    if api.name in _SETS_A_FLAG:
        return None
    # `-x` is torch's `neg`, and is not recorded as users' calls of that are: a name of its own
    # keeps theirs counted as other tools count them.
    is_listed = api.name in RECORDED.get(api.prefix, ())
    return f"{api.prefix}.__{api.name}__" if is_listed else api.owner


def _holds_tensor(result: object) -> bool:
    if isinstance(result, torch.Tensor):
        return True
    return isinstance(result, (tuple, list)) and any(map(_holds_tensor, result))
