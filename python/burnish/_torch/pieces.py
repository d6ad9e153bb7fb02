"""A part of a graph that runs in Burnish: compiled at its first call, when its weights are known."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

import torch

from burnish_runtime import BurnishError, Model, Threads

from .. import _pace
from .._graph import Graph
from . import importer, narrow
from .builder import GraphBuilder
from .making import made
from .options import BACKGROUND, Options
from .registry import Unsupported
from .swapping import ERROR_MAX, NARROW_ERROR_MAX, PRECISION_ERROR_MAX, private_inputs, refusal
from .team import threads_of
from .types import is_dense
from .weights import Weights, can_freeze

log = logging.getLogger("burnish.torch")

# Calls one after the other that each find new weights: they are no constants then, but inputs.
CHANGES_MAX = 4

_pieces: weakref.WeakSet[Piece] = weakref.WeakSet()
_behind: set[threading.Thread] = set()  # What is compiled or tuned while calls go on.
# Behind the calls one bundle is made after the other: a model of eight sizes starts no eight compilers. A study, which
# takes hours, keeps no bundle waiting.
_compiling, _tuning = threading.Lock(), threading.Lock()
_pools: dict[int, Threads] = {}


def _pool(count: int) -> Threads:
    """Threads that all pieces share: they run in turn."""
    if count not in _pools:
        _pools.setdefault(count, threads_of(count))
    return _pools[count]


def live_pieces() -> list[Piece]:
    return list(_pieces)


def wait(seconds: float | None = None) -> bool:
    """Until nothing is compiled or tuned behind running models; False: it still is."""
    end = None if seconds is None else time.monotonic() + seconds
    for thread in list(_behind):
        thread.join(None if end is None else max(0.0, end - time.monotonic()))
    return not any(thread.is_alive() for thread in list(_behind))


@dataclasses.dataclass
class Result:
    """Where one of a piece's results comes from. `view`: sizes, strides and offset of a part of it."""

    kind: str  #: "made" by the model, an "argument", or a "value".
    which: Any
    view: tuple[Any, Any, int] | None = None

    def of(self, made: Sequence[torch.Tensor], args: Sequence[Any]) -> Any:
        if self.kind == "value":
            return self.which
        whole = (made if self.kind == "made" else args)[self.which]
        if self.view is None:
            return whole
        size, stride, offset = self.view
        return whole.as_strided(size, stride, whole.storage_offset() + offset)


