"""`python -m benchmarks.compiled.seconds`: a check that compiles a small model twice ÷ one that
also compiles it once more without caches, as every check did.

Both are run in turns in one process, each with empty caches of its own; processor time, that of the
compilers that are started included, the fastest of each.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from unittest.mock import patch

import torch

from msprobe.compile_check import Case, check_compilation, compilation
from tests.msprobe_core.torch.graph.models import batch, language


def main() -> int:
    """Print the seconds of each and their ratio."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compiled.seconds", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    once, again = [], []
    for _ in range(options.rounds):
        again.append(seconds(lambda: patch.object(compilation, "_is_anew", lambda: False)))
        once.append(seconds(nullcontext))
    print(f"{min(once):.1f} s ÷ {min(again):.1f} s = {min(once) / min(again):.2f}")
    return 0


def seconds(how: Callable[[], AbstractContextManager[object]]) -> float:
    """Processor seconds of one check that finds nothing in a cache."""
    with tempfile.TemporaryDirectory() as folder:
        caches = patch.dict(os.environ, TORCHINDUCTOR_CACHE_DIR=str(Path(folder) / "cache"))
        # Compilers that another process starts would not be counted.
        with caches, torch._inductor.config.patch(compile_threads=1), how():
            begun = _used()
            check_compilation(lambda: Case(language(), (batch(),), {}), Path(folder) / "check")
            return _used() - begun


def _used() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    sys.exit(main())
