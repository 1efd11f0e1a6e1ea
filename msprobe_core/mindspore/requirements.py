"""What has to be installed before MindSpore can be recorded, said in one line each.

NumPy 2 is accepted by `import mindspore` and by its own check; the first real model then dies in
the middle of a kernel (2.7 to 2.10), which no metadata tells.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

OLDEST = (2, 7, 1)
"""2.7.0 lacks the hooks on autograd's nodes (`Tensor._grad_node`)."""
_WHAT = "pip install 'mindspore>=2.7.1' 'numpy<2'"


def check_requirements() -> None:
    """Raise ImportError that says what to install."""
    numpy, mindspore = _version("numpy"), _version("mindspore")
    if mindspore is None:
        raise ImportError(f"msprobe.mindspore needs MindSpore, which is not installed: {_WHAT}")
    if numbers_of(mindspore) < OLDEST:
        raise ImportError(
            f"msprobe.mindspore needs MindSpore 2.7.1 or later, not {mindspore}: {_WHAT}"
        )
    if numpy is not None and numbers_of(numpy) >= (2,):
        raise ImportError(
            f"MindSpore {mindspore} fails with NumPy {numpy} in the middle of a model: {_WHAT}"
        )


def numbers_of(text: str) -> tuple[int, ...]:
    """The leading numbers of a version: `2.10.0rc1` is (2, 10, 0)."""
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"[a-z+]", text)[0]))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
