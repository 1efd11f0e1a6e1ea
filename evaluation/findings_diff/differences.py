"""Holds what an old and a new version said of one pair beside each other, and beside the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.right_answers import Named, Right

Answer = dict[str, Any]
"""A line of `say`: findings, or an error."""
_ALONE = ("only the problem", "only the benchmark")


@dataclass(frozen=True, slots=True)
class Judged:
    """What the oracle says of an answer.

    `first`: the first finding is a fault. `named`: so many faults are named somewhere, repeats of a
    cause counted. `wrong`: so many findings are no fault and are not said to heal. `failed`: there
    is no answer at all.
    """

    first: bool
    named: int
    wrong: int
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """A pair of which the two versions do not say the same."""

    title: str
    kind: str
    before: str
    after: str


def judge(answer: Answer, faults: Sequence[Right]) -> Judged:
    """Hold the findings of an answer against the faults of its pair."""
    if "error" in answer:
        return Judged(first=False, named=0, wrong=0, failed=True)
    findings = answer["findings"]
    first = [_named(finding, is_alone=_is_alone(finding)) for finding in findings]
    right = [hit for _, hit in told_right(answer, faults)]
    places = [*first, *(_named(place) for finding in findings for place in finding["places"])]
    return Judged(
        first=bool(right) and right[0],
        named=sum(any(map(fault, places)) for fault in faults),
        wrong=sum(not hit and not f["heals"] for hit, f in zip(right, findings, strict=True)),
    )


def told_right(answer: Answer, faults: Sequence[Right]) -> Iterator[tuple[dict[str, Any], bool]]:
    """Each finding of an answer, and whether it names a fault."""
    for finding in answer.get("findings", ()):
        named = _named(finding, is_alone=_is_alone(finding))
        yield finding, any(fault(named) for fault in faults)


def difference(title: str, old: Answer, new: Answer, faults: Sequence[Right]) -> Difference | None:
    """What changed between two answers; None where they say the same word for word."""
    if _comparable(old) == _comparable(new):
        return None
    before, after = judge(old, faults), judge(new, faults)
    return Difference(title, _kind(before, after, old, new), shown(old), shown(new))


def _kind(before: Judged, after: Judged, old: Answer, new: Answer) -> str:
    """The gravest change first; `lost` and `alarm` are what nobody may land unseen."""
    changes = {
        "failed": after.failed and not before.failed,
        "lost": after.named < before.named or (before.first and not after.first),
        "alarm": after.wrong > before.wrong,
        "gained": after.named > before.named or (after.first and not before.first),
        "calmer": after.wrong < before.wrong,
        "elsewhere": _names(old) != _names(new),
    }
    return next((kind for kind, holds in changes.items() if holds), "worded")


def tally(differences: Sequence[Difference]) -> str:
    """How many pairs changed in which way, the gravest kind first."""
    counted = Counter(one.kind for one in differences)
    kinds = ("failed", "lost", "alarm", "gained", "calmer", "elsewhere", "worded")
    return ", ".join(f"{counted[kind]} {kind}" for kind in kinds if counted[kind]) or "none"


def shown(answer: Answer) -> str:
    """The findings of an answer, a line each."""
    if "error" in answer:
        return f"  {answer['error']}"
    lines = [
        f"  step {f['step']} rank {f['rank']} {f['node']}: {'; '.join(f['reasons'])} "
        f"[explains {f['propagated_to']}, {len(f['places'])} places"
        f"{', heals' if f['heals'] else ''}]"
        for f in answer["findings"]
    ]
    return "\n".join(lines) or f"  nothing is named{_refused(answer)}"


def _refused(answer: Answer) -> str:
    return f" ({answer['refusal']})" if answer.get("refusal") else ""


def _named(place: dict[str, Any], *, is_alone: bool = False) -> Named:
    inside, stack = place.get("inside") or "", place.get("stack")
    return Named(place["step"], place["node"], inside, stack, is_alone)


def _is_alone(finding: dict[str, Any]) -> bool:
    return bool(finding["reasons"]) and finding["reasons"][0].startswith(_ALONE)


def _names(answer: Answer) -> list[tuple[Any, ...]]:
    return [(f["step"], f["rank"], f["node"]) for f in answer.get("findings", ())]


def _comparable(answer: Answer) -> object:
    """All that a person reads of an answer; figures that no sentence holds may move."""
    kept = ("step", "rank", "node", "reasons", "propagated_to", "places", "heals")
    findings = [{key: f[key] for key in kept} for f in answer.get("findings", ())]
    return answer.get("error"), answer.get("refusal"), findings
