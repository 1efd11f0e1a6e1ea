"""Two ranks on the CPU with `msrun`: a folder for each, collectives as calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.mindspore.conftest import Thing

PROGRAM = (
    Path(__file__).resolve().parent.parent
    / "samples"
    / "mindspore-2.10"
    / "programs"
    / "ranks_mindspore.py"
)


def test_two_ranks_have_a_folder_each(ms: Thing, mindspore_dumps: Path, tmp_path: Path) -> None:
    folder = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    command = ["--worker_num=2", "--local_worker_num=2", "--join=True", f"--log_dir={tmp_path}/log"]
    done = subprocess.run(
        [f"{folder}/msrun", "--master_port=8147", *command, str(PROGRAM), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    ranks = sorted((tmp_path / "out" / "step0").iterdir())
    assert [rank.name for rank in ranks] == ["rank0", "rank1"]
    names = [name for name in _names(tmp_path / "out", "rank0") if "MintDistributed" in name]
    recorded = _names(mindspore_dumps / "ranks", "rank0")
    assert names == [name for name in recorded if "MintDistributed" in name]


def _names(dump: Path, rank: str) -> list[str]:
    return list(json.loads((dump / "step0" / rank / "dump.json").read_text())["data"])
