// burnish_runtime.Model and TensorInfo.
#ifndef PYTHON_RUNTIME_MODEL_TYPE_H_
#define PYTHON_RUNTIME_MODEL_TYPE_H_

#include "python/runtime/python_object.h"

namespace burnish {

// The types, once they were made; into the module.
bool AddModelTypes(PyObject* module);

// open_bundle(path, threads, share_with, trust_parameters, loop_limit): what burnish_runtime.load
// calls.
PyObject* OpenBundle(PyObject* module, PyObject* arguments);

}  // namespace burnish

#endif  // PYTHON_RUNTIME_MODEL_TYPE_H_
