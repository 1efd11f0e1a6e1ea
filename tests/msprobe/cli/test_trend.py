"""`msprobe trend` says of how many it speaks, and what its configuration records."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from msprobe.cli import main
from msprobe_core.format.alerts import Alert
from msprobe_core.monitor.store import SeriesWriter
from tests.builder.series.stores import write_steps


def alerted(run: Path, ranks: int, *alerts: Alert) -> Path:
    for rank in range(ranks):
        write_steps(run, np.ones((4, 1)), range(4), rank=rank)
    writer = SeriesWriter(run, 0)
    for alert in alerts:
        writer.write_alert(alert.facts())
    writer.close()
    return run


@pytest.mark.parametrize(
    ("ranks", "said"), [(1, "1 series, 1 rank; no"), (2, "1 series, 2 ranks; no")]
)
def test_one_is_no_plural(
    ranks: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trend", str(alerted(tmp_path / "run", ranks))]) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "head"),
    [
        (("loss", "loss"), "to record that step (of the whole model), config.json:"),
        (("grad", "layers.0.fc.weight"), "to record that step, config.json:"),
    ],
)
def test_of_one_run_it_says_what_the_configuration_records(
    target: tuple[str, str], head: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = alerted(tmp_path / "run", 1, Alert(2, "jump", target, 8.0))
    assert main(["trend", str(run)]) == 4
    lines = capsys.readouterr().out.splitlines()
    assert ", 1 alert:" in lines[0]
    assert lines[-2] == head
    names = json.loads(lines[-1])["statistics"]["list"]
    assert names == ([] if "whole" in head else [".layers.0."])


def test_ranks_that_say_the_same_are_named_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alerts = [Alert(2, "jump", ("grad", "a.weight"), 8.0, rank=rank) for rank in (0, 1)]
    main(["trend", str(alerted(tmp_path / "run", 2, *alerts))])
    said = capsys.readouterr().out
    assert ", 1 alert:" in said
    assert "(ranks 0, 1)" in said
