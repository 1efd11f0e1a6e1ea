"""The scan against full decoding: the same count and the same first non-finite value, always."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder.dump.inspection import scan
from builder.dump.inspection.json_lines import outline
from builder.dump.inspection.scan import BrokenDumpError, Contents, decode_all
from msprobe_core.values.text import quoted
from msprobe_core.writer.step_files import Header, StepFiles

TOKENS = ["NaN", "Infinity", '"nan"', "inf", "Identity", '\n  "', "}", '"data": {', "\\"]
texts = (
    st.text(max_size=12) | st.sampled_from(TOKENS) | st.lists(st.sampled_from(TOKENS)).map("".join)
)
numbers = st.floats() | st.sampled_from([math.nan, math.inf, "nan", "inf", "-inf"]) | st.none()
tensors = st.fixed_dictionaries(
    {"type": st.just("torch.Tensor"), "dtype": st.just("torch.float32"), "shape": st.just([2, 3])},
    optional=dict.fromkeys(("Max", "Min", "Mean", "Norm"), numbers) | {"data_name": texts},
)
scalars = st.fixed_dictionaries({"type": st.just("float"), "value": st.floats() | texts})
values = st.recursive(
    tensors | scalars | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
entries = st.fixed_dictionaries(
    {"input_args": st.lists(values, max_size=3), "output": st.lists(values, max_size=2)},
    optional={"input_kwargs": st.dictionaries(texts, values, max_size=2)},
)
names = st.sampled_from(["Module.a.Identity.forward.0", "Module.b.B.parameters_grad.0"]) | texts
dumps = st.dictionaries(names, entries, max_size=6)
heads = st.fixed_dictionaries(
    {"task": st.just("statistics"), "level": texts, "dump_data_dir": texts | st.none()}
)
LAYOUTS = [
    {"indent": 1},
    {"indent": 0},
    {"indent": 2},
    {"indent": None},
    {"indent": 1, "separators": (",", ":")},
]


def contents(text: bytes) -> Contents:
    place = outline(text)
    if place is None:
        return decode_all(text)
    count, nonfinite = scan.scan_part(text, place, place.start, place.stop)
    return Contents(count, nonfinite, {k: v for k, v in place.shell.items() if k != "data"})


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(heads, dumps, st.sampled_from(LAYOUTS), st.booleans())
def test_scan_agrees_with_decoding_in_every_layout(
    head: dict[str, object], data: dict[str, object], layout: dict[str, object], ascii_: bool
) -> None:
    text = json.dumps({**head, "data": data}, ensure_ascii=ascii_, **layout)  # type: ignore[arg-type]
    raw = text.encode("utf-8", "surrogatepass")
    try:
        expected = decode_all(raw)
    except BrokenDumpError:
        with pytest.raises(BrokenDumpError):
            contents(raw)
        return
    assert contents(raw) == expected


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(data=dumps, notes=st.dictionaries(st.sampled_from(["recomputed", "loaded"]), texts))
def test_scan_agrees_with_decoding_of_what_the_dumper_writes(
    tmp_path: Path, data: dict[str, object], notes: dict[str, str]
) -> None:
    files = StepFiles(tmp_path, Header("statistics", "mix", None), extra_info=False)
    files.append([f"{quoted(key)}: {json.dumps(entry)}" for key, entry in data.items()], [], [])
    files.complete({key: json.dumps(note) for key, note in notes.items()}, None)
    raw = (tmp_path / "dump.json").read_bytes()
    assert contents(raw) == decode_all(raw)
    assert bool(data) == (outline(raw) is not None)


@pytest.mark.parametrize("indent", [1, None])
def test_tokens_at_the_edges_of_blocks_are_found(
    monkeypatch: pytest.MonkeyPatch, indent: int | None
) -> None:
    tensor = {"type": "torch.Tensor", "dtype": "torch.float32", "Max": 1.0}
    for size in range(64, 80):
        monkeypatch.setattr(scan, "_BLOCK", size)
        for number in (math.nan, math.inf, -math.inf, "nan", "-inf"):
            data = {f"Torch.a.{n}.forward": {"output": [tensor]} for n in range(5)}
            data["Torch.b.0.forward"] = {"output": [tensor, {**tensor, "Min": number}]}
            raw = json.dumps({"task": "statistics", "data": data}, indent=indent).encode()
            found = contents(raw)
            assert found.entries == 6
            assert found.nonfinite is not None
            assert found.nonfinite.value == "Torch.b.0.forward.output.1"


@pytest.mark.parametrize("sample", ["statistics", "nan", "tensor", "md5", "recompute"])
def test_scan_agrees_with_decoding_of_real_dumps(samples: Path, sample: str) -> None:
    files = sorted((samples / sample).rglob("dump.json"))
    assert files
    for file in files:
        raw = file.read_bytes()
        assert outline(raw) is not None, "msprobe's own layout must take the fast way"
        assert contents(raw) == decode_all(raw)


def test_truncated_file_is_broken_at_every_place(samples: Path) -> None:
    raw = next((samples / "statistics").rglob("dump.json")).read_bytes()
    for length in range(0, len(raw.rstrip()) - 1, len(raw) // 40):
        with pytest.raises(BrokenDumpError):
            contents(raw[:length])
