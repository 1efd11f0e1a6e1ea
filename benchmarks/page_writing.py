"""How long a result takes to be written as a page, and how large the page is.

`python -m benchmarks.page_writing FOLDER 20000 100000` leaves FOLDER/20000.html and so on; how long
they take to open says `node benchmarks/offline_page.mjs FOLDER/*.html`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import builder
from benchmarks.generate import Size, generate
from builder.work.options import BuildOptions
from tb_graph_ascend.offline.export import write_page


def main() -> None:
    """Compare two dumps of each size and write what comes of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page_writing", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sizes", type=int, nargs="+", help="nodes a side")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for size in options.sizes:
        with tempfile.TemporaryDirectory(dir=options.folder) as work:
            _measure(Path(work), options.folder / f"{size}.html", size)


def _measure(work: Path, page: Path, size: int) -> None:
    generate(work, Size(size))
    sides = work / "problem", work / "benchmark"
    built = builder.build(*sides, work / "built", BuildOptions(workers=1))
    start, used = time.perf_counter(), time.process_time()
    written = write_page(built.path, page)
    seconds, worked = time.perf_counter() - start, time.process_time() - used
    print(f"{page}: {written / 1e6:.1f} MB in {seconds:.1f} s ({worked:.1f} s of processor time)")


if __name__ == "__main__":
    main()
