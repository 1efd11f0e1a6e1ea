"""What each package costs to import in a fresh process: time, processor time, memory, frameworks.

    python benchmarks/cold_imports.py [--python OTHER_PYTHON]

Of each the least of some rounds, less what Python itself takes. Run it where MindSpore is
installed, too: packages that need no framework have to cost the same there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (
    "builder",
    "tb_graph_ascend.plugin",
    "msprobe.cli",
    "msprobe_core.capture.lifecycle",
    "msprobe.acc_check.session",
    "msprobe.pytorch",
    "torch",
    "msprobe.mindspore",
    "mindspore",
)
ROUNDS = 3
_PROGRAM = """
import json, resource, sys, time
before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
if sys.argv[1]:
    __import__(sys.argv[1])
wall, now = time.perf_counter() - before[0], resource.getrusage(resource.RUSAGE_SELF)
used = now.ru_utime + now.ru_stime - before[1].ru_utime - before[1].ru_stime
memory = (now.ru_maxrss - before[1].ru_maxrss) / 1024
frameworks = [name for name in ("torch", "mindspore") if name in sys.modules]
print(json.dumps([wall, used, memory, frameworks]))
"""


def main() -> None:
    """Print one row a package."""
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("--python", default=sys.executable)
    options = parse.parse_args()
    print("| package | wall | processor | memory | loads |\n|---|---|---|---|---|")
    for package in PACKAGES:
        print(row(options.python, package), flush=True)


def row(python: str, package: str) -> str:
    """The cells of one package; of one that is not installed, that."""
    runs = []
    for _ in range(ROUNDS):
        command = [python, "-W", "ignore", "-c", _PROGRAM, package]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            return (
                f"| `{package}` | {done.stderr.strip().splitlines()[-1].partition(':')[0]} | | | |"
            )
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    wall, used, memory, frameworks = (min(each) for each in zip(*runs, strict=True))
    loads = ", ".join(frameworks) or "none"
    return f"| `{package}` | {wall:.2f} s | {used:.2f} s | {memory:.0f} MB | {loads} |"


if __name__ == "__main__":
    main()
