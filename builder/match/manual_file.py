"""Manual mappings as a file: `<name>.mapping.json` beside a database, and `--manual_mapping`.

The form is {"version": 1, "pairs": [{"step", "rank", "problem", "benchmark", "descendants"}],
"weights": [{"step", "rank", "problem": […], "benchmark": […], "factor"}]}; names of pairs are entry
names of the dumps, those of weights are paths of parameters; step and rank may be null for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import isfinite
from pathlib import Path

import msgspec

from builder.errors import MappingError
from msprobe_core.format.file_lock import LockedError, locked
from msprobe_core.format.whole_file import written_whole

FILE_VERSION = 1
SUFFIX = ".mapping.json"


class MappedPair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One pair that a person made."""

    problem: str
    benchmark: str
    descendants: bool = False
    step: int | None = None
    rank: int | None = None

    def applies_to(self, step: int, rank: int) -> bool:
        """Whether the pair is meant for a step and rank."""
        return self.step in (None, step) and self.rank in (None, rank)


class MappedWeights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters that a person says are one tensor, in whatever order of elements and axes.

    Several on one side make up that of the other, in their order; the problem's is `factor` times
    the benchmark's.
    """

    problem: tuple[str, ...]
    benchmark: tuple[str, ...]
    factor: float = 1.0
    step: int | None = None
    rank: int | None = None

    def applies_to(self, step: int, rank: int) -> bool:
        """Whether they are meant for a step and rank."""
        return self.step in (None, step) and self.rank in (None, rank)

    def __str__(self) -> str:
        return f"{' + '.join(self.problem)} ↔ {' + '.join(self.benchmark)}"


class _File(msgspec.Struct):
    version: int
    pairs: list[MappedPair] = []
    weights: list[MappedWeights] = []


# Made at once: msgspec crashes when two threads are the first to use a type.
_decode = msgspec.json.Decoder(_File).decode


def mapping_path(database: Path) -> Path:
    """The mapping file that belongs to a result database: `x.vis.db` has `x.mapping.json`."""
    stem = database.name.removesuffix(".vis.db")
    return database.with_name(stem + SUFFIX)


def read_mapping(path: Path) -> list[MappedPair]:
    """The pairs of a mapping file; raises MappingError when it is missing or of another form."""
    return _read(path).pairs


def read_weights(path: Path) -> list[MappedWeights]:
    """What a mapping file says of weights; raises MappingError like `read_mapping`."""
    weights = _read(path).weights
    for each in weights:
        if min(len(each.problem), len(each.benchmark)) != 1:
            raise MappingError(
                f"{path}: weights {each}: several on both sides, or none on one",
                "pair one tensor with those that make it up",
            )
        if not isfinite(each.factor) or not each.factor:
            raise MappingError(f"{path}: weights {each}: factor {each.factor}", "give a number")
    return weights


def _read(path: Path) -> _File:
    try:
        content = _decode(path.read_bytes())
    except FileNotFoundError:
        raise MappingError(f"{path}: no such file", "export one from the interface") from None
    except OSError as error:
        raise MappingError(f"{path}: {error.strerror}", "check the file") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MappingError(
            f"{path}: not a manual mapping ({error})", "export one from the interface"
        ) from None
    if content.version != FILE_VERSION:
        raise MappingError(
            f"{path}: version {content.version}, this tool reads {FILE_VERSION}", "update the tool"
        )
    return content


@contextmanager
def changing(path: Path) -> Iterator[None]:
    """Hold a mapping file while it is read, changed and written; other processes wait.

    Raises MappingError where another process does not let go of it.
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(path))
        except LockedError:
            raise MappingError(f"{path}: another process is writing it", "try again") from None
        yield


def write_mapping(path: Path, pairs: Sequence[MappedPair]) -> None:
    """Write a mapping file in one step, so that a reader sees the old or the new one.

    What the file says of weights stays.
    """
    weights = _read(path).weights if path.exists() else []
    content = msgspec.json.encode(_File(FILE_VERSION, list(pairs), weights))
    with written_whole(path) as beside:
        beside.write_bytes(msgspec.json.format(content, indent=2) + b"\n")
