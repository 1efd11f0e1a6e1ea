"""Which part of the compiler a difference comes from, by torch's own bisector.

It compiles with ever less of the compiler: backend by backend, then the passes and lowerings of the
backend in halves (`torch._inductor.compiler_bisector`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_WORDS = {
    "pre_grad_passes": "a pass before gradients",
    "joint_graph_passes": "a pass over the joint graph",
    "post_grad_passes": "a pass after gradients",
    "decomposition": "a decomposition",
    "lowerings": "the lowering of an operator",
}


@dataclass(frozen=True, slots=True)
class Blamed:
    """The first backend that differs; of its parts the one without which it does not, how often
    that is applied until it does, and what torch calls that application. Empty where unknown.
    """

    backend: str
    part: str = ""
    count: int = 0
    name: str = ""

    def told(self) -> str:
        """What a line says."""
        if not self.part:
            return f"the backend {self.backend}; none of its parts alone is to blame"
        what = _WORDS.get(self.part, f"its setting {self.part}")
        if self.part not in _WORDS:
            return f"the backend {self.backend}, {what}"
        name = f": {' '.join(self.name.split())}" if self.name else ""
        return f"the backend {self.backend}, {what} (number {self.count}){name}"


def find_blamed(agrees: Callable[[], bool]) -> Blamed | None:
    """The part without which compiled and eager agree; `agrees` compiles and compares anew.

    None where they agree whatever is left of the compiler.
    """
    from torch._inductor.compiler_bisector import CompilerBisector

    found = CompilerBisector.do_bisect(agrees)
    if found is None:
        return None
    part, name = found.subsystem or "", found.debug_info or ""
    return Blamed(found.backend, part, found.bisect_number or 0, name)
