// What help() says about a model. A docstring's first line is the signature, up to "--".
#ifndef PYTHON_RUNTIME_MODEL_DOCS_H_
#define PYTHON_RUNTIME_MODEL_DOCS_H_

namespace burnish {

inline constexpr char kModelDoc[] = R"(A compiled model. Made by `burnish_runtime.load`.

Calling it runs one inference. Any number of threads may call one model: their runs follow each
other, and other Python threads go on meanwhile. For inferences at the same time, load the bundle
again with ``share_with``. A forked child may go on with a model; a spawned one loads the file.

Examples
--------
>>> model = burnish_runtime.load("resnet50.bundle")
>>> logits = model(image)                  # or model(input=image)
>>> model.run(image, out=logits)           # into memory that is there already
)";

inline constexpr char kCallDoc[] = R"(__call__($self, /, *inputs, **named_inputs)
--

Run one inference; as `run` without ``out``.
)";

inline constexpr char kRunDoc[] = R"(run($self, /, *inputs, out=None, **named_inputs)
--

Run one inference.

Nothing is converted: types and shapes are those of `Model.inputs`. A tensor is a NumPy array, or
anything else in the CPU's memory that has a buffer, DLPack or ``__array_interface__``; its strides
may be any. Nothing of it is kept, and no copy is made in Python; the runtime copies what is not
dense, or not aligned to 64 bytes (`burnish_runtime.empty` is).

Parameters
----------
*inputs : tensor
    The inputs in the order of `Model.inputs`. One with a default may be left out.
out : tensor or tuple of tensor, optional
    Where the outputs go: a tensor, or a tuple with one for each output, None for one that is to be
    made. They may share memory with inputs, not with each other.
**named_inputs : tensor
    Inputs by name. One that is called "out" has to come by its place, or by `Model.__call__`.

Returns
-------
numpy.ndarray, or a tuple of them
    One for each output; what was given as `out` where that was a tensor. A model of one output
    returns no tuple. Where the data decides about an output's shape, `Model.outputs` has the greatest
    one, which is what `out` must have, and what is returned is the part that this run filled: a
    view of `out`, by slices.

Raises
------
BurnishError
    A tensor has another type, shape or device than the model's, an output's memory may not be
    written (``code`` B0404), an input is missing (B0404) or not the model's (B0405), or the model
    refused the values of its inputs, such as an index that is out of bounds or a count that its
    loop's limit is below (B0406).
TypeError
    An object is no tensor.
)";

inline constexpr char kRefitDoc[] = R"(refit($self, parameters, /)
--

Make a model of the same bundle with other values for some of its parameters.

Nothing is compiled, and this model stays as it is. Of a bundle that was compiled with ``--refit``
all floating-point parameters of more than one element can be replaced; of others only what the
compiler took as it is. What was folded or packed together is replaced together; the error names
what is missing.

Parameters
----------
parameters : mapping of str to tensor
    By the names, of the types and shapes that they had when the model was compiled. Others keep the
    bundle's values.

Returns
-------
Model
    With the same `threads` and `loop_limit` as this one.

Raises
------
BurnishError
    There is no such parameter, or it cannot be replaced (``code`` B0405); it has another type or
    shape, or comes without another that it was packed with (B0404); or the bundle's file is no
    longer what it was.
)";

}  // namespace burnish

#endif  // PYTHON_RUNTIME_MODEL_DOCS_H_
