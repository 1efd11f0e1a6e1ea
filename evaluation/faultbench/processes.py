"""Programs and tools in processes of their own: ranks side by side, a limit in seconds."""

from __future__ import annotations

import importlib
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultbench import fault as faults
from faultbench.forked import Forked, here


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


class _Started:
    """A new interpreter, with the face of a forked child."""

    def __init__(self, python: str, words: list[str], environment: dict[str, str]) -> None:
        # A neutral folder: the working directory is the first place of imports, and might hold a
        # package of the tool's name.
        self._process = subprocess.Popen(
            [python, "-W", "ignore", "-m", *words],
            cwd=tempfile.gettempdir(),
            env={**os.environ, "PYTHONPATH": str(faults.HERE.parent), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._printed = ("", "")

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    def wait(self, limit: float) -> bool:
        try:
            self._printed = self._process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()

    def printed(self) -> tuple[str, str]:
        return self._printed


def _start(tool: Tool, words: list[str], more: dict[str, str]) -> Forked | _Started:
    environment = {"OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", **more}
    if not here(tool.python):
        return _Started(tool.python, words, environment)
    os.environ["OMP_NUM_THREADS"] = "1"  # read when torch is imported
    importlib.import_module("torch._dynamo")  # the first optimizer imports it, for seconds
    return Forked(importlib.import_module(words[0]).main, words, environment)


def _wait(processes: Sequence[Forked | _Started], limit: float, what: str) -> str:
    """The standard output of the first process, once all have ended well."""
    ended = time.monotonic() + limit
    printed = []
    try:
        for process in processes:
            if not process.wait(max(0.0, ended - time.monotonic())):
                raise RunError(f"{what}: longer than {limit:g} s; --timeout allows more")
            output, errors = process.printed()
            if process.returncode:
                last = "\n".join(errors.splitlines()[-12:])
                raise RunError(f"{what}: exit code {process.returncode}\n{last}")
            printed.append(output)
    finally:
        for process in processes:
            process.kill()
    return printed[0]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
