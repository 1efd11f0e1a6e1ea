"""What is done at two sizes: builds and answers on families of dumps, and what has other inputs."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

from tests.builder.dumps import Json, forward, tensor, write_dump
from tests.growth.families import FAMILIES, Family, siblings
from tests.growth.pair_trials import carried, manual_pairs, pair_sets, turns
from tests.growth.stages import answer, build
from tests.growth.table_trials import TABLE_TRIALS
from tests.growth.trend_trials import TREND_TRIALS


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


def checked_parameters(folder: Path, count: int) -> None:
    """As many parameters on four ranks, their gradients reduced, every third wrong on one."""
    _check(folder, _ranks_of(count, _GROUP))


def checked_ranks(folder: Path, count: int) -> None:
    """As many ranks of a few parameters, one of which is wrong."""
    _check(folder, _ranks_of(3, count))


def _check(folder: Path, ranks: Iterable[Json]) -> None:
    """Ranks of four that reduce with each other, in as many stages as are needed."""
    from msprobe.cli.program import main

    dumps = list(ranks)
    apart = max(1, len(dumps) // _GROUP)
    for rank, entries in enumerate(dumps):
        own = {"rank": rank % _GROUP, "size": min(_GROUP, len(dumps)), "ranks": _group(rank)}
        stages = {"rank": rank // _GROUP, "size": apart, "ranks": [rank]}
        parallel = {"world_size": len(dumps), "rank": rank, "axes": {"dp": own, "pp": stages}}
        known = dict.fromkeys(name for name in entries if "_grad" not in name)
        place = folder / "dump" / "step0" / f"rank{rank}"
        write_dump(place, entries, known, {}, parallel={"version": 1, **parallel})
    with redirect_stdout(io.StringIO()):
        for flags in ((), ("--json",)):
            main(["check", str(folder / "dump"), *flags])


_GROUP = 4


def _group(rank: int) -> list[int]:
    first = rank - rank % _GROUP
    return list(range(first, first + _GROUP))


def _ranks_of(parameters: int, ranks: int) -> Iterator[Json]:
    """What each rank has recorded of its stage's parameters; rank 1 updates some otherwise."""
    for rank in range(ranks):
        entries: Json = {}
        group = {"type": "torch.ProcessGroup", "group_ranks": _group(rank)}
        for at in range(rank // _GROUP * parameters, (rank // _GROUP + 1) * parameters):
            off = 1.5 if at % 3 == 0 and rank % _GROUP == 1 else 1.0
            weight, own, summed = (tensor(n + at) for n in (1e4, 2e4 + 1e3 * rank, 3e4))
            name = f"Module.layers.{at}.Linear"
            entries[f"{name}.forward.0"] = forward(
                [tensor(4e4 + rank)], [tensor(5e4 + rank)], parameters={"weight": weight}
            )
            entries[f"{name}.parameters_grad.0"] = {"weight": [own]}
            entries[f"Distributed.all_reduce.{at}.forward"] = forward(
                [own], [summed], input_kwargs={"group": group}
            )
            entries[f"Optimizer.AdamW.layers.{at}.weight.0.forward"] = {
                "input": {"gradient": summed},
                "parameters": {"value": weight},
                "output": {"value": tensor((6e4 + at) * off)},
            }
        yield entries


def configurations(folder: Path, count: int) -> None:
    """Statistics of a few weights and inputs in as many steps, as `config_check -c` reads them."""
    from msprobe.cli.program import main

    told = {"max": 1.0, "min": -1.0, "mean": 0.1, "norm": 2.0}
    paths = [folder / f"{side}.zip" for side in ("bench", "same", "off")]
    for path in paths:
        with zipfile.ZipFile(path, "w") as pack:
            for step in range(count):
                off = {**told, "norm": 2.0 + (path.stem == "off")}
                text = json.dumps({f"w{at}": off for at in range(10)})
                for item, name in (("weights", "weight"), ("dataset", "dataset")):
                    pack.writestr(f"{item}/step{step}/rank0/{name}.json", text)
    with redirect_stdout(io.StringIO()):
        for other in paths[1:]:
            main(["config_check", "-c", str(paths[0]), str(other), "-o", str(folder / other.stem)])


TRIALS = (
    *map(_on_family, FAMILIES),
    Trial("many_steps", many_steps, 10),
    Trial("many_ranks", many_ranks, 10),
    Trial("checked_parameters", checked_parameters),
    # Stages behind the first are few of few: of 8 ranks one, of 32 seven.
    Trial("checked_ranks", checked_ranks, 32),
    Trial("configurations", configurations),
    Trial("pair_sets", pair_sets),
    Trial("manual_pairs", manual_pairs),
    Trial("turns", turns),
    Trial("carried", carried),
    *(Trial(run.__name__, run, small) for run, small in (*TABLE_TRIALS, *TREND_TRIALS)),
)
