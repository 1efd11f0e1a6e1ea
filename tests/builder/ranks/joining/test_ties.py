"""Parameters that modules share: known as one, and their copies on other stages as its parts."""

from __future__ import annotations

from pathlib import Path

from builder.dump.reader import Dump, Parallel, ParameterLayout
from builder.dump.values import Values
from builder.ranks.assembly.assemble import assemble
from builder.ranks.assembly.logical_run import LogicalRun
from builder.ranks.joining.ties import join_gradients, tied_names
from builder.ranks.layout.coordinates import Place, RunLayout
from tests.builder.ranks.joining.records import made_record

_EMBEDDING, _HEAD = "Module.embedding.Embedding", "Module.head.Linear"
_PIPELINE = RunLayout({"pp": 2}, {rank: Place(rank, {"pp": rank}) for rank in (0, 1)})
_ALONE = RunLayout({}, {0: Place(0, {})})
_TIES = {"embedding.weight": "embedding.weight", "head.weight": "embedding.weight"}


def _dump(
    modules: dict[str, float], updated: tuple[str, ...] = (), header: Parallel | None = None
) -> Dump:
    """A rank whose modules have one weight of given numbers each, and its gradient."""
    values, ranges = Values(), {}
    for owner, number in modules.items():
        for name, key in (("forward.0", "parameters"), ("parameters_grad.0", "parameters_grad")):
            ranges[f"{owner}.{name}"] = (len(values.keys), len(values.keys) + 1)
            values.keys.append(f"{key}.weight")
            values.records.append(made_record(number, "torch.float32"))
    step = {"parameters": {name: made_record(1.0, "torch.float32") for name in updated}}
    optimizer = {"Optimizer.SGD.step.0": step} if updated else {}
    return Dump(
        Path("d"),
        "statistics",
        "mix",
        "pytorch",
        values,
        ranges,
        dict.fromkeys(ranges),
        {},
        {},
        [],
        parallel=header,
        optimizer=optimizer,
    )


def _stages(*updated: tuple[str, ...]) -> dict[int, Dump]:
    first, last = updated or ((), ())
    return {0: _dump({_EMBEDDING: 3.0}, first), 1: _dump({_HEAD: 5.0}, last)}


def test_they_are_recorded() -> None:
    tied = Parallel(tied=(("embedding.weight", "head.weight"),))
    benchmark = {0: _dump({}, header=tied)}
    assert tied_names((_stages(), _PIPELINE), (benchmark, _ALONE)) == _TIES


def test_those_of_megatron_say_so_themselves() -> None:
    layouts = [
        {"embedding.weight": ParameterLayout(shared_embedding=True)},
        {"head.weight": ParameterLayout(shared_embedding=True)},
    ]
    stages = {rank: _dump({}, header=Parallel(layouts=own)) for rank, own in enumerate(layouts)}
    assert tied_names((stages, _PIPELINE), ({0: _dump({})}, _ALONE)) == _TIES


def test_where_nothing_is_recorded_equal_numbers_of_embedding_and_head_tell() -> None:
    benchmark = {0: _dump({_EMBEDDING: 3.0, _HEAD: 3.0, "Module.up.Linear": 5.0})}
    assert tied_names((_stages(), _PIPELINE), (benchmark, _ALONE)) == _TIES


def test_equal_numbers_of_equal_modules_do_not() -> None:
    benchmark = {0: _dump({"Module.a.Linear": 3.0, "Module.b.Linear": 3.0})}
    assert tied_names((_stages(), _PIPELINE), (benchmark, _ALONE)) == {}


def test_without_stages_names_are_left_alone() -> None:
    benchmark = {0: _dump({_EMBEDDING: 3.0, _HEAD: 3.0})}
    assert tied_names((benchmark, _ALONE), (benchmark, _ALONE)) == {}


def test_what_one_rank_updates_apart_is_not_tied() -> None:
    benchmark = {0: _dump({_EMBEDDING: 3.0, _HEAD: 3.0})}
    apart = _stages((), ("embedding.weight", "head.weight"))
    assert "head.weight" not in tied_names((apart, _PIPELINE), (benchmark, _ALONE))


def _assembled() -> LogicalRun:
    stages = _stages(("embedding.weight",), ("head.weight",))
    run = assemble(stages, _PIPELINE, 1, join=True, ties=_TIES)
    join_gradients(run, _TIES)
    return run


def _ranks(run: LogicalRun, name: str) -> list[int]:
    start, _ = run.dump.ranges[name]
    return sorted(part.rank for part in run.parts[start])


def test_each_copy_has_the_gradients_of_all_stages() -> None:
    run = _assembled()
    assert _ranks(run, f"{_EMBEDDING}.parameters_grad.0") == [0, 1]
    assert _ranks(run, f"{_HEAD}.parameters_grad.0") == [0, 1]
    assert _ranks(run, f"{_HEAD}.forward.0") == [1]


def test_an_optimizer_updates_them_as_one() -> None:
    run = _assembled()
    assert _ranks(run, "Optimizer.embedding.weight.0.forward") == [0, 1]
    assert "Optimizer.head.weight.0.forward" not in run.dump.ranges
