"""One rank of one program, recorded by an adapter: `python -m faultbench.record`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from pathlib import Path

import torch
import torch._dynamo
import torch.distributed as dist

from faultbench import program


def main() -> None:
    """Load, record, and write what it took and what came out beside the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("adapter")
    parser.add_argument("script", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rank = int(os.environ.get("RANK", "0"))
    adapter = importlib.import_module(f"faultbench.adapters.{arguments.adapter}")
    loaded = program.load(arguments.script, arguments.steps)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    adapter.record(loaded, arguments.folder)
    seconds = time.perf_counter() - begun
    beside = arguments.folder.parent / f"{arguments.folder.name}.rank{rank}"
    torch.save(
        {"results": loaded.results, "model": loaded.model.state_dict()},
        beside.with_suffix(f"{beside.suffix}.pt"),
    )
    beside.with_suffix(f"{beside.suffix}.json").write_text(json.dumps({"seconds": seconds}))
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
