"""A capture on the stand-in for CUDA graphs: replays append rows, and nothing asks the host."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from msprobe_core.torch.graph.graph_capture import GraphCapture as Recording
from msprobe_core.torch.graph.log import GraphLog, Row
from msprobe_core.torch.graph.operator_calls import OperatorCalls
from msprobe_core.torch.graph.sites import OWNERS
from tests.msprobe_core.torch.graph.graph_capture import GraphCapture, HostCallError
from tests.msprobe_core.torch.graph.models import Language, batch, language

CPU = torch.device("cpu")


def recording(rows: int = 1000) -> Recording:
    log = GraphLog()
    log.prepare(CPU, rows)
    return Recording(modules=True, calls=False, served=True, log=log)


@pytest.fixture
def recorded() -> Iterator[Recording]:
    made = recording()
    yield made
    made.close()


def captured(model: Language, ids: Tensor) -> tuple[GraphCapture, Tensor]:
    with torch.no_grad(), GraphCapture() as graph:
        out = model(ids)
    return graph, out


def norms(rows: list[Row]) -> dict[str, float]:
    return {
        f"{OWNERS[row.owner].path} {row.note.place}": float(
            row.numbers.text.rpartition('"Norm": ')[2].replace("null", "nan")
        )
        for row in rows
        if row.note.kind == "value"
    }


def eager_norms(model: Language, ids: Tensor) -> dict[str, float]:
    found: dict[str, float] = {}

    def hook(path: str) -> object:
        def keep(_: object, __: object, out: Tensor) -> None:
            found[f"{path} output/0"] = out.double().norm().item()

        return keep

    handles = [
        module.register_forward_hook(hook(path))  # type: ignore[arg-type]
        for path, module in model.named_modules()
        if path != "layers"
    ]
    with torch.no_grad():
        model(ids)
    for handle in handles:
        handle.remove()
    return found


def test_each_replay_appends_rows_with_its_own_values(recorded: Recording) -> None:
    model = language()
    static = batch()
    others = [static.flip(0), (static + 1) % 64]
    expected = [eager_norms(model, ids) for ids in others]
    recorded.start(model)
    graph, out = captured(model, static)
    recorded.log.take()
    with torch.no_grad():
        for ids in others:
            static.copy_(ids)
            graph.replay()
    rows = recorded.log.take()
    middle, rest = divmod(len(rows), 2)
    assert rest == 0
    for half, wanted in zip((rows[:middle], rows[middle:]), expected, strict=True):
        seen = norms(half)
        for place, norm in wanted.items():
            assert seen[place] == pytest.approx(norm, rel=1e-5), place
    assert torch.equal(out, language()(others[1]).detach())
    assert all(row.sketch for row in rows if row.note.kind == "value" and row.note.dtype)


def test_operators_are_captured_with_the_modules_that_run_them(recorded: Recording) -> None:
    model = language()
    recorded.start(model)
    with torch.no_grad(), GraphCapture() as graph, OperatorCalls():
        model(batch())
    recorded.log.take()
    with torch.no_grad():
        graph.replay()
    places = [
        (OWNERS[row.owner].path or OWNERS[row.owner].kind, row.note.place)
        for row in recorded.log.take()
        if row.note.kind == "value"
    ]
    at = places.index(("layers.1.act", "output/0"))
    assert places[at - 2 : at] == [("Aten.gelu", "input_args/0"), ("Aten.gelu", "output/0")]


def test_flags_are_read_at_replay(recorded: Recording) -> None:
    model = language()
    recorded.start(model)
    graph, _ = captured(model, batch())
    count = len(recorded.log.take())
    recorded.log.switch(forward=False, gradients=False)
    graph.replay()
    assert recorded.log.take() == []
    recorded.log.switch(forward=True, gradients=True)
    graph.replay()
    assert len(recorded.log.take()) == count > 0


def test_a_full_table_is_counted_and_the_next_has_twice_as_many_rows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = recording(rows=10)
    try:
        model = language()
        made.start(model)
        captured(model, batch())
        rows = made.log.take()
        assert len(rows) == 10
        said = capsys.readouterr().err
        assert f"{made.log.lost} values found no place in the log of 10 rows" in said
        captured(model, batch())
        assert len(made.log.take()) == 20
    finally:
        made.close()


def test_the_stand_in_refuses_what_asks_the_host() -> None:
    with pytest.raises(HostCallError), GraphCapture():
        torch.ones(2).sum().item()


def test_numbers_of_the_table_are_those_of_the_host(recorded: Recording) -> None:
    model = language()
    recorded.start(model)
    with torch.no_grad():
        model(batch())
    table = recorded.log.take()
    recorded.close()
    host = Recording(modules=True, calls=False, served=True, log=GraphLog())
    host.start(model)
    with torch.no_grad():
        model(batch())
    rows = host.log.take()
    host.close()
    assert [row.note for row in table if row.note.kind != "begin"] == [
        row.note for row in rows if row.note.kind != "begin"
    ]
    ours, theirs = norms(table), norms(rows)
    for place, norm in theirs.items():
        assert ours[place] == pytest.approx(norm, rel=1e-6, nan_ok=True), place
