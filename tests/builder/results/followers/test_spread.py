"""A rank that another one feeds says from which, through which call, and how much runs before."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec
import numpy as np
import pytest
import torch
from torch import nn

import builder
from builder import BuildOptions
from builder.results.followers.named_causes import by_place
from builder.results.followers.rows import merge
from builder.results.followers.spread import (
    SameCause,
    Spread,
    _through_weights,
    divergent_nodes,
    shares_of,
    spread_of,
    spreads,
    worst_scores,
)
from builder.results.followers.states import states_of
from builder.results.followers.step import StepFollowers, StepReader, step_followers
from builder.results.followers.told_way import told_way
from builder.results.open_results import open_results
from builder.results.reading import Results
from builder.results.records import Finding
from msprobe.pytorch import PrecisionDebugger
from tb_graph_ascend.view.answer import answer
from tests.builder.dumps import backward, forward, tensor, write_dump
from tests.builder.results.followers.sides import Entry, both

MADE, REDUCE, READ = (
    "Torch.mul.0.forward",
    "Distributed.all_reduce.0.forward",
    "Torch.add.0.forward",
)


def rank(side: Path, number: int, sent: float, got: float) -> None:
    """What a rank makes, sends to all, and reads of the sum."""
    data = {
        MADE: forward([tensor(1)], [tensor(sent)]),
        REDUCE: forward([tensor(sent)], [tensor(got)]),
        READ: forward([tensor(got)], [tensor(2 * got)]),
    }
    write_dump(side / "step0" / f"rank{number}", data, dict.fromkeys(data))


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Results]:
    """Two ranks, of which the second one multiplies otherwise."""
    for number, (ours, theirs) in enumerate([(2.0, 2.0), (9.0, 3.0)]):
        rank(tmp_path / "problem", number, ours, 11.0)
        rank(tmp_path / "benchmark", number, theirs, 5.0)
    sides = tmp_path / "problem", tmp_path / "benchmark"
    opened = open_results(builder.build(*sides, tmp_path / "o", BuildOptions(workers=1)).path)
    yield opened
    opened.close()


def test_a_rank_that_is_fed_by_another_says_from_where(results: Results) -> None:
    (cause,) = answer(results).causes
    assert (cause.ranks, cause.finding.node.name) == ([1], MADE)
    shares = shares_of(step_followers(results, 0, 0))
    assert shares.causes == []
    came = shares.came
    assert came is not None
    assert (came.name, came.peer_rank, came.calls, came.before) == (REDUCE, 1, 1, 0)
    assert shares.divergent == 2
    peer = results.node(came.peer_node)
    assert (peer.name, results.node(came.node).name) == (REDUCE, REDUCE)


def test_the_rank_itself_got_it_from_nobody(results: Results) -> None:
    assert shares_of(step_followers(results, 0, 1)).came is None


def test_the_worst_that_a_cause_brings_about_stands_for_one_that_shows_nothing_itself(
    results: Results,
) -> None:
    (finding,) = results.findings().findings
    assert finding.score is not None and finding.score > results.findings().threshold
    limit = results.findings().threshold
    assert worst_scores(results, [finding], limit) == {finding.id: finding.score}
    here = step_followers(results, finding.step, finding.rank)
    worst = max(
        here.states.score[here.divergent_of(here.rows.rows_of(np.array([finding.node.id])))]
    )
    for score in (None, 0.0):
        silent = msgspec.structs.replace(finding, score=score)
        assert worst_scores(results, [silent], limit) == {finding.id: pytest.approx(worst)}


EMBEDDING, UPDATE = "Functional.embedding.0.forward", "Tensor.addcdiv_.0.forward"


def training_step(weight: float, gradient: float, written: float) -> dict[str, object]:
    """The weight is read, what comes of it read on, its gradient returned, the weight written."""
    value, grad = tensor(weight), tensor(gradient)
    return {
        EMBEDDING: forward([tensor(1), value], [tensor(3 * weight)]),
        READ: forward([tensor(3 * weight)], [tensor(2 * weight)]),
        "Functional.embedding.0.backward": backward([tensor(6)], [grad]),
        UPDATE: forward([value, grad], [tensor(written)]),
    }


def test_what_reads_the_weights_of_the_step_before_goes_back_into_it(tmp_path: Path) -> None:
    for side, left in (("problem", 9.0), ("benchmark", 5.0)):
        for number, step in enumerate([(4.0, 2.0, left), (left, 8.0, 7.0)]):
            data = training_step(*step)
            write_dump(tmp_path / side / f"step{number}" / "rank0", data, dict.fromkeys(data))
    sides = tmp_path / "problem", tmp_path / "benchmark"
    file = builder.build(*sides, tmp_path / "o", BuildOptions(workers=1)).path
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DELETE FROM finding")  # one in this step would be what all goes back to
        connection.execute("UPDATE node SET source = NULL")
        connection.commit()
    opened = open_results(file)
    first, second = (shares_of(step_followers(opened, step, 0)) for step in (0, 1))
    assert (first.earlier, first.earlier_step) == (0, None)
    assert (second.earlier_step, second.others) == (0, 0)
    found = divergent_nodes(step_followers(opened, 1, 0), None, earlier=True).tolist()
    assert [opened.node(node).name for node in found][:2] == [EMBEDDING, READ]
    assert len(found) == second.earlier
    ways = [told_way(opened, lambda *at: step_followers(opened, *at), node) for node in found]
    assert all(any(hop.step == 0 for hop in way.hops) for way in ways)
    opened.close()


def test_a_weight_that_only_the_benchmark_writes_goes_back_to_that_call(tmp_path: Path) -> None:
    for side in ("problem", "benchmark"):
        first = training_step(4.0, 2.0, 5.0)
        if side == "problem":
            del first[UPDATE]  # it keeps what it had
        second = training_step(4.0 if side == "problem" else 5.0, 8.0, 7.0)
        for number, data in enumerate((first, second)):
            write_dump(tmp_path / side / f"step{number}" / "rank0", data, dict.fromkeys(data))
    sides = tmp_path / "problem", tmp_path / "benchmark"
    file = builder.build(*sides, tmp_path / "o", BuildOptions(workers=1)).path
    with closing(sqlite3.connect(file)) as connection:
        # What the diagnosis says of the second step is left out: the flow alone is to lead back.
        connection.execute("UPDATE node SET source = NULL")
        first = "(SELECT id FROM graph WHERE step = 0)"
        connection.execute(f"DELETE FROM finding WHERE graph NOT IN {first}")
        connection.execute("UPDATE finding SET places = '[]'")
        connection.commit()
    opened = open_results(file)
    here = step_followers(opened, 1, 0)
    shares = shares_of(here)
    assert (shares.earlier_step, shares.others) == (0, 0)
    (embedding,) = (
        node
        for node in divergent_nodes(here, None, earlier=True).tolist()
        if opened.node(node).name == EMBEDDING
    )
    way = told_way(opened, lambda *at: step_followers(opened, *at), embedding)
    last = opened.node(way.hops[-1].node)
    assert (last.name, last.side, way.hops[-1].step) == (UPDATE, "benchmark", 0)
    opened.close()


@pytest.mark.parametrize("steps", [1, 3])
def test_how_far_a_cause_reaches_is_the_sum_over_its_places(tmp_path: Path, steps: int) -> None:
    for side, made in (("problem", 9.0), ("benchmark", 5.0)):
        for number in range(steps):
            data = {
                MADE: forward([tensor(1)], [tensor(made)]),
                READ: forward([tensor(made)], [tensor(2 * made)]),
                "Torch.sin.0.forward": forward([tensor(7)], [tensor(6)]),
            }
            line = {"0": [[MADE], ["File model.py, line 3, in forward, \n return x * 2"]]}
            write_dump(tmp_path / side / f"step{number}" / "rank0", data, dict.fromkeys(data), line)
    sides = tmp_path / "problem", tmp_path / "benchmark"
    made_of = builder.build(*sides, tmp_path / "o", BuildOptions(workers=1))
    (cause,) = made_of.findings
    (suspect,) = builder.diagnose(made_of.path).findings
    assert (cause.propagated_to, cause.perhaps, cause.divergent) == (2 * steps, 0, 2 * steps)
    assert (suspect.propagated_to, suspect.divergent) == (2 * steps, 2 * steps)
    assert suspect.reach is not None
    assert ("there" in suspect.reach) == (steps == 1)
    with closing(sqlite3.connect(made_of.path)) as connection:
        # As a file of an earlier release, which laid other nodes to it.
        connection.execute(
            "UPDATE finding SET propagated_to = 77, perhaps = NULL, divergent = NULL"
        )
        connection.commit()
    assert builder.diagnose(made_of.path).findings == [suspect]


def test_a_count_that_takes_too_long_leaves_a_sound_file_sound(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = (tmp_path / "o").glob("*.vis.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE finding SET propagated_to = 1, perhaps = NULL, divergent = NULL")
        connection.commit()

    def given_up(_: Results) -> None:
        raise sqlite3.OperationalError("interrupted")

    monkeypatch.setattr("builder.results.followers.spread.spreads", given_up)
    (suspect,) = builder.diagnose(path).findings
    assert (suspect.propagated_to, suspect.divergent) == (1, None)
    assert suspect.reach is None or "there" not in suspect.reach
    assert answer(results).causes != []


@pytest.mark.parametrize(
    ("own", "count", "sure"),
    [
        (Spread(10, 0, 30), 20, True),
        (Spread(10, 2, 30), 18, False),  # a guess lies on a way
        (Spread(10, 0, 40), 20, True),
        (Spread(0, 0, 40), 20, False),  # what is in between goes back to nothing
        (Spread(0, 0, 20), 20, True),  # there is nothing in between
    ],
)
def test_what_comes_through_weights_is_as_sure_as_what_leads_to_them(
    own: Spread, count: int, sure: bool
) -> None:
    assert _through_weights(own, count) == (Spread(count, 0, 0) if sure else Spread(0, count, 0))


def test_what_comes_through_weights_comes_of_the_one_cause_of_a_file(tmp_path: Path) -> None:
    """A rate of learning: its places are updates, and the next step reads what these wrote."""
    for side, rate in (("problem", 1e-2), ("benchmark", 1e-3)):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))
        optimizer = torch.optim.SGD(model.parameters(), rate, foreach=False)
        debugger = PrecisionDebugger(level="mix", dump_path=str(tmp_path / side))
        for _ in range(2):
            with debugger.recording(model):
                optimizer.zero_grad()
                model(torch.ones(4, 8)).square().mean().backward()
                optimizer.step()
        debugger.close()
    sides = tmp_path / "problem", tmp_path / "benchmark"
    made = builder.build(*sides, tmp_path / "o", BuildOptions(workers=1))
    (cause,) = made.findings
    opened = open_results(made.path)
    (named,) = answer(opened).causes
    here = step_followers(opened, 1, 0, by_place([named.finding])[1, 0])
    through = shares_of(here).earlier
    assert through > 0
    own = spread_of(here, named.nodes)
    assert cause.divergent is not None
    assert cause.propagated_to >= own.certain + through
    assert cause.propagated_to == cause.divergent
    opened.close()
    later = next(place for place in cause.places if place.step == 1)
    with closing(sqlite3.connect(made.path)) as connection:
        graph = "(SELECT id FROM graph WHERE step = 1 AND side = 'problem')"
        connection.execute(
            f"UPDATE finding SET node = ?, graph = {graph}, places = '[]'", (later.node,)
        )
        connection.commit()
    with closing(open_results(made.path)) as moved:  # it begins behind these weights
        (spread,) = spreads(moved).values()
        here = step_followers(moved, 1, 0)
    assert (spread.certain, spread.divergent) == (
        spread_of(here, [later.node]).certain,
        here.divergent_count,
    )
    assert spread.certain < spread.divergent


def again(reads: float, score: float, before: float = 0.5) -> SameCause | None:
    """What is said of a step without a cause, where a layer named in the step before differs."""
    entries = [
        Entry("root", match=0),
        Entry("Module.first.Linear.forward.0", 0, 1, before, reads=before),
        Entry("Module.second.Linear.forward.0", 0, 2, score, reads=reads),
        Entry("Module.third.Linear.forward.0", 0, 3, 1.0, reads=score),
    ]
    rows = merge(*both(entries, entries))
    named = SimpleNamespace(
        node=SimpleNamespace(name=entries[2].name, side="problem", id=99), step=0, rank=0
    )
    read = StepReader(found_before=lambda: [cast(Finding, named)])
    return shares_of(StepFollowers(rows, states_of(rows, (), 0.25), read)).again


def test_a_cause_of_the_step_before_shows_again_where_it_jumps_anew() -> None:
    found = again(reads=0.9, score=0.8)
    assert found == SameCause(3, "Module.second.Linear.forward.0", 0, 99, comes_in=True)
    assert again(reads=0.5, score=0.9) == found


def test_a_cause_shows_again_where_nothing_before_it_differs() -> None:
    alone = [again(reads=before, score=0.9, before=before) for before in (0.0, 0.004, 0.006)]
    assert [one and one.comes_in for one in alone] == [False, False, True]


def test_what_differs_no_more_than_what_runs_before_it_is_no_sign_of_the_same_cause() -> None:
    assert again(reads=0.5, score=0.6) is None
    assert again(reads=0.9, score=0.9, before=0.8) is None
