"""Decides per value whether its tensor is saved beside a statistics record.

Two reasons: `tensor_list` names the entry, or its checksum differs from an earlier dump's.
"""

from __future__ import annotations

import json
from pathlib import Path

from msprobe_core.format import DUMP_FILE
from msprobe_core.report import say


class EarlierChecksums:
    """Checksums of one step of an earlier dump by value path; counts the entries that differ."""

    def __init__(self, checksums: dict[str, str], limit: int) -> None:
        self._checksums, self._limit = checksums, limit
        self._entries: set[str] = set()

    def differs(self, path: str, record: str) -> bool:
        """Whether the record's checksum is another one, while the limit is not reached."""
        before = self._checksums.get(path)
        if before is None or f'"md5": "{before}"' in record:
            return False
        entry = entry_of(path)
        if self._limit != -1 and len(self._entries) >= self._limit and entry not in self._entries:
            return False
        self._entries.add(entry)
        return True


def read_checksums(root: str, step: int, rank_dir: str, limit: int) -> EarlierChecksums | None:
    """The checksums of that step and process; None, and one line, when the dump has none."""
    directory = _matching_dir(Path(root), step, rank_dir)
    try:
        text = None if directory is None else (directory / DUMP_FILE).read_text(encoding="utf-8")
        data = None if text is None else json.loads(text).get("data")
    except (OSError, ValueError) as error:
        say(f"bench_path {directory}: cannot be read ({error}); nothing is compared in step {step}")
        return None
    if not isinstance(data, dict):
        say(f"bench_path {root}: has no step{step}/{rank_dir}; nothing is compared in this step")
        return None
    checksums: dict[str, str] = {}
    for name, entry in data.items():
        for key, value in (entry or {}).items():
            side = {"input_args": ".input", "input_kwargs": ".input", "output": ".output"}
            inner = "" if ".parameters_grad" in name else side.get(key, f".{key}")
            _collect(f"{name}{inner}" if inner else f"{name}.{key}", value, checksums)
    return EarlierChecksums(checksums, limit)


def entry_of(path: str) -> str:
    """The entry that a value path belongs to."""
    for word in (".input.", ".output.", ".parameters."):
        head, separator, _ = path.rpartition(word)
        if separator:
            return head
    return path.rpartition(".")[0]


def _matching_dir(root: Path, step: int, rank_dir: str) -> Path | None:
    folder = root / f"step{step}"
    if (folder / rank_dir).is_dir():
        return folder / rank_dir
    # Another run has another process id: its only process directory is meant.
    others = sorted(folder.glob("proc*")) if rank_dir.startswith("proc") else []
    return others[0] if len(others) == 1 else None


def _collect(path: str, value: object, checksums: dict[str, str]) -> None:
    if isinstance(value, dict):
        if "md5" in value:
            checksums[path] = str(value["md5"])
            return
        for key, inner in value.items():
            _collect(f"{path}.{key}", inner, checksums)
    elif isinstance(value, list):
        single = len(value) == 1 and ".parameters_grad." in path
        for position, inner in enumerate(value):
            _collect(path if single else f"{path}.{position}", inner, checksums)
