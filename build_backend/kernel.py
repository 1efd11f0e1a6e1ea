"""Compiles the kernel that measures tensors on the CPU, where there is a C compiler.

`python build_backend/kernel.py` does the same as an install does. Without a compiler the package
measures by reductions of the frameworks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "msprobe_core" / "values" / "one_pass.c"
LIBRARY = SOURCE.with_name("libone_pass.so")
_FLAGS = ("-O3", "-std=gnu11", "-shared", "-fPIC")


def build_kernel(library: Path = LIBRARY) -> bool:
    """Compile the kernel; False, and no library of an earlier time, where that cannot be done."""
    library.unlink(missing_ok=True)
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None or os.name != "posix":
        return False
    command = [*compiler.split(), *_FLAGS, "-o", str(library), str(SOURCE), "-lm"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        print(f"{compiler} does not run ({error}); tensors are measured without a kernel")
        return False
    if done.returncode:
        library.unlink(missing_ok=True)
        print(f"{done.stderr}{compiler} refuses it; tensors are measured without a kernel")
    return done.returncode == 0


@contextmanager
def kernel_aside(library: Path = LIBRARY) -> Iterator[None]:
    """Build without a kernel; one that an editable install uses lies there again afterwards."""
    kept = library.with_suffix(".aside")
    if library.exists():
        library.replace(kept)
    try:
        yield
    finally:
        if kept.exists():
            kept.replace(library)


def platform_tag() -> str:
    """What a wheel that holds the library is for."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


if __name__ == "__main__":
    build_kernel()
