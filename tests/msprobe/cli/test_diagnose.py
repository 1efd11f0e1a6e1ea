"""The diagnosis as text and as the JSON that other tools rely on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builder import build
from tests.msprobe.conftest import Run

FINDING = {
    "step": int,
    "rank": int,
    "node": str,
    "type": str,
    "direction": str,
    "order": int,
    "score": (float, type(None)),
    "input_score": (float, type(None)),
    "introduced": (float, type(None)),
    "reasons": list,
    "propagated_to": int,
}


@pytest.fixture(scope="module")
def compared(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    sides = samples / "nan" / "problem", samples / "statistics" / "bench"
    return build(sides[0] / "step0", sides[1] / "step0", tmp_path_factory.mktemp("out")).path


def test_text_leads_with_the_culprit_and_its_line(run: Run, compared: Path) -> None:
    answer = run("diagnose", compared)
    assert answer.code == 0
    first = answer.out[answer.out.index("look here first:") :].splitlines()[1]
    assert first.startswith("1. Torch.log.0.forward (api, forward, step 0")
    assert "File /job/" in answer.out
    assert "site-packages" not in answer.out


def test_json_has_the_documented_form(run: Run, compared: Path) -> None:
    report = json.loads(run("diagnose", compared, "--json").out)
    assert report["version"] == 1
    assert report["database"] == str(compared)
    assert report["task"] == "statistics"
    assert set(report["coverage"]) == {
        "pairs",
        "matched",
        "unmatched_problem",
        "unmatched_benchmark",
        "failed",
    }
    assert report["findings"], "the sample has a seeded fault"
    for finding in report["findings"]:
        assert set(finding) == set(FINDING)
        for key, kind in FINDING.items():
            assert isinstance(finding[key], kind), key  # type: ignore[arg-type]
        assert finding["type"] in ("module", "api")
        assert finding["direction"] in ("forward", "backward")


def test_html_report_stands_alone(run: Run, compared: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    assert run("diagnose", compared, "--html", report).code == 0
    text = report.read_text()
    assert "Torch.log.0.forward" in text
    assert "http://" not in text
    assert "https://" not in text


def test_html_report_that_cannot_be_written_is_named(
    run: Run, compared: Path, tmp_path: Path
) -> None:
    answer = run("diagnose", compared, "--html", tmp_path / "none" / "report.html")
    assert answer.code == 1
    assert str(tmp_path / "none" / "report.html") in answer.err
    assert answer.err.count("\n") == 1


def test_top_limits_the_list(run: Run, compared: Path) -> None:
    report = json.loads(run("diagnose", compared, "--json", "--top", "1").out)
    assert len(report["findings"]) == 1


def test_fail_above_tells_by_the_exit_code(run: Run, compared: Path) -> None:
    assert run("diagnose", compared, "--fail-above", "0.5").code == 4
    assert run("diagnose", compared, "--fail-above", "1").code == 0


def test_nothing_compared_is_never_green(run: Run, samples: Path, tmp_path: Path) -> None:
    side = samples / "structure" / "bench"
    answer = run("diagnose", build(side, side, tmp_path).path)
    assert answer.code == 5
    assert "nothing was compared" in answer.out


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\x00torn"])
def test_file_of_another_kind_is_named(run: Run, tmp_path: Path, content: bytes) -> None:
    odd = tmp_path / "odd.vis.db"
    odd.write_bytes(content)
    answer = run("diagnose", odd)
    assert answer.code == 1
    assert str(odd) in answer.err
    assert answer.err.count("\n") == 1
