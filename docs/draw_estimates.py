"""Draws docs/pictures/estimates.svg: errors estimated from sketches against true ones.

usage: python -m docs.draw_estimates [FOLDER]; the seeded bugs are recorded with their tensors below
FOLDER, a temporary one without it.
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path

import numpy as np

from builder.compare.comparison import compare
from builder.compare.score import Tolerance
from builder.match.nodes import match_trees
from docs.draw_rules import tree_of
from evaluation.zoo.suite import cases, recorded

PICTURE = Path(__file__).parent / "pictures" / "estimates.svg"
_LOW, _HIGH, _SIDE, _MARGIN = -6.0, 2.0, 480, 48
_SHOWN, _EVERY = 1500, 4  # points that are drawn; every so many-th case is looked at


def main() -> None:
    """Record what is not there yet and write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder)
        faults = [case for case in cases(("tensor",)) if case.fault is not None]
        pairs = [pair for case in faults[::_EVERY] for pair in errors(*recorded(case, root))]
    points = np.array(pairs)
    ratio = points[:, 1] / points[:, 0]
    shares = [float(np.mean((ratio > 1 / f) & (ratio < f))) for f in (1.5, 2.0, 4.0)]
    told = (
        f"{len(points):,} tensors: {shares[0]:.0%} within a factor of 1.5, "
        f"{shares[1]:.0%} of 2, {shares[2]:.1%} of 4"
    )
    PICTURE.write_text(drawn(points[:: max(1, len(points) // _SHOWN)], told), encoding="utf-8")
    print(told)


def errors(problem: Path, benchmark: Path) -> list[tuple[float, float]]:
    """True and estimated relative errors of all tensors of a step that differ."""
    trees = [tree_of(side / "step0") for side in (problem, benchmark)]
    comparison = compare(match_trees(*trees), Tolerance())
    assert comparison.estimates is not None
    found = []
    for row, measures in comparison.tensors.items():
        true, estimate = measures.relative_error, float(comparison.estimates.error[row])
        if 10**_LOW < true < 10**_HIGH and estimate > 0:
            found.append((true, estimate))
    return found


def drawn(points: np.ndarray, told: str) -> str:  # type: ignore[type-arg]
    """A scatter over both logarithms, with the lines of equality and of a factor of two."""
    size = _SIDE + 2 * _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size + 20}" role="img" '
        'aria-label="estimated against true relative errors" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{size}" height="{size + 20}" fill="#fff"/>',
        f'<rect x="{_MARGIN}" y="{_MARGIN}" width="{_SIDE}" height="{_SIDE}" fill="none" '
        'stroke="#999"/>',
    ]
    for power in range(int(_LOW), int(_HIGH) + 1):
        at = 10.0**power
        lines.append(label(x_of(at), size - _MARGIN + 16, f"1e{power}", "middle"))
        lines.append(label(_MARGIN - 6, y_of(at) + 4, f"1e{power}", "end"))
    for factor, dash in ((1.0, ""), (2.0, "4 4"), (0.5, "4 4")):
        low, high = 10**_LOW * max(1, 1 / factor), 10**_HIGH * min(1, 1 / factor)
        lines.append(
            f'<line x1="{x_of(low):.1f}" y1="{y_of(low * factor):.1f}" x2="{x_of(high):.1f}" '
            f'y2="{y_of(high * factor):.1f}" stroke="#333" stroke-dasharray="{dash}"/>'
        )
    lines += [
        f'<circle cx="{x_of(true):.1f}" cy="{y_of(estimate):.1f}" r="1.3" fill="#1f6feb" '
        'fill-opacity="0.35"/>'
        for true, estimate in points.tolist()
        if 10**_LOW < estimate < 10**_HIGH
    ]
    lines.append(label(_MARGIN, _MARGIN - 24, told, "start"))
    lines.append(label(size / 2, size + 8, "true relative error", "middle"))
    lines.append(label(_MARGIN, _MARGIN - 8, "↑ estimated from sketches", "start"))
    return "\n".join([*lines, "</svg>"]) + "\n"


def x_of(error: float) -> float:
    """Where an error lies on the horizontal axis."""
    return _MARGIN + _SIDE * (math.log10(error) - _LOW) / (_HIGH - _LOW)


def y_of(error: float) -> float:
    """Where an error lies on the vertical axis."""
    return 2 * _MARGIN + _SIDE - x_of(error)


def label(x: float, y: float, content: str, anchor: str) -> str:
    """A piece of text at a place."""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="#333">{content}</text>'


if __name__ == "__main__":
    main()
