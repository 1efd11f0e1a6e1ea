"""Dtype names of all frameworks brought to one spelling, and their machine epsilon.

Epsilons are 2^-mantissa bits, as IEEE 754 and the OCP 8-bit specification define the formats.
"""

from __future__ import annotations

from functools import cache, lru_cache

_ALIASES = {
    "float": "float32",
    "half": "float16",
    "double": "float64",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "boolean": "bool",
    "bool_": "bool",
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
}
_EPSILON = {
    "float64": 2.0**-52,
    "complex128": 2.0**-52,
    "float32": 2.0**-23,
    "complex64": 2.0**-23,
    "float16": 2.0**-10,
    "complex32": 2.0**-10,
    "bfloat16": 2.0**-7,
}


# The smallest positive number of a format, which is how far apart its numbers lie near zero.
_SPACING = {"float16": 2.0**-24, "complex32": 2.0**-24, "bfloat16": 2.0**-133}


@lru_cache(maxsize=256)  # asked for each value of a dump, of which all have one of a few
def canonical_dtype(name: str) -> str:
    """One spelling per dtype: `torch.float32`, `Float32` and `float` give `float32`."""
    short = name.rpartition(".")[2].lower()
    return _ALIASES.get(short, short)


def machine_epsilon(name: str) -> float | None:
    """The machine epsilon of a floating dtype, None for integers and bool.

    8-bit floats count as bfloat16: they are computed in wider formats and only stored narrow.
    """
    dtype = canonical_dtype(name)
    if dtype.startswith("float8"):
        return _EPSILON["bfloat16"]
    return _EPSILON.get(dtype)


def roundings(error: float, name: str) -> tuple[str, str] | tuple[None, None]:
    """How many times the most that one rounding to a dtype moves a number a relative error is.

    With two digits, as text, and the dtype; None of both where it does not round, or nothing is
    off. One rounding is half an epsilon.

    >>> roundings(0.078, "torch.bfloat16")
    ('20', 'bfloat16')
    """
    epsilon = machine_epsilon(name)
    if epsilon is None or not error:
        return None, None
    return f"{float(f'{2 * error / epsilon:.2g}'):,.10g}", canonical_dtype(name)


def is_half_format(name: str) -> bool:
    """Whether a floating dtype is coarser than float32."""
    return (machine_epsilon(name) or 0.0) > _EPSILON["float32"]


def spacing_near_zero(name: str) -> float:
    """How far apart the numbers of a 16-bit float lie near zero; 0 for wider formats and integers.

    IEEE 754 binary16 ends at 2⁻²⁴, which squares of gradients meet daily; bfloat16 at 2⁻¹³³.
    """
    return _SPACING.get(canonical_dtype(name), 0.0)


@cache
def is_integer_dtype(dtype: str) -> bool:
    """Whether a dtype of any framework holds integers or booleans."""
    name = canonical_dtype(dtype)
    return "int" in name or name == "bool"
