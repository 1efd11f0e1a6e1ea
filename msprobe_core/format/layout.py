"""Where the files of a dump lie: step and rank directories and the file names in them.

Both sides agree on these names; nothing else in the project spells them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

DUMP_FILE = "dump.json"
DEBUG_FILE = "debug.json"  # what level debug writes in its place
CONSTRUCT_FILE = "construct.json"
STACK_FILE = "stack.json"
FLOW_FILE = "flow.json"  # calls without values; ours alone
ERROR_LOG = "dump_error_info.log"
TENSOR_DIR = "dump_tensor_data"

_STEP = re.compile(r"step(\d+)", re.ASCII)
_RANK = re.compile(r"(rank|proc|pid)(\d*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class RankDir:
    """A directory of one process: `rank<ID>`, bare `rank`, or `proc<pid>` without a rank.

    Dumps from captured graphs have `pid<pid>` for the latter.
    """

    kind: Literal["rank", "proc"]
    number: int | None


def values_file(folder: Path) -> Path:
    """The file of a rank's folder that holds its values: dump.json, or debug.json of level debug.

    It is dump.json where there is neither.
    """
    debug = folder / DEBUG_FILE
    dump = folder / DUMP_FILE
    return debug if debug.is_file() and not dump.is_file() else dump


def parse_step_dir(name: str) -> int | None:
    """The step number of a directory called `step<N>`, else None."""
    match = _STEP.fullmatch(name)
    return int(match[1]) if match else None


def parse_rank_dir(name: str) -> RankDir | None:
    """The process behind a directory `rank<ID>`, `rank` `proc<pid>` or `pid<pid>`, else None."""
    match = _RANK.fullmatch(name)
    if match is None or (match[1] != "rank" and not match[2]):
        return None
    kind: Literal["rank", "proc"] = "rank" if match[1] == "rank" else "proc"
    return RankDir(kind, int(match[2]) if match[2] else None)
