"""The JSON of `-da`: every call of a rank with its rows, and where the run begins to differ.

The layout is mindstudio-probe's; what is named is what the diagnosis names, best suspect first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from builder.errors import OutputError
from builder.reasons import sentences
from builder.tables.cells import NO_PARTNER, Cell
from builder.tables.pairing import Place
from builder.tables.row_order import Call
from builder.tables.table_columns import CHECKSUMS, RESULT, STACK
from builder.tables.value_table import ValueTable
from builder.work.outcome import StoredFinding
from msprobe_core.format.bounded import parse_json
from msprobe_core.format.whole_file import written_whole

_SHOWN = ("NPU max", "NPU min", "NPU mean", "NPU l2norm", CHECKSUMS[0])
_PEER, _OPERATION = "NPU P2POp peer", "NPU P2POp op"
_NONE = "None"
_raw_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


def write_calls(stem: Path, table: ValueTable) -> Path:
    """Write `<stem>.json`: by call, whether its outputs agree, and its rows."""
    path = Path(f"{stem}.json")
    encode = json.JSONEncoder(ensure_ascii=False, indent=1).encode
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as beside, beside.open("w", encoding="utf-8") as file:
            file.write("{")
            for number, (name, content) in enumerate(_calls(table)):
                comma = "," if number else ""
                file.write(f"{comma}\n{json.dumps(name, ensure_ascii=False)}: {encode(content)}")
            file.write("\n}\n")
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be written ({error.strerror})", "choose another -o"
        ) from error
    return path


def write_first_differences(
    stem: Path, findings: Sequence[StoredFinding], calls: Mapping[Place, Path]
) -> Path:
    """Write `<stem>.json`: by rank the calls that the diagnosis names; `calls` are own files."""
    by_rank: dict[str, list[dict[str, Any]]] = {}
    known = {place: _raw_decoder.decode(path.read_bytes()) for place, path in calls.items()}
    for number, finding in enumerate(findings, 1):
        raw = known.get((finding.step, finding.rank), {}).get(finding.name)
        items = parse_json(bytes(raw))["op_items"] if raw is not None else []
        named = _named(finding.name, items)
        named |= {
            "suspect": number,
            "step": finding.step,
            "kind": finding.kind,
            "score": finding.score,
            "reasons": sentences(finding.reasons),
        }
        by_rank.setdefault(f"rank_{finding.rank}", []).append(named)
    path = Path(f"{stem}.json")
    with written_whole(path) as beside:
        text = json.dumps(by_rank, indent=2, ensure_ascii=False)
        beside.write_text(text + "\n", encoding="utf-8")
    return path


def _calls(table: ValueTable) -> Iterator[tuple[str, dict[str, Any]]]:
    for call, rows in table.calls():
        node = call.problem or call.benchmark
        assert node is not None
        stack = table.stack(call.problem)
        items = list(_items(call, rows, table.header, node.name, stack))
        outputs = [item for item in items if item["state"].startswith("output")]
        same = all(item[RESULT] == "pass" for item in outputs or items)
        yield node.name, {"is_same": same, "op_items": items}


def _items(
    call: Call, rows: Sequence[Sequence[Cell]], header: Sequence[str], name: str, stack: list[str]
) -> Iterator[dict[str, Any]]:
    peers = _peers(call, rows, header)
    for place, row in zip(call.places, rows, strict=True):
        item: dict[str, Any] = dict(zip(header, row))
        if STACK in item:
            item[STACK] = stack if item[STACK] != NO_PARTNER else NO_PARTNER
        operation, peer = peers.get(place.key.rpartition(".")[0], (_NONE, _NONE))
        item |= {
            "state": place.key.partition(".")[0],
            "api_origin_name": name,
            _OPERATION: operation,
            "Bench P2POp op": _NONE if call.benchmark is None else operation,
            _PEER: peer,
            "Bench P2POp peer": _NONE if call.benchmark is None else peer,
        }
        yield item


def _peers(
    call: Call, rows: Sequence[Sequence[Cell]], header: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """The operation and the peer of each part of a batch of sends and receives."""
    shown = header.index("NPU max") if "NPU max" in header else None
    if shown is None or call.problem is None or "batch_isend_irecv" not in call.problem.name:
        return {}
    cells = {place.key: str(row[shown]) for place, row in zip(call.places, rows, strict=True)}
    parts = {key.rpartition(".")[0] for key in cells if key.endswith(".op")}
    return {part: (cells[f"{part}.op"], cells.get(f"{part}.peer", _NONE)) for part in parts}


def _named(name: str, items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    data: dict[str, dict[str, Any]] = {"input": {}, "output": {}}
    for item in items:
        side = "output" if item["state"] in ("output", "parameters_grad") else "input"
        value = item["NPU Name"] if item["NPU Name"] != NO_PARTNER else item["Bench Name"]
        shown = {column: item[column] for column in _SHOWN if column in item}
        data[side][value] = {**shown, _PEER: item[_PEER]}
    stacks = [item[STACK] for item in items if isinstance(item.get(STACK), list)]
    return {"op_name": name, "data_info": data, "stack_info": stacks[0] if stacks else []}
