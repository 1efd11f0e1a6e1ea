"""`make upstream`: real bugs of released packages, the release that has one beside the next."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builder import BuildOptions, build, diagnose
from builder.results.report import Suspect
from evaluation.upstream.cases import BUGS, SOUND, Release
from evaluation.upstream.releases import RecordingError, folders_of, install, recorded
from evaluation.upstream.truth import is_right


@dataclass(frozen=True, slots=True)
class Judged:
    """What was said of a pair: the place of the first right finding, from 1, and all findings."""

    case: Release
    findings: tuple[Suspect, ...] = ()
    place: int | None = None
    error: str = ""

    @property
    def outcome(self) -> str:
        """In a few words."""
        if self.error:
            return f"could not be run: {self.error}"
        if not self.case.mended:
            alarms = [finding.node for finding in self.findings if not finding.heals]
            return f"FALSE {alarms[0]}" if alarms else "heals" if self.findings else "silent"
        first = self.findings[0].node if self.findings else "nothing"
        return f"{self.place or 'MISSED'} of {len(self.findings)}, first {first}"


def main() -> int:
    """Exit code 1 when a pair could not be run."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.upstream", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path("build/upstream"), help="of all releases")
    parser.add_argument("--only", default="", help="only pairs whose line contains this text")
    parser.add_argument("--kept", type=Path, help="folder of recordings that are used again")
    options = parser.parse_args()
    listed = [case for case in (*BUGS, *SOUND) if options.only in case.title]
    root = options.root.resolve()
    install(root, _releases(listed))
    judged = []
    for case in listed:
        judged.append(judge(case, root, options.kept))
        print(f"{case.title:90} {judged[-1].outcome}", flush=True)
    print(f"\n{table(judged)}")
    return int(any(one.error for one in judged))


def judge(case: Release, root: Path, kept: Path | None = None) -> Judged:
    """Record a program with both releases and hold what is named against their sources."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            problem, benchmark = recorded(case, root, kept or Path(scratch))
        except RecordingError as error:
            return Judged(case, error=str(error))
        made = build(problem, benchmark, Path(scratch) / "out", BuildOptions(workers=1))
        found = tuple(diagnose(made.path).findings)
    releases = folders_of(case, root)
    right = [_is_right(finding, case, releases) for finding in found]
    return Judged(case, found, right.index(True) + 1 if True in right else None)


def _is_right(finding: Suspect, case: Release, folders: tuple[Path, Path]) -> bool:
    alone = finding.reasons[0].startswith(("only the problem", "only the benchmark"))
    return is_right(finding.stack, alone, case, folders)


def table(judged: Sequence[Judged]) -> str:
    """Shares by package."""
    lines = ["| package | bugs: first | named | sound pairs silent |", "|---|---|---|---|"]
    packages = sorted({one.case.package for one in judged})
    for package in [*packages, "all"]:
        ran = [j for j in judged if not j.error and package in (j.case.package, "all")]
        bugs = [one for one in ran if one.case.mended]
        sound = [one for one in ran if not one.case.mended]
        first, named = (sum(one.place in places for one in bugs) for places in ((1,), range(1, 99)))
        silent = sum(all(finding.heals for finding in one.findings) for one in sound)
        lines.append(
            f"| {package} | {first} of {len(bugs)} | {named} of {len(bugs)} "
            f"| {silent} of {len(sound)} |"
        )
    return "\n".join(lines)


def _releases(listed: Sequence[Release]) -> list[tuple[str, str]]:
    pairs = {(c.package, release) for c in listed for release in (c.problem, c.benchmark)}
    return sorted(pairs)


if __name__ == "__main__":
    sys.exit(main())
