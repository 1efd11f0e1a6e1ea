"""All numbers of a tensor's record in one pass over its elements, as kernels of Triton.

The elements are a table of 1016 columns, as the sketch has it (docs/formats.md). A program sums
its rows column by column in float64; a second kernel of one program adds up what several found.
Nothing is added atomically: equal elements give equal digits, whatever the layout.
"""

from __future__ import annotations

import triton
import triton.language as tl

COLUMNS = 1016
FIELDS = 14
"""Maximum, minimum, sum, sum of squares, counts of NaN and of infinities, eight projections."""
MOST_PROGRAMS = 1024

_COLUMNS = tl.constexpr(COLUMNS)
_PART = tl.constexpr(127)  # columns of a row that share its sign
_WIDTH = tl.constexpr(1024)  # columns as a power of two
_TILE = tl.constexpr(4)  # rows that are read at once
_MOST = tl.constexpr(MOST_PROGRAMS)
_PROJECTIONS = tl.constexpr(8)
_LEAST_INTEGER = tl.constexpr(-0x8000_0000_0000_0000)
_MOST_INTEGER = tl.constexpr(0x7FFF_FFFF_FFFF_FFFF)


@triton.jit
def _hash(places):
    h = places.to(tl.uint32)
    h = (h ^ (h >> 16)) * 0x85EBCA6B
    h = (h ^ (h >> 13)) * 0xC2B2AE35
    return h ^ (h >> 16)


