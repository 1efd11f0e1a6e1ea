"""Shrinks pictures of the interface to a third: 256 colours, chosen so that the ramp stays smooth.

`python -m tests.e2e.shrink FOLDER` rewrites every PNG below FOLDER.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image


def shrink(path: Path) -> None:
    """Rewrite a picture with a palette of its own."""
    with Image.open(path) as picture:
        if picture.mode == "P":
            return
        few = picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1)
    few.save(path, optimize=True)


if __name__ == "__main__":
    for found in sorted(Path(sys.argv[1]).rglob("*.png")):
        shrink(found)
