"""With DYNAMIC_MONITOR=True a training is followed when its configuration is switched on.

The file is looked at after each step. When it has changed and says `"dynamic_on": true`, the next
step is the first; after `collect_times` the field is set back to false in the file.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from msprobe.pytorch.monitor.monitor_settings import MonitorSettings, read_settings
from msprobe_core.format.whole_file import written_whole
from msprobe_core.report import say


class ConfigurationWatch:
    """Looks at a configuration's file. Nothing here raises once it is made."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.waits = os.environ.get("DYNAMIC_MONITOR", "").lower() == "true"
        # What is switched on already counts as a change, so that the first step is followed.
        self._seen: int | None = None

    def switched_on(self) -> MonitorSettings | None:
        """The settings that were switched on since the last look; None for none."""
        if not self.waits:
            return None
        try:
            changed = self._path.stat().st_mtime_ns
            if changed == self._seen:
                return None
            self._seen = changed
            settings = read_settings(self._path)
        except Exception as error:  # it may be half written; the training goes on
            say(f"monitor: {self._path}: {error}; the former configuration stays")
            return None
        return settings if settings.dynamic_on else None

    def turn_off(self) -> None:
        """Set `dynamic_on` to false in the file."""
        try:
            given = json.loads(self._path.read_text(encoding="utf-8"))
            text = json.dumps({**given, "dynamic_on": False}, indent=2)
            # All ranks do so, and read it at each step: none may see half of it.
            with written_whole(self._path) as beside:
                beside.write_text(text, encoding="utf-8")
            self._seen = self._path.stat().st_mtime_ns
        except (OSError, ValueError) as error:
            say(f"monitor: {self._path}: {error}; dynamic_on was not set back")
