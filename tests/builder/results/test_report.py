"""A diagnosis as JSON can be read by any reader of JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import builder
from builder import BuildOptions
from builder.results.extent import Extent, LargestError
from builder.results.report import diagnose


def test_an_infinite_error_is_sent_as_text(samples: Path, tmp_path: Path) -> None:
    bench = samples / "statistics" / "bench"
    made = builder.build(bench, bench, tmp_path / "out", BuildOptions(workers=1))
    largest = LargestError(float("inf"), "output.0", 0, 0, 1, "Torch.add.0.forward", None)
    facts = replace(diagnose(made.path), extent=Extent(largest, None)).as_json()
    sent = json.loads(json.dumps(facts, allow_nan=False))
    assert sent["extent"]["largest"]["error"] == "inf"
