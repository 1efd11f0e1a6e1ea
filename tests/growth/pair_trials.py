"""Manual pairs, as many as a person or a program lays down: in a file, and in sessions."""

from __future__ import annotations

from pathlib import Path

from builder.match.align import Token
from builder.match.turns import pair_turns
from builder.reasons import Explained, ExtraCalls
from builder.run.order import order_findings
from builder.work.outcome import PairOutcome, StoredFinding, StoredSighting
from tests.builder.dumps import forward, tensor, write_dump
from tests.growth.stages import asking, build


def pair_sets(folder: Path, count: int) -> None:
    """As many sets of pairs laid down by sessions, all of other content and of one size."""
    ask = asking(folder)
    for at in range(count):
        pairs = [{"problem": f"x{at}.{one}", "benchmark": f"y{one}"} for one in range(20)]
        ask("pair-sets", "POST", {"pairs": pairs})


def turns(folder: Path, count: int) -> None:
    """Lines of a loop, each shifted by a turn; one after the other would take a partner away."""
    tokens = [Token("mul", line=at // 3) for at in range(3 * count)]
    shifted = [(at, at + 1) for at in range(3 * count - 1)]
    pair_turns(shifted, tokens, [*tokens[:-1], Token("mul", line="other")])


def carried(folder: Path, count: int) -> None:
    """As many other calls that heal in one step, and as many in the next that read its weights."""
    kinds = [(f"kind {at}",) for at in range(count)]
    shown = tuple(StoredSighting(1, at, "call", (0, at), kind) for at, kind in enumerate(kinds))
    both = []
    for step in range(2):
        findings = tuple(_other_call(step, at, kind) for at, kind in enumerate(kinds))
        both.append(
            PairOutcome(
                step, 0, findings=findings, sightings=shown, heals=step == 0, updates_apart=1e-6
            )
        )
    order_findings(both, ())


def _other_call(step: int, at: int, kinds: tuple[str, ...]) -> StoredFinding:
    """A call of a line of its own that one run alone makes, healing in the first step."""
    evidence = Explained("input.0", 1e-6 if at % 2 else 1.0, 0.0)
    return StoredFinding(
        step=step,
        rank=0,
        graph=step,
        node=at,
        name=f"Functional.relu.{at}.forward",
        kind="input_differs",
        is_api=True,
        sort_key=(0, at),
        score=1.0,
        input_score=None,
        introduced=1.0,
        reasons=[ExtraCalls(f"Functional.relu.{at}.forward"), evidence],
        propagated_to=0,
        line=f"line {at}",
        kinds=kinds,
        heals_by_itself=step == 0,
    )


def manual_pairs(folder: Path, count: int) -> None:
    """As many modules that nothing but a hand pairs: mapped at once, looked at, taken back."""
    for faulty in (False, True):
        names = [f"Module.{'xy'[faulty]}{at}.Linear.forward.0" for at in range(count)]
        entries = {
            name: forward([tensor(2.0 + at)], [tensor(3.0 + at + faulty)])
            for at, name in enumerate(names)
        }
        side = "problem" if faulty else "benchmark"
        write_dump(folder / side, entries, dict.fromkeys(entries), {})
    build(folder / "problem", folder / "benchmark", folder / "logs")
    ask = asking(folder / "logs")
    base = f"databases/{ask('databases')['databases'][0]['id']}"
    pairs = [
        {"problem": f"Module.y{at}.Linear.forward.0", "benchmark": f"Module.x{at}.Linear.forward.0"}
        for at in range(count)
    ]
    ask(f"{base}/mappings", "PATCH", {"add": pairs, "remove": []})
    for part in ("mappings", "pairs/0/0/nodes?show=divergent", "pairs/0/0/divergent", "answer"):
        ask(f"{base}/{part}")
    first = ask(f"{base}/pairs/0/0/nodes?limit=1")["nodes"][0]
    ask(f"{base}/mappings", "DELETE", {"problem": first["id"]})
    ask(f"{base}/mappings", "PUT", {"pairs": pairs})
    ask(f"{base}/mappings", "PATCH", {"add": [], "remove": pairs[: len(pairs) // 2]})
