"""Packs some recorded runs as the sample: python -m evaluation.cross_framework.pack RECORDED

Paths in stacks are shortened to what lies below the checkout or the packages.
"""

from __future__ import annotations

import io
import re
import sys
import tarfile
from pathlib import Path

from evaluation.cross_framework.pairs import IN_SAMPLE, SAMPLE

_FOLDERS = re.compile(r"File /\S*?/(?=(?:tests|examples|msprobe|mindspore|torch)/)")


def main() -> None:
    (recorded,) = map(Path, sys.argv[1:])
    runs = [f"mindspore/{run}" for run in IN_SAMPLE]
    runs += [f"pytorch/{run}" for run in sorted({run.partition("-")[0] for run in IN_SAMPLE})]
    SAMPLE.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(SAMPLE, "w:xz", preset=9) as archive:
        for run in runs:
            for file in sorted((recorded / run).rglob("*.json")):
                _add(archive, file, recorded)


def _add(archive: tarfile.TarFile, file: Path, recorded: Path) -> None:
    text = _FOLDERS.sub("File ", file.read_text()).replace(str(recorded), "recorded").encode()
    # The number of a process says nothing, and would be another one each time.
    parts = [
        "proc0" if part.startswith("proc") else part for part in file.relative_to(recorded).parts
    ]
    told = tarfile.TarInfo("/".join(parts))
    told.size, told.mode = len(text), 0o644
    archive.addfile(told, io.BytesIO(text))


if __name__ == "__main__":
    main()
