"""Takes out of a dump what only our dumper writes, as if another had written it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

# flags: the layout is told on the command line; peer: nothing is left that mindstudio-probe lacks.
Dumps = Literal["ours", "flags", "no sketches", "peer"]
_LAYOUT = frozenset(("placements", "mesh", "offset", "global_shape", "layout"))
_TOP = {
    "flags": ("parallel", "micro_batch"),
    "no sketches": ("sketch_version",),
    "peer": ("parallel", "micro_batch", "optimizer", "sketch_version", "inputs"),
}
_MEMBERS = {
    "flags": _LAYOUT,
    "no sketches": frozenset(("sketch",)),
    "peer": _LAYOUT | frozenset(("sketch", "source", "checksum", "inf_count", "nan_count")),
}


def strip(dump: Path, dumps: Dumps) -> None:
    """Rewrite every dump.json below a folder in place."""
    if dumps == "ours":
        return
    for path in dump.rglob("dump.json"):
        content = json.loads(path.read_text())
        for name in _TOP[dumps]:
            content.pop(name, None)
        path.write_text(json.dumps(_without(content, _MEMBERS[dumps])))


def _without(content: Any, members: frozenset[str]) -> Any:
    if isinstance(content, list):
        return [_without(item, members) for item in content]
    if not isinstance(content, dict):
        return content
    is_value = "type" in content
    return {
        key: _without(item, members)
        for key, item in content.items()
        if not (is_value and key in members)
    }