@dataclasses.dataclass
class Bundle:
    """A piece for some sizes. `model` is None where it stays in PyTorch, or does until its bundle is ready."""

    model: Model | None
    taken: list[int] = dataclasses.field(default_factory=list)  #: Arguments that are inputs.
    made: list[tuple[Any, Any, Any]] = dataclasses.field(default_factory=list)  #: Of outputs.
    results: list[Result] = dataclasses.field(default_factory=list)
    names: dict[int, str] = dataclasses.field(default_factory=dict)  #: Of constants, by argument.
    refits: bool = False
    own: bool = True  #: Whether nobody else uses its file.
    how: str = ""  #: As of `making.Made`.

    def discard(self) -> None:
        """Its file is as large as the weights. What runs keeps it as long as that takes."""
        if self.model is not None and self.own:
            os.unlink(self.model.path)


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a bundle is made of."""

    module: torch.fx.GraphModule  #: Of fixed sizes.
    weights: Weights | None
    frozen: tuple[int, ...]
    #: What its first bundle was compiled from: to write it takes up to a second of Python's time.
    written: list[tuple[Graph, Bundle]] = dataclasses.field(default_factory=list, compare=False)


class Piece(torch.nn.Module):
    """Called like the module that it stands for; `frozen` are the arguments that are weights."""

    def __init__(self, module: torch.fx.GraphModule, frozen: Sequence[int], options: Options,
                 name: str):
        super().__init__()
        self.__dict__["module"] = module  # Not a part of this module's state.
        self.options, self.name = options, name
        placeholders = module.graph.find_nodes(op="placeholder")
        self.frozen = tuple(index for index in frozen if importer.is_read(placeholders[index]))
        self.bundles: dict[Any, Bundle] = {}
        self.weights: Weights | None = None
        self.work_count = 0
        self.refused = ""  #: Why it stays in PyTorch.
        self.rebuilds = 0
        self.refits = 0
        self._sized = not is_static(module)
        self._many = isinstance(module.graph.output_node().args[0], (tuple, list))
        self._changes = 0
        self._lock = threading.RLock()
        self._full_of_sizes = False
        _pieces.add(self)

    def unlock(self) -> None:
        """In a forked child: who held the lock or compiled is not there any more."""
        self._lock = threading.RLock()
        self.bundles = {key: bundle for key, bundle in self.bundles.items() if bundle.how != "eager"}

    def forward(self, *args: Any) -> Any:
        weights = self.weights
        if weights is None or not weights.unchanged(args):
            self._weigh(args, weights)
        elif self._changes:  # torch.nn.Module takes half a microsecond for an attribute that is set.
            self._changes = 0
        bundle = self.bundles.get(self._key(args))
        if bundle is None:
            bundle = self._built(args)
        return self._run(bundle, args)

    def _key(self, args: Sequence[Any]) -> Any:
        if not self._sized:
            return None
        return tuple((x.shape, x.stride()) if isinstance(x, torch.Tensor) else x
                     for i, x in enumerate(args) if i not in self.frozen)

    def _run(self, bundle: Bundle, args: Sequence[Any]) -> Any:
        if bundle.model is None:
            return self.module(*args)
        made = [torch.empty_strided(size, stride, dtype=dtype) for size, stride, dtype in bundle.made]
        inputs = [args[i] if not args[i].requires_grad else args[i].detach() for i in bundle.taken]
        try:
            bundle.model.run(*inputs, out=tuple(made))
        except (BurnishError, BufferError) as error:
            # Such as an index that is out of bounds: PyTorch's own error is the one that users know.
            log.warning("%s stays in PyTorch for this call: %s", self.name, error)
            return self.module(*args)
        results = tuple(result.of(made, args) for result in bundle.results)
        return results if self._many else results[0]

    # ---- Weights.

    def _weigh(self, args: Sequence[Any], seen: Weights | None) -> None:
        with self._lock:
            if self.weights is not seen:
                return  # Another thread was first.
            if self.weights is None:
                self._freeze(args)
                return
            differ = self.weights.changed(args)
            if not differ:
                self._changes = 0
                return
            self._changes += 1
            before = self.frozen
            if self._changes >= CHANGES_MAX:
                log.warning("%s: weights changed before each of %d calls; they are inputs from now on",
                            self.name, self._changes)
                self.frozen = ()
            bundles = {key: self._refitted(bundle, differ, args) for key, bundle in self.bundles.items()}
            self._freeze(args)
            kept = {} if self.frozen != before else {
                key: bundle for key, bundle in bundles.items() if bundle is not None}
            for key, bundle in self.bundles.items():
                if key not in kept:
                    self.rebuilds += 1
                    bundle.discard()
            self.bundles = kept

    def _freeze(self, args: Sequence[Any]) -> None:
        if self.options.freeze == "none":
            self.frozen = ()
        self.frozen = tuple(index for index in self.frozen if can_freeze(args[index]))
        self.weights = Weights(args, self.frozen, self.options.freeze == "full")

    def _refitted(self, bundle: Bundle, differ: Sequence[int], args: Sequence[Any]) -> Bundle | None:
        """The same code with other weights; None where it has to be compiled again."""
        if bundle.model is None or not bundle.refits:
            return None
        places: dict[str, set[int]] = {}
        for index, name in bundle.names.items():
            places.setdefault(name, set()).add(args[index].data_ptr())
        replaceable = {parameter.name for parameter in bundle.model.parameters}
        if any(bundle.names.get(index) not in replaceable for index in differ) or any(
                len(pointers) > 1 for pointers in places.values()):
            return None  # The second: tied once, and not any more.
        given = {name: args[index].detach() for index, name in bundle.names.items() if name in replaceable}
        try:
            model = bundle.model.refit(given)
        except BurnishError as error:
            log.info("%s is compiled again: %s", self.name, error)
            return None
        self.refits += 1
        return dataclasses.replace(bundle, model=model)

    # ---- Compilation.

    def _built(self, args: Sequence[Any]) -> Bundle:
        with self._lock:
            key = self._key(args)
            bundle = self.bundles.get(key)
            if bundle is not None:
                return bundle
            if len(self.bundles) >= self.options.sizes:
                self._refuse_sizes()
                return Bundle(None)
            module = importer.with_sizes(self.module, args) if self._sized else self.module
            plan = Plan(module, self.weights, self.frozen)
            if self.options.first == "eager":
                bundle = Bundle(None, how="eager")
            else:
                bundle = self._default(plan, args)
            # A copy: other threads look at the old one without the lock.
            self.bundles = {**self.bundles, key: bundle}
        if self.options.first == "eager" or (bundle.model is not None and self.options.tune != "off"):
            self._improve(key, bundle, plan, args)
        return self.bundles.get(key, bundle)

    def _default(self, plan: Plan, args: Sequence[Any]) -> Bundle:
        try:
            return self._compiled(plan, args)
        except (BurnishError, Unsupported) as error:
            if self.options.strict:
                raise
            self.refused = str(error)
            log.warning("%s stays in PyTorch: %s", self.name, error)
            return Bundle(None)

    # ---- Better bundles.

    def _improve(self, key: Any, current: Bundle, plan: Plan, args: Sequence[Any]) -> None:
        """What comes after the first answer: behind the calls, unless the user waits for it."""
        own = private_inputs(args, plan.frozen)
        inference = torch.is_inference_mode_enabled()

        def work() -> None:
            try:
                with torch.inference_mode(inference), torch.no_grad():
                    self._improved(key, current, plan, own)
            except Exception:  # Of a thread nobody waits for: what runs goes on.
                log.exception("%s: nothing better was made", self.name)
            finally:
                _behind.discard(threading.current_thread())

        if self.options.first == "wait" and self.options.tune == "now":
            work()
            return
        thread = threading.Thread(target=work, name=f"burnish-{self.name}", daemon=True)
        _behind.add(thread)
        thread.start()

    def _improved(self, key: Any, current: Bundle, plan: Plan, args: Sequence[Any]) -> None:
        if current.how == "eager":
            with _compiling:
                new = self._default(plan, args)
                if not self._swapped(key, current, new, plan, args):
                    return
            current = self.bundles.get(key, new)
        if self.options.tune == "off" or current.model is None:
            return
        with _tuning, contextlib.ExitStack() as stack:
            pace = stack.enter_context(_pace.behind_calls()) if self.options.tune == BACKGROUND else None
            rebuilds = self.rebuilds
            for _ in range(CHANGES_MAX):
                try:
                    new = self._compiled(plan, args, tuned=True)
                except BurnishError as error:
                    log.warning("%s was not tuned: %s", self.name, error)
                    return
                if pace is not None:
                    cpu_s, wall_s = pace.taken
                    log.info("%s was tuned behind its calls: %.1f s of CPU time in %.1f s", self.name, cpu_s, wall_s)
                if self._swapped(key, current, new, plan, args, pace):
                    return
                # A study takes hours, and what it found holds for the weights that were put in meanwhile. What was
                # compiled again is improved by whom that has started.
                again = self._refitted_since(rebuilds, key, plan, args)
                if again is None:
                    return
                current, plan = again

    def _refitted_since(self, rebuilds: int, key: Any, plan: Plan,
                        args: Sequence[Any]) -> tuple[Bundle, Plan] | None:
        """What runs now, and of what it is made; None where that is not of these arguments."""
        with self._lock:
            current, weights = self.bundles.get(key), self.weights
            if self.rebuilds != rebuilds or current is None or weights is None or weights.changed(args):
                return None
            return current, Plan(plan.module, weights, self.frozen)

    def _swapped(self, key: Any, old: Bundle, new: Bundle, plan: Plan, args: Sequence[Any],
                 pace: _pace.Pace | None = None) -> bool:
        """Whether the piece still is what `plan` says; then it has the better of both."""
        if new.model is not None and old.model is not None and new.model.path == old.model.path:
            return True  # The cache's, which runs already.
        turns = {} if pace is None else {
            "await_turn": lambda seconds: pace.await_turn(seconds * self.thread_count())}
        why = "" if new.model is None else refusal(
            lambda given: self._run(old, given), lambda given: self._run(new, given), args,
            error_max=self._error_max(plan.module), **turns)
        with self._lock:
            if self.bundles.get(key) is not old or self.weights is not plan.weights or (
                    plan.weights is not None and plan.weights.changed(args)):
                new.discard()  # Of weights that are no more: the next call starts again.
                return False
            if why:
                log.warning("%s: a bundle (%s) is not taken: %s", self.name, new.how, why)
                new.discard()
                if old.how != "eager":
                    return True
                self.refused, new = why, Bundle(None)
            # One store: a call that has begun ends with what it began with, also where its file goes.
            self.bundles = {**self.bundles, key: new}
            old.discard()
            return True

    def _error_max(self, module: torch.fx.GraphModule) -> float:
        """How far apart two ways to run the piece may be."""
        if narrow.is_in(module):
            return NARROW_ERROR_MAX
        if not self.options.narrows:
            return ERROR_MAX
        return PRECISION_ERROR_MAX if self.options.accuracy in (None, "strict") else float(self.options.accuracy)

    def _refuse_sizes(self) -> None:
        text = (f"{self.name} has {self.options.sizes} bundles, one for each of its sizes; other sizes "
                "stay in PyTorch (option sizes)")
        if self.options.strict:
            raise BurnishError(text, code=importer.UNSUPPORTED_CODE)
        if not self._full_of_sizes:
            log.warning("%s", text)
            self._full_of_sizes = True

    def thread_count(self) -> int:
        """Of each run."""
        return self.options.threads or torch.get_num_threads()

    def _compiled(self, plan: Plan, args: Sequence[Any], tuned: bool = False) -> Bundle:
        if not plan.written:
            plan.written.append(self._written(plan, args))
        graph, empty = plan.written[0]
        threads = self.thread_count()
        refit = self.rebuilds > 0 and not self.options.narrows  # What changed once will change again.
        one = made(graph, self.options, threads, _pool(threads), refit, tuned)
        log.info("%s: %s", self.name, one.how)
        return dataclasses.replace(empty, model=one.model, refits=one.refits, own=one.own, how=one.how)

    def _written(self, plan: Plan, args: Sequence[Any]) -> tuple[Graph, Bundle]:
        module = plan.module
        constants: dict[str, torch.Tensor] = {}
        placeholders = module.graph.find_nodes(op="placeholder")
        for index in plan.frozen:
            constants[placeholders[index].name] = args[index]
        missing = importer.reasons(module.graph) if self._sized else None  # Else who cut it has asked.
        if missing:
            raise Unsupported(importer.names_of(missing))
        builder = GraphBuilder(self.name)
        written = importer.Written(builder, module, constants, unread=False)
        bundle = Bundle(None, names={index: written.constants[placeholders[index].name]
                                     for index in plan.frozen})
        bundle.taken = [i for i, node in enumerate(placeholders)
                        if node.name not in constants and node in written.read]
        self._name_outputs(builder, written, module, bundle)
        self._dump(builder, module)
        return builder.graph, bundle

    @staticmethod
    def _name_outputs(builder: GraphBuilder, written: importer.Written,
                      module: torch.fx.GraphModule, bundle: Bundle) -> None:
        """Results that share memory in PyTorch share it here: one is made, the others are views of it."""
        placeholders = module.graph.find_nodes(op="placeholder")
        owners = _owners(module)
        outputs: dict[torch.fx.Node, int] = {}
        for node in written.returned:
            if not isinstance(node, torch.fx.Node) or importer.is_number(node):
                bundle.results.append(Result("value", node.meta["val"] if isinstance(
                    node, torch.fx.Node) else node))
                continue
            if node.op == "get_attr":
                bundle.results.append(Result("value", importer.attribute(module, str(node.target))))
                continue
            owner = owners.get(node, node)
            view = None if owner is node else _view(node.meta["val"], owner.meta["val"])
            if owner.op == "placeholder":
                bundle.results.append(Result("argument", placeholders.index(owner), view))
                continue
            if owner not in outputs:
                outputs[owner] = len(outputs)
                builder.graph.output(written.values[owner].value, f"output_{outputs[owner]}")
                bundle.made.append(_layout(owner.meta["val"]))
            bundle.results.append(Result("made", outputs[owner], view))
        if not outputs:
            raise Unsupported("it computes nothing")

    def _dump(self, builder: GraphBuilder, module: torch.fx.GraphModule) -> None:
        if self.options.dump is None:
            return
        os.makedirs(self.options.dump, exist_ok=True)
        stem = os.path.join(self.options.dump, f"{self.name}_{len(self.bundles)}")
        builder.graph.save(stem + ".graph")
        with open(stem + ".txt", "w", encoding="utf-8") as file:
            file.write(module.print_readable(print_output=False))


def _layout(fake: torch.Tensor) -> tuple[Any, Any, torch.dtype]:
    """In which an output is made: that of eager, which the code around it may rely on."""
    stride = fake.stride() if is_dense(fake) else torch.empty_like(fake, memory_format=torch.contiguous_format,
                                                          device="meta").stride()
    return tuple(fake.shape), tuple(stride), fake.dtype


def _owners(module: torch.fx.GraphModule) -> dict[torch.fx.Node, torch.fx.Node]:
    """For each node that is a view in PyTorch, the one whose memory it has."""
    first: dict[int, torch.fx.Node] = {}
    owners = {}
    for node in module.graph.nodes:
        value = node.meta.get("val")
        if node.op in ("output", "get_attr") or not isinstance(value, torch.Tensor):
            continue
        owner = first.setdefault(value.untyped_storage()._cdata, node)
        whole = owner.meta["val"]
        if owner is not node and value.dtype == whole.dtype and (
                owner.op == "placeholder" or is_dense(whole)):
            owners[node] = owner
    return owners


def _view(part: torch.Tensor, whole: torch.Tensor) -> tuple[Any, Any, int]:
    return tuple(part.shape), tuple(part.stride()), part.storage_offset() - whole.storage_offset()


def is_static(module: torch.fx.GraphModule) -> bool:
    """Whether nodes say fixed sizes."""
    for node in module.graph.nodes:
        if node.op == "output":
            continue
        value = node.meta.get("val")
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(one, torch.Tensor):
                if not all(isinstance(n, int) for n in (*one.shape, *one.stride())):
                    return False
            elif one is not None and not isinstance(one, (bool, int, float)):
                return False
        if value is None and node.op in ("placeholder", "call_function"):
            return False
    return True


def refresh(model: torch.nn.Module | None = None) -> None:
    """Look at all weights at the next call of each compiled graph that has some of the model's."""
    pointers = None if model is None else {
        tensor.data_ptr() for tensor in (*model.parameters(), *model.buffers())}
    for piece in live_pieces():
        weights = piece.weights
        if weights is not None and (pointers is None or weights.pointers & pointers):
            weights.doubt()


def _after_fork() -> None:
    global _compiling, _tuning
    _compiling, _tuning = threading.Lock(), threading.Lock()
    _behind.clear()  # Threads of the parent.
    for piece in live_pieces():
        piece.unlock()


os.register_at_fork(after_in_child=_after_fork)
