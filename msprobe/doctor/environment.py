"""Checks of the environment: versions, devices, the plugin, and packages that get in the way."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import import_module, metadata, util
from pathlib import Path
from types import ModuleType

from builder.dump.inspection.check import Check, note, ok, problem
from msprobe.coexistence import other_distribution
from msprobe.doctor.installed_files import check_files
from msprobe_core.format.installation import install_command

_NAME = "tb-graph-ascend"
_PLUGIN = "tb_graph_ascend"
_NPU_DRIVER = "look at npu-smi info and ASCEND_RT_VISIBLE_DEVICES, or uninstall torch_npu"
_ANEW = install_command(flags="--force-reinstall --no-deps")
_OURS = (
    "use the command tb-graph-ascend to compare, and to record with this package "
    f"pip uninstall mindstudio-probe, then install this one again: {_ANEW}; "
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
    yield _version(_NAME, f"its metadata is gone: {_ANEW}")
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
    has_npu = util.find_spec("torch_npu") is not None
    try:
        torch = import_module("torch")
    except Exception as error:  # a library that does not fit raises whatever it likes
        if has_npu and "torch_npu" in str(error):  # torch loads it as a backend
            yield _no_torch_npu(error)
        else:
            yield problem("torch", f"cannot be imported ({_line(error)})", "install torch again")
        return
    found = []
    if has_npu:
        check, count = _npu(torch)
        yield check
        found += [f"{count} NPU"] if count else []
    count = torch.cuda.device_count()
    names = ", ".join(sorted({torch.cuda.get_device_name(i) for i in range(count)}))
    found += [f"{count} CUDA ({names})"] if count else []
    yield ok("devices", ", ".join(found) or "no accelerator; the CPU is used")


def _npu(torch: ModuleType) -> tuple[Check, int]:
    """What is true of torch_npu, and the number of devices that it sees."""
    try:
        torch_npu = import_module("torch_npu")
    except Exception as error:  # a driver that is missing raises whatever it likes
        return _no_torch_npu(error), 0
    version = str(getattr(torch_npu, "__version__", "of unknown version"))
    try:
        count = int(torch.npu.device_count())
    except Exception as error:  # so does a driver that does not answer
        text = f"{version} is imported, but its devices cannot be counted ({_line(error)})"
        return note("torch_npu", text, _NPU_DRIVER), 0
    if not count:
        return note("torch_npu", f"{version} is imported, but sees no device", _NPU_DRIVER), 0
    return ok("torch_npu", f"{version}, {count} device{'s' if count > 1 else ''}"), count


def _no_torch_npu(error: Exception) -> Check:
    return problem(
        "torch_npu",
        f"cannot be imported ({_line(error)})",
        "source the CANN set_env.sh, or uninstall torch_npu",
    )


def _plugin() -> Iterator[Check]:
    entry_points = list(metadata.entry_points(group="tensorboard_plugins", name=_PLUGIN))
    if not entry_points:
        text = "no entry point `tensorboard_plugins`, so TensorBoard does not know it"
        yield problem("plugin", text, _ANEW)
        return
    try:
        loader = entry_points[0].load()
    except Exception as error:  # whatever it is, TensorBoard would have met it
        yield problem("plugin", f"cannot be imported ({_line(error)})", _ANEW)
        return
    yield ok("plugin", f"registered as {entry_points[0].value}")
    page = Path(str(import_module(loader.__module__).__file__)).parent / "static" / "index.html"
    if page.is_file():
        yield ok("bundle", str(page.parent))
    else:
        yield problem(
            "bundle",
            f"{page} is missing",
            "run `make build` in the checkout, or install a wheel of it",
        )


def _duplicates() -> Iterator[Check]:
    places = [str(d.locate_file("")) for d in metadata.distributions() if _is_ours(d)]
    places = list(dict.fromkeys(places))
    if len(places) > 1:
        text = f"installed {len(places)} times: {', '.join(places)}; the first wins"
        yield problem(
            _NAME, text, f"pip uninstall {_NAME} until none is left, then {install_command()}"
        )
    yield from _files()
    other = other_distribution()
    if other is None:
        return
    if _is_our_face():
        yield note("msprobe", f"{other} is installed too; tb-graph-ascend's msprobe wins", _OURS)
    else:
        text = f"{other} was installed later and has taken the name; its msprobe wins"
        yield problem("msprobe", text, _OURS)


def _files() -> Iterator[Check]:
    try:
        ours = metadata.distribution(_NAME)
    except metadata.PackageNotFoundError:
        return  # said among the versions
    yield from check_files(ours, _ANEW)


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