@triton.jit
def _offsets(at, layout, CONTIGUOUS: tl.constexpr):
    """Where elements lie whose places in C order are given; dimension 0 is what is left."""
    n1, n2, n3, s0, s1, s2, s3 = layout
    if CONTIGUOUS:
        where = at
    else:
        where = (at % n3) * s3
        at = at // n3
        where += (at % n2) * s2
        at = at // n2
        where += (at % n1) * s1 + (at // n1) * s0
    return where


@triton.jit
def _bits(x, FLOATING: tl.constexpr):
    """Float64 as it is, an int64 as the float64 of the same bits."""
    return x if FLOATING else x.to(tl.float64, bitcast=True)


@triton.jit
def _nothing(FLOATING: tl.constexpr):
    """The fields of columns that nothing was added to."""
    sums = tl.zeros([_WIDTH], tl.float64)
    counts = tl.zeros([_WIDTH], tl.int32)
    if FLOATING:
        high = tl.full([_WIDTH], float("-inf"), tl.float64)
        low = tl.full([_WIDTH], float("inf"), tl.float64)
    else:
        high = tl.full([_WIDTH], _LEAST_INTEGER, tl.int64)
        low = tl.full([_WIDTH], _MOST_INTEGER, tl.int64)
    return high, low, sums, sums, counts, counts, sums


@triton.jit
def _added(fields, x, valid, row, column, FLOATING: tl.constexpr, LIMIT: tl.constexpr):
    """The fields of columns with some rows more; elements that are not valid are zeros.

    NaN has no place in an order. Rows are folded into one under the signs of their parts.
    """
    high, low, total, squares, nan, infinite, folded = fields
    wide = x.to(tl.float64)
    if FLOATING:
        valid = valid & (wide == wide)
        most, least = tl.where(valid, wide, float("-inf")), tl.where(valid, wide, float("inf"))
        kept = tl.where(tl.abs(wide) < LIMIT, wide, 0.0)
    else:
        whole = x.to(tl.int64)
        most, least = tl.where(valid, whole, _LEAST_INTEGER), tl.where(valid, whole, _MOST_INTEGER)
        kept = wide
    flips = (_hash(row + _COLUMNS) >> (column // _PART).to(tl.uint32)) & 1
    return (
        tl.maximum(high, tl.max(most, 0)),
        tl.minimum(low, tl.min(least, 0)),
        total + tl.sum(wide, 0),
        squares + tl.sum(wide * wide, 0),
        nan + tl.sum((wide != wide).to(tl.int32), 0),
        infinite + tl.sum((tl.abs(wide) == float("inf")).to(tl.int32), 0),
        folded + tl.sum(tl.where(flips != 0, -kept, kept), 0),
    )


@triton.jit(do_not_specialize=["rows", "rest", "each", "n1", "n2", "n3", "s0", "s1", "s2", "s3"])
def measure(
    elements,
    out,
    rows,
    rest,
    each,
    n1,
    n2,
    n3,
    s0,
    s1,
    s2,
    s3,
    STEP: tl.constexpr,
    LONG: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    FLOATING: tl.constexpr,
    LIMIT: tl.constexpr,
    SKETCH: tl.constexpr,
):
    """Measure `each` of the full `rows`; the last program takes the `rest` of elements as well.

    Field k goes to `out[k * STEP + program]`. Sizes n and strides s are used if not CONTIGUOUS;
    LONG says that places need 64 bits, LIMIT from which magnitude on the sketch has zeros.
    """
    program = tl.program_id(0)
    places = tl.arange(0, _WIDTH)
    column = places[None, :]
    layout = (n1, n2, n3, s0, s1, s2, s3)
    fields = _nothing(FLOATING)
    begin = program * each
    end = tl.minimum(begin + each, rows)
    for first in range(begin, end, _TILE):
        row = (first + tl.arange(0, _TILE))[:, None]
        at = (row.to(tl.int64) if LONG else row) * _COLUMNS + column
        valid = (row < end) & (column < _COLUMNS)
        x = tl.load(elements + _offsets(at, layout, CONTIGUOUS), mask=valid, other=0)
        fields = _added(fields, x, valid, row, column, FLOATING, LIMIT)
    # Alone: the mask of the rest is not the same for whole vectors of elements.
    if (program == tl.num_programs(0) - 1) & (rest > 0):
        row = tl.zeros([1, 1], tl.int32) + rows
        at = (row.to(tl.int64) if LONG else row) * _COLUMNS + column
        valid = column < rest
        x = tl.load(elements + _offsets(at, layout, CONTIGUOUS), mask=valid, other=0)
        fields = _added(fields, x, valid, row, column, FLOATING, LIMIT)
    high, low, total, squares, nan, infinite, folded = fields
    out += program
    tl.store(out, _bits(tl.max(high, 0), FLOATING))
    tl.store(out + STEP, _bits(tl.min(low, 0), FLOATING))
    tl.store(out + 2 * STEP, tl.sum(total, 0))
    tl.store(out + 3 * STEP, tl.sum(squares, 0))
    tl.store(out + 4 * STEP, tl.sum(nan, 0).to(tl.float64))
    tl.store(out + 5 * STEP, tl.sum(infinite, 0).to(tl.float64))
    if SKETCH:
        signs = _hash(places)
        for k in tl.static_range(_PROJECTIONS):
            signed = tl.where(((signs >> k) & 1) != 0, -folded, folded)
            tl.store(out + (6 + k) * STEP, tl.sum(signed, 0))


@triton.jit(do_not_specialize=["programs"])
def combine(parts, out, programs, FLOATING: tl.constexpr):
    """Add up what `programs` programs left in `parts`, field by field, into one row."""
    place = tl.arange(0, _MOST)
    there = place < programs
    high = tl.load(parts + place, mask=there, other=0.0)
    low = tl.load(parts + _MOST + place, mask=there, other=0.0)
    if FLOATING:
        high = tl.where(there, high, float("-inf"))
        low = tl.where(there, low, float("inf"))
    else:
        high = tl.where(there, high.to(tl.int64, bitcast=True), _LEAST_INTEGER)
        low = tl.where(there, low.to(tl.int64, bitcast=True), _MOST_INTEGER)
    tl.store(out, _bits(tl.max(high, 0), FLOATING))
    tl.store(out + 1, _bits(tl.min(low, 0), FLOATING))
    for field in tl.static_range(2, 6 + _PROJECTIONS):
        found = tl.load(parts + field * _MOST + place, mask=there, other=0.0)
        tl.store(out + field, tl.sum(found, 0))
