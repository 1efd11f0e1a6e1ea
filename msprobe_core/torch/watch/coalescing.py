"""Knows which collectives a coalescing block has only gathered: they run when it ends.

Until then their buffers hold what they held before, whatever the call has returned.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, Generic

from msprobe_core.capture.replacing import Replacements
from msprobe_core.torch.watch.awaited import Awaited, Thing

_ENDS = ("_coalesced", "_end_coalescing")
"""How the names of the methods of a group end in which a block ends."""


class CoalescingBlocks(Generic[Thing]):
    """Hands what was gathered to `awaited` when its block ends."""

    def __init__(self, awaited: Awaited[Thing]) -> None:
        self._awaited = awaited
        self._replaced = Replacements()
        self._gathered: dict[int, list[Thing]] = {}

    def start(self) -> None:
        """Watch the ends of blocks, if torch.distributed is in use."""
        core = _core()
        if core is None or self._replaced:
            return
        for name in dir(core.ProcessGroup):
            if name.endswith(_ENDS):
                original = getattr(core.ProcessGroup, name)
                self._replaced.put(core.ProcessGroup, name, self._ending(original))

    def stop(self) -> None:
        """Put the originals back. What is gathered stays so."""
        self._replaced.restore()

    def gather(self, values: list[object], thing: Thing) -> bool:
        """Note what becomes ready with the block in which a call with such arguments stands; False
        where it stands in none.
        """
        core = _core()
        open_blocks = getattr(core._world, "pg_coalesce_state", None)
        if not open_blocks:
            return False
        groups = [value for value in values if isinstance(value, core.ProcessGroup)]
        group = groups[0] if groups else core._get_default_group()
        if group not in open_blocks:
            return False
        self._gathered.setdefault(id(group), []).append(thing)
        return True

    def take_rest(self) -> list[Thing]:
        """What no block has run."""
        rest = [thing for things in self._gathered.values() for thing in things]
        self._gathered = {}
        return rest

    def _ending(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def end(group: Any, *args: Any, **kwargs: Any) -> Any:
            work = original(group, *args, **kwargs)
            for thing in self._gathered.pop(id(group), ()):
                self._awaited.note_or_hand_over(work, thing)
            return work

        return end


def _core() -> Any:
    return sys.modules.get("torch.distributed.distributed_c10d")
