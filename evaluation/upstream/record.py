"""Records one program with the release that PYTHONPATH names.

Run as `python -m evaluation.upstream.record`.
"""

from __future__ import annotations

import argparse
import os
import zlib
from pathlib import Path

import torch

from evaluation.upstream.programs import program_of
from msprobe.pytorch import PrecisionDebugger

os.environ.setdefault("HF_HUB_OFFLINE", "1")


def main() -> None:
    """Run a program for its steps, forwards, backwards and an update where it has an optimizer."""
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.upstream.record", description=__doc__
    )
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    program = program_of(options.program)
    _fill(program.model)
    debugger = PrecisionDebugger(level="mix", dump_path=str(options.folder))
    for _ in range(program.steps):
        with debugger.recording(program.model):
            result = program.run()
            if result.requires_grad:
                result.backward()
            if program.optimizer is not None:
                program.optimizer.step()
                program.optimizer.zero_grad()
        debugger.step()
    debugger.close()


def _fill(model: torch.nn.Module) -> None:
    """The same weights whatever a release draws first: each by its shape and place."""
    with torch.no_grad():
        for place, (name, parameter) in enumerate(model.named_parameters()):
            seed = zlib.crc32(f"{place} {tuple(parameter.shape)}".encode())
            drawn = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed))
            around = 1.0 if parameter.dim() == 1 and "bias" not in name else 0.0
            parameter.copy_(drawn * 0.1 + around)


if __name__ == "__main__":
    main()
