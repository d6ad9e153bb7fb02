#include "python/runtime/aligned_array.h"

#include <algorithm>

#include "python/runtime/element_type.h"
#include "python/runtime/kept_blocks.h"

namespace burnish {

const char kEmptyDoc[] = R"(empty(shape, dtype)
--

Make an uninitialized array whose memory runs take in place.

Memory of NumPy's own is aligned to 16 bytes, and kernels want 64: the runtime copies such an input,
and an output given as ``out``. It does not copy an array of this function.

Parameters
----------
shape : int or tuple of int
dtype : data-type
    A type that tensors of a bundle may have.

Returns
-------
numpy.ndarray
    Row-major, at an address that is a multiple of 64.

Raises
------
TypeError
    There are no tensors of such a type.
)";

namespace {

constexpr uint64_t kAlignmentMin = 64;

// What an array's memory belongs to. An object of its own, because NumPy asks nobody else's
// allocator.
struct MemoryObject {
  PyObject_HEAD;
  KeptBlocks::Block block;  // `data` is in it.
  void* data;
  Py_ssize_t size_bytes;
};

PyTypeObject* memory_type = nullptr;

// Never destroyed: arrays may live until the process ends.
KeptBlocks& Blocks() {
  static auto& blocks = *new KeptBlocks;
  return blocks;
}

void Free(PyObject* self) {
  Blocks().GiveBack(reinterpret_cast<MemoryObject*>(self)->block);
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);  // Instances of types that are made at run time own one.
}

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  auto* memory = reinterpret_cast<MemoryObject*>(self);
  return PyBuffer_FillInfo(view, self, memory->data, memory->size_bytes, /*readonly=*/0, flags);
}

Ref MakeMemory(uint64_t size_bytes, uint64_t alignment) {
  Ref object(reinterpret_cast<PyObject*>(PyObject_New(MemoryObject, memory_type)));
  if (!object) return object;
  auto* memory = reinterpret_cast<MemoryObject*>(object.get());
  memory->block = {};
  memory->data = nullptr;
  memory->size_bytes = static_cast<Py_ssize_t>(size_bytes);
  const uint64_t boundary = std::max(alignment, kAlignmentMin);
  // Not posix_memalign: until glibc 2.38 it looks for a block that is larger by the alignment and
  // gives the rest back, so that a block which was freed is too small for the next array of its
  // size, and the heap grows with the calls.
  if (size_bytes <= PY_SSIZE_T_MAX - boundary) {
    memory->block = Blocks().Take(size_bytes + boundary);
  }
  if (memory->block.memory == nullptr) {
    PyErr_NoMemory();
    return Ref();
  }
  const auto begin = reinterpret_cast<uintptr_t>(memory->block.memory);
  memory->data = reinterpret_cast<void*>((begin + boundary - 1) / boundary * boundary);
  return object;
}

// A tuple of what may be one number; empty with an exception.
Ref ShapeTuple(PyObject* shape) {
  if (PyIndex_Check(shape) == 0) return Ref(PySequence_Tuple(shape));
  return Ref(PyTuple_Pack(1, shape));
}

}  // namespace

bool MakeMemoryType() {
  if (memory_type != nullptr) return true;
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("Memory that an array of burnish_runtime lies in.")},
      {Py_tp_dealloc, reinterpret_cast<void*>(Free)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)},
      {0, nullptr},
  };
  PyType_Spec spec = {
      .name = "burnish_runtime._burnish_runtime.AlignedMemory",
      .basicsize = sizeof(MemoryObject),
      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
      .slots = slots,
  };
  memory_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return memory_type != nullptr;
}

AlignedMemory MakeAlignedMemory(uint64_t size_bytes, uint64_t alignment) {
  Ref memory = MakeMemory(size_bytes, alignment);
  if (!memory) return {};
  void* const data = reinterpret_cast<MemoryObject*>(memory.get())->data;
  return {.object = std::move(memory), .data = data};
}

Ref ArrayIn(const AlignedMemory& memory, PyObject* shape, PyObject* numpy_type) {
  return Ref(PyObject_CallFunctionObjArgs(NumpyArrayClass(), shape, numpy_type, memory.object.get(),
                                          nullptr));
}

PyObject* Empty(PyObject*, PyObject* arguments, PyObject* keywords) {
  static const char* const kNames[] = {"shape", "dtype", nullptr};
  PyObject *shape = nullptr, *type = nullptr;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "OO:empty", const_cast<char**>(kNames),
                                  &shape, &type) == 0) {
    return nullptr;
  }
  const Ref extents = ShapeTuple(shape);
  const int32_t dtype = extents ? ElementTypeOfNumpy(type) : kNoElementType;
  if (dtype == kNoElementType) return nullptr;
  uint64_t size_bytes = static_cast<uint64_t>(ElementBytes(dtype));
  for (Py_ssize_t axis = 0; axis < PyTuple_Size(extents.get()); ++axis) {
    const Py_ssize_t extent =
        PyNumber_AsSsize_t(PyTuple_GetItem(extents.get(), axis), PyExc_OverflowError);
    if (extent == -1 && PyErr_Occurred() != nullptr) return nullptr;
    if (extent < 0) {
      PyErr_Format(PyExc_ValueError, "got an extent of %zd, want 0 or more", extent);
      return nullptr;
    }
    if (__builtin_mul_overflow(size_bytes, static_cast<uint64_t>(extent), &size_bytes)) {
      return PyErr_NoMemory();
    }
  }
  const AlignedMemory memory = MakeAlignedMemory(size_bytes, kAlignmentMin);
  if (!memory.object) return nullptr;
  return ArrayIn(memory, extents.get(), NumpyType(dtype)).release();
}

}  // namespace burnish
