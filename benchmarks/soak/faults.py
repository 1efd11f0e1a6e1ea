"""Disks that are full or gone, ranks that fail, clocks that jump, folders that vanish."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from benchmarks.generate import Size, generate
from benchmarks.soak.outcome import ROOT, Outcome, finished, half_written, msprobe, parses, serve

_TRAINING = """
import sys, torch
from msprobe.pytorch import PrecisionDebugger
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(20)])
debugger = PrecisionDebugger(dump_path=sys.argv[1], level="mix", task="tensor")
for _ in range(3):
    debugger.start(model)
    loss = model(torch.ones(8, 64)).sum()
    loss.backward()
    debugger.stop()
    debugger.step()
print("trained to the end", loss.item())
"""
_JUMP = """
import datetime, sys
class Frozen(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(1999, 12, 31, 23, 59, 59)
import builder.write.result_writer as writer
writer.datetime = Frozen
from msprobe.cli import main
sys.exit(main(sys.argv[1:]))
"""


def full_disk(work: Path, entries: int) -> Outcome:
    """The builder ends with one line and leaves nothing; the training goes on without dumping."""
    outcome = Outcome("disk full")
    generate(work / "dump", Size(entries))
    sides = ("-tp", work / "dump" / "problem", "-gp", work / "dump" / "benchmark")
    with _small_disk(work / "small") as (folder, limit):
        code, said = _limited(
            [sys.executable, "-m", "msprobe", "graph_visualize", *sides, "-o", folder / "out"],
            limit,
        )
        outcome.check(code in (1, 3, 5), f"builder: exit code {code}: {said}")
        clear = "disk is full" in said or "No space left" in said or "File too large" in said
        clear = clear and "Traceback" not in said and "report this" not in said
        outcome.check(clear, f"builder: {said}")
        outcome.check(not half_written(folder), "builder: a half-written result")
        shutil.rmtree(folder / "out", ignore_errors=True)
        command = [sys.executable, "-c", _TRAINING, folder / "dump"]
        code, said = _limited(command, limit)
        outcome.check(code == 0 and "trained to the end" in said, f"training: {code}: {said}")
        for path in (folder / "dump").rglob("*.json"):
            outcome.check(parses(path), f"{path} is no JSON after the disk was full")
        kind = "a tmpfs of 1 MB" if limit is None else f"files of at most {limit // 1000} kB"
    outcome.seen = f"{kind}; the training ran to its end, all JSON parses"
    return outcome


def failing_rank(work: Path) -> Outcome:
    """One rank of eight is broken in each of several ways; the other seven are compared."""
    outcome = Outcome("a rank that fails")
    generate(work / "dump", Size(500, ranks=8))
    good = (work / "dump" / "problem" / "step0" / "rank3" / "dump.json").read_bytes()
    broken = [b"", b"{", good[: len(good) // 2], b"[]", b'{"data": 3}', b"\xff\xfe\x00"]
    sides = ("-tp", work / "dump" / "problem", "-gp", work / "dump" / "benchmark")
    for number, content in enumerate(broken):
        (work / "dump" / "problem" / "step0" / "rank3" / "dump.json").write_bytes(content)
        code, said = finished(msprobe("graph_visualize", *sides, "-o", work / f"out{number}"))
        done = code == 3 and "pairs: 8" in said and "1 failed" in said
        outcome.check(done and "rank3" in said, f"{content[:20]!r}: {code}: {said[-300:]}")
        outcome.check(not half_written(work / f"out{number}"), "a half-written result")
    outcome.seen = "7 of 8 ranks compared each time, the failed one named, exit code 3"
    return outcome


def clock_jump(work: Path, times: int) -> Outcome:
    """The clock stands still in 1999: every build must still get a file of its own."""
    outcome = Outcome("clock that jumps")
    generate(work / "dump", Size(300))
    arguments = ["graph_visualize", "-tp", work / "dump" / "problem", "-o", work / "out"]
    for number in range(1, times + 1):
        command = [sys.executable, "-c", _JUMP, *map(str, arguments)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        files = list((work / "out").glob("*.vis.db"))
        outcome.check(done.returncode == 0 and len(files) == number, done.stderr)
    outcome.check(not half_written(work / "out"), "a half-written result")
    outcome.seen = f"{times} builds in the same second of 1999, {times} files"
    return outcome


def unreliable_logdir(work: Path) -> Outcome:
    """The log folder becomes read-only, vanishes and comes back while it is served."""
    outcome = Outcome("log folder read-only, vanishing and back")
    generate(work / "dump", Size(300))
    logs = work / "logs"
    finished(msprobe("graph_visualize", "-tp", work / "dump" / "problem", "-o", logs))
    server, port = serve(logs)
    ask = _Asker(port)
    try:
        status, answer = ask("/api/databases")
        place = f"/api/databases/{answer['databases'][0]['id']}"
        outcome.check(status == 200 and ask(place)[0] == 200, f"at first: {status}")
        logs.rename(work / "gone")
        for path in ("/api/databases", place, f"{place}/findings", f"{place}/pairs/0/0"):
            status, answer = ask(path)
            outcome.check(status in (200, 404) and isinstance(answer, dict), f"{path}: {status}")
        (work / "gone").rename(logs)
        logs.chmod(0o555)
        outcome.check(ask(place)[0] == 200, "after it came back, read-only")
        (file,) = logs.glob("*.vis.db")
        logs.chmod(0o755)
        file.write_bytes(file.read_bytes()[:5000])
        status, answer = ask(place)
        outcome.check(status in (404, 422) and "error" in answer, f"truncated: {status}")
        outcome.check(server.poll() is None, "the server ended")
    finally:
        server.kill()
        server.communicate()
    outcome.seen = "each answer is 200, or 404/422 with a reason; the server stays up"
    return outcome


class _Asker:
    def __init__(self, port: int) -> None:
        self._port = port

    def __call__(self, path: str) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=30)
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


@contextmanager
def _small_disk(folder: Path) -> Iterator[tuple[Path, int | None]]:
    """A mounted tmpfs of 1 MB, or where one cannot be mounted a limit of the size of files."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        yield folder, 200_000
        return
    try:
        yield folder, None
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _limited(command: list[object], limit: int | None) -> tuple[int, str]:
    def restrict() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=restrict,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
