"""First on PYTHONPATH: whoever opens a file waits while `<its name>.held` lies beside it.

So a build in another process lasts as long as a test wants.
"""

from __future__ import annotations

import os
import sys
import time


def _wait(event: str, given: tuple[object, ...]) -> None:
    if event == "open" and isinstance(given[0], str | os.PathLike):
        held = f"{given[0]}.held"
        while os.path.exists(held):  # noqa: PTH110 - paths may not be loaded yet
            time.sleep(0.05)


sys.addaudithook(_wait)
