// burnish_runtime.Threads.
#ifndef PYTHON_RUNTIME_THREADS_TYPE_H_
#define PYTHON_RUNTIME_THREADS_TYPE_H_

#include "burnish/burnish.h"
#include "python/runtime/python_object.h"

namespace burnish {

// The type, once it was made; a new reference to it for the module the first time.
bool AddThreadsType(PyObject* module);
bool IsThreads(PyObject* object);
// `object` is a Threads.
BurnishThreads* ThreadsOf(PyObject* object);

}  // namespace burnish

#endif  // PYTHON_RUNTIME_THREADS_TYPE_H_
