"""Trends of many steps, series, ranks and starts: what the command and the Trends page say of them.

Two runs are equal until their middle, where one of them has a spike, and off by it from then on.
"""

from __future__ import annotations

import io
import shutil
from argparse import Namespace
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

from tests.growth.stages import asking

_FEW = 24
_KINDS = ("actv", "grad", "param")


def trend_steps(folder: Path, count: int) -> None:
    """As many steps of a few series."""
    _ask(folder, lambda run, off: _write(run, off, steps=count))


def trend_series(folder: Path, count: int) -> None:
    """As many series of each kind over a few steps, and as many that one run alone has."""
    _ask(folder, lambda run, off: _write(run, off, series=count, own=count))


def trend_scalars(folder: Path, count: int) -> None:
    """As many losses of their own, each a line of the page."""
    _ask(folder, lambda run, off: _write(run, off, losses=count))


def trend_ranks(folder: Path, count: int) -> None:
    """As many ranks of a few series."""
    _ask(folder, lambda run, off: _write(run, off, ranks=range(count)))


def trend_lone_ranks(folder: Path, count: int) -> None:
    """As many ranks on one side, and others on the other one."""

    def write(run: Path, off: bool) -> None:
        _write(run, off, ranks=range(off, count + off))

    _ask(folder, write)


def trend_starts(folder: Path, count: int) -> None:
    """A training that was started again and again from two steps before its end, with alerts."""

    def write(run: Path, off: bool) -> None:
        for start in range(count):
            # Each start is written alone: whoever starts lists all that there were before.
            alone = folder / run.name / str(start)
            _write(alone, off, steps=4, first=2 * start, alerts=4)
            if start == 0:
                shutil.copytree(alone, run)
            else:
                shutil.move(alone / "rank0" / "a0", run / "rank0" / f"a{start}")

    _ask(folder, write)


TREND_TRIALS: tuple[tuple[Callable[[Path, int], None], int], ...] = (
    (trend_steps, 300),
    (trend_series, 75),
    (trend_scalars, 75),
    (trend_ranks, 16),
    (trend_lone_ranks, 16),
    (trend_starts, 40),
)
"""Each with how many there are at first."""


def _ask(folder: Path, write: Callable[[Path, bool], None]) -> None:
    """Write both runs, and ask the command and the page for all that they say of them."""
    for off in (False, True):
        write(folder / "logs" / ("problem" if off else "benchmark"), off)
    _command(folder / "logs")
    _page(folder / "logs")


def _command(logs: Path) -> None:
    from msprobe.cli import trend

    for compare in (None, logs / "benchmark"):
        for as_json in (False, True):
            with redirect_stdout(io.StringIO()):
                trend.run(
                    Namespace(
                        words=[str(logs / "problem")],
                        compare=compare,
                        noise=None,
                        at=None,
                        json=as_json,
                    )
                )


def _page(logs: Path) -> None:
    ask = asking(logs)
    tokens = {one["path"]: one["id"] for one in ask("trends")["runs"]}
    run, other = tokens["problem"], tokens["benchmark"]
    summary = ask(f"trends/{run}")
    rows = f"kind=actv&open={','.join(summary['opened'])}"
    for part in (
        f"heat?{rows}",
        f"heat?{rows}&other={other}",
        f"tiles?{rows}",
        f"tiles?{rows}&other={other}",
        "scalars",
        "alerts",
        f"parting?other={other}",
        "line?kind=actv&name=layers.0.fc",
        f"cell?kind=actv&name=layers.0.fc&step={summary['last']}&other={other}",
    ):
        ask(f"trends/{run}/{part}")


def _write(
    run: Path,
    off: bool,
    *,
    steps: int = _FEW,
    series: int = 2,
    losses: int = 1,
    own: int = 0,
    ranks: range = range(1),
    first: int = 0,
    alerts: int = 0,
) -> None:
    """One start of a training; `own` series have a name that the other run does not know."""
    from msprobe_core.format.alerts import Alert
    from msprobe_core.format.series import STATISTICS, TrendTarget
    from msprobe_core.monitor.store import SeriesWriter, write_run

    names = [f"layers.{at}.fc" for at in range(series)]
    names += [f"extra.{'ab'[off]}{at}.fc" for at in range(own)]
    keys: list[tuple[str, str]] = [(kind, name) for kind in _KINDS for name in names]
    keys += [("loss", f"part{at}" if at else "loss") for at in range(losses)]
    if not (run / "run.json").exists():
        write_run(run, {"modules": names})
    shape = (len(STATISTICS), len(keys))
    for rank in ranks:
        chance = np.random.default_rng(rank)
        writer = SeriesWriter(run, rank)
        writer.add_targets(
            TrendTarget(kind, name, (4, 4), "float32", at) for at, (kind, name) in enumerate(keys)
        )
        for step in range(first, first + steps):
            table = chance.uniform(0.9, 1.1, shape).astype(np.float32)
            table[STATISTICS.index("size")] = 16
            if off and step - first >= steps // 2:
                table[STATISTICS.index("norm")] *= 1.5
            writer.write(step, table)
        for step in range(first, first + alerts):
            writer.write_alert(Alert(step, "not finite", keys[0], rank=rank).facts())
        writer.close()
