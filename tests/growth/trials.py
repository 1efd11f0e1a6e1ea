"""What is done at two sizes: builds and answers on families of dumps, and what has other inputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.builder.dumps import forward, tensor, write_dump
from tests.growth.families import FAMILIES, Family, siblings
from tests.growth.stages import answer, build


class Trial(NamedTuple):
    """Something to be done in an empty folder, at so many entries and at four times as many."""

    name: str
    run: Callable[[Path, int], None]
    small: int = 75


def _on_family(family: Family) -> Trial:
    def run(folder: Path, count: int) -> None:
        for faulty in (False, True):
            entries, parents = family(count, faulty)
            known = {name: parents.get(name) for name in entries} | parents
            write_dump(folder / _side(faulty), entries, known, {})
        build(folder / "problem", folder / "benchmark", folder / "logs", fuzzy_match=is_fuzzy)
        answer(folder / "logs")

    is_fuzzy = family is siblings
    return Trial(family.__name__, run)


def _side(faulty: bool) -> str:
    return "problem" if faulty else "benchmark"


def many_steps(folder: Path, count: int) -> None:
    """As many steps, each with a finding of its own and one that it takes over."""
    for step in range(count):
        for faulty in (False, True):
            off = 1.5 if faulty else 1.0
            weight = tensor(5.0 + step * off)
            entries = {
                "Module.a.Linear.forward.0": forward(
                    [tensor(1.0 + step)], [tensor(off * (2.0 + step))], parameters={"w": weight}
                )
            }
            place = folder / _side(faulty) / f"step{step}" / "rank0"
            write_dump(place, entries, dict.fromkeys(entries), {})
    build(folder / "problem", folder / "benchmark", folder / "logs")
    answer(folder / "logs")


def many_ranks(folder: Path, count: int) -> None:
    """As many ranks, all of which reduce what one has put in wrong."""
    for rank in range(count):
        for faulty in (False, True):
            off = 1.5 if faulty else 1.0
            group = {"type": "torch.ProcessGroup", "group_ranks": list(range(4)), "group_id": "g"}
            entries = {
                "Torch.add.0.forward": forward(
                    [tensor(1.0 + rank)], [tensor((2.0 + rank) * (off if rank == 0 else 1.0))]
                ),
                "Distributed.all_reduce.0.forward": forward(
                    [tensor((2.0 + rank) * (off if rank == 0 else 1.0))],
                    [tensor(7.0 * off)],
                    input_kwargs={"group": group},
                ),
            }
            place = folder / _side(faulty) / "step0" / f"rank{rank}"
            write_dump(place, entries, dict.fromkeys(entries), {})
    build(folder / "problem", folder / "benchmark", folder / "logs")
    answer(folder / "logs")


def configurations(_: Path, count: int) -> None:
    """Statistics of a few weights in as many steps, as `config_check -c` compares them."""
    from msprobe.config_check.tensor_statistics import compare_statistics

    def pack(off: float) -> dict[tuple[int, int], dict[str, dict[str, float]]]:
        told = {"max": 1.0, "min": -1.0, "mean": 0.1, "norm": 2.0 + off}
        return {(step, 0): {f"w{at}": told for at in range(10)} for step in range(count)}

    compare_statistics("weights", pack(0.0), pack(0.0))
    compare_statistics("weights", pack(0.0), pack(1.0))


TRIALS = (
    *map(_on_family, FAMILIES),
    Trial("many_steps", many_steps, 10),
    Trial("many_ranks", many_ranks, 10),
    Trial("configurations", configurations),
)
