"""Random programs in torch.compile(backend="burnish") and in eager: ./dev torch-fuzz.

A group of programs is one function, which is compiled once. It is called on good inputs, and once for each index that is
out of bounds: what eager raises then the compiled function has to raise, by the same class. Dynamic groups are called with
several sizes. A program that differs is made small, printed, and with --keep written to tests/torch_fuzz/goldens/NAME.json,
which CI replays.
"""

import argparse
import functools
import logging
import os

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._subclasses.fake_tensor import FakeTensorMode

from burnish._torch import backend, importer, pieces
from burnish._torch.options import options_of

import generator
from program import Input, Program, Step, Unfit, answer, difference, load, renumbered, save

GOLDENS = "tests/torch_fuzz/goldens"
GROUP, DYNAMIC_GROUP, WALK_GROUP = 25, 6, 150
DYNAMIC_EVERY = 10  # Of so many groups one is dynamic.
DIRECT_EVERY = 5  # And one is converted as it is.
OPTIONS = {"fallback": "eager", "cache": False}
LEGAL_MAX = 12  # Beyond each extent of a program.
SIZES = (5, 3, 8)  # The first is what programs are made for.


def _function(programs):
    """One function of all programs' inputs: (inputs of each) -> (outputs of each)."""
    names = [f"program_{i}" for i in range(len(programs))]
    text = "import torch\n\n" + "\n\n".join(one.source(name) for one, name in zip(programs, names))
    calls = []
    at = 0
    for one, name in zip(programs, names):
        calls.append(f"{name}(*x[{at}:{at + len(one.inputs)}])")
        at += len(one.inputs)
    text += f"\n\ndef whole(*x):\n    return ({''.join('*' + call + ', ' for call in calls)})\n"
    space = {}
    exec(compile(text, "<programs>", "exec"), space)
    return space["whole"]


def _graph(programs):
    """The same as a graph, as Dynamo would trace it."""
    graph, outputs, made = torch.fx.Graph(), [], []
    for i, one in enumerate(programs):
        made.append([graph.placeholder(f"x{i}_{k}") for k in range(len(one.inputs))])
    for one, given in zip(programs, made):
        outputs += one.add_to(graph, given)
    graph.output(tuple(outputs))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def _traced(program, first, direct):
    """Tensors that lie as PyTorch's tracing has the outputs: as fake tensors, or as the graph of AOTAutograd says."""
    given = program.tensors(first=first)
    if direct:
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            return list(_function([program])(*map(mode.from_tensor, given)))

    def compiled(graph, _):
        said = [node.meta["val"] for node in graph.graph.output_node().args[0]]
        # Without values: elements of one may lie in one place.
        return make_boxed_func(lambda *_: [torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype)
                                           for fake in said])

    with torch.no_grad():
        return list(aot_autograd(fw_compiler=compiled, decompositions=importer.decompositions())(_graph([program]), given)(*given))


