"""What is known of the compiler while dynamo traces for it, and inductor's passes of ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch

from msprobe_core.torch.graph.late_fusion import fuse_as_usual, keep_records_apart
from msprobe_core.torch.graph.late_plans import place_records, take_marks


class CompilerFacts:
    """What the graphs of a recording were compiled by, for the head of its dumps.

    `late` says whether records may wait until inductor's passes are over.
    """

    def __init__(self, late: bool = True) -> None:
        self.late = late
        self._before = _counted()
        self.backends: set[str] = set()
        self.points: set[str] = set()

    def describe(self) -> dict[str, object]:
        """The member `capture` of dump.json."""
        found: dict[str, object] = {"mode": "graph"}
        if self.backends:
            # Whoever clears dynamo's counters begins anew.
            since = {k: v - self._before.get(k, 0) for k, v in _counted().items()}
            graphs = max(since.pop(_GRAPHS, 0), 0)
            found["backend"] = ", ".join(sorted(self.backends))
            found["graphs"] = graphs
            found["passes"] = {name: count for name, count in since.items() if count > 0}
        found["points"] = ", ".join(sorted(self.points)) or "hooks"
        return found


_GRAPHS = "unique_graphs"


def _counted() -> dict[str, int]:
    """What dynamo has counted in this process: its graphs, and what inductor's passes matched."""
    dynamo: Any = sys.modules.get("torch._dynamo")
    if dynamo is None:
        return {}
    counters = dynamo.utils.counters
    matches = {name: int(count) for name, count in counters["inductor"].items()}
    return {**matches, _GRAPHS: int(counters["stats"][_GRAPHS])}


class _Current:
    facts: CompilerFacts | None = None


def use_facts(facts: CompilerFacts | None) -> None:
    """Note from now on what is compiled in these facts; None ends it and takes our passes off."""
    _Current.facts = facts
    if facts is None:
        _take_passes_off()


def current_facts() -> CompilerFacts | None:
    """The facts that are noted now."""
    return _Current.facts


def marks_late() -> bool:
    """Whether what dynamo traces now is marked, and recorded after inductor's passes."""
    facts = _Current.facts
    if facts is None:
        return False
    name = _name_of_backend()
    is_late = facts.late and name == "inductor"
    facts.backends.add(name)
    facts.points.add("late" if is_late else "hooks")
    if is_late:
        _put_passes_on()
    return is_late


def translators() -> Iterator[Any]:
    """What translates code now, from the innermost function outwards."""
    base = sys.modules["torch._dynamo.symbolic_convert"].InstructionTranslatorBase
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        at: Any = frame.f_locals.get("self") if frame.f_code.co_name == "step" else None
        if isinstance(at, base):
            yield at
        frame = frame.f_back


_WITH_EFFECTS = ("wrap", "tag_activation_checkpoint", "wrap_activation_checkpoint")
"""Operators of higher order whose graphs may hold effectful operators."""


def is_in_branch() -> bool:
    """Whether dynamo traces what an operator of higher order runs: a branch of `torch.cond`, the
    body of a loop, a function's own backward. Nothing in it may have an effect.
    """
    for each in translators():
        tracer: Any = each.output.current_tracer
        while getattr(tracer, "parent", None) is not None:
            target = tracer.source_target
            if str(getattr(target, "__name__", target)) not in _WITH_EFFECTS:
                return True
            tracer = tracer.parent
        break
    return False


def _name_of_backend() -> str:
    for each in translators():
        compiler: Any = torch._dynamo.eval_frame.innermost_backend(each.output.compiler_fn)
        usual = getattr(compiler, "__name__", type(compiler).__name__)
        return str(getattr(compiler, "compiler_name", usual))
    return "unknown"


def _put_passes_on() -> None:
    """Marks go before any other pass sees them, records come after all other passes.

    They are plain functions, for which inductor bypasses its caches: records hold numbers of this
    process, and marks are not part of a cache's key.
    """
    from torch._inductor import config

    others = _without_ours(config.joint_custom_pre_pass)
    config.joint_custom_pre_pass = [take_marks, *others]
    config.post_grad_custom_post_pass = [
        *_without_ours(config.post_grad_custom_post_pass),
        place_records,
    ]
    keep_records_apart(config)


def _take_passes_off() -> None:
    config: Any = sys.modules.get("torch._inductor.config")
    if config is None:
        return
    fuse_as_usual(config)
    for key in ("joint_custom_pre_pass", "post_grad_custom_post_pass"):
        passes = getattr(config, key)
        if isinstance(passes, list):
            setattr(config, key, _without_ours(passes) or None)


def _without_ours(passes: Any) -> list[Any]:
    if passes is None:
        return []
    listed = passes if isinstance(passes, (list, tuple)) else [passes]
    return [each for each in listed if each not in (take_marks, place_records)]
