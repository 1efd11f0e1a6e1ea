"""Manual pairs, as many as a person or a program lays down: in a file, and in sessions."""

from __future__ import annotations

from pathlib import Path

from builder.match.align import Token
from builder.match.turns import pair_turns
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
