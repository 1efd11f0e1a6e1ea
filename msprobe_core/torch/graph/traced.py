"""What dynamo traces into a user's graphs: hooks of modules, and the mode that sees calls.

Everything here must be what dynamo can trace: no clock, no lock, no lookup by identity. What has to
be known about names is asked once, while a graph is traced, and stands in it as a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

import torch

from msprobe_core.torch.fast_paths import OwnMode
from msprobe_core.torch.graph.api_names import eager_site, traced_site
from msprobe_core.torch.graph.compilers import is_in_branch, marks_late
from msprobe_core.torch.graph.sites import is_tracing, stack_of_frames, stack_of_trace

_is_compiling = torch.compiler.is_dynamo_compiling
_DEEPEST = 12
SENT = "sent"
"""Begins the place of a gradient that a module sends to an input."""
Seen = Callable[[torch.Tensor, str], None]


def know_constants() -> None:
    """Let dynamo take as constants what is asked once; to be called before anything is traced.

    It loads dynamo, which takes a second and 150 MB: nobody who records no graphs shall pay for it.
    """
    for constant in (stack_of_trace, marks_late, is_in_branch, traced_site):
        torch.compiler.assume_constant_result(constant)


class ModuleHooks:
    """The hooks of one module; in a copy of the module they do nothing.

    `owner` is a tensor: a number would be guarded, and each layer would be compiled again. With
    `sent` the module gets views of its inputs, whose gradients are what it sends to them; one
    tensor that two modules read has the gradients of both.
    """

    def __init__(self, owner: torch.Tensor, sent: bool = False, copied: bool = False) -> None:
        self.owner, self.sent, self.copied = owner, sent, copied

    def before(
        self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """A call begins: its arguments, or views of them."""
        if self.copied or (_is_compiling() and is_in_branch()):
            return None
        late = _is_compiling() and marks_late()
        stack = stack_of_trace() if _is_compiling() else stack_of_frames()
        if late:
            torch.ops.msprobe.late_begin(self.owner, stack)
        else:
            torch.ops.msprobe.begin(self.owner, stack)
        value = self._late_value if late else self._value
        _each(args, "input_args", value, 0)
        _each(kwargs, "input_kwargs", value, 0)
        if not self.sent or not torch.is_grad_enabled():
            return None
        watch = self._late_watch if late else self._watch
        viewed = [_viewed(each, f"{SENT}/{at}", watch, 0) for at, each in enumerate(args)]
        # An eager dump has gradients of keyword arguments behind those of the others.
        named = {
            key: _viewed(each, f"{SENT}/{len(args) + at}", watch, 0)
            for at, (key, each) in enumerate(kwargs.items())
        }
        return tuple(viewed), named

    def after(
        self,
        module: torch.nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
    ) -> None:
        """A call ends: its result, and the hooks for the gradients of it."""
        if self.copied or (_is_compiling() and is_in_branch()):
            return
        late = _is_compiling() and marks_late()
        results = result if isinstance(result, tuple) else (result,)
        _each(results, "output", self._late_value if late else self._value, 0)
        watch = self._late_watch if late else self._watch
        for at, each in enumerate(results):
            # What a module hands on unchanged has the gradients of all who use it: not its own.
            if not _is_one_of(each, args):
                _each(each, f"output/{at}", watch, 0)
        if late:
            torch.ops.msprobe.late_end(self.owner)
        else:
            torch.ops.msprobe.end(self.owner)

    def _value(self, x: torch.Tensor, place: str) -> None:
        torch.ops.msprobe.value(x, self.owner, place, x.requires_grad)

    def _late_value(self, x: torch.Tensor, place: str) -> None:
        torch.ops.msprobe.late_value(x, self.owner, place, x.requires_grad)

    def _watch(self, x: torch.Tensor, place: str) -> None:
        if x.requires_grad:
            owner = self.owner
            x.register_hook(lambda g: torch.ops.msprobe.gradient(g, owner, place))

    def _late_watch(self, x: torch.Tensor, place: str) -> None:
        if x.requires_grad:
            owner = self.owner
            x.register_hook(lambda g: torch.ops.msprobe.late_gradient(g, owner, place))

    def __deepcopy__(self, _: object) -> ModuleHooks:
        return ModuleHooks(self.owner, copied=True)

    def __reduce__(self) -> tuple[type[ModuleHooks], tuple[torch.Tensor, bool, bool]]:
        return ModuleHooks, (self.owner, False, True)


class GraphCalls(OwnMode):
    """Records calls of torch's API, in compiled code and outside of it; with `late_only` in what
    inductor compiles alone.
    """

    def __init__(self, risk_level: str, late_only: bool = False) -> None:
        super().__init__()
        self.risk_level, self.late_only = risk_level, late_only

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if self.late_only and not (_is_compiling() and marks_late()):
            return func(*args, **kwargs)
        if _is_compiling():
            # The tensor stands first, whichever operand it was.
            between_tensors = len(args) < 2 or isinstance(args[1], torch.Tensor)
            site = -1 if is_in_branch() else traced_site(func, self.risk_level, between_tensors)
        else:
            site = -1 if is_tracing() else eager_site(func, args, self.risk_level)
        if site < 0:
            return func(*args, **kwargs)
        return record_call(site, func, args, kwargs)


def record_call(
    site: int,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    shown: tuple[Any, ...] | None = None,
) -> Any:
    """Run a call and record what it is given, what it puts out, and the gradients of that; `shown`
    are the arguments that have a place, if not all have.
    """
    places: list[str] = []
    late = _is_compiling() and marks_late()

    def value(x: torch.Tensor, place: str) -> None:
        if late:
            torch.ops.msprobe.late_call(x, site, place, x.requires_grad, not places)
        else:
            torch.ops.msprobe.call(x, site, place, x.requires_grad, not places)
        places.append(place)

    def watch(x: torch.Tensor, place: str) -> None:
        if x.requires_grad and late:
            x.register_hook(lambda g: torch.ops.msprobe.late_call_gradient(g, site, place))
        elif x.requires_grad:
            x.register_hook(lambda g: torch.ops.msprobe.call_gradient(g, site, place))

    _each(args if shown is None else shown, "input_args", value, 0)
    _each(kwargs, "input_kwargs", value, 0)
    result = func(*args, **kwargs)
    results = result if isinstance(result, tuple) else (result,)
    _each(results, "output", value, 0)
    for at, each in enumerate(results):
        if not _is_one_of(each, args):
            _each(each, f"output/{at}", watch, 0)
    return result


def forget_leaves(leaves: Iterable[torch.Tensor]) -> None:
    """Take our hooks off leaves, as modules that return their parameters get them: a leaf outlives
    its step, and no handle leads out of a graph.
    """
    for leaf in leaves:
        hooks = leaf._backward_hooks or {}
        for key in [
            key for key, hook in hooks.items() if getattr(hook, "__module__", "") == __name__
        ]:
            del hooks[key]


def _is_measured(tensor: torch.Tensor) -> bool:
    """Operators of graph mode take no subclass, and no sparse, nested or quantised tensor."""
    is_plain = type(tensor) in _PLAIN and tensor.layout is torch.strided
    return is_plain and not tensor.is_quantized


def _each(value: Any, place: str, seen: Seen, depth: int) -> None:
    """Show each tensor of a value with its place; the members of a mapping stand at `:<key>`."""
    if isinstance(value, torch.Tensor):
        if _is_measured(value):
            seen(value, place)
    elif depth < _DEEPEST:
        if isinstance(value, (tuple, list)):
            for at, member in enumerate(value):
                _each(member, f"{place}/{at}", seen, depth + 1)
        elif isinstance(value, dict):
            for key, member in value.items():
                _each(member, f"{place}/:{key}", seen, depth + 1)


def _viewed(value: Any, place: str, watch: Seen, depth: int) -> Any:
    """A value with a view in the place of each tensor that has a gradient."""
    if isinstance(value, torch.Tensor):
        if not value.requires_grad or not _is_measured(value):
            return value
        view = value.view_as(value)
        watch(view, place)
        return view
    if depth >= _DEEPEST:
        return value
    if type(value) in (tuple, list):
        members = [
            _viewed(each, f"{place}/{at}", watch, depth + 1) for at, each in enumerate(value)
        ]
        return members if type(value) is list else tuple(members)
    if type(value) is dict:
        return {k: _viewed(each, f"{place}/:{k}", watch, depth + 1) for k, each in value.items()}
    return value


def _is_one_of(value: Any, others: tuple[Any, ...]) -> bool:
    if isinstance(value, torch.Tensor):
        for other in others:
            if value is other:
                return True
    return False


def run_as_they_are() -> None:
    """Have dynamo make no graph of a hook alone, as it does where the hooked model is compiled as a
    whole: hooks are traced where a graph of the user's calls them, and just run elsewhere.
    """
    own = ModuleHooks.before, ModuleHooks.after, GraphCalls.__torch_function__
    for function in (*own, ModuleHooks._watch, ModuleHooks._late_watch, record_call):
        run_as_it_is(function.__code__)


def run_as_it_is(code: CodeType) -> None:
    """Have dynamo make no graph that begins in this code, or in a function that it defines: hooks
    of gradients run where compiled code calls `backward`.
    """
    frames: Any = torch._C._dynamo.eval_frame
    skipped = frames._FrameExecStrategy(frames._FrameAction.SKIP, frames._FrameAction.SKIP)
    frames.set_code_exec_strategy(code, skipped)
    for each in code.co_consts:
        if isinstance(each, CodeType):
            run_as_it_is(each)


def has_hooks_of_others(module: torch.nn.Module, **checks: bool) -> bool:
    """What dynamo asks (`torch._dynamo.utils.nnmodule_has_hooks`) before it makes a graph of a
    module of torch's own that it meets outside of all graphs, which it does of hooked ones alone:
    ours make no graph that would not be there without them.
    """
    hooks = torch._dynamo.utils.nn_module_get_all_hooks(module, **checks)
    # Among them are the flags of those that take keyword arguments.
    others = (h for h in hooks if not isinstance(getattr(h, "__self__", None), ModuleHooks))
    return any(map(callable, others))


_PLAIN = (torch.Tensor, torch.nn.Parameter)
"""Tensors of other classes decide themselves what an operator does; ours has no rule there."""
