"""`python -m benchmarks.compiled.cost [LEVEL …]`: a compiled step with a recording ÷ one without.

Both are steps of models of one size in one process, in turns; CPU time, the fastest of each.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.torch.graph.models import Language, are_equal, train

_WORDS = 512


def main() -> int:
    """Print one line a level."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compiled.cost", description=__doc__)
    parser.add_argument("levels", nargs="*", default=["L0"], help="L0, L1, mix [L0]")
    parser.add_argument("--backend", default="inductor")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(1)
    # Without it dynamo gives a model without hooks the graph of one with hooks, and the reverse.
    torch._dynamo.config.skip_nnmodule_hook_guards = False
    for level in options.levels:
        print(told(level, options.backend, options.rounds), flush=True)
    return 0


def told(level: str, backend: str, rounds: int) -> str:
    """The ratio at one level, and whether the recorded step had the same results."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    base = Language(width=256, heads=4, layers=4, words=_WORDS)
    ids = torch.randint(0, _WORDS, (8, 128))
    with tempfile.TemporaryDirectory() as folder:
        settings = {"capture": "graph", "level": level, "dump_path": folder}
        config = Path(folder) / "config.json"
        config.write_text(json.dumps(settings), encoding="utf-8")
        debugger = PrecisionDebugger(config)
        recorded, plain = copy.deepcopy(base), copy.deepcopy(base)
        debugger.start(model=recorded)
        steps = [_step(model, backend, ids) for model in (plain, recorded)]

        def dumped() -> list[Tensor]:
            debugger.start(model=recorded)
            seen = steps[1]()
            debugger.stop()
            debugger.step()
            return seen

        same = are_equal(dumped(), steps[0]())
        dumped(), steps[0]()
        times = [(_seconds(steps[0]), _seconds(dumped)) for _ in range(rounds)]
        debugger.close()
    alone, with_dump = (min(column) for column in zip(*times, strict=True))
    return (
        f"{backend} {level}: {with_dump / alone:.2f} plain steps ({1000 * alone:.0f} ms), results "
        f"{'bit-equal' if same else 'DIFFER'}"
    )


def _step(model: nn.Module, backend: str, ids: Tensor) -> Callable[[], list[Tensor]]:
    run = torch.compile(model, backend=backend, fullgraph=True)
    return lambda: train(model, run, ids)


def _seconds(step: Callable[[], object]) -> float:
    begun = time.process_time()
    step()
    return time.process_time() - begun


if __name__ == "__main__":
    sys.exit(main())
