"""The earliest of what a monitor's alert rules found on all ranks.

`python -m msprobe.core.monitor.anomaly_processor -d DIR [-o OUT] [-k 8] [-s "[3, 4]"]` reads
`DIR/rank<r>/anomaly.json` and writes the first of them, in the order in which they happened, to
`OUT/anomaly_analyse.json`.
"""

from __future__ import annotations

import argparse
import heapq
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from msprobe.errors import CheckError
from msprobe_core.format.bounded import parse_json, parse_literal
from msprobe_core.format.whole_file import written_whole

ANALYSED = "anomaly_analyse.json"
_FORWARD, _BACKWARD, _OPTIMIZER = range(3)
_STAGES = {
    "actv": _FORWARD,
    **dict.fromkeys(("actv_grad", "acc_grad", "post_grad"), _BACKWARD),
}
"""All else belongs to the optimizer's step."""


@dataclass(frozen=True)
class GradAnomalyData:
    """One hit of a rule, as `anomaly.json` holds it."""

    rank: int = 0
    step: int = 0
    micro_step: int = 0
    pp_stage: int = 0
    vpp_stage: int = 0
    call_id: int = 0
    tag_name: str = ""
    message: str = ""
    group_mates: Sequence[int] = field(default_factory=list)

    @staticmethod
    def get_train_stage(tag_name: str) -> int:
        """0 for the forward pass, 1 for the backward pass, 2 for the optimizer's step."""
        return _STAGES.get(tag_name.rpartition("/")[2], _OPTIMIZER)

    def get_key(self) -> str:
        """Its name in the file."""
        return f"{self.tag_name}_step_{self.step}_call_{self.call_id}"

    def to_dict(self) -> dict[str, Any]:
        """As the file holds it."""
        return asdict(self)

    @property
    def order(self) -> tuple[int, ...]:
        """When it happened; a pipeline runs backward from its last stage."""
        stage = self.get_train_stage(self.tag_name)
        way = 1 if stage == _FORWARD else -1
        place = (way * self.vpp_stage, way * self.pp_stage)
        return (self.step, self.micro_step, stage, *place, self.call_id)

    def __lt__(self, other: GradAnomalyData) -> bool:
        return self.order < other.order


class AnomalyDataLoader:
    """Reads what all ranks found."""

    def __init__(self, data_path: str | Path) -> None:
        self.data_path = Path(data_path)

    @staticmethod
    def create_instances_from_dict(anomalies_dict: Mapping[str, Any]) -> list[GradAnomalyData]:
        """The hits of one file. Raises TypeError for fields that are not known."""
        return [GradAnomalyData(**facts) for facts in anomalies_dict.values()]

    def get_anomalies_from_jsons(self) -> list[GradAnomalyData]:
        """The hits of all ranks. Raises CheckError for a file that is none of a monitor."""
        found: list[GradAnomalyData] = []
        for path in sorted(self.data_path.glob("rank*/anomaly.json")):
            try:
                given = parse_json(path.read_text(encoding="utf-8"))
                found += self.create_instances_from_dict(given)
            except (OSError, ValueError, TypeError, AttributeError) as error:
                raise CheckError(
                    f"{path}: {error}", "give the folder anomaly_detected of a monitor"
                ) from error
        return found


class AnomalyAnalyse:
    """Keeps the earliest hits."""

    def __init__(self) -> None:
        self.sorted_anomalies: list[GradAnomalyData] = []

    def get_range_top_k(
        self, topk: int, step_list: Sequence[int], anomalies: Iterable[GradAnomalyData]
    ) -> list[GradAnomalyData]:
        """The first `topk` hits; with a list of steps, of these steps alone."""
        chosen = (each for each in anomalies if not step_list or each.step in step_list)
        self.sorted_anomalies = heapq.nsmallest(topk, chosen)
        return self.sorted_anomalies

    def rewrite_sorted_anomalies(self, output_path: str | Path) -> Path:
        """Write them in their order; an earlier file goes. Raises OSError."""
        folder = Path(output_path)
        folder.mkdir(parents=True, exist_ok=True)
        facts = {each.get_key(): each.to_dict() for each in self.sorted_anomalies}
        with written_whole(folder / ANALYSED) as beside:
            beside.write_text(json.dumps(facts, indent=1), encoding="utf-8")
        return folder / ANALYSED


def main(words: Sequence[str] | None = None) -> int:
    """Read, sort, write and print; 1 where nothing can be read."""
    options = _parser().parse_args(words)
    try:
        anomalies = AnomalyDataLoader(options.data_path).get_anomalies_from_jsons()
        if not anomalies:
            raise CheckError(
                f"{options.data_path}: no rank*/anomaly.json is here",
                'record them by "alert": {"rules": […], "dump": true}',
            )
        analysis = AnomalyAnalyse()
        first = analysis.get_range_top_k(options.topk, options.step, anomalies)
        path = analysis.rewrite_sorted_anomalies(options.out_path or options.data_path)
    except (CheckError, OSError) as error:
        print(f"anomaly_processor: {error}", file=sys.stderr)
        return 1
    print(f"wrote {path}: the first {len(first)} of {len(anomalies)}")
    for number, each in enumerate(first):
        print(f"{number}: rank {each.rank}: {each.message}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="anomaly_processor", description=__doc__.splitlines()[0])
    parser.add_argument("-d", "--data_path", type=Path, required=True, metavar="DIR")
    parser.add_argument("-o", "--out_path", type=Path, metavar="DIR", help="[DIR of -d]")
    parser.add_argument("-k", "--topk", type=_count, default=8, metavar="N", help="how many [8]")
    parser.add_argument("-s", "--step", type=_steps, default=[], metavar="LIST", help="[all]")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 1 or more")
    return int(text)


def _steps(text: str) -> list[int]:
    try:
        given = parse_literal(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: write a list such as [3, 4]") from error
    if not isinstance(given, list) or not all(type(each) is int for each in given):
        raise argparse.ArgumentTypeError(f"{text!r}: write a list such as [3, 4]")
    return given


if __name__ == "__main__":
    raise SystemExit(main())
