"""Programs and tools in processes of their own: ranks side by side, a limit in seconds, what they wrote."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultbench import fault as faults


class RunError(RuntimeError):
    """A process failed or took too long; the message ends with the last lines that it wrote."""


@dataclass(frozen=True, slots=True)
class Tool:
    """An adapter, the interpreter that has the tool, and the limit of each process in seconds."""

    name: str
    python: str
    timeout: float


def record(tool: Tool, fault: faults.Fault, script: str, folder: Path) -> float:
    """Run one program with all its ranks; the seconds of its steps on the slowest rank.

    `folder` receives the record; results and seconds lie beside it. RunError if a rank fails.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    source = folder.parent.resolve() / "programs" / script
    source.parent.mkdir(exist_ok=True)
    text = (fault.folder / script).read_text(encoding="utf-8")
    source.write_text(faults.without_markers(text), encoding="utf-8")
    words = [
        "faultbench.record",
        tool.name,
        str(source),
        str(folder.resolve()),
        "--steps",
        str(fault.steps),
    ]
    port = str(_free_port())
    ranks = [
        _start(
            tool, words, {"RANK": str(rank), "WORLD_SIZE": str(fault.ranks), "MASTER_PORT": port}
        )
        for rank in range(fault.ranks)
    ]
    _wait(ranks, tool.timeout, f"{fault.id}/{script} with {tool.name}")
    files = [folder.parent / f"{folder.name}.rank{rank}.json" for rank in range(fault.ranks)]
    return max(float(json.loads(file.read_text())["seconds"]) for file in files)


def answer(tool: Tool, fault: faults.Fault, script: str, work: Path) -> tuple[list[Any], float]:
    """What the tool says of the pair of a program and right.py: rows, and seconds it took."""
    sides = [
        str(work / Path(script).stem),
        str(work / "right"),
        str(work / f"answer_{script[:-3]}"),
    ]
    begun = time.perf_counter()
    process = _start(tool, ["faultbench.answer", tool.name, *sides, fault.id, script], {})
    printed = _wait([process], tool.timeout, f"{fault.id}: the answer of {tool.name}")
    return json.loads(printed.splitlines()[-1]), time.perf_counter() - begun


def bytes_in(folder: Path) -> int:
    """The size of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _start(tool: Tool, words: list[str], more: dict[str, str]) -> subprocess.Popen[str]:
    places = [str(faults.HERE.parent), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, places)),
        "OMP_NUM_THREADS": "1",
        "MASTER_ADDR": "127.0.0.1",
        **more,
    }
    # A neutral folder: the working directory is the first place of imports, and might hold a package
    # of the tool's name.
    return subprocess.Popen(
        [tool.python, "-W", "ignore", "-m", *words],
        cwd=tempfile.gettempdir(),
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _wait(processes: list[subprocess.Popen[str]], limit: float, what: str) -> str:
    """The standard output of the first process, once all have ended well."""
    ended = time.monotonic() + limit
    printed = []
    try:
        for process in processes:
            output, errors = process.communicate(timeout=max(0.1, ended - time.monotonic()))
            if process.returncode:
                last = "\n".join(errors.splitlines()[-12:])
                raise RunError(f"{what}: exit code {process.returncode}\n{last}")
            printed.append(output)
    except subprocess.TimeoutExpired as error:
        raise RunError(f"{what}: longer than {limit:g} s; --timeout allows more") from error
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
    return printed[0]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
