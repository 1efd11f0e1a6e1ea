"""A build in a process of its own: the request on stdin, one JSON line per event on stdout.

It can be killed at any moment without harm to the server.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import count
from pathlib import Path

import msgspec

from builder import BuilderError, BuildOptions, build
from builder.errors import OutputError
from builder.processes.interrupts import stopped_by_sigterm
from builder.work.outcome import PairOutcome
from builder.work.phases import PhaseEntered
from tb_graph_ascend.logdirs import SUFFIX
from tb_graph_ascend.server.answers import encoded
from tb_graph_ascend.server.build_messages import BuildRequest, BuildTask, Progress


def main() -> None:
    """Build what stdin asks for."""
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=BuildTask)
    wanted = task.wanted
    try:
        with stopped_by_sigterm():
            made = build(
                wanted.problem,
                wanted.benchmark,
                task.workshop,
                _options(wanted),
                _report,
                _tell_phase,
            )
            published = _publish(made.path, Path(wanted.output or "."))
        _say(Progress(file=str(published)))
    except BuilderError as error:
        _say(Progress(error=str(error)))
    except KeyboardInterrupt:
        sys.exit(130)


def _publish(made: Path, folder: Path) -> Path:
    """Give a complete file its place; raises OutputError where the folder takes none."""
    stem = made.name.removesuffix(SUFFIX)
    for number in count(1):
        final = folder / (made.name if number == 1 else f"{stem}_{number}{SUFFIX}")
        try:
            # A reservation first: renaming would replace the file of a build of the same second.
            final.touch(exist_ok=False)
            return made.replace(final)
        except FileExistsError:
            continue
        except OSError as error:
            raise OutputError(
                f"{folder}: cannot be written ({error.strerror})", "choose another folder"
            ) from error
    raise AssertionError("unreachable")


def _options(wanted: BuildRequest) -> BuildOptions:
    options = BuildOptions(
        overflow_check=wanted.overflow_check,
        fuzzy_match=wanted.fuzzy_match,
        layer_mapping=Path(wanted.layer_mapping) if wanted.layer_mapping else None,
        manual_mapping=Path(wanted.manual_mapping) if wanted.manual_mapping else None,
    )
    return options if wanted.threshold is None else replace(options, threshold=wanted.threshold)


def _report(done: int, total: int, outcome: PairOutcome) -> None:
    place = f"step {outcome.step} rank {outcome.rank}"
    if outcome.error is not None:
        text = f"{place}: failed: {outcome.error}"
    else:
        unmatched = outcome.unmatched_problem + outcome.unmatched_benchmark
        text = f"{place}: {outcome.matched} nodes matched, {unmatched} not"
    _say(Progress(done=done, total=total, step=outcome.step, rank=outcome.rank, text=text))


def _tell_phase(entered: PhaseEntered) -> None:
    step, rank = entered.step, entered.rank
    _say(Progress(total=entered.pairs, step=step, rank=rank, phase=entered.phase))


def _say(progress: Progress) -> None:
    sys.stdout.buffer.write(encoded(progress) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
