"""Whether mindstudio-probe is installed too, whose package is also called `msprobe`.

Both put their files into the same folder, so the one that was installed last wins.
"""

from __future__ import annotations

import os
import sys

_OTHER = "mindstudio_probe-"


def other_distribution() -> str | None:
    """The folder name of mindstudio-probe's metadata (with its version), None without it.

    Folders are listed instead of asking importlib.metadata: this runs with every import.
    """
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or os.curdir)  # noqa: PTH208 - zip files and typos are no paths
        except OSError:
            continue
        for name in names:
            if name.startswith(_OTHER) and name.endswith((".dist-info", ".egg-info")):
                return name.removesuffix(".dist-info").removesuffix(".egg-info")
    return None


def warn_of_other() -> None:
    """One line on standard error when both packages are installed."""
    other = other_distribution()
    if other is not None and sys.stderr is not None:
        print(
            f"[msprobe] {other} is installed too; this is the msprobe of tb-graph-ascend; "
            "`tb-graph-ascend doctor` says how to change it",
            file=sys.stderr,
        )
