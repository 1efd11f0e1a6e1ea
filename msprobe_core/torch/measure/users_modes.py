"""Takes off whatever a user's program has put around torch while our own operations run.

Otherwise a counter counts them, a checkpoint caches them, a tracer traces them, and autocast
rounds them. This is the one place: everything that measures or watches goes through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import torch
from torch._C import _functorch
from torch._ops import _len_torch_dispatch_stack_pre_dispatch, _pop_mode_from_pre_dispatch
from torch.autograd import forward_ad
from torch.utils._python_dispatch import _pop_mode, _push_mode

# The stubs do not know these.
_set_tracing_state: Callable[[object], None] = getattr(torch._C, "_set_tracing_state")  # noqa: B009 - private: torch's stubs have it not
_tracing_state: Callable[[], object] = torch._C._get_tracing_state
_depth: Callable[[], int] = torch._C._len_torch_dispatch_stack
_autocasts: Callable[[], bool] = torch._C._is_any_autocast_enabled
_includes = torch._C._dispatch_tls_is_dispatch_key_included
_PRE_DISPATCH = torch._C.DispatchKey.PreDispatch
_profiler_enabled: Callable[[], bool] = torch._C._autograd._profiler_enabled
_enable_record_function: Callable[[bool], None] = torch._C._autograd._enable_record_function


def users_modes_off(keep_transforms: bool = False) -> AbstractContextManager[object]:
    """What runs inside is seen and changed by nothing of the user's; enter it where it is made.

    Off are function and dispatch modes, overrides of subclasses by functions, torch.jit.trace,
    autocast, forward-mode derivatives, the profiler, and functorch's transforms: a wrapped tensor
    has to be unwrapped there. `keep_transforms` leaves those on, for reading graphs. Whether
    gradients are recorded, and inference mode, stay as they are.
    """
    off = torch._C.DisableTorchFunction()
    if (
        not _depth()
        and not _autocasts()
        and not _profiler_enabled()
        and forward_ad._current_level < 0
        and _tracing_state() is None
        and (keep_transforms or _functorch.maybe_current_level() is None)
        and not _includes(_PRE_DISPATCH)
    ):
        return off
    return _all_off(off, keep_transforms)


@contextmanager
def _all_off(
    functions_off: AbstractContextManager[object], keep_transforms: bool
) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(functions_off)
        if _tracing_state() is not None:
            stack.callback(_set_tracing_state, _tracing_state())
            _set_tracing_state(None)
        if _profiler_enabled():
            stack.callback(_enable_record_function, True)
            _enable_record_function(False)
        if _autocasts():
            stack.enter_context(torch._C._DisableAutocast())
        if torch._C._is_fwd_grad_enabled():
            stack.callback(torch._C._set_fwd_grad_enabled, True)
            torch._C._set_fwd_grad_enabled(False)
        for _ in range(_depth()):
            stack.callback(_push_mode, _pop_mode())
        if _includes(_PRE_DISPATCH):
            for _ in range(_len_torch_dispatch_stack_pre_dispatch()):
                stack.callback(_push_mode, _pop_mode_from_pre_dispatch())
        if not keep_transforms and _functorch.maybe_current_level() is not None:
            stack.enter_context(torch._C._DisableFuncTorch())
        yield
