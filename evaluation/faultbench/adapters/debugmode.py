"""torch's DebugMode: every ATen operator with the norm of what it puts out, aligned by name."""

from __future__ import annotations

import difflib
import json
import math
import os
import re
from pathlib import Path

from faultbench.answer import Pair
from faultbench.program import Program
from faultbench.row import Row

FRAME = re.compile(r'(right|wrong|twin)\.py"?,? ?(?:line |:)(\d+)')


def record(program: Program, folder: Path) -> None:
    """Keep operator, norms, and the innermost line of the program, a call a row."""
    from torch.utils._debug_mode import DebugMode

    calls: list[tuple[str, str, tuple[str, str]]] = []
    for step in program.steps():
        with DebugMode(record_stack_trace=True) as mode, DebugMode.log_tensor_hashes("norm"):
            step()
        for call in (call for call in mode.logs if hasattr(call, "op")):
            frame = (FRAME.findall(call.stack_trace or "") or [("", "0")])[-1]
            calls.append((str(call.op), str((call.log or {}).get("hash")), frame))
    (folder / f"rank{os.environ.get('RANK', '0')}.json").write_text(json.dumps(calls))


def answer(pair: Pair) -> list[Row]:
    """Calls with other norms (by more than 1e-4) or without a partner, each line once, in order."""
    rows: dict[Row, None] = {}
    for file in sorted(pair.problem.glob("*.json")):
        left = json.loads(file.read_text())
        right = json.loads((pair.benchmark / file.name).read_text())
        ours, theirs = ([call[0] for call in side] for side in (left, right))
        for tag, a, b, c, d in difflib.SequenceMatcher(None, ours, theirs, False).get_opcodes():
            pairs = zip(left[a:b], right[c:d]) if tag == "equal" else ()
            apart = [one for one, other in pairs if not _near(one[1], other[1])]
            for name, _, (script, line) in apart if tag == "equal" else left[a:b] or right[c:d]:
                rows.setdefault(Row(None, name.split(".")[1], f"{script}.py", int(line)))
    return list(rows)


def _near(left: str, right: str) -> bool:
    numbers = zip(*(re.findall(r"nan|inf|[-+\d.e]+\d", text) for text in (left, right)))
    return all(a == b or math.isclose(float(a), float(b), rel_tol=1e-4) for a, b in numbers)
