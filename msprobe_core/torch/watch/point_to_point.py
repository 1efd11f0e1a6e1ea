"""Sees `isend` and `irecv` where all their names lead: in the methods of process groups.

The functions themselves must stay what they are: torch asks `P2POp`s by identity for theirs, and
users keep lists of them from step to step.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import torch

from msprobe_core.capture.replacing import Replacements
from msprobe_core.torch.names.call_site import written_arguments

NAMES = ("isend", "irecv")
_METHODS = ("send", "recv", "recv_anysource")
_BETWEEN = (torch.overrides.__name__, "msprobe_core.")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a collective: its name, what does it, its arguments as written, and who calls."""

    name: str
    run: Callable[[], Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    caller: FrameType


class PointToPoint:
    """Has `run` do each call of `isend` and `irecv` between `start` and `stop`, but while
    `is_quiet`.
    """

    def __init__(self, run: Callable[[Call], Any], is_quiet: Callable[[], bool]) -> None:
        self._run, self._is_quiet = run, is_quiet
        self._replaced = Replacements()
        self._names: dict[CodeType, str] = {}

    def start(self) -> None:
        """Wrap the methods, if torch.distributed is in use."""
        core: Any = sys.modules.get("torch.distributed.distributed_c10d")
        if core is None or self._replaced:
            return
        self._names = {inspect.unwrap(getattr(core, name)).__code__: name for name in NAMES}
        for name in _METHODS:
            original = getattr(core.ProcessGroup, name)
            self._replaced.put(core.ProcessGroup, name, self._wrapped(original))

    def stop(self) -> None:
        """Put the originals back."""
        self._replaced.restore()

    def _wrapped(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def method(group: Any, *args: Any, **kwargs: Any) -> Any:
            body = _body(sys._getframe(1))
            name = self._names.get(body.f_code)
            if name is None or body.f_back is None or self._is_quiet():
                return original(group, *args, **kwargs)
            caller = self._caller(body.f_back)
            given, named = _as_written(body, caller)
            run = functools.partial(original, group, *args, **kwargs)
            return self._run(Call(name, run, given, named, caller))

        return method

    def _caller(self, frame: FrameType) -> FrameType:
        """The code that calls, behind what announces the call to modes."""
        while frame.f_back is not None and (
            frame.f_code in self._names or str(frame.f_globals.get("__name__")).startswith(_BETWEEN)
        ):
            frame = frame.f_back
        return frame


def _body(frame: FrameType) -> FrameType:
    """The frame that calls a method, behind other wraps of it of ours."""
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("msprobe"):
        frame = frame.f_back
    return frame


def _as_written(body: FrameType, caller: FrameType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments as the caller wrote them; where its code does not tell, those that say more
    than the function's defaults.
    """
    values = body.f_locals
    names = body.f_code.co_varnames[: body.f_code.co_argcount]
    given = {name: values[name] for name in names}
    try:
        written, named = written_arguments(body, caller, (), given)
    except Exception:  # nothing of this may reach the user's step
        written, named = (), given
    if len(written) + len(named) < len(names) and (written or "tensor" in named):
        return written, named
    said = {k: v for k, v in given.items() if k not in ("tensor", "group") and v not in (None, 0)}
    return (given["tensor"],), said
