"""An adapter's answer about two records, in a process of its own: `python -m faultbench.answer`."""

from __future__ import annotations

import argparse
import importlib
import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Pair:
    """What an adapter compares: two recorded folders and a folder for itself.

    `fault` and `script` are for the self-test alone: a tool's adapter does not look there.
    """

    problem: Path
    benchmark: Path
    work: Path
    fault: str
    script: str


def main() -> None:
    """Print the rows as the last line of the standard output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("adapter")
    for word in ("problem", "benchmark", "work"):
        parser.add_argument(word, type=Path)
    parser.add_argument("fault")
    parser.add_argument("script")
    words = vars(parser.parse_args())
    adapter = importlib.import_module(f"faultbench.adapters.{words.pop('adapter')}")
    words["work"].mkdir(parents=True, exist_ok=True)
    rows = adapter.answer(Pair(**words))
    print(json.dumps([row.told() for row in rows]))


if __name__ == "__main__":
    main()
