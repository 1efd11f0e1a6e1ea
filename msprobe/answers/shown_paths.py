"""Words paths without saying where on this machine they lie: an answer holds no absolute path."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

# A path of several parts that begins at a root, not one inside a longer word (`a/b`, `https://x`).
_ABSOLUTE = re.compile(
    r"""(?<![\w.:/\\-])(?:/|[A-Za-z]:[\\/]|\\\\)[^\s/\\'",;:()<>|]+(?:[\\/][^\s/\\'",;:()<>|]+)+"""
)
_INSTALLED = re.compile(r"[\\/](?:site|dist)-packages[\\/]")
_SEPARATOR = re.compile(r"[\\/]+")
_KEPT_PARTS = 3  # of a path elsewhere: enough to tell `model/layers/mlp.py` from another `mlp.py`


class ShownPaths:
    """Paths below some folders are told relative to the first that holds them.

    What is installed is told from `site-packages` on, and of all else the last three parts.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        spelled = [os.fspath(f) for one in folders for f in (one.absolute(), one.resolve())]
        # No folder is left out of `/`: there every path would look relative.
        self._folders = [one for one in dict.fromkeys(spelled) if Path(one).parent != Path(one)]

    def text(self, text: str) -> str:
        """A sentence with every absolute path in it shortened."""
        for folder in self._folders:
            if folder in text:
                spelled = r"(?<![\w.:/\\-])" + re.escape(folder)
                text = re.sub(spelled + r"[\\/]+(?=[^\s\\/])", "", text)
                text = re.sub(spelled + r"(?![\w.-])", ".", text)
        return _ABSOLUTE.sub(lambda match: self.path(match[0]), text)

    def path(self, path: str) -> str:
        """A whole path shortened; one that is relative stays as it is."""
        for folder in self._folders:
            if path == folder:
                return "."
            if path.startswith((folder + "/", folder + os.sep)):
                return path[len(folder) + 1 :].replace(os.sep, "/")
        if not path.startswith(("/", "\\")) and path[1:2] != ":":
            return path
        installed = _INSTALLED.split(path)
        if len(installed) > 1:
            return installed[-1]
        return "/".join([part for part in _SEPARATOR.split(path) if part][-_KEPT_PARTS:])
