"""Runs a program as several ranks that meet on this machine, without a launcher of its own."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.msprobe_core.conftest import ROOT

LONGEST_SECONDS = 120

# One process imports torch, and what its models and optimizers import when they are made; each rank
# is a fork of it, in which nothing else has run. gloo keeps threads that outlive its groups. One
# that runs when the process takes down its objects aborts it ("terminate called without an active
# exception"): a rank ends without that, after everything that Python has to do at its end.
_RANKS = """
import atexit, json, os, runpy, sys, traceback
import torch._dynamo
import torch.distributed as dist
import torch.distributed.fsdp
import torch.distributed.tensor.parallel

def become(rank, job):
    nothing, said = os.open(os.devnull, os.O_RDWR), os.open(job["said"][rank], os.O_WRONLY)
    for number, kept in enumerate((nothing, nothing, said)):
        os.dup2(kept, number)
    os.environ.clear()
    os.environ.update(job["environment"], RANK=str(rank), LOCAL_RANK=str(rank))
    sys.argv = job["command"]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
        if dist.is_initialized():
            dist.barrier()
            dist.destroy_process_group()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        code = 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    os._exit(code)

for line in sys.stdin:
    job, ranks = json.loads(line), []
    for rank in range(len(job["said"])):
        ranks.append(os.fork())
        if ranks[-1] == 0:
            become(rank, job)
    codes = [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in ranks]
    print(json.dumps(codes), flush=True)
"""


def run_two_ranks(program: Path, *arguments: str) -> None:
    """Start both processes, wait for them, and fail with what the first failing one said."""
    run_ranks(2, program, *arguments)


def run_ranks(world: int, program: Path, *arguments: str) -> None:
    """Start so many processes, wait for them, and fail with what the first failing one said."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    meeting = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(world),
    }
    with tempfile.TemporaryDirectory() as folder:
        said = [Path(folder) / f"rank{rank}" for rank in range(world)]
        for each in said:
            each.touch()
        codes = _run(
            {
                "command": [str(program), *arguments],
                "environment": {**os.environ, **_SHARED, **meeting},
                "said": [str(each) for each in said],
            }
        )
        for code, each in zip(codes, said, strict=True):
            assert code == 0, each.read_text()[-2000:]


_SHARED = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def _run(job: dict[str, object]) -> list[int]:
    """The exit codes of the ranks of a job."""
    forking = _forking()
    assert forking.stdin is not None and forking.stdout is not None
    forking.stdin.write(json.dumps(job) + "\n")
    forking.stdin.flush()
    ready, _, _ = select.select([forking.stdout], [], [], LONGEST_SECONDS)
    answer = forking.stdout.readline() if ready else ""
    if not answer:
        _forking.cache_clear()
        os.killpg(forking.pid, signal.SIGKILL)
        raise TimeoutError(f"{job['command']}: the ranks did not end")
    codes: list[int] = json.loads(answer)
    return codes


@cache
def _forking() -> subprocess.Popen[str]:
    """The process that ranks are forked from, one for all tests; it ends when this process does."""
    process = subprocess.Popen(
        [sys.executable, "-c", _RANKS],
        cwd=ROOT,
        env={**os.environ, **_SHARED},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # with its ranks it can be ended as a group
    )

    def end() -> None:
        process.communicate()

    atexit.register(end)
    return process
