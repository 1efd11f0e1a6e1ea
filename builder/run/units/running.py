"""The front door of a build in units: make a plan, run units of it, join their parts."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

from builder.errors import InputError
from builder.run.build import BuildResult, Progress, Request, counted, put_together
from builder.run.executor import Executor
from builder.run.units.dump_places import plan_anywhere
from builder.run.units.joining import Parts
from builder.run.units.plan_file import PLAN_FILE, BuildPlan, Unit, planned, read_plan, write_plan
from builder.run.units.unit_parts import PARTS, PartState, named, part_states
from builder.run.units.unit_work import StoredParts
from builder.storage.addresses import open_folder
from builder.storage.folder import Folder, is_address, location_of
from builder.work.options import BuildOptions
from builder.work.outcome import PairOutcome
from builder.write.result_writer import volumes_of


def plan_build(
    problem: str, benchmark: str | None, output: str, options: BuildOptions
) -> BuildPlan:
    """Write `<output>/plan.json`, which cuts a build into units that need none of each other.

    All three are paths or addresses; paths become absolute, since units run anywhere. Raises
    InputError when the dumps cannot be used and OutputError when another plan is there.
    """
    plan = _planned(problem, benchmark, options)
    write_plan(plan, open_folder(_absolute(output)))
    return plan


def plan_folder(place: str) -> Folder:
    """The folder of a plan that is named by it, or by its file."""
    text = _absolute(place)
    return open_folder(text.removesuffix(f"/{PLAN_FILE}"))


def run_units(
    place: str,
    units: Sequence[Unit],
    executor: Executor,
    progress: Progress | None = None,
    *,
    make_up: bool = True,
) -> list[PairOutcome]:
    """Run those of some units that are not done, and put their parts beside the plan in `place`.

    What they need and nobody has done runs before them; with `make_up` False they fail instead,
    and say what they wait for. Raises InputError where the plan no longer fits what is installed or
    the files it names.
    """
    folder = open_folder(_absolute(place))
    plan = read_plan(folder)
    plan.check_tool()
    plan.check_files()
    states = part_states(plan, folder)
    done = {state.unit for state in states if state.state == "done"}
    waiting = [unit for unit in units if unit.id not in done]
    if make_up:
        waiting = _with_needs(plan, waiting, done)
    # A rank that could not be read is told by the unit that needs it.
    tried = {unit.id for unit in waiting} | {state.unit for state in states if state.is_whole}
    report = counted(len(waiting), progress)
    outcomes = [_waits(unit, tried) for unit in waiting if not tried.issuperset(unit.needs)]
    for outcome in outcomes:
        report(outcome)
    ready = [unit for unit in waiting if tried.issuperset(unit.needs)]
    work = StoredParts(plan.id, folder.below(PARTS).text, plan.request.instructions())
    for turn in ([u for u in ready if not u.needs], [u for u in ready if u.needs]):
        if turn:
            outcomes += executor.run([unit.pair for unit in turn], work, report)
    return outcomes


def _with_needs(plan: BuildPlan, units: Sequence[Unit], done: AbstractSet[str]) -> list[Unit]:
    """Some units and those that they need and nobody has done, in the order of the plan."""
    wanted = {unit.id for unit in units}
    wanted |= {need for unit in units for need in unit.needs if need not in done}
    return [unit for unit in plan.units if unit.id in wanted]


def _waits(unit: Unit, tried: AbstractSet[str]) -> PairOutcome:
    waits = [need for need in unit.needs if need not in tried]
    more = f" and {len(waits) - 4} more" if len(waits) > 4 else ""
    text = (
        f"unit {unit.id} needs {', '.join(waits[:4])}{more}, which nobody has run; run them first"
    )
    return PairOutcome(unit.pair.step, unit.pair.rank, error=text)


def join_build(
    place: str, output: str | None = None, *, allow_missing: bool = False, split: bool = False
) -> BuildResult:
    """Join the parts of a plan's units into one result file, in `output` or beside the plan.

    The rows are those that one process would have written; with `split` they stay in a file for
    each unit, in a folder beside the result. Raises InputError that names the units without a whole
    part; with `allow_missing` they are failed pairs of the result.
    """
    folder = open_folder(_absolute(place))
    plan = read_plan(folder)
    plan.check_tool()
    plan.check_files()
    states = part_states(plan, folder)
    if not allow_missing:
        _check(plan, states)
    target = folder if output is None else open_folder(_absolute(output))
    with tempfile.TemporaryDirectory(prefix="msprobe-join-") as scratch:
        parts = Parts(plan, folder.below(PARTS), states, Path(scratch), split=split)
        rules = plan.request.instructions().rules
        if not is_address(target.text):
            return put_together(plan.request, plan.plan, rules, Path(target.text), parts.gathered)
        made = put_together(plan.request, plan.plan, rules, Path(scratch), parts.gathered)
        # The index comes last: whoever sees it finds its volumes.
        for volume in sorted(volumes_of(made.path).glob("*")):
            target.put(volume, f"{volume.parent.name}/{volume.name}")
        target.put(made.path, made.path.name)
        return replace(made, path=Path(f"{target.text}/{made.path.name}"))


def build_over(
    request: Request, output: str, executor: Executor, progress: Progress | None = None
) -> BuildResult:
    """Plan, run all units over an executor, join, and remove what is no longer needed.

    A build that was interrupted goes on where it stopped when it is asked for again.
    """
    plan = _planned(request.problem, request.benchmark, request.options)
    target = open_folder(_absolute(output))
    name = f"units_{plan.id}"
    folder = target.below(name)
    write_plan(plan, folder)
    run_units(folder.text, plan.units, executor, progress)
    joined = join_build(folder.text, target.text)
    target.remove(name)
    return joined


def _planned(problem: str, benchmark: str | None, options: BuildOptions) -> BuildPlan:
    other = None if benchmark is None else _absolute(benchmark)
    request = Request(_absolute(problem), other, replace(options, workers=None))
    request.instructions()  # whatever is wrong with the files of the options shows now
    return planned(request, plan_anywhere(request))


def _absolute(text: str) -> str:
    place = location_of(text)
    return place if is_address(place) else str(Path(place).absolute())


def _check(plan: BuildPlan, states: Sequence[PartState]) -> None:
    # Nobody asks any more for what a unit needed that is done.
    passed = {unit.id for unit in plan.units if unit.kind == "map"}
    problems = [s for s in states if not s.is_whole and s.unit not in passed]
    if not problems:
        return
    said = []
    for kind in ("missing", "partial", "foreign"):
        of_kind = [state for state in problems if state.state == kind]
        if of_kind:
            said.append(f"{len(of_kind)} {kind}: {named(of_kind)} ({of_kind[0].told})")
    raise InputError(
        f"{len(problems)} units have no whole part of this plan; " + "; ".join(said),
        "run msprobe unit on the plan again, which makes up what is not done; remove foreign files",
    )
