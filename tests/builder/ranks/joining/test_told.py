"""Layouts by name: the grammar, which values a rule is about, and what is wrong in a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.dump.joined_tensors import Variant
from builder.errors import InputError
from builder.ranks.joining.told import ToldAxis, check_used, names_of, read_layouts


def _file(folder: Path, *lines: str) -> Path:
    path = folder / "layouts.txt"
    path.write_text("\n".join(lines))
    return path


def test_the_grammar_of_the_contract(tmp_path: Path) -> None:
    file = read_layouts(
        _file(
            tmp_path,
            "# experts and their router",
            '"*.linear_fc1.weight": "2*ffn[tp,pieces=2] h"',
            '"*.router.weight": "e h # ep:replicated"',
            '"*.probs": local  # of each rank alone',
            "",
            '"*.output.0": "b s[cp,zigzag,tp] h[dp:partial]"',
            '"*.loss": "# dp:partial"',
        )
    )
    fused, router, probs, output, loss = file.rules
    assert (fused.line, fused.dims) == (2, 2)
    assert fused.axes == (ToldAxis("tp", "S", 0, Variant(pieces=(1, 1))),)
    assert (router.dims, router.axes) == (2, (ToldAxis("dp", "R"),))
    assert probs.is_local
    assert output.axes == (
        ToldAxis("cp", "S", 1, Variant(zigzag=True)),
        ToldAxis("tp", "S", 1),
        ToldAxis("dp", "P"),
    )
    assert (loss.dims, loss.axes) == (None, (ToldAxis("dp", "P"),))


_cut = st.tuples(st.sampled_from(("", ",zigzag", ",pieces=2", ",pieces=4+1+1")), st.integers(0, 2))


@given(st.dictionaries(st.sampled_from(("tp", "cp", "dp")), _cut, max_size=3))
def test_what_is_written_of_each_axis_is_read(cuts: dict[str, tuple[str, int]]) -> None:
    from builder.ranks.joining.told import _rule

    words = ["b", "s", "h"]
    for axis, (variant, dim) in cuts.items():
        words[dim] += f"[{axis}{variant}]"
    # A dimension has one pair of brackets.
    text = " ".join(words).replace("][", ",")
    axes = {axis.axis: axis for axis in _rule(1, f'"*": "{text}"').axes}
    assert {name: axis.dim for name, axis in axes.items()} == {n: d for n, (_, d) in cuts.items()}
    for name, (variant, _) in cuts.items():
        assert axes[name].variant.zigzag == (variant == ",zigzag")
        said = {"": (1,), ",zigzag": (1,), ",pieces=2": (1, 1), ",pieces=4+1+1": (4, 1, 1)}
        assert axes[name].variant.pieces == said[variant]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("*.weight: a b", "is no"),
        ('"*.weight": remote', "neither local"),
        ('"*.weight": "a[xp] b"', "'xp' is no axis"),
        ('"*.weight": "a[tp,half] b"', "'half'"),
        ('"*.weight": "a[tp] b[tp]"', "two things of tp"),
        ('"*.weight": "a # tp:whole"', "'tp:whole'"),
        ('"*.weight": "[tp] b"', "without a name"),
    ],
)
def test_what_is_not_understood_is_an_error_with_its_line(
    tmp_path: Path, line: str, said: str
) -> None:
    with pytest.raises(InputError, match=r"layouts.txt:2: ") as raised:
        read_layouts(_file(tmp_path, '"*.bias": "h"', line))
    assert said in str(raised.value)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.txt"):
        read_layouts(tmp_path / "nowhere.txt")


def test_values_are_called_by_parameter_module_and_entry() -> None:
    module = "Module.layers.0.up.Linear"
    for owner, key in (
        (f"{module}.forward.0", "parameters.weight"),
        (f"{module}.parameters_grad", "parameters_grad.weight"),
        ("Optimizer.layers.0.up.weight.0.forward", "input.gradient"),
    ):
        assert list(names_of(owner, key)) == ["layers.0.up.weight"]
    assert list(names_of(f"{module}.forward.0", "output.0")) == [
        "layers.0.up.forward.output.0",
        f"{module}.forward.0.output.0",
    ]
    assert list(names_of("Torch.add.0.forward", "input.0")) == ["Torch.add.0.forward.input.0"]


def test_the_first_rule_that_matches_wins_and_an_idle_one_is_an_error(tmp_path: Path) -> None:
    path = _file(tmp_path, '"*.up.weight": "a[tp] b"', '"*.weight": "a b"', '"*.wieght": local')
    file = read_layouts(path)
    rule = file.of("Module.layers.0.up.Linear.forward.0", "parameters.weight")
    assert rule is not None
    assert rule.line == 1
    check_used([file], frozenset((str(path), line) for line in (1, 2, 3)))
    with pytest.raises(InputError, match=r"layouts.txt:3: '\*\.wieght' matches no value"):
        check_used([file], frozenset(((str(path), 1), (str(path), 2))))
