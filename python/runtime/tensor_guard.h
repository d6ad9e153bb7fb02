// burnish_runtime._burnish_runtime.TensorGuard: whether tensors are still what they were.
//
// For a library that counts writes to its tensors, as PyTorch does, and tensors that others may
// write to behind its back. Looked at before every inference, so that it has to be quick.
#ifndef PYTHON_RUNTIME_TENSOR_GUARD_H_
#define PYTHON_RUNTIME_TENSOR_GUARD_H_

#include "python/runtime/python_object.h"

namespace burnish {

bool AddTensorGuardType(PyObject* module);

}  // namespace burnish

#endif  // PYTHON_RUNTIME_TENSOR_GUARD_H_
