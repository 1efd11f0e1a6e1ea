"""`msprobe trend`: what a training's trends say, alone or over another's; export and import."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msprobe.cli import trend_noise
from msprobe.cli.outcome import Exit, exit_of
from msprobe.errors import CommandError

if TYPE_CHECKING:
    from builder.series.all_ranks import Compared
    from builder.series.decided import Decided
    from builder.series.divergence import Divergence
    from builder.series.run import TrendRun
    from msprobe_core.format.alerts import Alert

SUMMARY = "say where a training leaves its past, or where two trainings part, from their trends"
FORMATS = ("csv", "parquet", "tensorboard", "trend.db")
_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "words",
        nargs="+",
        metavar="DIR",
        help="trends that Trends(…) wrote; `export DIR` and `import SOURCE` convert them; "
        "`noise [DIR [TWIN …]]` learns how far rounding carries",
    )
    parser.add_argument("--compare", type=Path, metavar="OTHER", help="trends of a second run")
    parser.add_argument(
        "--noise", type=Path, metavar="FILE", help="what `noise` learnt, for --compare"
    )
    parser.add_argument(
        "--at", type=int, metavar="STEP", help="print the config.json that records this step"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--to", choices=FORMATS, help="what `export` writes")
    parser.add_argument("-o", "--output", type=Path, help="where `export`, `import`, `noise` write")
    trend_noise.add_arguments(parser)


def run(options: argparse.Namespace) -> Exit:
    """Print alerts and the first divergence; code 4 when there are any."""
    first, *rest = options.words
    if first in ("export", "import"):
        if len(rest) != 1:
            raise CommandError(f"trend {first}: one folder is needed", f"msprobe trend {first} DIR")
        return _export(options, rest[0]) if first == "export" else _import(options, rest[0])
    if first == "noise":
        return trend_noise.learn(options, [Path(each) for each in rest])
    if rest:
        raise CommandError(
            f"trend: {len(options.words)} folders", "name the second one by --compare"
        )
    return _report(options, Path(first))


def _report(options: argparse.Namespace, directory: Path) -> Exit:
    from builder.series.all_ranks import compare_all
    from builder.series.noise import read_noise
    from builder.series.run import TrendRun

    run = TrendRun(directory)
    noise = None if options.noise is None else read_noise(options.noise)
    other = None if options.compare is None else TrendRun(options.compare)
    compared = None if other is None else compare_all(run, other, noise)
    parted = None if compared is None else compared.divergence
    alerts = [] if parted is not None else run.alerts()
    if options.json:
        print(json.dumps(_facts(run, alerts, compared), indent=1))
    else:
        names = str(run.path), str(options.compare)
        lines = _alert_lines(run, alerts) if compared is None else _parting_lines(compared, names)
        print("\n".join(lines))
        _print_configuration(options.at, alerts, parted)
    if compared is None:
        return Exit.DIVERGED if alerts else Exit.DONE
    found = compared.claim.code in ("differs", "nothing")
    return Exit.DIVERGED if found else exit_of(compared.claim)


def _alert_lines(run: TrendRun, alerts: list[Alert]) -> list[str]:
    from msprobe_core.format.alerts import question, sentence

    steps = run.steps
    span = f"steps {steps[0]} to {steps[-1]}" if len(steps) else "no steps"
    counts = _counted(len(run.targets), "series", "series"), _counted(len(run.ranks), "rank")
    head = f"{run.path}: {span}, {', '.join(counts)}"
    if not alerts:
        return [f"{head}; no alert"]
    first = "; look at the first:" if len(alerts) > 1 else ":"
    lines = [f"{head}, {_counted(len(alerts), 'alert')}{first}"]
    for place, alert in enumerate(alerts[:_SHOWN], 1):
        rank = _on_ranks(alert) if len(run.ranks) > 1 else ""
        lines += [f"{place}. {sentence(alert)}{rank}", f"   {question(alert)}"]
    hidden = len(alerts) - _SHOWN
    return lines if hidden <= 0 else [*lines, f"… and {hidden} more; --json lists them"]


def _on_ranks(alert: Alert) -> str:
    if alert.kind == "disagree":  # its sentence names them
        return ""
    several = ", ".join(map(str, alert.ranks))
    return f" (ranks {several})" if several else f" (rank {alert.rank})"


def _counted(count: int, one: str, more: str = "") -> str:
    """A number with its noun.

    >>> _counted(1, "rank"), _counted(2, "rank")
    ('1 rank', '2 ranks')
    """
    return f"{count} {one if count == 1 else more or one + 's'}"


def _apart(delta: float) -> str:
    """How far two runs are apart: no number of octaves leads to a 0."""
    from builder.series.octaves import APART

    return f"{delta:.3g} octaves" if delta < APART else "all there is: 0 in one of them alone"


def _parting_lines(compared: Compared, names: tuple[str, str]) -> list[str]:
    from builder.claim import told
    from msprobe_core.format.alerts import series_name

    parted = compared.divergence
    if parted.verdict != "parts":
        lines = [told(compared.claim, "trends")]
        if parted.steps:
            lines[0] += f"; over {parted.steps} steps"
        if parted.verdict == "noise":
            lines[0] += f" the largest difference is {_apart(parted.delta)}"
        return lines
    assert parted.target is not None
    rank = "" if compared.rank is None else f" on rank {compared.rank}"
    head = f"they part at step {parted.step}{rank}: "
    more = f"; {parted.count - 1} more series with it" if parted.count > 1 else ""
    if parted.decided is not None:
        follows = f"; what follows: {series_name(parted.others[0])}" if parted.others else ""
        return [f"{head}{_decision(parted.decided, names)}{follows}"]
    name = series_name(parted.target)
    if parted.missing is not None:
        side = names[0 if parted.missing == "ours" else 1]
        return [
            f"{head}{name} is not measured in {side} from then on{more}",
            "was it frozen, cut off from the loss, left in evaluation, or is it not called?",
        ]
    lines = [f"{head}{name}, by {_apart(parted.delta)}{more}", _noise_before(parted)]
    if parted.weight is not None and parted.factor is not None:
        lines.insert(
            0,
            f"{series_name(parted.weight)} is {parted.factor:.3g} times the other run's in step "
            f"{parted.step} (a step's weights are those after its update)",
        )
    return lines


def _noise_before(parted: Divergence) -> str:
    if parted.band:
        return f"they differed by 2^{parted.band:.1f} octaves at most before"
    return "they were equal to the last digit before"


def _decision(decided: Decided, names: tuple[str, str]) -> str:
    """What a script decided otherwise: a number of each run, or of one alone."""
    from builder.reasons.beside import beside
    from msprobe_core.format.alerts import series_name

    kind, name = decided.target
    lone = names[0 if decided.other is None else 1]
    if kind == "skipped":
        return f"the step is skipped in {lone} alone"
    if kind == "clip":
        part = "" if name == kind else f" of {name}"
        return f"gradients{part} are clipped in {lone} alone, by {decided.own or decided.other:.4g}"
    if decided.own is None or decided.other is None:
        return f"{series_name(decided.target)} is set in {lone} alone"
    own, other = beside(decided.own, decided.other)
    return f"{series_name(decided.target)} is {own}, in the other run {other}"


def _print_configuration(at: int | None, alerts: list[Alert], parted: Divergence | None) -> None:
    """The configuration of the step that was asked for, else of the first thing found."""
    from builder.series.next_dump import dump_configuration

    step, key = at, ("loss", "loss")
    if parted is not None and parted.target is not None:
        step, key = at if at is not None else parted.step, parted.target
    elif alerts:
        step, key = at if at is not None else alerts[0].step, alerts[0].target
    if step is not None:
        configuration = dump_configuration(key, step)
        runs = "" if parted is None else " of both runs"
        whole = "" if configuration["statistics"]["list"] else " (of the whole model)"
        print(f"to record that step{runs}{whole}, config.json:")
        print(json.dumps(configuration))


def _facts(run: TrendRun, alerts: list[Alert], compared: Compared | None) -> dict[str, Any]:
    from builder.claim import claim_facts
    from builder.series.next_dump import dump_configuration

    steps = run.steps
    listed = [{**a.facts(), "config": dump_configuration(a.target, a.step)} for a in alerts]
    facts: dict[str, Any] = {
        "version": 1,
        "directory": str(run.path),
        "steps": [int(steps[0]), int(steps[-1])] if len(steps) else [],
        "ranks": list(run.ranks),
        "targets": [target.key for target in run.targets],
        "alerts": listed,
    }
    if compared is not None:
        parted = compared.divergence
        facts["claim"] = claim_facts(compared.claim, "trends")
        facts["divergence"] = {**asdict(parted), "rank": compared.rank}
        if parted.target is not None and parted.step is not None:
            facts["divergence"]["config"] = dump_configuration(parted.target, parted.step)
    return facts


def _export(options: argparse.Namespace, directory: str) -> Exit:
    from builder.series.run import TrendRun
    from msprobe.trends.exporting import export

    if options.to is None:
        raise CommandError("trend export: no --to", f"one of {', '.join(FORMATS)}")
    written = export(TrendRun(Path(directory)), options.to, options.output or Path())
    print(f"wrote {written}")
    return Exit.DONE


def _import(options: argparse.Namespace, source: str) -> Exit:
    from msprobe.trends.importing import import_peer

    target = options.output or Path("trends")
    steps, series = import_peer(Path(source), target)
    print(f"wrote {target}: {steps} steps of {series} series")
    return Exit.DONE
