// NumPy arrays in memory that a run reads and writes in place.
#ifndef PYTHON_RUNTIME_ALIGNED_ARRAY_H_
#define PYTHON_RUNTIME_ALIGNED_ARRAY_H_

#include <cstdint>

#include "python/runtime/python_object.h"

namespace burnish {

// Once, when the module is made.
bool MakeMemoryType();

struct AlignedMemory {
  Ref object;            // Empty: an exception.
  void* data = nullptr;  // Its first byte.
};

// Uninitialized. `alignment`: a power of two; less than 64 counts as 64, which is what kernels want
// of nearly every tensor (NumPy's own memory is aligned to 16).
AlignedMemory MakeAlignedMemory(uint64_t size_bytes, uint64_t alignment);

// The first elements of such memory, densely, as a NumPy array that keeps it. `shape`: a tuple;
// `numpy_type`: a numpy.dtype. Empty: an exception.
Ref ArrayIn(const AlignedMemory& memory, PyObject* shape, PyObject* numpy_type);

// burnish_runtime.empty.
PyObject* Empty(PyObject* module, PyObject* arguments, PyObject* keywords);
extern const char kEmptyDoc[];

}  // namespace burnish

#endif  // PYTHON_RUNTIME_ALIGNED_ARRAY_H_
