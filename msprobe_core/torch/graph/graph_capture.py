"""What stays in a process while graphs record: hooks of modules, the mode, and the log.

Hooks stay from the first `start` on, as dynamo has traced them; what is kept is decided where the
operators run. So steps, ranks and `dump_enable` need no new compilation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.nn.parameter import is_lazy
from torch.utils.hooks import RemovableHandle

from msprobe_core.capture.replacing import Replacements
from msprobe_core.report import say
from msprobe_core.torch.fast_paths import FastPaths
from msprobe_core.torch.function_modes import insert, modes_of_thread, take_off
from msprobe_core.torch.graph.api_names import shown_functions
from msprobe_core.torch.graph.attribute_writes import write_into_present_notes
from msprobe_core.torch.graph.captured_programs import CapturedPrograms
from msprobe_core.torch.graph.compilers import CompilerFacts, current_facts, use_facts
from msprobe_core.torch.graph.graph_entries import PARAMETER, ROOT
from msprobe_core.torch.graph.log import GraphLog, Row
from msprobe_core.torch.graph.module_marks import (
    ModuleMarks,
    asking_for_hooks,
    state_without_own_forward,
)
from msprobe_core.torch.graph.operator_calls import OperatorCalls, leave
from msprobe_core.torch.graph.operators import current_log, define_operators, use_log
from msprobe_core.torch.graph.sites import Owner, number_of
from msprobe_core.torch.graph.traced import (
    GraphCalls,
    ModuleHooks,
    forget_leaves,
    has_hooks_of_others,
    know_constants,
    run_as_it_is,
    run_as_they_are,
)
from msprobe_core.torch.watch.model_modules import Model

_NAMED = 5  # modules that a line names


class GraphCapture:
    """The recording of one debugger. `modules` and `calls` say what is recorded.

    With `served` the model itself is recorded too, and calls are operators that modules run, not
    calls of torch's API, but in what inductor compiles. `late` says whether records wait until
    inductor's passes are over, `grad_inputs` whether gradients of modules' inputs are recorded.
    Raises UnsupportedError where torch is too old.
    """

    def __init__(
        self,
        modules: bool,
        calls: bool,
        served: bool,
        log: GraphLog,
        risk_level: str = "FOCUS",
        late: bool = True,
        grad_inputs: bool = False,
    ) -> None:
        define_operators()
        know_constants()
        run_as_they_are()
        self.log = log
        self.facts = CompilerFacts(late)
        self._modules, self._served, self._grad_inputs = modules, served, grad_inputs
        self._mode = GraphCalls(risk_level, late_only=served) if calls else None
        self._operators: Any = None
        if calls and served:
            self._operators = OperatorCalls()  # type: ignore[no-untyped-call]  # torch has no types there
        self._fast_paths = FastPaths()
        self._is_on = False
        self._hooked: dict[int, tuple[torch.nn.Module, str]] = {}
        self._owners: dict[int, str] = {}
        self._marks: list[ModuleMarks] = []
        self._handles: list[RemovableHandle] = []
        self._programs = CapturedPrograms(self._step_aside, self._come_back)
        self._above: int | None = None  # modes above ours, while a program is made
        self._replaced, self._questions = Replacements(), Replacements()
        self._nodes: dict[int, Any] = {}
        self._has_said = False
        use_log(log)
        use_facts(self.facts)

    def start(self, model: Model | None) -> None:
        """Hook a model that is not hooked yet, and keep rows from now on."""
        use_log(self.log)
        use_facts(self.facts)
        roots = [] if model is None else [model] if isinstance(model, torch.nn.Module) else model
        known = len(self._hooked)
        for at, root in enumerate(map(_unwrapped, roots)):
            if id(root) not in self._hooked:
                self._hook(root, "" if isinstance(model, torch.nn.Module) else str(at))
        if len(self._hooked) > known:
            _forget_compiled_code()
        for root, prefix in self._hooked.values():
            self._watch_parameters(root, prefix)
        self._programs.start()
        self._enter_mode()
        self.log.switch(forward=True, gradients=True)

    def pause(self) -> None:
        """Keep gradients only."""
        self._leave_mode()
        self.log.switch(forward=False, gradients=True)

    def end_step(self) -> list[Row]:
        """The rows of the step; nothing is kept until the next `start`."""
        rows = self.log.take()
        self._leave_mode()
        self._forget_leaves()
        self.log.switch(forward=False, gradients=False)
        return rows

    def close(self) -> None:
        """Take hooks and modes off; compiled code runs on and writes nowhere."""
        self._leave_mode()
        self._forget_leaves()
        self._programs.stop()
        self._replaced.restore()
        self._questions.restore()
        for marks in self._marks:
            marks.remove()
        for handle in self._handles:
            handle.remove()
        self._marks.clear()
        self._handles.clear()
        self._hooked.clear()
        self._nodes.clear()
        if current_log() is self.log:
            use_log(None)
        if current_facts() is self.facts:
            use_facts(None)

    def say_unseen(self, seen: set[int]) -> None:
        """Say once which hooked modules had no row in a step."""
        unseen = [path for number, path in self._owners.items() if number not in seen]
        if not unseen or self._has_said:
            return
        self._has_said = True
        named = ", ".join(unseen[:_NAMED]) + (", …" if len(unseen) > _NAMED else "")
        say(
            f"{len(unseen)} of {len(self._owners)} modules left no record in this step: {named}; "
            "they did not run, or run in a branch of a graph, or were captured before start"
        )

    def _forget_leaves(self) -> None:
        for root, _ in self._hooked.values():
            forget_leaves(root.parameters())
            forget_leaves(root.buffers())

    def _step_aside(self) -> None:
        """Leave the process as if nobody recorded."""
        stands_here = any(each is self._mode for each in modes_of_thread())
        self._above = self._leave_mode() if stands_here else None
        for marks in self._marks:
            marks.set_aside()

    def _come_back(self) -> None:
        for marks in self._marks:
            marks.put_back()
        if self._above is not None:
            self._enter_mode(self._above)

    def _enter_mode(self, above: int = 0) -> None:
        if self._mode is not None and not self._is_on:
            self._fast_paths.start()
            insert(self._mode, above)
            if self._operators is not None:
                self._operators.__enter__()
        self._is_on = True

    def _leave_mode(self) -> int | None:
        """Take the mode off; how many stood above it, None where it was not on."""
        above = None
        if self._mode is not None and self._is_on:
            above = take_off(self._mode)
            self._fast_paths.stop()
            if self._operators is not None:
                leave(self._operators)
        self._is_on = False
        return above

    def _hook(self, root: torch.nn.Module, prefix: str) -> None:
        self._hooked[id(root)] = root, prefix
        for device in _devices(root):
            if device.type not in ("cpu", "meta"):
                self.log.prepare(device)
        usual = _device_of(root, torch.device("cpu"))
        asking = set(asking_for_hooks(root))
        if not self._questions:
            self._answer_dynamo()
        if asking and not self._replaced:
            self._replaced.put(torch.nn.Module, "__getstate__", state_without_own_forward)
        for path, module in self._watched(root):
            if _is_hooked(module, path, self._served):
                where = _device_of(module, usual)
                name = _joined(prefix, _plain_path(path))
                self._hook_module(module, name, where, by_forward=module in asking)

    def _answer_dynamo(self) -> None:
        """Answer in dynamo's place which hooks make graphs, which functions a mode is shown, and
        what a program has written to attributes.
        """
        utils, variables = torch._dynamo.utils, torch._dynamo.variables.torch
        known = variables.get_overridable_functions() | shown_functions()
        self._questions.put(utils, utils.nnmodule_has_hooks.__name__, has_hooks_of_others)
        self._questions.put(variables, "get_overridable_functions", lambda: known)
        write_into_present_notes(self._questions)

    def _watched(self, root: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
        """The modules to hook, by path: for calls alone the one that operators run inside."""
        if self._modules:
            for path, module in root.named_modules():
                # Torch takes hooks of this kind on none that was scripted.
                if not isinstance(module, torch.jit.ScriptModule):
                    yield path, module
        elif self._operators is not None:
            yield "", root

    def _hook_module(
        self, module: torch.nn.Module, path: str, device: torch.device, by_forward: bool
    ) -> None:
        number = number_of(Owner(path, type(module).__name__))
        self._owners[number] = path or ROOT
        owner = torch.full((), number, dtype=torch.int64, device=device)
        hooks = ModuleHooks(owner, self._grad_inputs)
        self._marks.append(ModuleMarks(module, hooks, by_forward))

    def _watch_parameters(self, root: torch.nn.Module, prefix: str) -> None:
        """Record gradients when autograd has accumulated them, which no graph does itself."""
        if not torch.is_grad_enabled() or not self._modules:
            return
        for path, module in root.named_modules():
            for name, parameter in module._parameters.items():
                if parameter is None or not parameter.requires_grad or id(parameter) in self._nodes:
                    continue
                if is_lazy(parameter):  # it has no place in any graph yet
                    continue
                number = number_of(Owner(_joined(prefix, _plain_path(path)), type(module).__name__))
                node = torch.autograd.graph.get_gradient_edge(parameter).node
                self._nodes[id(parameter)] = node
                self._handles.append(node.register_hook(_accumulated(parameter, number, name)))


def _accumulated(parameter: torch.nn.Parameter, number: int, name: str) -> Any:
    owner = torch.full((), number, dtype=torch.int64, device=parameter.device)

    def hook(*_: object) -> None:
        if parameter.grad is not None:
            torch.ops.msprobe.gradient(parameter.grad, owner, f"{PARAMETER}{name}")

    run_as_it_is(hook.__code__)
    return hook


def _unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    inner = getattr(model, "_orig_mod", None)
    return inner if _is_wrapper(model) and isinstance(inner, torch.nn.Module) else model


def _is_wrapper(module: torch.nn.Module) -> bool:
    """Whether the module is what `torch.compile(module)` returned."""
    return "torch._dynamo" in sys.modules and isinstance(module, torch._dynamo.OptimizedModule)


def _forget_compiled_code() -> None:
    """Have dynamo compile again what it compiled before the hooks came: it would not see them."""
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is None or not dynamo.utils.counters["stats"]["unique_graphs"]:
        return
    dynamo.reset()
    say("what was compiled before start is compiled again, as it has no hooks")


def _is_hooked(module: torch.nn.Module, path: str, root: bool) -> bool:
    is_list = isinstance(module, (torch.nn.ModuleList, torch.nn.ModuleDict))
    return not is_list and not _is_wrapper(module) and (root or bool(path))


def _plain_path(path: str) -> str:
    """The attribute path without what `torch.compile` put around a module."""
    return ".".join(part for part in path.split(".") if part != "_orig_mod")


def _joined(prefix: str, path: str) -> str:
    return f"{prefix}.{path}" if prefix and path else prefix or path


def _devices(root: torch.nn.Module) -> Iterable[torch.device]:
    return {tensor.device for tensor in [*root.parameters(), *root.buffers()]}


def _device_of(module: torch.nn.Module, usual: torch.device) -> torch.device:
    tensors = [*module.parameters(), *module.buffers()]
    return tensors[0].device if tensors else usual
