"""Real runs with sketches: what begins a difference is named, and a second fault behind a first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.reasons import sentence, sentences
from builder.reasons.sentences import percent
from builder.work.outcome import StoredFinding
from tests.builder.diagnosis import recorded_programs
from tests.builder.diagnosis.recorded_programs import Change, hooked, names, recorded, same
from tests.builder.result_rows import rows
from tests.told import facts


class Branches(nn.Module):
    """Two branches that meet at the end; `early`, `late` and `beside` change one call each."""

    def __init__(self, early: Change = same, late: Change = same, beside: Change = same) -> None:
        super().__init__()
        self.first, self.second, self.other = (nn.Linear(16, 16) for _ in range(3))
        self.early, self.late, self.beside = early, late, beside

    def forward(self, x: Tensor) -> Tensor:
        other = self.beside(torch.tanh(self.other(x)))
        hidden = self.early(torch.sin(self.first(x)))
        return torch.add(self.late(torch.cos(self.second(hidden))), other)


def found(tmp_path: Path, **changes: Change) -> tuple[StoredFinding, ...]:
    return recorded_programs.found(tmp_path, Branches, **changes)


def scaled_a_little(x: Tensor) -> Tensor:
    return x * 1.0001


def tripled(x: Tensor) -> Tensor:
    return x * 3


def lowered(x: Tensor) -> Tensor:
    return x - 0.5


def test_equal_runs_are_silent(tmp_path: Path) -> None:
    assert found(tmp_path) == ()


class Residual(nn.Module):
    """A value that two calls read; `late` changes what one of them hands on."""

    def __init__(self, late: Change = same) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 16)
        self.late = late

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.sin(self.first(x))
        return hidden + self.late(torch.cos(self.second(hidden)))


def test_what_gradients_and_the_optimizer_make_of_a_fault_goes_back_to_it(tmp_path: Path) -> None:
    sides = (
        recorded(tmp_path / "problem", Residual, trains=True, late=tripled),
        recorded(tmp_path / "benchmark", Residual, trains=True),
    )
    made = builder.build(*sides, tmp_path / "o")
    assert names(made.findings) == ["Tensor.__mul__.0.forward"]
    differing = {
        str(name): source
        for name, source in rows(made, "SELECT name, source FROM node WHERE score > 0.25")
    }
    assert {
        "Module.first.Linear.parameters_grad.0",
        "Tensor.addcmul_.0.forward",
    } <= differing.keys()
    assert [name for name, source in differing.items() if source is None] == []


@pytest.mark.parametrize("factor", [1.0001, 1.1, 2.0])
def test_a_call_that_one_run_alone_makes_is_named(tmp_path: Path, factor: float) -> None:
    (finding,) = found(tmp_path, early=lambda x: x * factor)
    assert finding.name == "Tensor.__mul__.0.forward"


def test_a_second_fault_on_another_branch_is_not_the_first_ones_follower(tmp_path: Path) -> None:
    both = found(tmp_path, early=scaled_a_little, beside=lowered)
    assert set(names(both)) == {"Tensor.__mul__.0.forward", "Tensor.__sub__.0.forward"}


def test_a_second_fault_behind_a_small_first_one_is_named(tmp_path: Path) -> None:
    both = found(tmp_path, early=scaled_a_little, late=tripled)
    assert names(both) == ["Tensor.__mul__.0.forward", "Tensor.__mul__.1.forward"]


def test_a_finding_keeps_how_much_its_inputs_explain(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, early=lambda x: x * 1.1)
    reason = finding.reasons[1]
    assert facts(reason)["code"] == "explained"
    assert facts(reason)["apart"] == pytest.approx(0.1, rel=0.5)
    assert 0 <= float(str(facts(reason)["explained"])) < 0.01


def test_inputs_that_agree_explain_nothing(tmp_path: Path) -> None:
    class Scaled(Residual):
        def __init__(self, late: Change = lambda x: x * 0.35) -> None:
            super().__init__(late)

    (finding,) = recorded_programs.found(tmp_path, Scaled, late=lambda x: x * 0.5)
    evidence = next(each for each in finding.reasons if facts(each)["code"] == "explained")
    assert facts(evidence)["explained"] == 0.0
    assert "nothing before it explains that" in sentence(evidence)


def test_the_evidence_says_in_words_what_it_says_in_numbers(tmp_path: Path) -> None:
    both = found(tmp_path, early=scaled_a_little, late=tripled)
    reports = builder.diagnose(next((tmp_path / "o").glob("*.vis.db"))).findings
    assert len(reports) == len(both) == 2
    for finding, report in zip(both, reports):
        reason = next(each for each in finding.reasons if facts(each)["code"] == "explained")
        assert (report.apart, report.explained) == (
            facts(reason)["apart"],
            facts(reason)["explained"],
        )
        assert report.apart is not None and report.explained is not None
        assert 6 * report.explained < report.apart
        assert report.reasons == sentences(finding.reasons)
        said = report.reasons[finding.reasons.index(reason)]
        factor = facts(reason).get("factor")
        told = "is 3 times" if factor else f"off by {percent(report.apart)}"
        assert told in said.replace("about ", "")
    # The second call reads what the first has moved by 10⁻⁴, and puts out three times as much: two
    # norms of the benchmark more.
    assert reports[1].apart == pytest.approx(2.0, rel=0.5)
    assert 0 < (reports[1].explained or 0.0) < 0.01


def test_a_gradient_changed_between_calls_is_named_where_it_is_read(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, late=hooked)
    assert (finding.name, finding.kind) == ("Torch.cos.0.backward", "input_differs")


def test_a_gradient_changed_between_calls_is_named_behind_another_finding(tmp_path: Path) -> None:
    both = found(tmp_path, early=scaled_a_little, late=hooked)
    assert names(both) == ["Tensor.__mul__.0.forward", "Torch.cos.0.backward"]


def without_gradients_handed_on(dump: Path) -> None:
    """Leave out what backward calls put out, as a recording inside a graph does."""
    for file in dump.rglob("dump.json"):
        content = json.loads(file.read_text())
        for name, entry in content["data"].items():
            if ".backward" in name:
                entry["output"] = []
        file.write_text(json.dumps(content))


def test_without_gradients_that_calls_hand_on_their_reader_names_them(tmp_path: Path) -> None:
    sides = (
        recorded(tmp_path / "problem", Branches, early=hooked),
        recorded(tmp_path / "benchmark", Branches),
    )
    for path in sides:
        without_gradients_handed_on(path)
    (finding,) = builder.build(*sides, tmp_path / "o").findings
    assert finding.name == "Functional.linear.2.backward"
    assert facts(finding.reasons[0])["code"] == "handed_on"
    assert facts(finding.reasons[0])["reader"] == "Torch.sin.0.backward"
