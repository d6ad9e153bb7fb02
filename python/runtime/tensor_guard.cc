#include "python/runtime/tensor_guard.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "python/runtime/errors.h"

namespace burnish {
namespace {

constexpr char kDoc[] = R"(TensorGuard(reader, tensors, chunk_bytes, /)
--

Whether tensors are still what they were when this was made.

Parameters
----------
reader : tuple of int, or None
    How to look into a tensor object without Python: at which byte of the object the library's own
    handle lies, and the addresses of ``int64_t version(const void* handle)`` and
    ``int32_t data(const void* handle, void** pointer)``. None: by ``_version`` and ``data_ptr()``.
tensors : sequence of (int, object, int)
    A tensor's place among the arguments of a call, the tensor, and its bytes, which are dense.
chunk_bytes : int
    How much content a look hashes, by turns through all.
)";

constexpr char kUnchangedDoc[] = R"(unchanged($self, args, /)
--

Whether pointers and counts of writes are the same, one word of each tensor, and one chunk of one.
)";

constexpr char kSameDoc[] = R"(same($self, which, tensor, size_bytes, /)
--

Whether all content of `tensor` is what that of tensor number `which` was; it is known there then.
)";

// Words of a tensor that are compared by turns, one at each look.
constexpr int kProbes = 3;
// Multiples of the golden section spread evenly over an interval.
constexpr double kGolden = 0.6180339887498949;

// Any odd number: multiplication by it is a bijection of 64 bits, so that one word that changes
// changes the hash. This one is 2^64 divided by the golden section, as of Fibonacci hashing.
constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;
constexpr size_t kLanes = 8;  // The products of lanes do not wait for each other.

uint64_t HashOf(const uint8_t* data, int64_t size_bytes) {
  std::array<uint64_t, kLanes> lanes = {1, 2, 3, 4, 5, 6, 7, 8}, words;
  const auto mix = [&] {
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = (lanes[i] ^ words[i]) * kFactor;
  };
  for (; size_bytes >= static_cast<int64_t>(sizeof(words)); size_bytes -= sizeof(words)) {
    std::memcpy(words.data(), data, sizeof(words));
    data += sizeof(words);
    mix();
  }
  if (size_bytes > 0) {
    words = {};
    std::memcpy(words.data(), data, static_cast<size_t>(size_bytes));
    mix();
  }
  uint64_t hash = 0;
  for (const uint64_t lane : lanes) hash = (hash ^ lane ^ (lane >> 32)) * kFactor;
  return hash;
}

using VersionFunction = int64_t (*)(const void* handle);  // May throw.
using DataFunction = int32_t (*)(const void* handle, void** pointer);

struct Reader {
  Py_ssize_t handle_at = 0;  // 0: there is none.
  VersionFunction version = nullptr;
  DataFunction data = nullptr;
};

struct Place {
  const uint8_t* pointer = nullptr;
  int64_t version = 0;
};

struct Entry {
  Place place;
  PyObject* type = nullptr;  // Owned.
  Py_ssize_t index = 0;
  int64_t size_bytes = 0;
  std::array<int64_t, kProbes> probes_at = {};
  std::array<uint64_t, kProbes> probes = {};
  size_t first_hash = 0;
};

struct Chunk {
  uint32_t entry = 0;
  int64_t at = 0;
};

struct Guard {
  ~Guard() {
    for (const Entry& entry : entries) Py_XDECREF(entry.type);
  }
  Reader reader;
  int64_t chunk_bytes = 0;
  std::vector<Entry> entries;
  std::vector<Chunk> chunks;
  std::vector<uint64_t> hashes;  // Of the chunks.
  uint64_t turn = 0;
};

struct GuardObject {
  PyObject_HEAD;
  Guard* guard;
};

PyTypeObject* guard_type = nullptr;

Guard& GuardOf(PyObject* self) { return *reinterpret_cast<GuardObject*>(self)->guard; }

