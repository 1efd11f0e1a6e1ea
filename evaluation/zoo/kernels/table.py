"""The lines and the table that `python -m evaluation.zoo --kernels` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from evaluation.zoo.kernels.suite import KernelVerdict

SHOWN = 4
HEAD = (
    "| task | format | single: first | alone | two: both named | nothing else | controls silent |",
    "|---|---|---|---|---|---|---|",
)


def outcome(verdict: KernelVerdict) -> str:
    """What was said of one case, in a few words."""
    if verdict.error is not None:
        return f"could not be run: {verdict.error[:120]}"
    if not verdict.case.faults:
        return f"FALSE ALARM {verdict.findings[0]}" if verdict.findings else "silent"
    if not verdict.judged:
        return "not judged: the faults show in no recorded place of their own"
    named = "all named" if verdict.all_named else "MISSED"
    first = "first" if verdict.first else "NOT FIRST"
    return f"{first}, {named}, {len(verdict.findings)} findings"


def account(verdict: KernelVerdict) -> str:
    """The outcome with the findings and the right answers."""
    lines = [f"{verdict.case.title}: {outcome(verdict)}"]
    named = list(zip(verdict.findings, verdict.reasons, strict=True))
    lines += [f"    {found}: {reason}" for found, reason in named[:SHOWN]]
    lines += [f"    right: {sorted(place)[:SHOWN]}" for place in verdict.places]
    return "\n".join(lines) + "\n"


def is_flawless(verdict: KernelVerdict) -> bool:
    """Whether nothing is to be mended: all named, first, alone; a control silent."""
    if verdict.error is not None:
        return False
    if not verdict.case.faults:
        return not verdict.findings
    return not verdict.judged or (verdict.first and verdict.all_named and verdict.nothing_else)


def table(verdicts: Sequence[KernelVerdict]) -> str:
    """Shares by task and format."""
    keys = sorted({_key(verdict) for verdict in verdicts})
    lines = [*HEAD]
    for task, dtype in [*keys, *((task, "all") for task in sorted({key[0] for key in keys}))]:
        chosen = [v for v in verdicts if v.case.task == task and dtype in ("all", _key(v)[1])]
        singles = [v for v in chosen if len(v.case.faults) == 1 and v.judged]
        pairs = [v for v in chosen if len(v.case.faults) == 2 and v.judged]
        controls = [v for v in chosen if not v.case.faults and v.error is None]
        cells = [
            _share(singles, lambda v: v.first),
            _share(singles, lambda v: v.first and v.nothing_else),
            _share(pairs, lambda v: v.all_named),
            _share(pairs, lambda v: v.nothing_else),
            _share(controls, lambda v: not v.findings),
        ]
        lines.append(f"| {task} | {dtype} | {' | '.join(cells)} |")
    aside = sum(v.error is None and not v.judged for v in verdicts)
    errors = sum(v.error is not None for v in verdicts)
    return "\n".join([*lines, "", f"{aside} without a place that shows them, {errors} not run"])


def _key(verdict: KernelVerdict) -> tuple[str, str]:
    return verdict.case.task, str(verdict.case.benchmark.dtype).removeprefix("torch.")


def _share(verdicts: Iterable[KernelVerdict], counts: Callable[[KernelVerdict], bool]) -> str:
    listed = list(verdicts)
    right = sum(map(counts, listed))
    return f"{right} of {len(listed)} ({right / len(listed):.0%})" if listed else "–"
