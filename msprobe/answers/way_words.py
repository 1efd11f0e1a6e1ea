"""Words for the way from a node back to its cause, for the command and for answers."""

from __future__ import annotations

from pathlib import Path

from builder import diagnose
from builder.reasons import MsprobeError, sentence
from builder.results.opening import format_of
from builder.results.trace import Hop, Trace

LINKS = {
    "start": "from",
    "partner": "was compared with",
    "input": "its {value} was made by",
    "inside": "contains",
    "forward": "is the gradient of",
    "before": "its {value} was written in step {step} by",
    "gradient": "its {value} was updated in step {step} by the gradient in",
    "guess": "comes perhaps, through calls without values, from",
    "weight": "reads the weight of",
    "returned": "was returned by",
    "fed": "its {value} is what was fed to",
    "cause": "is explained by",
}


def reasons_of_finding(database: Path, finding: int | None) -> list[str]:
    """Why a finding is one; none without one."""
    if finding is None:
        return []
    if format_of(database) == "msprobe":
        return [sentence(MsprobeError())]
    diagnosis = diagnose(database, finding)
    return [diagnosis.refusal] if diagnosis.refusal else diagnosis.findings[-1].reasons


def way_to_finding(database: Path, number: int) -> str:
    """What stands where a way ends at a finding: it begins there, or the runs only part there."""
    told = "; ".join(reasons_of_finding(database, number))
    if format_of(database) != "msprobe":
        diagnosis = diagnose(database, number)
        if diagnosis.named and diagnosis.named[-1].heals:
            return f"there the runs part and come together again, finding {number}: {told}"
    return f"there begins finding {number}: {told}"


def way_end(trace: Trace) -> str:
    """Why a way ends at no finding."""
    start = trace.hops[0]
    alone = len(trace.hops) == 1 and not start.matched
    if not alone and (trace.differs or len(trace.hops) > 1):
        return "nothing that was recorded leads further back"
    if alone:
        return f"the other run has no such call: {_handed_on(start, trace.differs)}"
    if start.score is None and start.input_score is None:
        return "neither run recorded values here that could be compared"
    return "it agrees with the other run: there is nothing to explain"


def _handed_on(start: Hop, differs: bool) -> str:
    if start.score is None:
        return "nothing was compared here"
    return "what it hands on differs" if differs else "what it hands on agrees"
