"""Draws the rooms of packages and who imports whom: python docs/draw_rooms.py [PACKAGE …] > FILE.

A room is a folder or file directly below the package. It stands above every room that it imports,
so that no line runs upwards; the words in it are the first of its own docstring.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("builder", "msprobe_core")
WIDE, HIGH, STEP, MARGIN, REACH, INDENT = 790, 30, 42, 16, 200, 150
STYLE = (
    "rect{fill:#eef3f8;stroke:#5b7083}text{font:13px sans-serif;fill:#1d2b36}"
    ".name{font-weight:bold}path{stroke:#7d95a8;fill:none;stroke-width:1.2;opacity:.75}"
)


def main() -> None:
    """Print one SVG, the packages below each other; builder and dumper without any named."""
    top, parts = MARGIN, []
    for package in sys.argv[1:] or PACKAGES:
        imports = _imports(package)
        body = _draw(package, imports, list(_order(imports)))
        parts.append(f'<g transform="translate({MARGIN},{top})">{body}</g>')
        top += 28 + len(imports) * STEP + MARGIN
    wide = WIDE + REACH + 2 * MARGIN
    size = f'width="{wide}" height="{top}" viewBox="0 0 {wide} {top}"'
    print(f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>')
    print(f'<rect width="{wide}" height="{top}" style="fill:#fff;stroke:none"/>')
    print("\n".join(parts) + "\n</svg>")


def _draw(package: str, imports: Mapping[str, set[str]], order: list[str]) -> str:
    count = sum(len(others) for others in imports.values())
    title = f"{package}: {len(imports)} rooms, {count} arrows, all downwards"
    lines = [f'<text class="name" y="12">{escape(title)}</text>']
    place = {room: 24 + index * STEP for index, room in enumerate(order)}
    for room in order:
        lines += [_arc(place[room], place[other]) for other in sorted(imports[room])]
        lines.append(_box(package, room, place[room]))
    return "\n".join(lines)


def _imports(package: str) -> dict[str, set[str]]:
    """Which room imports which."""
    graph = grimp.build_graph(package.partition(".")[0])
    rooms = {name.rpartition(".")[2]: name for name in graph.find_children(package)}
    inside = {room: {name, *graph.find_descendants(name)} for room, name in rooms.items()}
    owner = {module: room for room, modules in inside.items() for module in modules}
    return {
        room: {
            owner[found]
            for module in modules
            for found in graph.find_modules_directly_imported_by(module)
            if owner.get(found, room) != room
        }
        for room, modules in inside.items()
    }


def _order(imports: Mapping[str, set[str]]) -> Iterator[str]:
    """The rooms from the top; raises ValueError when they import each other in a circle."""
    left = dict(imports)
    while left:
        used = set().union(*left.values())
        free = sorted(room for room in left if room not in used)
        if not free:
            raise ValueError(f"rooms import each other in a circle: {sorted(left)}")
        # Those that import most stand higher: what everybody needs sinks to the ground.
        first = max(free, key=lambda room: len(left[room]))
        yield first
        del left[first]


def _arc(start: int, stop: int) -> str:
    y, to = start + HIGH // 2 + 4, stop + HIGH // 2 - 4
    bow = min(REACH, 18 + (to - y) * 0.42)
    return f'<path d="M{WIDE},{y} C{WIDE + bow},{y} {WIDE + bow},{to} {WIDE},{to}"/>'


def _box(package: str, room: str, y: int) -> str:
    return (
        f'<rect y="{y}" width="{WIDE}" height="{HIGH}" rx="4"/>'
        f'<text class="name" x="10" y="{y + 20}">{escape(room)}</text>'
        f'<text x="{INDENT}" y="{y + 20}">{escape(_purpose(package, room))}</text>'
    )


def _purpose(package: str, room: str) -> str:
    folder = ROOT.joinpath(*package.split("."), room)
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())[:96]


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
