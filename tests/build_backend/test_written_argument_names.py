"""The table of argument names is what its generator writes; releases of torch differ in few."""

from __future__ import annotations

import json

from build_backend.argument_names import argument_names
from builder.operators.argument_names import WRITTEN

_FEW = 0.02  # of the calls that both have: releases add arguments at the end


def test_the_table_is_what_the_generator_writes() -> None:
    written, made = json.loads(WRITTEN.read_text("utf-8")), argument_names()
    both = written.keys() & made.keys()
    assert len(both) > 0.9 * len(written)
    assert sum(written[call] != made[call] for call in both) <= _FEW * len(both)
