"""Two gloo processes: what a collective wrote is measured again, by whatever name it was called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.msprobe_core.dump_reading import RankDump, read_rank_dumps
from tests.msprobe_core.two_ranks import run_two_ranks

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available(), reason="torch without torch.distributed"
)
LEVELS = ("L0", "L1", "mix")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    run_two_ranks(Path(__file__).with_name("collectives_program.py"), str(folder))
    return folder


def dump_and_truth(out: Path, name: str, rank: int) -> tuple[RankDump, dict[str, list[float]]]:
    truth = json.loads((out / f"{name}.{rank}.json").read_text())
    dumps = [d for d in read_rank_dumps(out / name) if d.path.name == f"rank{rank}"]
    assert not list(dumps[-1].path.glob("*error*"))
    return dumps[-1], truth


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("rank", [0, 1])
def test_what_arrived_is_measured(level: str, rank: int, out: Path) -> None:
    dump, truth = dump_and_truth(out, f"unseen.{level}", rank)
    reader = "Torch.cos.{}.forward" if level == "L1" else "Module.after.Same.forward.{}"
    maker = "Module.first" if level == "L0" else "Functional.linear"
    for number, (kind, expected) in enumerate(truth.items()):
        record = dump.data[reader.format(number)]["input_args"][0]
        found = [record["Max"], record["Norm"]]
        assert found == pytest.approx(expected, rel=1e-6), (kind, record)
        untouched = kind == "sent" and rank == 1
        if kind not in ("part", "broadcast") and not untouched:
            assert not record.get("source", "").startswith(f"{maker}."), (kind, record)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("kind", ["ddp", "ddp views", "ddp static", "flat"])
def test_the_optimizer_reads_reduced_gradients(kind: str, level: str, rank: int, out: Path) -> None:
    dump, truth = dump_and_truth(out, f"{kind}.{level}", rank)
    read = dump.head["optimizer"]["Optimizer.SGD.step.0"]["input"]
    for name, expected in truth.items():
        found = [read[name]["Max"], read[name]["Norm"]]
        assert found == pytest.approx(expected, rel=1e-6), (name, read[name])
    if kind == "flat" and level != "L0":
        norms = [dump.data[f"Torch.sum.{n}.forward"]["input_args"][0]["Norm"] for n in range(4, 8)]
        assert norms == pytest.approx([norm for _, norm in truth.values()], rel=1e-6)