class Judge:
    """Of programs, together or alone; `wrong` says what differs. `direct`: the graph is converted as it is, as
    torch.export would hand it over, instead of by AOTAutograd, which writes some operators as others; then no step may write."""

    def __init__(self, dynamic=False, direct=False):
        self.dynamic, self.direct = dynamic, direct
        logging.getLogger("burnish.torch").setLevel(logging.ERROR)  # Each index out of bounds is a warning there.

    def wrong(self, programs):
        """{place: what is wrong}, of the programs that are; None: the group as a whole fails, for a reason to print."""
        for piece in pieces.live_pieces():
            piece.refused = ""  # Of groups before.
        function = _function(programs)
        run = self._compiled(function, programs)
        found = {}
        for first in SIZES if self.dynamic else (None,):
            try:
                answers = [answer(one, first) for one in programs]
            except Unfit:
                continue  # What is made for one size is none for another.
            given = [one.tensors(first=first) for one in programs]
            if self.dynamic:
                for one, tensors in zip(programs, given):
                    for described, tensor in zip(one.inputs, tensors):
                        if described.dynamic:
                            torch._dynamo.maybe_mark_dynamic(tensor, 0)
            with torch.no_grad():
                got = run(*(tensor for tensors in given for tensor in tensors))
            refused = [piece.refused for piece in pieces.live_pieces() if piece.refused]
            if refused:
                raise AssertionError(f"the compiler refuses a piece: {refused[0]}")
            got = list(got)
            for i, (one, tensors, want) in enumerate(zip(programs, given, answers)):
                outputs = [got.pop(0) for _ in one.outputs]
                text = difference([*outputs, *tensors], want, functools.partial(_traced, one, first, self.direct))
                if text:
                    found.setdefault(i, text + (f" (size {first})" if first else ""))
        if not self.dynamic:
            for i, one in enumerate(programs):
                for bad in one.bad if i not in found else ():
                    text = self._raises(function, run, programs, i, bad)
                    if text:
                        found[i] = text
                        break
        return found

    def _compiled(self, function, programs):
        """What one size needs is traced without Dynamo, which takes as long as all that follows and is not what is asked."""
        if self.dynamic:
            torch._dynamo.reset()
            return torch.compile(function, backend="burnish", options=OPTIONS)
        with torch.no_grad():
            inputs = [tensor for one in programs for tensor in one.tensors()]
            graph = _graph(programs)
            if not self.direct:
                return backend.burnish(graph, inputs, options=OPTIONS)
            run = backend.boxed(importer.with_sizes(graph, inputs), [], options_of(OPTIONS))
            return lambda *given: run(list(given))

    def _raises(self, function, run, programs, which, bad):
        outcomes = []
        for call in (function, run):
            given = [tensor for i, one in enumerate(programs) for tensor in one.tensors(bad if i == which else None)]
            try:
                with torch.no_grad():
                    call(*given)
                outcomes.append(None)
            except Exception as error:  # Which class is what is asked.
                outcomes.append(error)
        want, got = outcomes
        if type(want) is type(got) or got is None and not _is_seen(programs[which], bad):
            return ""
        return f"with {bad[2]} in input {bad[0]}: got {_said(got)}, want {_said(want)}"


def _is_seen(program, bad):
    """Whether an output of eager depends on the index: a check of what nothing reads is dead code (docs/pytorch.md)."""
    function, seen = _function([program]), []
    for value in range(-LEGAL_MAX, LEGAL_MAX):
        try:
            with torch.no_grad():
                seen.append(function(*program.tensors((*bad[:2], value))))
        except (IndexError, RuntimeError):
            continue
    return not all(torch.allclose(one, other, 0, 0, equal_nan=True)
                   for many in seen[1:] for one, other in zip(many, seen[0]))


def _said(error):
    return "no error" if error is None else f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"


def _whole(judge, programs):
    """`wrong` of programs, by halves where a group fails as a whole."""
    try:
        return judge.wrong(programs)
    except Exception as error:
        if len(programs) == 1:
            return {0: f"the call fails: {_said(error)}"}
    half = len(programs) // 2
    found = _whole(judge, programs[:half])
    found.update({half + i: text for i, text in _whole(judge, programs[half:]).items()})
    return found


# ---- Smaller programs.

def reduced(judge, program):
    """A program that is wrong and as small as this gets it, and what is wrong with it. One that is right alone is kept
    whole: the group around it matters."""
    def fails(one):
        try:
            answer(one)
        except Unfit:
            return ""
        return _whole(judge, [one]).get(0, "")

    why = fails(program)
    if not why:
        return program, ""
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(program):
            text = fails(smaller)
            if text:
                program, why, progress = smaller, text, True
                break
    return program, why


def _smaller(program):
    for i in range(len(program.outputs)):
        if len(program.outputs) > 1:
            yield Program(program.inputs, program.steps, [program.outputs[i]], program.bad).used()
    for i in range(len(program.bad)):
        if len(program.bad) > 1:
            yield Program(program.inputs, program.steps, program.outputs, [program.bad[i]])
    if program.bad:
        yield Program(program.inputs, program.steps, program.outputs, [])
    number = len(program.inputs)
    for i, step in enumerate(program.steps[:-1]):
        cut = _cut(program, i, number)
        number += step.results
        if cut is not None:
            yield cut
    for i, one in enumerate(program.inputs):
        if one.strides is not None:
            inputs = list(program.inputs)
            inputs[i] = Input(one.values, one.shape, one.dtype, None, one.dynamic)
            yield Program(inputs, program.steps, program.outputs, program.bad)


