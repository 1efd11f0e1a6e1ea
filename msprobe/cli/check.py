"""`msprobe check`: what the ranks of one run say about each other, without a benchmark."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from msprobe.cli.merge_flags import add_size_flags, merge_options
from msprobe.cli.outcome import Exit, exit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from builder.ranks.checks.check_finding import CheckFinding
    from builder.ranks.checks.repeats import Repeated
    from builder.ranks.checks.self_check import Checked

SUMMARY = "compare the ranks of one parallel run with each other; needs no benchmark run"
_SHOWN, _NAMED = 20, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("dump", type=Path, metavar="DUMP", help="a whole dump or one step of it")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    add_size_flags(parser)


def run(options: argparse.Namespace) -> Exit:
    """Print the findings; code 4 when there are any."""
    from builder.dump.sources import find_sources
    from builder.ranks.checks.self_check import check_dump

    checked = check_dump(find_sources(options.dump), merge_options(options).problem)
    if options.json:
        from builder.claim import claim_facts

        facts = {
            "version": 1,
            "dump": str(options.dump),
            "claim": claim_facts(checked.claim, "ranks"),
            "findings": [_facts(finding) for finding in checked.findings],
        }
        print(json.dumps(facts, indent=1))
    else:
        print("\n".join(_report(options.dump, checked)))
    return Exit.DIVERGED if checked.findings else exit_of(checked.claim)


def _facts(finding: CheckFinding) -> dict[str, object]:
    """A finding as JSON has it: its reasons as codes with their fields, and in words."""
    from builder.reasons import encode

    codes = json.loads(encode(finding.reasons) or "[]")
    return asdict(finding) | {"reasons": codes, "text": finding.text}


def _report(dump: Path, checked: Checked) -> list[str]:
    from builder.claim import told
    from builder.ranks.checks.repeats import with_repeats

    listed = with_repeats(checked.findings)
    if not listed:
        return [f"{dump}: {told(checked.claim, 'ranks')}"]
    count = len(listed)
    lines = [f"{dump}: {count} finding{'s' * (count != 1)}; look here first:"]
    for place, each in enumerate(listed[:_SHOWN], 1):
        lines += _finding(place, each)
    hidden = count - _SHOWN
    return lines if hidden <= 0 else [*lines, f"… and {hidden} more; --json lists them"]


def _finding(place: int, each: Repeated) -> list[str]:
    finding = each.first
    lines = [f"{place}. {finding.node} (step {finding.step})"]
    lines += [f"   inside {finding.inside}"] if finding.inside else []
    lines += [f"   {finding.text}"]
    if each.alike:
        names = ", ".join(one.node for one in each.alike[:_NAMED])
        more = ", …" if len(each.alike) > _NAMED else ""
        lines.append(f"   the same is true of {len(each.alike)} more: {names}{more}")
    if each.behind:
        behind = [*each.behind, *each.later]
        return [*lines, *_counted(behind, "1 copy differs behind it", "{} copies differ behind it")]
    what = "what is named differs" if each.alike else "the parameter differs"
    lines += _counted(each.later, f"{what} in 1 more place", f"{what} in {{}} more places")
    return lines


def _counted(findings: Sequence[CheckFinding], one: str, many: str) -> list[str]:
    """A line on how many findings follow, and up to which step; none where none do."""
    if not findings:
        return []
    last = max(after.step for after in findings)
    said = one if len(findings) == 1 else many.format(len(findings))
    return [f"   {said}, up to step {last}"]
