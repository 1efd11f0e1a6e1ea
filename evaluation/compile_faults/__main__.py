"""Seeds each fault, checks, prints who is named: `python -m evaluation.compile_faults`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from builder import Suspect
from evaluation.compile_faults.faults import FAULTS, HELD_BACK, Fault
from evaluation.compile_faults.one_layer import (
    HELD_BACK_OF_ONE_LAYER,
    OF_ONE_LAYER,
    UNSEEN_OF_ONE_LAYER,
)
from evaluation.compile_faults.without_kernels import without_kernels
from msprobe.compile_check import Answer, Case, check_compilation

MODULES_NAMED, CALLS_NAMED = 0.95, 0.9  # at least these shares of what is run


def main() -> int:
    """Print one line a fault; code 1 when fewer are named than should be."""
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.compile_faults", description=__doc__
    )
    parser.add_argument("--names", nargs="*", default=[], help="parts of names of faults [all]")
    parser.add_argument("--held-back", action="store_true", help="those that are held back alone")
    parser.add_argument(
        "--no-kernels",
        action="store_true",
        help="run graphs as inductor's passes leave them, without faults of lowerings: some ten "
        "seconds of processor time each",
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    held_back = (*HELD_BACK, *HELD_BACK_OF_ONE_LAYER, *UNSEEN_OF_ONE_LAYER)
    all_faults = held_back if options.held_back else (*FAULTS, *OF_ONE_LAYER, *held_back)
    chosen = [
        fault
        for fault in all_faults
        if not options.names or any(part in fault.name for part in options.names)
        if not (options.no_kernels and fault.family == "lowering")
    ]
    modules = calls = 0
    for fault in chosen:
        begun = time.monotonic()
        answer = checked(fault, without_kernels if options.no_kernels else "inductor")
        finding = first_of(answer)
        named = finding is not None and names_module(fault, finding)
        called = finding is not None and finding.node in fault.calls
        modules, calls = modules + named, calls + called
        said = f"{finding.node} inside {finding.inside}" if finding else "nothing is named"
        changed = "" if not answer.changed else f", {len(answer.changed)} results changed"
        print(
            f"{fault.family:13} {fault.name:48} module {'yes' if named else 'NO '} "
            f"call {'yes' if called else 'NO '}: {said}{changed} "
            f"({time.monotonic() - begun:.0f} s)",
            flush=True,
        )
    print(f"module named in {modules} of {len(chosen)}, call in {calls}")
    too_few = modules < MODULES_NAMED * len(chosen) or calls < CALLS_NAMED * len(chosen)
    return 1 if too_few else 0


def checked(fault: Fault, backend: str | Callable[..., Any]) -> Answer:
    """The check of a model that a wrong compiler has compiled."""

    def case() -> Case:
        torch.manual_seed(0)
        return Case(fault.model(), (fault.given(),), {})

    with tempfile.TemporaryDirectory() as folder, fault.seeded():
        return check_compilation(case, Path(folder), backend)


def first_of(answer: Answer) -> Suspect | None:
    """The finding that a user reads first."""
    return next(iter(answer.diagnosis.findings), None)


def names_module(fault: Fault, finding: Suspect) -> bool:
    """Whether the innermost module that a finding names is the wrong one."""
    entry = finding.node if finding.node.startswith("Module.") else finding.inside
    return (
        entry is not None
        and entry.startswith(f"Module.{fault.module}.")
        and (entry.removeprefix(f"Module.{fault.module}.").count(".") <= 2)
    )


if __name__ == "__main__":
    sys.exit(main())
