"""The build backend: setuptools, with the React bundle built into tb_graph_ascend/static/ first.

An sdist carries the bundle, so building from one needs no Node. A wheel carries the kernel that
measures tensors and is for its platform then; without a compiler, or with the setting
`kernel=off` (`pip wheel . -C kernel=off`), it carries none and is for any platform.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from bundle import ROOT, build_bundle, carries_bundle, find_node
from kernel import build_kernel, kernel_aside, platform_tag
from setuptools import build_meta

_Config = dict[str, Any] | None


def build_wheel(
    wheel_directory: str, config_settings: _Config = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel that holds the bundle, and the kernel where it can be compiled."""
    _prepare()
    settings = dict(config_settings or {})
    if settings.pop("kernel", "on") == "off":
        with kernel_aside():
            return build_meta.build_wheel(wheel_directory, settings, metadata_directory)
    if build_kernel():
        settings = _for_this_platform(settings)
    return build_meta.build_wheel(wheel_directory, settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: _Config = None, metadata_directory: str | None = None
) -> str:
    """Build an editable install; bundle and kernel are put into the checkout."""
    _prepare()
    build_kernel()
    return build_meta.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: _Config = None) -> str:
    """Build an sdist that holds the bundle."""
    _prepare()
    return build_meta.build_sdist(sdist_directory, config_settings)


def get_requires_for_build_wheel(config_settings: _Config = None) -> list[str]:
    """Name setuptools' needs, and nodeenv when the bundle must be built and Node is too old."""
    return build_meta.get_requires_for_build_wheel(config_settings) + _node_requirement()


def get_requires_for_build_editable(config_settings: _Config = None) -> list[str]:
    """Name the needs of an editable install."""
    return build_meta.get_requires_for_build_editable(config_settings) + _node_requirement()


def get_requires_for_build_sdist(config_settings: _Config = None) -> list[str]:
    """Name the needs of an sdist."""
    return build_meta.get_requires_for_build_sdist(config_settings) + _node_requirement()


prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable


def _prepare() -> None:
    build_bundle()
    # setuptools copies into build/ and never removes: bundles of earlier builds would be shipped.
    shutil.rmtree(Path(ROOT) / "build" / "lib", ignore_errors=True)


def _for_this_platform(settings: dict[str, Any]) -> dict[str, Any]:
    given = settings.get("--build-option", [])
    options = [given] if isinstance(given, str) else list(given)
    return {**settings, "--build-option": [*options, f"--plat-name={platform_tag()}"]}


def _node_requirement() -> list[str]:
    return [] if carries_bundle() or find_node() else ["nodeenv>=1.9"]
