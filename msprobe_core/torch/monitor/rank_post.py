"""What ranks tell each other of a training that they follow, by the store they met in.

Nobody waits here: what is not there yet is None, and the caller asks again. The store is the one
that torch.distributed was initialized with; no collective is called and no group is made.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import torch.distributed as dist

_LONGEST = 4 << 20
"""Bytes of a value; torch's own store takes 8 MiB."""
_starts: dict[str, int] = {}


class RankPost:
    """One rank's box. Raises what the store does when it is gone."""

    def __init__(self, store: Any, name: str, rank: int) -> None:
        # The stubs know neither that it is exported nor that values may be bytes.
        self._store: Any = dist.PrefixStore(f"msprobe/trends/{name}", store)  # type: ignore[attr-defined]  # torch's stubs lack it
        self.rank = rank
        self._store.set(f"here/{rank}", "1")

    def here(self, ranks: Iterable[int]) -> list[int]:
        """Those of the ranks that have said that they follow the training."""
        return [rank for rank in ranks if self._store.check([f"here/{rank}"])]

    def decided(self, what: str, proposal: Sequence[int] | None = None) -> list[int] | None:
        """What all ranks take for decided; the first proposal stands."""
        if proposal is not None:
            value = self._store.compare_set(what, "", json.dumps(list(proposal)))
        elif self._store.check([what]):
            value = self._store.get(what)
        else:
            return None
        ranks: list[int] = json.loads(value)
        return ranks

    def send(self, name: str, content: bytes) -> None:
        """Leave something under a name that is used once."""
        parts = [content[at : at + _LONGEST] for at in range(0, len(content), _LONGEST)]
        for number, part in enumerate(parts):
            self._store.set(f"{name}/{number}", part)
        self._store.set(name, str(len(parts)))

    def take(self, name: str) -> bytes | None:
        """Take away what was left under a name."""
        if not self._store.check([name]):
            return None
        keys = [f"{name}/{number}" for number in range(int(self._store.get(name)))]
        parts = [self._store.get(key) for key in keys]
        for key in (name, *keys):
            self._store.delete_key(key)
        return b"".join(parts)

    def note(self, name: str, value: int = 1) -> None:
        """Write a number that others may read."""
        self._store.set(name, str(value))

    def noted(self, name: str) -> int | None:
        """A number that was written, None while there is none."""
        return int(self._store.get(name)) if self._store.check([name]) else None


def open_post(directory: str) -> RankPost | None:
    """The box of this rank for a training that is followed into a folder; None without others.

    The same folder makes the same name on all ranks, and each start in it another one.
    """
    if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
        return None
    count = _starts[directory] = _starts.get(directory, 0) + 1
    name = f"{zlib.crc32(directory.encode()):08x}-{count}"
    try:
        store = dist.distributed_c10d._get_default_store()
        return RankPost(store, name, dist.get_rank())
    except Exception:  # a backend without a store; each rank is alone
        return None
