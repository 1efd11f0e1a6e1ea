"""A diagnosis as SARIF 2.1.0, which code hosts and editors show at the line of source.

The fields that GitHub asks for are there: a rule, a message, a level and a place for each result.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from builder import Diagnosis
from builder.claim import Claim, told
from builder.dump.stack_frames import SourceLine
from builder.finding_certainty import CertaintyWord
from builder.results.finding_facts import FindingFacts
from builder.run.build import tool_version

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_WORKING_FOLDER = "WORKINGFOLDER"
_LEVELS: dict[CertaintyWord | None, str] = {
    "certain": "error",
    "likely": "warning",
    "possible": "note",
    None: "warning",  # files of earlier releases do not say how sure they are
}


def sarif_log(diagnosis: Diagnosis, folder: Path) -> dict[str, Any]:
    """The findings as one run of SARIF, the first ranked first.

    Lines below `folder`, where the sources lie, are told relative to it.
    """
    found = diagnosis.facts()
    kinds = list(dict.fromkeys(one.kind for one in found))
    driver = {
        "name": "msprobe diagnose",
        "semanticVersion": tool_version(),
        "rules": [_rule(kind) for kind in kinds],
    }
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {_WORKING_FOLDER: {"uri": f"{folder.resolve().as_uri()}/"}},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(diagnosis.claim)],
        "results": [_result(one, kinds.index(one.kind), len(found), folder) for one in found],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _invocation(claim: Claim) -> dict[str, Any]:
    """What may be said of the runs: no results alone are no all-clear."""
    level = "note" if claim.is_clear else "warning"
    said = {"level": level, "message": {"text": told(claim)}}
    return {
        "executionSuccessful": not claim.incomplete and claim.code != "nothing",
        "toolExecutionNotifications": [said],
    }


def _rule(kind: str) -> dict[str, Any]:
    text = f"The problem run begins to differ: {kind.replace('_', ' ')}."
    return {"id": kind, "shortDescription": {"text": text}}


def _result(found: FindingFacts, rule: int, count: int, folder: Path) -> dict[str, Any]:
    sure = found.certainty
    level = "note" if found.heals else _LEVELS[None if sure is None else sure.word]
    # What was typed or made while running (`<stdin>`) is in no file.
    known = [line for line in (found.source, found.called_from) if line is not None]
    lines = [line for line in known if not line.file.startswith("<")]
    # Of the library's line and the user's own, the one that lies in the working folder.
    lines.sort(key=lambda line: _below(line, folder) is None)
    result = {
        "ruleId": found.kind,
        "ruleIndex": rule,
        "level": level,
        "rank": round(100 * (1 - (found.number - 1) / count), 3),
        "message": {"text": "; ".join(_sentences(found))},
        "locations": [_location(found, lines[0] if lines else None, folder)],
        "partialFingerprints": {"finding/v1": _fingerprint(found)},
        "properties": {"step": found.step, "rank": found.rank, "number": found.number},
    }
    related = [_physical(line, folder) for line in lines[1:]]
    return {**result, "relatedLocations": related} if related else result


def _sentences(found: FindingFacts) -> Iterator[str]:
    inside = f" inside {found.inside}" if found.inside else ""
    yield f"{found.number}. {found.node}{inside} (step {found.step}, rank {found.rank})"
    yield from found.reasons
    if found.certainty is not None:
        yield found.certainty.text


def _location(found: FindingFacts, line: SourceLine | None, folder: Path) -> dict[str, Any]:
    named = {"fullyQualifiedName": found.node, "kind": "function"}
    physical = {} if line is None else _physical(line, folder)
    return {**physical, "logicalLocations": [named]}


def _physical(line: SourceLine, folder: Path) -> dict[str, Any]:
    below = _below(line, folder)
    artifact = (
        {"uri": _uri(line.file)}
        if below is None
        else {"uri": _quoted(below), "uriBaseId": _WORKING_FOLDER}
    )
    region: dict[str, Any] = {"startLine": max(1, line.line)}
    if line.code:
        region["snippet"] = {"text": line.code}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _below(line: SourceLine, folder: Path) -> str | None:
    """The path of a file below the working folder; None for one elsewhere.

    A stack has the path as Python was given it, which may be relative to that folder.
    """
    path, home = (folder / line.file).resolve(), folder.resolve()
    return path.relative_to(home).as_posix() if path.is_relative_to(home) else None


def _uri(path: str) -> str:
    found = Path(path)
    return found.as_uri() if found.is_absolute() else _quoted(path)


def _quoted(path: str) -> str:
    return quote(path.replace("\\", "/"))


def _fingerprint(found: FindingFacts) -> str:
    """The same for one cause in every run, whatever number it has there."""
    place = f"{found.kind} {found.node} {found.step} {found.rank}"
    return sha256(place.encode("utf-8", "backslashreplace")).hexdigest()[:32]
