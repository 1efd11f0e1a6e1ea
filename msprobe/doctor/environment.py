"""Checks of the environment: versions, devices, the plugin, and packages that get in the way."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import import_module, metadata, util
from pathlib import Path

from builder.dump.inspection.check import Check, note, ok, problem
from msprobe.coexistence import other_distribution

_NAME = "tb-graph-ascend"
_PLUGIN = "tb_graph_ascend"
_OURS = (
    f"pip uninstall mindstudio-probe, then pip install --force-reinstall --no-deps {_NAME}; "
    "to use the other one, pip install --force-reinstall --no-deps mindstudio-probe"
)


def check_environment() -> Iterator[Check]:
    """Versions, devices, plugin and duplicates, in this order."""
    yield from _versions()
    yield from _devices()
    yield from _plugin()
    yield from _duplicates()


def _versions() -> Iterator[Check]:
    yield ok("python", platform.python_version())
    yield _version(_NAME, "pip install the wheel again: its metadata is gone")
    if util.find_spec("tensorboard") is None:
        yield problem(
            "tensorboard", "not installed", "pip install tensorboard, or use `msprobe serve LOGDIR`"
        )
    else:
        yield _version("tensorboard", "pip install --force-reinstall tensorboard")
        yield from _pkg_resources()
    if util.find_spec("torch") is None:
        yield note("torch", "not installed; only recording needs it", "pip install torch to record")
    else:
        yield _version("torch", "pip install --force-reinstall torch")


def _pkg_resources() -> Iterator[Check]:
    """TensorBoard before 2.21 does not start without a module that setuptools 81 removed."""
    release = tuple(int(part) for part in metadata.version("tensorboard").split(".")[:2])
    if release < (2, 21) and util.find_spec("pkg_resources") is None:
        text = "does not start: it needs pkg_resources, which the installed setuptools has not"
        yield problem("tensorboard", text, "pip install 'setuptools<81', or a newer tensorboard")


def _version(name: str, mend: str) -> Check:
    try:
        return ok(name, metadata.version(name))
    except metadata.PackageNotFoundError:
        return problem(name, "importable, but not installed by pip", mend)


def _devices() -> Iterator[Check]:
    if util.find_spec("torch") is None:
        return
    try:
        torch = import_module("torch")
    except Exception as error:  # a library that does not fit raises whatever it likes
        yield problem("torch", f"cannot be imported ({_line(error)})", "install torch again")
        return
    if util.find_spec("torch_npu") is not None:
        yield _npu()
    count = torch.cuda.device_count()
    names = ", ".join(sorted({torch.cuda.get_device_name(i) for i in range(count)}))
    yield ok("devices", f"{count} CUDA ({names})" if count else "no CUDA device; the CPU is used")


def _npu() -> Check:
    try:
        torch_npu = import_module("torch_npu")
        count = import_module("torch").npu.device_count()
    except Exception as error:  # a driver that is missing raises whatever it likes
        text = f"cannot be imported ({_line(error)})"
        return problem("torch_npu", text, "source the CANN set_env.sh, or uninstall torch_npu")
    return ok("torch_npu", f"{torch_npu.__version__}, {count} devices")


def _plugin() -> Iterator[Check]:
    entry_points = list(metadata.entry_points(group="tensorboard_plugins", name=_PLUGIN))
    if not entry_points:
        text = "no entry point `tensorboard_plugins`, so TensorBoard does not know it"
        yield problem("plugin", text, f"pip install --force-reinstall --no-deps {_NAME}")
        return
    try:
        loader = entry_points[0].load()
    except Exception as error:  # whatever it is, TensorBoard would have met it
        yield problem("plugin", f"cannot be imported ({_line(error)})", "install the package again")
        return
    yield ok("plugin", f"registered as {entry_points[0].value}")
    page = Path(str(import_module(loader.__module__).__file__)).parent / "static" / "index.html"
    if page.is_file():
        yield ok("bundle", str(page.parent))
    else:
        yield problem("bundle", f"{page} is missing", "run `make build`, or install the wheel")


def _duplicates() -> Iterator[Check]:
    places = [str(d.locate_file("")) for d in metadata.distributions() if _is_ours(d)]
    places = list(dict.fromkeys(places))
    if len(places) > 1:
        text = f"installed {len(places)} times: {', '.join(places)}; the first wins"
        yield problem(_NAME, text, f"pip uninstall {_NAME} until none is left, then install once")
    other = other_distribution()
    if other is None:
        return
    if _is_our_face():
        yield note("msprobe", f"{other} is installed too; tb-graph-ascend's msprobe wins", _OURS)
    else:
        text = f"{other} was installed later and has taken the name; its msprobe wins"
        yield problem("msprobe", text, _OURS)


def _is_ours(distribution: metadata.Distribution) -> bool:
    # What lies beside the sources of an editable install has no list of installed files.
    is_installed = distribution.read_text("RECORD") is not None
    return is_installed and (distribution.name or "").lower().replace("_", "-") == _NAME


def _is_our_face() -> bool:
    """Whether `from msprobe.pytorch import PrecisionDebugger` gives the dumper of this project."""
    # Ours is a file of imports; reading it spares importing a stranger.
    package = util.find_spec("msprobe")
    face = Path(str(package.origin)).parent / "pytorch" / "__init__.py" if package else Path()
    return face.is_file() and "msprobe_core" in face.read_text(encoding="utf-8", errors="replace")


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
