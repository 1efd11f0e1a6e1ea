"""One row of the reliability table, and what the trials share."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from builder.errors import DatabaseError
from builder.results.opening import format_of
from tb_graph_ascend.logdirs import SUFFIX

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(slots=True)
class Outcome:
    """`lost` says of each trial that went wrong what it was; none is the aim."""

    name: str
    tried: int = 0
    lost: list[str] = field(default_factory=list)
    seen: str = ""

    def check(self, holds: object, complaint: str) -> None:
        """Count one trial, and keep the complaint when it went wrong."""
        self.tried += 1
        if not holds:
            self.lost.append(complaint)


def msprobe(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    """Start the command line in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "msprobe", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def serve(logs: Path) -> tuple[subprocess.Popen[str], int]:
    """Start a server over a folder; the process and its port."""
    server = msprobe("serve", logs, "--port", 0)
    assert server.stdout is not None
    found = re.search(r":(\d+)/", server.stdout.readline())
    assert found is not None, "the server says its address"
    return server, int(found[1])


def parses(path: Path) -> bool:
    """Whether a file is JSON."""
    try:
        json.loads(path.read_text())
    except ValueError:
        return False
    return True


def finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code and all that was said."""
    out, err = process.communicate(timeout=600)
    return process.returncode, out + err


def half_written(folder: Path) -> list[str]:
    """Files under a final name that are not whole."""
    broken = []
    for path in folder.rglob(f"*{SUFFIX}"):
        try:
            format_of(path)
        except DatabaseError as error:
            broken.append(str(error))
    return broken


def write_dump(folder: Path, data: dict[str, object], parents: dict[str, object]) -> Path:
    """One rank's dump; returns its folder."""
    rank = folder / "step0" / "rank0"
    rank.mkdir(parents=True, exist_ok=True)
    head = {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": None}
    (rank / "dump.json").write_text(json.dumps({**head, "data": data}))
    (rank / "construct.json").write_text(json.dumps(parents))
    (rank / "stack.json").write_text("{}")
    return rank


def tensor_record(norm: float = 1.0, **more: object) -> dict[str, object]:
    """The record of a small tensor."""
    record: dict[str, object] = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2]}
    return {**record, "Max": 1.0, "Min": -1.0, "Mean": 0.0, "Norm": norm, **more}