enum class Read { kDone, kRefused, kRaised };

// What Python's attributes refuse, as PyTorch does the version of a tensor of inference mode, is no
// error: such a tensor is not the one that it was.
Read Refused() {
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) return Read::kRaised;
  PyErr_Clear();
  return Read::kRefused;
}

Read ReadByAttributes(PyObject* tensor, Place& place) {
  const Ref pointer(PyObject_CallMethod(tensor, "data_ptr", nullptr));
  if (!pointer) return Refused();
  place.pointer = static_cast<const uint8_t*>(PyLong_AsVoidPtr(pointer.get()));
  const Ref version(PyErr_Occurred() != nullptr ? nullptr
                                                : PyObject_GetAttrString(tensor, "_version"));
  if (!version) return Refused();
  place.version = PyLong_AsLongLong(version.get());
  return PyErr_Occurred() != nullptr ? Refused() : Read::kDone;
}

Read ReadPlace(const Reader& reader, PyObject* tensor, Place& place) {
  if (reader.handle_at == 0) return ReadByAttributes(tensor, place);
  const void* const handle = reinterpret_cast<const char*>(tensor) + reader.handle_at;
  try {
    void* pointer = nullptr;
    if (reader.data(handle, &pointer) != 0) return Read::kRefused;
    place = {.pointer = static_cast<const uint8_t*>(pointer), .version = reader.version(handle)};
  } catch (...) {  // The library's own class.
    return Read::kRefused;
  }
  return Read::kDone;
}

uint64_t WordAt(const Entry& entry, int64_t at) {
  uint64_t word = 0;
  if (entry.size_bytes >= static_cast<int64_t>(sizeof(word))) {
    std::memcpy(&word, entry.place.pointer + at, sizeof(word));
  } else {
    std::memcpy(&word, entry.place.pointer, static_cast<size_t>(entry.size_bytes));
  }
  return word;
}

uint64_t ChunkHash(const Guard& guard, const Entry& entry, const uint8_t* pointer, int64_t at) {
  return HashOf(pointer + at, std::min(guard.chunk_bytes, entry.size_bytes - at));
}

// Without the interpreter's lock: it reads all content.
void Remember(Guard& guard) {
  for (size_t i = 0; i < guard.entries.size(); ++i) {
    Entry& entry = guard.entries[i];
    const int64_t words = entry.size_bytes / static_cast<int64_t>(sizeof(uint64_t));
    for (int k = 0; k < kProbes; ++k) {
      const double part = (k + 1) * kGolden - static_cast<int>((k + 1) * kGolden);
      entry.probes_at[k] =
          static_cast<int64_t>(static_cast<double>(words) * part) * sizeof(uint64_t);
      entry.probes[k] = WordAt(entry, entry.probes_at[k]);
    }
    entry.first_hash = guard.hashes.size();
    for (int64_t at = 0; at < entry.size_bytes; at += guard.chunk_bytes) {
      guard.chunks.push_back({.entry = static_cast<uint32_t>(i), .at = at});
      guard.hashes.push_back(ChunkHash(guard, entry, entry.place.pointer, at));
    }
  }
}

bool AddEntry(Guard& guard, PyObject* item) {
  PyObject* tensor = nullptr;
  Entry entry;
  long long size_bytes = 0;
  if (PyTuple_Check(item) == 0) {
    PyErr_Format(PyExc_TypeError, "got %R, want (place, tensor, bytes)", item);
    return false;
  }
  if (PyArg_ParseTuple(item, "nOL:TensorGuard", &entry.index, &tensor, &size_bytes) == 0) {
    return false;
  }
  entry.size_bytes = size_bytes;
  const Read read = ReadPlace(guard.reader, tensor, entry.place);
  if (read == Read::kRaised) return false;
  if (read == Read::kRefused || entry.place.pointer == nullptr || size_bytes < 1) {
    PyErr_Format(PyExc_ValueError, "tensor %zd does not say where its %lld bytes are", entry.index,
                 size_bytes);
    return false;
  }
  entry.type = Ref::Borrowed(reinterpret_cast<PyObject*>(Py_TYPE(tensor))).release();
  guard.entries.push_back(entry);
  return true;
}

