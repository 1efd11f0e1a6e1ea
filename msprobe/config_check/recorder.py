"""Records what a training script runs with: `ConfigChecker` under the name that users know.

`apply_patches` first, before the script draws a random number; then one `ConfigChecker` once the
model is there. Each forward call of the model adds its inputs and weights to the pack.
"""

from __future__ import annotations

import atexit
import os
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msprobe.config_check.element_order import ORDER, placed_sum
from msprobe.config_check.growing_pack import GrowingPack
from msprobe.config_check.pack import DYNAMIC, as_json, check_target, static_members
from msprobe.config_check.random_watch import RandomWatch
from msprobe.config_check.redaction import redacted
from msprobe.errors import CheckError
from msprobe.tensor_summary import summarise
from msprobe_core.report import say

if TYPE_CHECKING:
    import torch

_watch = RandomWatch()


class ConfigChecker:
    """Packs environment, packages and hyper-parameters now, inputs and weights at every forward.

    `model` is a module or a list of them (chunks of a pipeline rank); without one nothing is added
    later. `shell_path` names launch scripts and YAML files. The pack is a zip that all ranks share;
    a rank replaces what an earlier run left of it. Steps are counted by forward calls.
    Raises CheckError for a path or a framework that cannot be used. What fails later, as a disk
    that is full, ends the recording with one line: the pack keeps what it has, the model runs on.
    """

    def __init__(
        self,
        model: torch.nn.Module | Sequence[torch.nn.Module] | None = None,
        shell_path: str | Sequence[str] | None = None,
        output_zip_path: str = "./config_check_pack.zip",
        fmk: str = "pytorch",
    ) -> None:
        _check_framework(fmk)
        path = Path(output_zip_path)
        check_target(path)
        self._pack = GrowingPack(path)
        self._step = 0
        self._random = ""
        if _rank() == 0:
            files = [shell_path] if isinstance(shell_path, str) else list(shell_path or [])
            members = static_members([Path(file) for file in files], os.environ)
            try:
                self._pack.begin_run(members, _world_size())
            except (OSError, zipfile.BadZipFile) as error:
                raise CheckError(
                    f"{path}: cannot be written ({error})", "choose another"
                ) from error
        if model is not None:
            self._watch_model([model] if not isinstance(model, Sequence) else list(model))

    @staticmethod
    def apply_patches(fmk: str = "pytorch") -> None:
        """Count from here on where random numbers are drawn and seeds are set."""
        _check_framework(fmk)
        _watch.start()

    @staticmethod
    def compare(
        bench_zip_path: str, cmp_zip_path: str, output_path: str, fmk: str = "pytorch"
    ) -> None:
        """Compare two packs as `msprobe config_check -c` does; the first is the benchmark."""
        from msprobe.config_check.comparison import compare_packs

        _check_framework(fmk)
        compare_packs(Path(bench_zip_path), Path(cmp_zip_path), Path(output_path))

    def _watch_model(self, models: list[torch.nn.Module]) -> None:
        prefixes = [""] if len(models) == 1 else [f"model{i}." for i in range(len(models))]

        def before_forward(module: Any, inputs: Any, named: Any) -> None:
            del module
            weights = {
                f"{prefix}{name}": parameter
                for prefix, model in zip(prefixes, models, strict=True)
                for name, parameter in model.named_parameters()
            }
            self._record_call(inputs, named, weights)

        def guarded(module: Any, inputs: Any, named: Any) -> None:
            try:
                before_forward(module, inputs, named)
            except Exception as error:  # nothing of this may reach the user's step
                handle.remove()
                self._give_up(error)

        handle = models[0].register_forward_pre_hook(guarded, with_kwargs=True)
        atexit.register(self._at_exit)

    def _give_up(self, error: Exception) -> None:
        """Record nothing any more and say why."""
        atexit.unregister(self._at_exit)
        _watch.stop()
        say(
            f"config_check: {self._pack.path}: step {self._step} cannot be recorded "
            f"({type(error).__name__}: {error}), nor what follows; the steps before are in it"
        )

    def _at_exit(self) -> None:
        try:
            self._record_random()
        except Exception as error:  # the script has done its work
            self._give_up(error)

    def _record_call(
        self, inputs: Sequence[Any], named: Mapping[str, Any], weights: Mapping[str, Any]
    ) -> None:
        import torch

        place = f"step{self._step}/rank{_rank()}"
        with torch.no_grad(), _watch.paused():
            data = {"args": dict(_numbered(inputs)), "kwargs": _summaries(dict(named))}
            members = {
                f"dataset/{place}/dataset.json": as_json(data),
                f"weights/{place}/weight.json": as_json(_summaries(dict(weights))),
            }
        if self._step == 0:
            self._pack.begin_rank(_rank())
            arguments = _megatron_arguments()
            if arguments and _rank() == 0:
                members[DYNAMIC] = as_json(arguments)
        self._pack.add(members)
        if self._step == 0:
            self._record_random()
        self._step += 1

    def _record_random(self) -> None:
        text = as_json(_watch.calls()) if _watch.started else ""
        if text and text != self._random and self._pack.path.exists():
            self._random = text
            self._pack.replace({f"random/rank{_rank()}.json": text})


def _check_framework(fmk: str) -> None:
    if fmk != "pytorch":
        raise CheckError(f"fmk={fmk!r}: only PyTorch can be recorded here", "give fmk='pytorch'")


def _rank() -> int:
    distributed = _distributed()
    return int(distributed.get_rank()) if distributed else int(os.environ.get("RANK", "0") or 0)


def _world_size() -> int:
    distributed = _distributed()
    if distributed:
        return int(distributed.get_world_size())
    return int(os.environ.get("WORLD_SIZE", "1") or 1)


def _distributed() -> Any:
    dist = sys.modules.get("torch.distributed")
    return dist if dist and dist.is_available() and dist.is_initialized() else None


def _summaries(value: Any) -> Any:
    """Tensors as their statistics, in the same mappings and lists; other values are left out."""
    import torch

    if isinstance(value, torch.Tensor):
        return {**summarise(value), ORDER: placed_sum(value)}
    if isinstance(value, Mapping):
        return {str(k): s for k, inner in value.items() if (s := _summaries(inner)) is not None}
    if isinstance(value, list | tuple):
        return dict(_numbered(value)) or None
    return None


def _numbered(values: Sequence[Any]) -> list[tuple[str, Any]]:
    summaries = [(str(index), _summaries(inner)) for index, inner in enumerate(values)]
    return [(index, summary) for index, summary in summaries if summary is not None]


def _megatron_arguments() -> dict[str, Any]:
    """The arguments of a Megatron run, redacted; empty in any other run."""
    for name in ("megatron.training.global_vars", "megatron.global_vars"):
        module = sys.modules.get(name)
        arguments = getattr(module, "_GLOBAL_ARGS", None)
        if arguments is not None:
            return {key: redacted(key, value) for key, value in vars(arguments).items()}
    return {}
