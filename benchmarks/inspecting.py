"""`msprobe inspect` on a dump of many entries, against decoding all of it, in one run.

`python -m benchmarks.inspecting [--entries 1000000] [--repeat 3]`; the figures come from the whole
program, its start included, on both layouts: msprobe's and ours.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.generate import Size, generate

_SEED_ENTRIES = 20_000
_DECODE = "import json, sys; print(len(json.load(open(sys.argv[1]))['data']))"


def main() -> None:
    """Print a table of seconds and ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inspecting", description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder) / "seed", Size(_SEED_ENTRIES))
        seed = json.loads(next((Path(folder) / "seed" / "problem").rglob("dump.json")).read_text())
        for layout in ("indented", "line per entry"):
            dump = Path(folder) / layout.split()[0]
            size = _write(dump / "step0" / "rank0", seed, options.entries, layout)
            _compare(layout, dump, size, options.repeat)


def _write(folder: Path, seed: dict[str, dict[str, object]], entries: int, layout: str) -> int:
    folder.mkdir(parents=True)
    data = list(seed["data"].items())
    indented = layout == "indented"
    with (folder / "dump.json").open("w") as file:
        file.write('{\n "task": "statistics",\n "level": "mix",\n "framework": "pytorch",\n')
        file.write(' "dump_data_dir": null,\n "data": {')
        for number in range(entries):
            name, entry = data[number % len(data)]
            text = json.dumps({f"{name}.{number}": entry}, indent=1 if indented else None)
            body = text[3:-2].replace("\n", "\n ") if indented else text[1:-1]
            file.write(("," if number else "") + ("\n  " if indented else "\n") + body)
        file.write("\n }\n}" if indented else "\n}}\n")
    return (folder / "dump.json").stat().st_size


def _compare(layout: str, dump: Path, size: int, repeat: int) -> None:
    inspect = [sys.executable, "-m", "msprobe", "inspect", str(dump)]
    decode = [sys.executable, "-c", _DECODE, str(dump / "step0" / "rank0" / "dump.json")]
    ours = min(_seconds(inspect) for _ in range(repeat))
    theirs = _seconds(decode)
    print(f"{layout}: {size / 1e6:.0f} MB, inspect {ours:.2f} s, json {theirs:.1f} s, ", end="")
    print(f"ratio {theirs / ours:.0f}")


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