bool ReadReader(PyObject* given, Reader& reader) {
  if (given == Py_None) return true;
  if (PyTuple_Check(given) == 0) {
    PyErr_Format(PyExc_TypeError, "reader: got %R, want None or three numbers", given);
    return false;
  }
  unsigned long long version = 0, data = 0;
  if (PyArg_ParseTuple(given, "nKK:reader", &reader.handle_at, &version, &data) == 0) return false;
  reader.version = reinterpret_cast<VersionFunction>(version);
  reader.data = reinterpret_cast<DataFunction>(data);
  if (reader.handle_at > 0 && version != 0 && data != 0) return true;
  PyErr_SetString(PyExc_ValueError, "reader: want three numbers above 0");
  return false;
}

PyObject* New(PyTypeObject* type, PyObject* arguments, PyObject*) {
  PyObject *given_reader = nullptr, *given_tensors = nullptr;
  long long chunk_bytes = 0;
  if (PyArg_ParseTuple(arguments, "OOL:TensorGuard", &given_reader, &given_tensors, &chunk_bytes) ==
      0) {
    return nullptr;
  }
  if (chunk_bytes < 1) {
    return PyErr_Format(PyExc_ValueError, "chunk_bytes: got %lld, want 1 or more", chunk_bytes);
  }
  return Guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const Ref tensors(PySequence_Tuple(given_tensors));  // Held while they are read.
    if (!tensors) return nullptr;
    Ref self(reinterpret_cast<PyObject*>(PyObject_New(GuardObject, type)));
    if (!self) return nullptr;
    auto* const object = reinterpret_cast<GuardObject*>(self.get());
    object->guard = nullptr;
    object->guard = new Guard;
    Guard& guard = *object->guard;
    guard.chunk_bytes = chunk_bytes;
    if (!ReadReader(given_reader, guard.reader)) return nullptr;
    for (Py_ssize_t i = 0; i < PyTuple_Size(tensors.get()); ++i) {
      if (!AddEntry(guard, PyTuple_GetItem(tensors.get(), i))) return nullptr;
    }
    PyThreadState* const state = PyEval_SaveThread();
    Remember(guard);
    PyEval_RestoreThread(state);
    return self.release();
  });
}

