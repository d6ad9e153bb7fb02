"""A part of a graph that runs in Burnish: compiled at its first call, when its weights are known."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import math
import os
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

import torch

from burnish_runtime import BurnishError, Threads, load

from .. import _pace
from .._graph import Graph
from . import collector, importer, narrow
from .builder import GraphBuilder
from .bundle import Bundle
from .making import made
from .options import BACKGROUND, Options
from .registry import Unsupported
from .results import Results, cut, unwritten, value_said
from .sizes import At, Bounds, Size, bounds_of, range_of, sizes_of, values_of
from .swapping import ERROR_MAX, NARROW_ERROR_MAX, PAUSE, PRECISION_ERROR_MAX, private_inputs, refusal
from .team import threads_of
from .weights import Weights, can_freeze, why_loose

log = logging.getLogger("burnish.torch")

# Calls one after the other that each find new weights: they are no constants then, but inputs.
CHANGES_MAX = 4
# Of how many sizes and strides a piece keeps what their calls take.
CALLS_MAX = 4096

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


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a bundle is made of."""

    module: torch.fx.GraphModule  #: Of fixed sizes, but for a range.
    weights: Weights | None
    frozen: tuple[int, ...]
    bounds: tuple[int, ...] | None = None  #: Of a range: its sizes' greatest; `module` says symbols then.
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
        self.bundles: dict[Any, Bundle] = {}  #: By what calls are like, those of ranges by their bounds.
        self._calls: dict[Any, Bundle] = {}  # What calls take: of ranges for their sizes.
        self.weights: Weights | None = None
        self.work_count = 0
        self.refused = ""  #: Why it stays in PyTorch.
        self.rebuilds = 0
        self.refits = 0
        self._sized = not is_static(module)
        self.sizes: list[Size] = []
        self.no_range = ""  #: Why each size has a bundle of its own.
        self._many = isinstance(module.graph.output_node().args[0], (tuple, list))
        self._changes = 0
        self._lock = threading.RLock()
        self._full_of_sizes = self._said_loose = False
        _pieces.add(self)

    def unlock(self) -> None:
        """In a forked child: who held the lock or compiled is not there any more."""
        self._lock = threading.RLock()
        self._set({key: bundle for key, bundle in self.bundles.items() if bundle.how != "eager"})

    def _set(self, bundles: dict[Any, Bundle]) -> None:
        """Under the lock. Other threads look at the old ones without."""
        self.bundles, self._calls = bundles, {}

    def forward(self, *args: Any) -> Any:
        weights = self.weights
        if weights is None or not weights.unchanged(args):
            self._weigh(args, weights)
        elif self._changes:  # torch.nn.Module takes half a microsecond for an attribute that is set.
            self._changes = 0
        bundle = self._calls.get(self._key(args))
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
        made = [unwritten(layout) for layout in bundle.made]
        inputs = [args[i] if not args[i].requires_grad else args[i].detach() for i in bundle.taken]
        try:
            ran = bundle.model.run(*inputs, out=tuple(made))
            if bundle.cuts:
                made = [cut(*one) for one in zip(ran if len(made) > 1 else (ran,), made, bundle.cuts)]
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
            self._set(kept)

    def _freeze(self, args: Sequence[Any]) -> None:
        if self.options.freeze == "none":
            self.frozen = ()
        loose = [args[index] for index in self.frozen if not can_freeze(args[index])]
        self.frozen = tuple(index for index in self.frozen if can_freeze(args[index]))
        why = sorted({why_loose(x) for x in loose if isinstance(x, torch.Tensor)} - {""})
        if why and not self._said_loose:
            self._said_loose = True
            log.warning("%s: %d of its %d weights are inputs and no constants, so that nothing is folded or packed of them: "
                        "they are %s", self.name, len(loose), len(loose) + len(self.frozen), "; ".join(why))
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
            call = self._key(args)
            bundle = self._calls.get(call)
            if bundle is not None:
                return bundle
            key, plan = self._place(call, args), None
            whole = self.bundles.get(key)
            if whole is None:
                if len(self.bundles) >= self.options.sizes:
                    self._refuse_sizes()
                    return Bundle(None)
                plan = self._plan(key, args)
                if self.options.first == "eager":
                    whole = Bundle(None, how="eager")
                else:
                    whole = self._default(plan, args)
                if self.no_range and plan.bounds is not None:
                    return self._built(args)
                self._set({**self.bundles, key: whole})
            bundle = self._taken(key, whole, call, args)
        if plan is None or (self.options.first != "eager" and (whole.model is None or self.options.tune == "off")):
            return bundle
        self._improve(key, whole, plan, args)
        with self._lock:
            return self._taken(key, self.bundles.get(key, whole), call, args)

    def _taken(self, key: Any, whole: Bundle, call: Any, args: Sequence[Any]) -> Bundle:
        if len(self._calls) >= CALLS_MAX:
            self._calls = {}
        bundle = self._calls[call] = self._at(key, whole, args)
        return bundle

    def _at(self, key: Any, bundle: Bundle, args: Sequence[Any]) -> Bundle:
        return bundle.at(values_of(self.sizes, args)) if isinstance(key, Bounds) else bundle

    def _place(self, call: Any, args: Sequence[Any]) -> Any:
        """The key of the bundle that a call has, or should have: the least range that has its sizes, or its own."""
        if not self._sized or call in self.bundles or self.options.size_limit == 0:
            return call
        try:
            self.sizes = self.sizes or ([] if self.no_range else sizes_of(self.module, self.frozen))
        except Exception as error:  # PyTorch's symbols are no public interface: without them it goes on as well.
            self._refuse_range(error)
        values = values_of(self.sizes, args)
        if not values or any(value < size.least for size, value in zip(self.sizes, values)):
            return call
        ranges = [key for key in self.bundles if isinstance(key, Bounds) and all(
            value <= bound for value, bound in zip(values, key.bounds))]
        if ranges or self.no_range:
            return min(ranges, key=lambda key: math.prod(key.bounds), default=call)
        before = [key.bounds for key in self.bundles if isinstance(key, Bounds)]
        bounds = bounds_of(self.sizes, values, before, self.options.size_limit)
        return call if bounds is None else Bounds(bounds)

    def _plan(self, key: Any, args: Sequence[Any]) -> Plan:
        if isinstance(key, Bounds):
            return Plan(self.module, self.weights, self.frozen, key.bounds)
        module = importer.with_sizes(self.module, args) if self._sized else self.module
        return Plan(module, self.weights, self.frozen)

    @property
    def sizes_text(self) -> str:
        """For people; empty for a graph of fixed sizes."""
        if not self._sized:
            return ""
        ranges = [", ".join(f"{size.least} to {bound}" for size, bound in zip(self.sizes, key.bounds))
                  for key in self.bundles if isinstance(key, Bounds)]
        return f"sizes {' and '.join(ranges)}" if ranges else (
            f"a bundle for each size: {self.no_range or 'as the options want it'}")

    def _refuse_range(self, error: Exception) -> None:
        if not self.no_range:
            self.no_range = str(error) or type(error).__name__
            log.warning("%s has a bundle for each of its sizes, and none for a range of them: %s", self.name, error)

    def _drop(self, key: Any) -> None:
        """The next call makes one of its own sizes."""
        self._set({one: bundle for one, bundle in self.bundles.items() if one != key})

    def _default(self, plan: Plan, args: Sequence[Any]) -> Bundle:
        try:
            return self._compiled(plan, args)
        except Exception as error:
            if plan.bounds is not None:
                self._refuse_range(error)
                return Bundle(None)
            if self.options.strict or not isinstance(error, (BurnishError, Unsupported)):
                raise
            self.refused = str(error)
            log.warning("%s stays in PyTorch: %s", self.name, error)
            return Bundle(None)

    # ---- Better bundles.

    @property
    def _is_awaited(self) -> bool:
        """Whether a call waits for what is better."""
        return self.options.first == "wait" and self.options.tune == "now"

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

        if self._is_awaited:
            work()
            return
        thread = threading.Thread(target=work, name=f"burnish-{self.name}", daemon=True)
        _behind.add(thread)
        thread.start()

    def _improved(self, key: Any, current: Bundle, plan: Plan, args: Sequence[Any]) -> None:
        if current.how == "eager":
            with _compiling:
                new = self._default(plan, args)
                if new.model is None and plan.bounds is not None:
                    with self._lock:
                        self._drop(key)
                    return
                if not self._swapped(key, current, new, plan, args):
                    return
            current = self.bundles.get(key, new)
        if self.options.tune == "off" or current.model is None:
            return
        with _tuning, contextlib.ExitStack() as stack:
            pace = stack.enter_context(_pace.behind_calls()) if self.options.tune == BACKGROUND else None
            rebuilds = self.rebuilds
            for _ in range(CHANGES_MAX):
                begin = time.thread_time()
                try:
                    new = self._compiled(plan, args, tuned=True)
                except BurnishError as error:
                    log.warning("%s was not tuned: %s", self.name, error)
                    return
                if pace is not None:
                    # The graph's file, what children said, the bundle's check: no child's, so nobody else counts it.
                    pace.await_turn(time.thread_time() - begin)
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
            return current, Plan(plan.module, weights, self.frozen, plan.bounds)

    def _swapped(self, key: Any, old: Bundle, new: Bundle, plan: Plan, args: Sequence[Any],
                 pace: _pace.Pace | None = None) -> bool:
        """Whether the piece still is what `plan` says; then it has the better of both."""
        if new.model is not None and old.model is not None and new.model.path == old.model.path:
            return True  # The cache's, which runs already.
        why = "" if new.model is None else self._refusal(key, old, new, plan, args, pace)
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
                if plan.bounds is not None:
                    self._refuse_range(Unsupported(why))
                    self._drop(key)
                    return False
                self.refused, new = why, Bundle(None)
            # One store: a call that has begun ends with what it began with, also where its file goes.
            self._set({**self.bundles, key: new})
            old.discard()
            return True

    def _refusal(self, key: Any, old: Bundle, new: Bundle, plan: Plan, args: Sequence[Any],
                 pace: _pace.Pace | None) -> str:
        """Why `new` must not take the place of `old`; empty: it may."""
        alone = self._beside_calls(old)

        def await_turn(seconds: float) -> None:
            if pace is not None:
                pace.await_turn(seconds * self.thread_count())
            elif not self._is_awaited:
                time.sleep(seconds * PAUSE)

        return refusal(lambda given: self._run(self._at(key, alone, given), given),
                       lambda given: self._run(self._at(key, new, given), given), args,
                       error_max=self._error_max(plan.module), await_turn=await_turn)

    def _beside_calls(self, bundle: Bundle) -> Bundle:
        """The same with activations of its own: runs of one model follow each other, and who waits for those of calls
        looks slower than what nobody calls yet."""
        if bundle.model is None:
            return bundle
        try:
            model = load(bundle.model.path, threads=_pool(self.thread_count()), share_with=bundle.model)
        except BurnishError as error:  # Its file has left the cache.
            log.info("%s: what runs is timed between its calls: %s", self.name, error)
            return bundle
        return dataclasses.replace(bundle, model=model)

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
            collector.postpone()
            plan.written.append(self._written(plan, args))
        graph, empty = plan.written[0]
        threads = self.thread_count()
        refit = self.rebuilds > 0 and not self.options.narrows  # What changed once will change again.
        one = made(graph, self.options, threads, _pool(threads), refit, tuned)
        log.info("%s: %s", self.name, one.how)
        return dataclasses.replace(empty, model=one.model, refits=one.refits, own=one.own, how=one.how)

    def _written(self, plan: Plan, args: Sequence[Any]) -> tuple[Graph, Bundle]:
        module, constants = plan.module, {}
        placeholders = module.graph.find_nodes(op="placeholder")
        for index in plan.frozen:
            constants[placeholders[index].name] = args[index]
        if plan.bounds is not None:
            one = range_of(module, self.sizes, plan.bounds, constants, self.name)
            graph, written, value_of = one.graph, one.written, At(one.sizes, one.bounds).of
            bundle = Bundle(None, made=one.results.layouts(value_of), range=(one.sizes, one.results))
            placeholders = one.module.graph.find_nodes(op="placeholder")
        else:
            missing = importer.reasons(module.graph) if self._sized else None  # Else who cut it has asked.
            if missing:
                raise Unsupported(importer.names_of(missing))
            builder = GraphBuilder(self.name)
            written, graph = importer.Written(builder, module, constants, unread=False), builder.graph
            results = Results(module, written.returned)
            results.name_outputs(builder, written.values)
            bundle = Bundle(None, made=results.layouts(value_said), results=results.results(value_said))
        bundle.names = {index: written.constants[placeholders[index].name] for index in plan.frozen}
        bundle.taken = [i for i, node in enumerate(placeholders)
                        if node.name not in constants and node in written.read]
        self._dump(graph, module)
        return graph, bundle

    def _dump(self, graph: Graph, module: torch.fx.GraphModule) -> None:
        if self.options.dump is None:
            return
        os.makedirs(self.options.dump, exist_ok=True)
        stem = os.path.join(self.options.dump, f"{self.name}_{len(self.bundles)}")
        graph.save(stem + ".graph")
        with open(stem + ".txt", "w", encoding="utf-8") as file:
            file.write(module.print_readable(print_output=False))


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
