"""Runs a program as two ranks that meet on this machine, without a launcher of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from tests.msprobe_core.conftest import ROOT

# gloo keeps threads that outlive its groups. One that runs when the process takes down its objects
# aborts it ("terminate called without an active exception"): it ends without that, after everything
# that Python has to do at its end.
_RUN = """
import atexit, os, runpy, sys
import torch.distributed as dist
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
if dist.is_initialized():
    dist.barrier()
    dist.destroy_process_group()
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)
"""


def run_two_ranks(program: Path, *arguments: str) -> None:
    """Start both processes, wait for them, and fail with what the first failing one said."""
    run_ranks(2, program, *arguments)


def run_ranks(world: int, program: Path, *arguments: str) -> None:
    """Start so many processes, wait for them, and fail with what the first failing one said."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shared = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(world),
    }
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _RUN, str(program), *arguments],
            env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]
    said = [process.communicate(timeout=120)[1] for process in running]
    for process, text in zip(running, said, strict=True):
        assert process.returncode == 0, text[-2000:]
