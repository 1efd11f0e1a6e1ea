"""Records of tensors as a rank would have dumped them."""

from __future__ import annotations

from builder.dump.values import Record


def made_record(number: float, dtype: str) -> Record:
    """A tensor of 4 × 2 whose greatest value and norm are a given number."""
    return Record(
        type="torch.Tensor",
        dtype=dtype,
        shape=(4, 2),
        Max=number,
        Min=0.0,
        Mean=number / 2,
        Norm=number,
    )
