"""Tells where elements of a tensor are written, or given away, without a sign in its version.

What is wrapped at `start` is put back at `stop`. The wraps sit where every name of a function
leads: on classes, not on modules.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import torch

from msprobe_core.capture.replacing import Replacements
from msprobe_core.torch.memory.memory_trace import MemoryTrace

_DATA = inspect.getattr_static(torch.Tensor, "data")
_KEEPING = "_unsafe_preserve_version_counter"
_UNSCALE = "_amp_foreach_non_finite_check_and_unscale_"
_EXPOSING = ("__array__", "__dlpack__", "data_ptr")
_STORING = ("copy_", "fill_", "__setitem__")
_COLLECTIVES = """
    _allgather_base _reduce_scatter_base all_gather_single all_gather_single_coalesced
    all_to_all_single allgather allgather_coalesced allgather_into_tensor_coalesced allreduce
    allreduce_coalesced alltoall alltoall_base broadcast gather recv recv_anysource reduce
    reduce_scatter reduce_scatter_single reduce_scatter_single_coalesced
    reduce_scatter_tensor_coalesced scatter
    """.split()
"""Methods of process groups that write tensors; every function of torch.distributed ends in one."""
_FUNCTIONAL = "_c10d_functional"
_WAIT = "wait_tensor"
_Function = Callable[..., Any]


class UnseenWrites:
    """Raises the epochs of storages that are written where no version counts it.

    `sees_calls` tells that a function mode sees `numpy` as a call.
    """

    def __init__(self, trace: MemoryTrace, sees_calls: bool) -> None:
        self._trace, self._sees_calls = trace, sees_calls
        self._replaced = Replacements()
        self._mutable: dict[object, bool] = {}
        self._coalesced: list[object] | None = None

    def start(self) -> None:
        """Wrap what writes and what gives away."""
        if self._replaced:
            return
        put, exposing = self._replaced.put, self._exposing
        put(torch.Tensor, "data", property(self._get_data, self._set_data))
        for name in (*_EXPOSING, *(() if self._sees_calls else ("numpy",))):
            put(torch.Tensor, name, exposing(getattr(torch.Tensor, name)))
        for name in _STORING:
            put(torch.UntypedStorage, name, self._storing(getattr(torch.UntypedStorage, name)))
        for owner, name in ((torch, _UNSCALE), (torch.autograd, _KEEPING)):
            original = getattr(owner, name, None)
            if original is not None:
                put(owner, name, self._writing_first(original))
        for operator in (torch._ops.OpOverload, torch._ops.OpOverloadPacket):
            put(operator, "__call__", self._operator(operator.__call__))
        self._wrap_groups()

    def stop(self) -> None:
        """Put the originals back."""
        self._replaced.restore()

    def _wrap_groups(self) -> None:
        distributed = sys.modules.get("torch.distributed")
        if distributed is None or not distributed.is_available():
            return
        group: Any = distributed.ProcessGroup
        for name in _COLLECTIVES:
            if hasattr(group, name):
                self._replaced.put(group, name, self._collective(getattr(group, name)))
        self._replaced.put(group, "_start_coalescing", self._begin(group._start_coalescing))
        self._replaced.put(group, "_end_coalescing", self._end(group._end_coalescing))

    def _note(self, note: Callable[..., None], *values: object) -> None:
        if not self._trace.closed:
            self._trace.safely("written memory", note, *values)

    def _get_data(self, tensor: torch.Tensor) -> Any:
        self._note(self._trace.book.given_away, tensor)
        return _DATA.__get__(tensor)

    def _set_data(self, tensor: torch.Tensor, value: torch.Tensor) -> None:
        _DATA.__set__(tensor, value)
        self._note(self._trace.book.written, tensor)
        self._note(self._trace.book.given_away, [tensor, value])

    def _exposing(self, original: _Function) -> _Function:
        @functools.wraps(original)
        def expose(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            self._note(self._trace.book.given_away, tensor)
            return original(tensor, *args, **kwargs)

        return expose

    def _storing(self, original: _Function) -> _Function:
        @functools.wraps(original)
        def store(storage: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(storage, *args, **kwargs)
            self._note(self._trace.book.stored, storage)
            return result

        return store

    def _writing_first(self, original: _Function) -> _Function:
        @functools.wraps(original)
        def write(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(tensors, *args, **kwargs)
            note: Callable[..., None] = self._trace.book.written
            if original.__name__ == _KEEPING:  # what is written follows
                note = self._trace.book.given_away
            self._note(note, tensors)
            return result

        return write

    def _operator(self, original: _Function) -> _Function:
        @functools.wraps(original)
        def call(operator: Any, /, *args: Any, **kwargs: Any) -> Any:
            result = original(operator, *args, **kwargs)
            mutable = self._mutable.get(operator)
            if mutable is None:
                mutable = self._mutable[operator] = _is_mutable(operator)
            if mutable and not torch.compiler.is_compiling():
                self._note(self._after_operator, operator, [*args, *kwargs.values()], result)
            return result

        return call

    def _after_operator(self, operator: object, given: list[object], result: object) -> None:
        name = str(operator)
        if not name.startswith(_FUNCTIONAL):
            self._trace.book.written(given)
        elif _WAIT in name:
            self._trace.book.arrived([given, result])
        else:
            self._trace.book.arrives(result, _Unwaited())

    def _collective(self, original: _Function) -> _Function:
        @functools.wraps(original)
        def collective(group: Any, *args: Any, **kwargs: Any) -> Any:
            work = original(group, *args, **kwargs)
            tensors = [*args, *kwargs.values()]
            if self._coalesced is not None:
                self._coalesced.append(tensors)
            self._note(self._trace.book.arrives, tensors, work)
            return work

        return collective

    def _begin(self, original: _Function) -> _Function:
        @functools.wraps(original)
        def begin(group: Any, *args: Any) -> Any:
            self._coalesced = []
            return original(group, *args)

        return begin

    def _end(self, original: _Function) -> _Function:
        @functools.wraps(original)
        def end(group: Any, *args: Any) -> Any:
            work, tensors = original(group, *args), self._coalesced
            self._coalesced = None
            self._note(self._trace.book.arrives, tensors, work)
            return work

        return end


class _Unwaited:
    """The work of a functional collective: done when its result has been waited for."""

    def is_completed(self) -> bool:
        """Never by itself."""
        return False


def _is_mutable(operator: Any) -> bool:
    """Whether an operator, or one of its overloads, writes an argument."""
    if str(operator).startswith(_FUNCTIONAL):
        return True
    overloads = [operator]
    if isinstance(operator, torch._ops.OpOverloadPacket):
        overloads = [getattr(operator, name) for name in operator.overloads()]
    return any(each._schema.is_mutable for each in overloads)
