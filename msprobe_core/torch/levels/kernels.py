"""Level L2: the kernels below each recorded call, where torch's dispatcher sees them.

A kernel is an operator that a call runs below autograd, with plain tensors: `aten.addmm` below
`linear`. In the backward pass they are what the graph nodes run that the call has made. Views and
allocations compute nothing and are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch.autograd.graph import Node
from torch.utils._python_dispatch import TorchDispatchMode

from msprobe_core.capture.entry import Entry, ModuleCall
from msprobe_core.torch.levels.npu_kernels import NpuKernels
from msprobe_core.torch.memory.memory_trace import MemoryTrace
from msprobe_core.torch.memory.unwritten import mark_overwritten
from msprobe_core.torch.record.entries import close_forward, write_input, write_list, write_output
from msprobe_core.torch.watch import long_graphs
from msprobe_core.torch.watch.calls import Arguments, Begun, CallMode
from msprobe_core.torch.watch.graph import node_of, tensors_in

PREFIX = "Aten"
_LEAF = 2**63  # nodes of leaves carry this number
_MOVES_NOTHING = frozenset({"_unsafe_view", "_reshape_alias", "lift_fresh", "detach", "alias"})


class KernelCalls(CallMode):
    """Records calls as its base does, and the kernels below those that have an entry.

    `own` is what a device's own software dumps, in place of what the dispatcher sees.
    """

    def __init__(self, *given: Any, own: NpuKernels | None = None) -> None:
        super().__init__(*given)
        self._own = own

    def _run(self, begun: Begun | None, func: Callable[..., Any], call: Arguments) -> Any:
        if begun is None or begun[3] is None:
            return super()._run(begun, func, call)
        with self._kernels_of(_call_of(begun), begun[3].stack):
            return super()._run(begun, func, call)

    def _end(self, begun: Begun | None, args: tuple[Any, ...], *result: Any) -> None:
        super()._end(begun, args, *result)
        if begun is not None and begun[3] is not None and result:
            self._trace.safely(begun[1], self._watch_backward, begun, result[0])

    def _kernels_of(self, call: ModuleCall, stack: int) -> AbstractContextManager[object]:
        if self._own is not None:
            return _dumped(self._trace, self._own, call.forward)
        return _Kernels(self._trace, call, stack)

    def _watch_backward(self, begun: Begun, result: object) -> None:
        if not self._trace.selection.backward:
            return
        call = _call_of(begun)
        for node in _nodes_since(result, begun[4]):
            passes = _Passes(self._trace, call, node._sequence_nr(), self._own)
            node.register_prehook(passes.begin)
            node.register_hook(passes.end)
            long_graphs.seen(node)


class _Kernels(TorchDispatchMode):
    """Records the operators of one call while it is entered; in the backward pass those of one
    graph node, by its number, and no other's.
    """

    def __init__(
        self, trace: MemoryTrace, call: ModuleCall, stack: int, node: int | None = None
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch has no types there
        self._trace, self._call, self._stack, self._node = trace, call, stack, node

    def __torch_dispatch__(
        self,
        func: Any,
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        trace = self._trace
        if trace.closed or not self._is_own():
            return func(*args, **kwargs)
        if func.overloadpacket.__name__.startswith(("empty", "new_empty")):
            result = func(*args, **kwargs)
            trace.safely(str(func), trace.book.allocated, result)
            return result
        entry = trace.safely(str(func), self._begin, func, args, kwargs)
        result = func(*args, **kwargs)
        trace.safely(str(func), trace.book.written, _overwritten(func, args, kwargs))
        if entry is not None:
            trace.safely(entry.name, self._end, entry, result)
        return result

    def _is_own(self) -> bool:
        if self._node is None:
            return True
        node: Node | None = torch._C._current_autograd_node()
        return node is not None and node._sequence_nr() == self._node

    def _begin(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry | None:
        if not is_kernel(func):
            return None
        trace, operator = self._trace, func.overloadpacket.__name__
        owner = operator_name(func)
        # Both directions count as one: a kernel of the backward pass is no other's backward.
        name = f"{owner}.{trace.next_call(owner)}"
        args, kwargs = mark_overwritten(operator, args, kwargs)
        if self._node is None:
            entry = Entry(f"{name}.forward", self._stack)
            write_input(trace, entry, args, kwargs)
        else:
            entry = Entry(f"{name}.backward")
            write_list(trace, entry, "input", [*args, *kwargs.values()])
        return entry

    def _end(self, entry: Entry, result: object) -> None:
        trace = self._trace
        if self._node is None:
            write_output(trace, entry, result)
            trace.place_forward(entry.name, self._call)
            close_forward(trace, entry)
            return
        write_list(trace, entry, "output", result if isinstance(result, tuple) else (result,))
        trace.place_backward(entry.name, self._call)
        trace.add(entry)


class _Passes:
    """The backward passes through one graph node; it does not hold the node, which would be kept
    for ever.
    """

    def __init__(
        self, trace: MemoryTrace, call: ModuleCall, node: int, own: NpuKernels | None
    ) -> None:
        self._trace, self._call, self._node, self._own = trace, call, node, own
        self._count = 0
        self._entered: list[AbstractContextManager[object]] = []

    def begin(self, _: object) -> None:
        """Before the node runs."""
        if not self._trace.closed:
            self._trace.safely(self._call.backward, self._enter)

    def end(self, _: object, __: object) -> None:
        """After the node has run."""
        while self._entered:
            self._trace.safely(self._call.backward, self._entered.pop().__exit__, None, None, None)

    def _enter(self) -> None:
        self._count += 1
        call = self._call.in_pass(self._count)
        watch: AbstractContextManager[object] = _Kernels(self._trace, call, -1, self._node)
        if self._own is not None:
            watch = _dumped(self._trace, self._own, call.backward)
        watch.__enter__()
        self._entered.append(watch)


@contextmanager
def _dumped(trace: MemoryTrace, own: NpuKernels, name: str) -> Iterator[None]:
    """What runs inside is dumped by the device's own software, if that works."""
    began = trace.safely(name, own.begin, name)
    try:
        yield
    finally:
        if began:
            trace.safely(name, own.end)


def is_kernel(func: Any) -> bool:
    """Whether an operator computes a tensor."""
    if func.is_view or func.overloadpacket.__name__ in _MOVES_NOTHING:
        return False
    return any("Tensor" in str(each.type) for each in func._schema.returns)


def operator_name(func: Any) -> str:
    """The name of an operator's entries, without number and direction."""
    prefix = PREFIX if func.namespace == "aten" else func.namespace
    return f"{prefix}.{func.overloadpacket.__name__}"


def _overwritten(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[object]:
    """The arguments that an operator writes, by its schema."""
    if not func._schema.is_mutable:
        return []
    given = {each.name: value for each, value in zip(func._schema.arguments, args)} | kwargs
    writes = [each.name for each in func._schema.arguments if each.is_write]
    return [given[name] for name in writes if name in given]


def _call_of(begun: Begun) -> ModuleCall:
    """A call as what its kernels stand in."""
    _, name, parent, _, _ = begun
    return ModuleCall(f"{name}.forward", f"{name}.backward", parent)


def _nodes_since(result: object, made: int) -> Iterator[Node]:
    """The graph nodes of a result that were made since a number was given."""
    seen: set[Node] = set()
    todo = [node_of(each) for each in tensors_in(result) if isinstance(each, torch.Tensor)]
    while todo:
        node = todo.pop()
        if node is None or node in seen or not made <= node._sequence_nr() < _LEAF:
            continue
        seen.add(node)
        yield node
        todo += [target for target, _ in node.next_functions]
