"""`msprobe compile_check`: does a compiled model compute what the eager one does?"""

from __future__ import annotations

import argparse
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from msprobe.cli.outcome import Exit, exit_of

if TYPE_CHECKING:
    from msprobe.compile_check import Answer
    from msprobe.compile_check.results import Apart, LessExact

SUMMARY = "run a model eager and compiled and name the first module and call that differ"

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_SOME = 3  # results that a line names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "target",
        metavar="FILE.py[:FUNCTION]|MODULE:FUNCTION",
        help="a function that returns the model and its arguments [compile_check of the file]",
    )
    parser.add_argument(
        "-o",
        "--output_path",
        type=Path,
        default=Path("compile_check"),
        metavar="DIR",
        help="folder for both dumps and the result [compile_check]",
    )
    parser.add_argument(
        "--backend", default="inductor", metavar="NAME", help="backend of torch.compile [inductor]"
    )
    parser.add_argument(
        "--fullgraph", action="store_true", help="a graph break is a failure, as for torch.compile"
    )
    parser.add_argument(
        "--dynamic",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="shapes are dynamic, or never are [torch finds out]",
    )
    parser.add_argument("--mode", choices=MODES, help="mode of torch.compile, for inductor")
    parser.add_argument(
        "--bisect",
        action="store_true",
        help="name the part of the compiler that a difference comes from; compiles some ten times",
    )
    parser.add_argument(
        "--level", choices=("L0", "L1", "mix"), default="mix", help="what is recorded [mix]"
    )


def run(options: argparse.Namespace) -> Exit:
    """Print the answer; code 4 when something differs."""
    from msprobe.compile_check import check_compilation, load_case
    from msprobe.compile_check.options import Compilation

    make = load_case(options.target)
    chosen = Compilation(options.backend, options.fullgraph, options.dynamic, options.mode)
    answer = check_compilation(
        make, options.output_path, level=options.level, options=chosen, bisect=options.bisect
    )
    print("\n".join(_said(answer)))
    if answer.agrees or answer.claim.code == "nothing":
        return exit_of(answer.claim)
    return Exit.DIVERGED


def _said(answer: Answer) -> list[str]:
    from builder.claim import told

    found = [] if answer.rounded else answer.diagnosis.named
    lines = [f"result: {answer.database}"]
    if found:
        first = found[0]
        come = "come to the same results, and differ on the way there"
        lines.append(
            f"compiled and eager {come if answer.agrees else 'differ'}, first at {first.node}"
        )
        if first.inside is not None:
            lines.append(f"   inside {first.inside}")
        lines += [f"   {reason}" for reason in first.reasons]
        if len(found) > 1:
            lines.append(f"   and at {len(found) - 1} more; msprobe diagnose lists them")
    else:
        lines.append(told(answer.claim, "compiled"))
    if answer.blamed is not None:
        lines.append(f"it comes from {answer.blamed.told()}")
    return lines + _unexplained(answer) + _changes(answer)


def _unexplained(answer: Answer) -> list[str]:
    """The results that differ although no record says so."""
    untold = [
        f"{name} picks other elements, and nothing recorded tells whether that is a tie"
        for name in answer.untold[:_SOME]
    ]
    inexact = [_less_exact(each) for each in answer.less_exact[:_SOME]]
    if len(answer.less_exact) > _SOME:
        inexact.append(f"and {len(answer.less_exact) - _SOME} more gradients are less exact")
    return untold + inexact + [_apart(each) for each in answer.apart[:_SOME]]


def _less_exact(each: LessExact) -> str:
    """How much further from float64 than eager's a compiled gradient is."""
    times = f"{each.times:.0f} times as far from the one in float64 as eager's"
    return f"{each.name} is {times} ({each.compiled:.1e} of its norm beside {each.eager:.1e})"


def _apart(each: Apart) -> str:
    """How far a result is from eager's."""
    if each.less_exact is not None:
        return _less_exact(each.less_exact)
    text = f"{each.name} of the model compiled with your own settings is "
    if not isfinite(each.alone):
        return f"{text}not that of eager"
    seen = each.recorded
    recorded = "" if seen is None else f", under the recording {seen:.1e}"
    return f"{text}{each.alone:.1e} from eager{recorded}"


def _changes(answer: Answer) -> list[str]:
    """What the recording itself has changed in the compiled model."""
    lines = [
        f"note: {name}: {alone} without the recording, {recorded} with it"
        for name, (alone, recorded) in answer.counted.items()
        if alone != recorded
    ]
    if answer.changed:
        some = ", ".join(answer.changed[:_SOME]) + (", …" if len(answer.changed) > _SOME else "")
        lines.append(
            f"note: recording changed what the compiler did: {len(answer.changed)} results are "
            f"not bit-equal to those of the compiled model alone ({some})"
        )
    lines += [
        f"a difference vanishes while it is recorded: {each.name} is {each.alone:.1e} from eager "
        f"without the recording and {each.recorded:.1e} with it"
        for each in answer.vanished[:_SOME]
    ]
    return lines + _where(answer)


def _where(answer: Answer) -> list[str]:
    """Where a difference lies that vanishes while it is recorded."""
    if not answer.vanished:
        return []
    parted = answer.parted
    if parted is None:
        return ["   no single record makes it vanish; try --level L0, which keeps less"]
    before = parted.before or "the beginning"
    return [f"   it lies between {before} and {parted.after}: recording the latter parts them"]
