"""From a target to the configuration that records what explains it."""

from __future__ import annotations

import pytest

from builder.series.next_dump import dump_configuration, module_of


@pytest.mark.parametrize(
    ("key", "module", "listed"),
    [
        (("actv", "layers.2.mlp.fc1"), "layers.2.mlp.fc1", [".layers.2.mlp."]),
        (("actv_grad", "layers.2[1]"), "layers.2", [".layers.2."]),
        (("grad", "layers.2.down.weight"), "layers.2.down", [".layers.2."]),
        (("param", "head.weight"), "head", []),
        (("ratio", "scale"), None, []),
        (("loss", "loss"), None, []),
    ],
)
def test_what_feeds_the_module_is_recorded_too(
    key: tuple[str, str], module: str | None, listed: list[str]
) -> None:
    assert module_of(key) == module
    config = dump_configuration(key, 7, 3)
    assert (config["statistics"]["list"], config["step"], config["rank"]) == (listed, [6, 7], [3])
    assert dump_configuration(key, 0)["step"] == [0]