void Free(PyObject* self) {
  delete reinterpret_cast<GuardObject*>(self)->guard;
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

// Pointers and versions of all before any content, which may be gone.
Read ComparePlaces(const Guard& guard, PyObject* args) {
  const Py_ssize_t count = PyTuple_Size(args);
  for (const Entry& entry : guard.entries) {
    if (entry.index < 0 || entry.index >= count) {
      PyErr_Format(PyExc_IndexError, "got %zd arguments, want one at %zd", count, entry.index);
      return Read::kRaised;
    }
    PyObject* const tensor = PyTuple_GetItem(args, entry.index);
    if (reinterpret_cast<PyObject*>(Py_TYPE(tensor)) != entry.type) return Read::kRefused;
    Place place;
    if (const Read read = ReadPlace(guard.reader, tensor, place); read != Read::kDone) return read;
    if (place.pointer != entry.place.pointer || place.version != entry.place.version) {
      return Read::kRefused;
    }
  }
  return Read::kDone;
}

bool CompareContent(Guard& guard) {
  if (guard.entries.empty()) return true;
  ++guard.turn;
  const size_t k = guard.turn % kProbes;
  for (const Entry& entry : guard.entries) {
    if (WordAt(entry, entry.probes_at[k]) != entry.probes[k]) return false;
  }
  const size_t which = guard.turn % guard.chunks.size();
  const Entry& entry = guard.entries[guard.chunks[which].entry];
  return ChunkHash(guard, entry, entry.place.pointer, guard.chunks[which].at) ==
         guard.hashes[which];
}

PyObject* Unchanged(PyObject* self, PyObject* args) {
  if (PyTuple_Check(args) == 0) {
    return PyErr_Format(PyExc_TypeError, "got %R, want a tuple of arguments",
                        reinterpret_cast<PyObject*>(Py_TYPE(args)));
  }
  const Read read = ComparePlaces(GuardOf(self), args);
  if (read == Read::kRaised) return nullptr;
  return PyBool_FromLong(read == Read::kDone && CompareContent(GuardOf(self)) ? 1 : 0);
}

PyObject* Same(PyObject* self, PyObject* arguments) {
  Py_ssize_t which = 0;
  PyObject* tensor = nullptr;
  long long size_bytes = 0;
  if (PyArg_ParseTuple(arguments, "nOL:same", &which, &tensor, &size_bytes) == 0) return nullptr;
  Guard& guard = GuardOf(self);
  if (which < 0 || static_cast<size_t>(which) >= guard.entries.size()) {
    return PyErr_Format(PyExc_IndexError, "there is no tensor %zd", which);
  }
  Entry& entry = guard.entries[static_cast<size_t>(which)];
  Place place;
  const Read read = ReadPlace(guard.reader, tensor, place);
  if (read == Read::kRaised) return nullptr;
  if (read == Read::kRefused || size_bytes != entry.size_bytes || place.pointer == nullptr) {
    return PyBool_FromLong(0);
  }
  bool is_same = true;
  PyThreadState* const state = PyEval_SaveThread();
  for (int64_t at = 0, i = 0; is_same && at < entry.size_bytes; at += guard.chunk_bytes, ++i) {
    is_same = ChunkHash(guard, entry, place.pointer, at) ==
              guard.hashes[entry.first_hash + static_cast<size_t>(i)];
  }
  PyEval_RestoreThread(state);
  if (is_same) {
    entry.place = place;
    PyObject* const before = entry.type;
    entry.type = Ref::Borrowed(reinterpret_cast<PyObject*>(Py_TYPE(tensor))).release();
    Py_DECREF(before);
  }
  return PyBool_FromLong(is_same ? 1 : 0);
}

PyObject* GetPointers(PyObject* self, void*) {
  const Guard& guard = GuardOf(self);
  Ref list(PyList_New(static_cast<Py_ssize_t>(guard.entries.size())));
  for (size_t i = 0; list && i < guard.entries.size(); ++i) {
    PyObject* const pointer =
        PyLong_FromVoidPtr(const_cast<uint8_t*>(guard.entries[i].place.pointer));
    if (pointer == nullptr) return nullptr;
    PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), pointer);
  }
  return list.release();
}

}  // namespace

bool AddTensorGuardType(PyObject* module) {
  static PyMethodDef methods[] = {
      {"unchanged", Unchanged, METH_O, kUnchangedDoc},
      {"same", Same, METH_VARARGS, kSameDoc},
      {nullptr, nullptr, 0, nullptr},
  };
  static PyGetSetDef properties[] = {
      {"pointers", GetPointers, nullptr, "Where the tensors lie, as a list of int.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr},
  };
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(kDoc)},
      {Py_tp_new, reinterpret_cast<void*>(New)},
      {Py_tp_dealloc, reinterpret_cast<void*>(Free)},
      {Py_tp_methods, methods},
      {Py_tp_getset, properties},
      {0, nullptr},
  };
  PyType_Spec spec = {
      .name = "burnish_runtime.TensorGuard",
      .basicsize = sizeof(GuardObject),
      .flags = Py_TPFLAGS_DEFAULT,
      .slots = slots,
  };
  if (guard_type == nullptr) {
    guard_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  }
  return guard_type != nullptr && PyModule_AddType(module, guard_type) == 0;
}

}  // namespace burnish