def _cut(program, which, number):
    """The step's one result becomes an input."""
    step = program.steps[which]
    if step.results != 1 or step.writes:
        return None
    try:
        value = answer(Program(program.inputs, program.steps[:which + 1], [number], [])).values[0][0]
    except Unfit:
        return None
    new = Input(value.reshape(-1).tolist(), list(value.shape), str(value.dtype)[6:])
    count = len(program.inputs)

    def moved(n):
        return n if n < count else count if n == number else n + 1 if n < number else n

    steps = [Step(one.op, renumbered(one.args, moved), renumbered(one.kwargs, moved),
                            one.kind, one.results) for i, one in enumerate(program.steps) if i != which]
    return Program([*program.inputs, new], steps, [moved(n) for n in program.outputs if n != number] or [count],
                   program.bad).used()


# ---- Runs.

def groups(count, seed):
    """(judge, programs) of so many programs."""
    made = number = 0
    while made < count:
        dynamic, direct = number % DYNAMIC_EVERY == DYNAMIC_EVERY - 1, number % DIRECT_EVERY == 1
        size = min(DYNAMIC_GROUP if dynamic else GROUP, count - made)
        yield Judge(dynamic, direct), [generator.generate(f"{seed}/{made + i}", dynamic, may_write=not direct)
                                       for i in range(size)]
        made += size
        number += 1


def walks(types=generator.WALKED):
    """(judge, programs) of what is gone through by operator."""
    for programs in (generator.walk_of_indices(), generator.walk_of_special_numbers(types)):
        for direct in (True, False):
            part = [one for one in programs if direct != any(step.writes for step in one.steps)]
            for at in range(0, len(part), WALK_GROUP):
                yield Judge(direct=direct), part[at:at + WALK_GROUP]


def run(of, seed, keep=None):
    """How many programs are wrong; prints each. `of`: as `groups` gives them."""
    wrong = done = 0
    for judge, programs in of:
        for i, text in sorted(_whole(judge, programs).items()):
            wrong += 1
            small, why = reduced(judge, programs[i])
            print(f"program {seed}/{done + i}: {why or text + ' (in its group alone)'}\n{small.source('program')}")
            for one in small.inputs:
                print(f"    {one.dtype}{one.shape} {one.values[:12]}" + (f" strides {one.strides}" if one.strides else ""))
            print(f"    bad: {small.bad}", flush=True)
            if keep:
                save(small, os.path.join(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."), GOLDENS, f"{keep}{'' if wrong == 1 else f'_{wrong}'}.json"), why or text)
        done += len(programs)
    return wrong


def replay():
    """{name: what is wrong} of the goldens, in groups."""
    names = sorted(name for name in os.listdir(GOLDENS) if name.endswith(".json"))
    programs = [load(os.path.join(GOLDENS, name)) for name in names]
    found = {}
    for dynamic in (False, True):
        of = [(name, one) for name, one in zip(names, programs) if any(given.dynamic for given in one.inputs) == dynamic]
        for at in range(0, len(of), GROUP):
            part = of[at:at + GROUP]
            found.update({part[i][0]: text for i, text in _whole(Judge(dynamic), [one for _, one in part]).items()})
    return found


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev torch-fuzz")
    parser.add_argument("--graphs", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", metavar="NAME", help=f"write what fails to {GOLDENS}/NAME.json")
    options = parser.parse_args(arguments)
    wrong = run(walks(), "walk", options.keep and options.keep + "_walk")
    wrong += run(groups(options.graphs, options.seed), options.seed, options.keep)
    print(f"{options.graphs} programs and all walks, {wrong} wrong")
    return 1 if wrong else 0
