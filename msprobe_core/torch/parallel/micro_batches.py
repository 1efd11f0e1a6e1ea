"""Which micro-batch each call of a stage works on, as the schedule that runs it says.

It stands beside `data` in dump.json, as the member `micro_batch`. Call numbers do not tell: a stage
may run once more to learn what shapes it hands on.
"""

from __future__ import annotations

import json
import sys
from types import FrameType

from msprobe_core.torch.names.frame_locals import local_of

# By module and function of a schedule, the variable that numbers the micro-batches.
_SCHEDULES = {
    ("torch.distributed.pipelining.stage", "forward_one_chunk"): "fwd_chunk_id",
    ("megatron.core.pipeline_parallel.schedules", "forward_step"): "current_microbatch",
}
_FUNCTIONS = frozenset(function for _, function in _SCHEDULES)
_MODULES = frozenset(module for module, _ in _SCHEDULES)
_MOST_FRAMES = 60


class MicroBatches:
    """Collects them from the calls of modules that stand in no other call of a module."""

    def __init__(self) -> None:
        self._calls: dict[str, int | None] = {}

    def note(self, name: str) -> None:
        """Take the number of a call's micro-batch; None outside of a schedule."""
        if not _MODULES.isdisjoint(sys.modules):
            self._calls[name] = _number(sys._getframe(1))

    def text(self) -> str | None:
        """What was noted as the text of a JSON object; None where no schedule ran."""
        is_known = any(number is not None for number in self._calls.values())
        return json.dumps(self._calls) if is_known else None


def _number(frame: FrameType | None) -> int | None:
    for _ in range(_MOST_FRAMES):
        if frame is None:
            return None
        if frame.f_code.co_name in _FUNCTIONS:
            function = frame.f_globals.get("__name__", ""), frame.f_code.co_name
            number = local_of(frame, _SCHEDULES.get(function, ""))
            if isinstance(number, int):
                return number
        frame = frame.f_back
    return None
