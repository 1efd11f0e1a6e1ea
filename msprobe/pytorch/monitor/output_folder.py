"""The folder of one start of a monitor: a new one, or with `append_output` one that is there."""

from __future__ import annotations

import re
import secrets
from datetime import datetime
from pathlib import Path

from msprobe.pytorch.monitor.monitor_settings import MonitorSettings
from msprobe.trends.folder_time import is_between
from msprobe_core.report import say

_NAME = re.compile(r"(?P<time>.+)-rank(?P<rank>\d+)-[0-9a-f]+")


def output_folder(base: Path, rank: int, settings: MonitorSettings) -> Path:
    """Where a rank writes; the latest of its folders between the times that are to go on."""
    if settings.append_output:
        first, last = settings.append_output[0], settings.append_output[-1]
        found = [
            path
            for path in sorted(base.glob("*"), key=lambda path: path.stat().st_mtime)
            if (match := _NAME.fullmatch(path.name))
            and int(match["rank"]) == rank
            and is_between(match["time"], first, last)
        ]
        if found:
            return found[-1]
        say(f"{base}: no folder of rank {rank} from {first} to {last}; a new one is made")
    return base / f"{_time(settings.time)}-rank{rank}-{secrets.token_hex(4)}"


def _time(form: str) -> str:
    """The folder's time as it has always been, or with `"time": "iso"` one that has a year."""
    now = datetime.now().astimezone()
    return now.strftime("%Y-%m-%dT%H-%M-%S" if form == "iso" else "%b%d_%H-%M-%S")
