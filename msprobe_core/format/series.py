"""The trends of a training on disk: files, records of the log, kinds in order.

    <run>/run.json                     version, time, layout, module tree, configuration
    <run>/rank<r>/a<attempt>/          one start of the training on one rank
        targets.jsonl                  one line a target; its place in the file is its column
        log-<n>                        records of single steps, appended; n counts records
        numbers-<n>-<m>.npy            step numbers of the records n to m
        steps-<n>-<m>.npy              their values, float32 [statistic][target][record]
        every8-… every64-….npy         [least, largest][statistic][target] of 8 and of 64 records
        alerts.jsonl

Standard library only. A target keeps its column for good: new ones are appended, so a record or
segment with fewer columns simply did not know the later ones yet.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass

VERSION = 1
RUN_FILE = "run.json"
TARGETS_FILE = "targets.jsonl"
ALERTS_FILE = "alerts.jsonl"
LOG, NUMBERS, STEPS = "log", "numbers", "steps"

STATISTICS = ("norm", "mean", "min", "max", "nans", "infs", "zeros", "size")
"""What is stored of a target at a step. `size` 0 means that it was not measured in this step; a
statistic that was not asked for is NaN. A scalar has its value as norm, mean, min and max."""

TENSOR_KINDS = ("actv", "actv_grad", "grad", "exp_avg", "exp_avg_sq", "param")
KINDS = (
    *("actv", "loss", "actv_grad", "grad", "grad_norm", "clip", "loss_scale", "lr", "setting"),
    *("exp_avg", "exp_avg_sq", "ratio", "param", "skipped", "seconds"),
)
"""In the order in which a step makes them: what comes first may be the cause of what follows."""

SETTING, SETTING_EVERY = "setting", 16
"""What an optimizer or a clipping was set to. It is written when it is another one than before, and
every so many steps, since a training has many settings and changes few."""
DECIDING = frozenset({"lr", SETTING, "clip", "loss_scale", "skipped"})
"""What a script decides, and no result."""

LEAST_UPDATE = 2.0**-24
"""Of its weight: half the spacing of float32. A smaller update changes some elements by their last
bit and leaves the others; how many is chance, so that it counts as none."""

SEGMENT = 256
"""Records of a segment: 2,000 targets make 16 MB, which one thread turns in less than 0.1 s."""
LEVELS = (8, 64)
"""Records of a coarse column: at 10,000 steps they fit 1,250 columns, at 100,000 again."""

HEADER = struct.Struct("<4sIII")
"""Tag, step number, bytes that follow, their CRC-32; then float32 [statistic][target]."""
TAG = b"step"

_RANK = re.compile(r"rank(\d+)")
_ATTEMPT = re.compile(r"a(\d+)")
_LOG = re.compile(LOG + r"-(\d{8,})")
_SEGMENT = re.compile(r"(numbers|steps|every\d+)-(\d{8,})-(\d{8,})\.npy")


@dataclass(frozen=True, slots=True)
class TrendTarget:
    """What is followed over the steps: a kind and a name, such as `grad` of `layers.0.fc1.weight`.

    `place` orders the targets of a kind as a step makes them.
    """

    kind: str
    name: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    place: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from all others of a run."""
        return self.kind, self.name

    @property
    def order(self) -> tuple[int, int]:
        """Where it stands in a step; kinds that are not known come last."""
        return (KINDS.index(self.kind) if self.kind in KINDS else len(KINDS), self.place)

    def line(self) -> str:
        """One line of the targets' file."""
        return json.dumps(asdict(self)) + "\n"


@dataclass(frozen=True, slots=True)
class SegmentName:
    """The name of a `.npy` file: what it holds of which records, the last one included."""

    what: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.what}-{self.first:08d}-{self.last:08d}.npy"


def parse_targets(lines: Sequence[str]) -> list[TrendTarget]:
    """The targets of a file; a last line that is still being written is left out."""
    targets: list[TrendTarget] = []
    for line in lines:
        if not line.endswith("\n"):
            break
        try:
            fields = json.loads(line)
        except RecursionError:
            raise ValueError("a target nests too deep") from None
        targets.append(TrendTarget(**{**fields, "shape": tuple(fields["shape"])}))
    return targets


def rank_folder(rank: int) -> str:
    """The folder of a rank."""
    return f"rank{rank}"


def attempt_folder(attempt: int) -> str:
    """The folder of one start of the training."""
    return f"a{attempt}"


def log_name(first: int) -> str:
    """The log whose first record has this count."""
    return f"{LOG}-{first:08d}"


def every(level: int) -> str:
    """What a coarse segment's name begins with."""
    return f"every{level}"


def parse_rank(name: str) -> int | None:
    """The rank that a folder's name says, if it says one."""
    return _number(_RANK, name)


def parse_attempt(name: str) -> int | None:
    """The attempt that a folder's name says, if it says one."""
    return _number(_ATTEMPT, name)


def parse_log(name: str) -> int | None:
    """The count of a log's first record, if the name is a log's."""
    return _number(_LOG, name)


def parse_segment(name: str) -> SegmentName | None:
    """What a file of turned records holds, if the name is one's."""
    found = _SEGMENT.fullmatch(name)
    return SegmentName(found[1], int(found[2]), int(found[3])) if found else None


def _number(pattern: re.Pattern[str], name: str) -> int | None:
    found = pattern.fullmatch(name)
    return int(found[1]) if found else None
