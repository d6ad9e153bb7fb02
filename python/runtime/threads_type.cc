#include "python/runtime/threads_type.h"

#include <structmember.h>

#include <deque>
#include <string>
#include <vector>

#include "python/runtime/errors.h"

namespace burnish {
namespace {

constexpr char kDoc[] = R"(Threads(count=0, *, cpus=None, spin_us=0, openmp=None)
--

Threads for any number of models, which run on them one after the other.

Parameters
----------
count : int, default 0
    How many threads take part in an inference, the caller's included. 0: as many as there are CPUs,
    or as there are numbers in `cpus`.
cpus : sequence of int, optional
    The CPU of each, of those that the process may use; the caller's thread runs on the first during
    each inference. By default threads are not pinned.
spin_us : int, default 0
    Microseconds that a thread spins before it sleeps, between steps and between inferences. 0: 50.
openmp : tuple of int, optional
    Addresses of GOMP_parallel, omp_get_thread_num and omp_get_num_threads in a libgomp that the
    process has loaded and keeps: inferences run on its threads, and none are started. In a forked
    child, where those are gone, they run on threads of their own. Not with `cpus`.

Raises
------
BurnishError
    They cannot be started.

Examples
--------
>>> threads = burnish_runtime.Threads(2)
>>> encoder = burnish_runtime.load("encoder.bundle", threads=threads)
>>> decoder = burnish_runtime.load("decoder.bundle", threads=threads)
)";

constexpr char kDisjointDoc[] = R"(disjoint(count, threads=0)
--

Threads for `count` models that run at the same time, called by as many threads of Python.

Where there are CPUs enough, each has some that no other has, and is pinned to them; else the system
chooses. Models of one bundle share its parameters by ``share_with``.

Parameters
----------
count : int
    How many Threads to make.
threads : int, default 0
    The count of each. 0: the CPUs shared out evenly, one at least.

Returns
-------
list of Threads

Examples
--------
>>> first, second = burnish_runtime.Threads.disjoint(2)
>>> a = burnish_runtime.load("resnet50.bundle", threads=first)
>>> b = burnish_runtime.load("resnet50.bundle", threads=second, share_with=a)
)";

struct ThreadsObject {
  PyObject_HEAD;
  BurnishThreads* threads;
};

PyTypeObject* threads_type = nullptr;

constexpr int kDisjointMax = 1024;  // As burnish_threads_create_disjoint's.

void Free(PyObject* self) {
  burnish_threads_release(reinterpret_cast<ThreadsObject*>(self)->threads);
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

// False: an exception.
bool ReadCpus(PyObject* cpus, std::vector<int32_t>& numbers) {
  if (cpus == Py_None) return true;
  const Ref tuple(PySequence_Tuple(cpus));
  if (!tuple) return false;
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple.get()); ++i) {
    const long number = PyLong_AsLong(PyTuple_GetItem(tuple.get(), i));
    if (number == -1 && PyErr_Occurred() != nullptr) return false;
    if (number < 0 || number > INT32_MAX) {
      PyErr_Format(PyExc_ValueError, "got CPU %ld, want 0 or more", number);
      return false;
    }
    numbers.push_back(static_cast<int32_t>(number));
  }
  if (numbers.empty()) PyErr_SetString(PyExc_ValueError, "got no CPUs, want one for each thread");
  return !numbers.empty();
}

// libgomp's functions, as GCC's compiled code calls them (libgomp's manual, "The libgomp ABI").
struct OpenMp {
  void (*parallel)(void (*work)(void*), void* argument, unsigned threads, unsigned flags);
  int (*thread_number)();
  int (*thread_count)();

  friend bool operator==(const OpenMp&, const OpenMp&) = default;
};

// A BurnishParallel over an OpenMp.
void RunInTeam(void* openmp, BurnishWork work, void* work_arg, int32_t workers_max) {
  struct Call {
    const OpenMp& openmp;
    BurnishWork work;
    void* work_arg;
  } call = {*static_cast<const OpenMp*>(openmp), work, work_arg};
  call.openmp.parallel(
      [](void* argument) {
        const Call& call = *static_cast<const Call*>(argument);
        call.work(call.work_arg, call.openmp.thread_number(), call.openmp.thread_count());
      },
      &call, static_cast<unsigned>(workers_max), /*flags=*/0);
}

// Models keep their threads longer than Python keeps the object, and so what these run on: for as
// long as the process lives, one of each. nullptr: an exception.
OpenMp* ReadOpenMp(PyObject* addresses) {
  static std::deque<OpenMp> known;
  unsigned long long parallel = 0, number = 0, count = 0;
  if (!PyTuple_Check(addresses) ||
      PyArg_ParseTuple(addresses, "KKK", &parallel, &number, &count) == 0 || parallel == 0 ||
      number == 0 || count == 0) {
    PyErr_Clear();
    PyErr_SetString(PyExc_ValueError, "openmp: want a tuple of three addresses");
    return nullptr;
  }
  const OpenMp given = {reinterpret_cast<decltype(OpenMp::parallel)>(parallel),
                        reinterpret_cast<decltype(OpenMp::thread_number)>(number),
                        reinterpret_cast<decltype(OpenMp::thread_count)>(count)};
  for (OpenMp& one : known) {
    if (one == given) return &one;
  }
  return &known.emplace_back(given);
}

// Takes `threads`, also where it returns nullptr, with an exception.
PyObject* Wrap(PyTypeObject* type, BurnishThreads* threads) {
  auto* self = PyObject_New(ThreadsObject, type);
  if (self == nullptr) {
    burnish_threads_release(threads);
    return nullptr;
  }
  self->threads = threads;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* New(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* const kNames[] = {"count", "cpus", "spin_us", "openmp", nullptr};
  int count = 0;
  long long spin_us = 0;
  PyObject *cpus = Py_None, *openmp = Py_None;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "|i$OLO:Threads", const_cast<char**>(kNames),
                                  &count, &cpus, &spin_us, &openmp) == 0) {
    return nullptr;
  }
  if (count < 0 || spin_us < 0 || spin_us > INT64_MAX / 1000) {
    return PyErr_Format(PyExc_ValueError, "got count=%d and spin_us=%lld, want 0 or more", count,
                        spin_us);
  }
  return Guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    std::vector<int32_t> numbers;
    if (!ReadCpus(cpus, numbers)) return nullptr;
    if (count != 0 && !numbers.empty() && numbers.size() != static_cast<size_t>(count)) {
      return PyErr_Format(PyExc_ValueError, "got %zu CPUs, want one for each of %d threads",
                          numbers.size(), count);
    }
    BurnishThreadsOptions options = {};
    options.struct_size = sizeof(options);
    options.thread_count = numbers.empty() ? count : static_cast<int32_t>(numbers.size());
    options.cpus = numbers.empty() ? nullptr : numbers.data();
    options.spin_ns = spin_us * 1000;
    if (openmp != Py_None) {
      options.parallel_arg = ReadOpenMp(openmp);
      if (options.parallel_arg == nullptr) return nullptr;
      options.parallel = &RunInTeam;
      options.parallel_ends_at_fork = 1;
    }
    BurnishThreads* threads = nullptr;
    if (const BurnishStatus status = burnish_threads_create(&options, &threads);
        status != BURNISH_OK) {
      RaiseStatus(Doing::kOther, status, burnish_last_error());
      return nullptr;
    }
    return Wrap(type, threads);
  });
}

PyObject* Disjoint(PyObject*, PyObject* arguments, PyObject* keywords) {
  static const char* const kNames[] = {"count", "threads", nullptr};
  int count = 0, thread_count = 0;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "i|i:disjoint", const_cast<char**>(kNames),
                                  &count, &thread_count) == 0) {
    return nullptr;
  }
  if (count < 1 || count > kDisjointMax || thread_count < 0) {
    return PyErr_Format(PyExc_ValueError, "got count=%d and threads=%d, want 1 to %d and 0 or more",
                        count, thread_count, kDisjointMax);
  }
  return Guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    BurnishThreadsOptions options = {};
    options.struct_size = sizeof(options);
    options.thread_count = thread_count;
    std::vector<BurnishThreads*> made(static_cast<size_t>(count));
    if (const BurnishStatus status = burnish_threads_create_disjoint(&options, count, made.data());
        status != BURNISH_OK) {
      RaiseStatus(Doing::kOther, status, burnish_last_error());
      return nullptr;
    }
    Ref list(PyList_New(count));
    bool is_whole = static_cast<bool>(list);
    for (int i = 0; i < count; ++i) {
      PyObject* const threads = Wrap(threads_type, made[static_cast<size_t>(i)]);
      is_whole = is_whole && threads != nullptr;
      if (is_whole) {
        PyList_SetItem(list.get(), i, threads);
      } else {
        Py_XDECREF(threads);
      }
    }
    return is_whole ? list.release() : nullptr;
  });
}

PyObject* GetCount(PyObject* self, void*) {
  return PyLong_FromLong(burnish_threads_count(ThreadsOf(self)));
}

PyObject* Repr(PyObject* self) {
  return PyUnicode_FromFormat("burnish_runtime.Threads(%d)",
                              burnish_threads_count(ThreadsOf(self)));
}

}  // namespace

bool AddThreadsType(PyObject* module) {
  static PyGetSetDef properties[] = {
      {"count", GetCount, nullptr, "How many threads take part in an inference.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr},
  };
  static PyMethodDef methods[] = {
      {"disjoint", AsMethod(Disjoint), METH_VARARGS | METH_KEYWORDS | METH_STATIC, kDisjointDoc},
      {nullptr, nullptr, 0, nullptr},
  };
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(kDoc)},
      {Py_tp_new, reinterpret_cast<void*>(New)},
      {Py_tp_dealloc, reinterpret_cast<void*>(Free)},
      {Py_tp_repr, reinterpret_cast<void*>(Repr)},
      {Py_tp_methods, methods},
      {Py_tp_getset, properties},
      {0, nullptr},
  };
  PyType_Spec spec = {
      .name = "burnish_runtime.Threads",
      .basicsize = sizeof(ThreadsObject),
      .flags = Py_TPFLAGS_DEFAULT,
      .slots = slots,
  };
  if (threads_type == nullptr) {
    threads_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  }
  return threads_type != nullptr && PyModule_AddType(module, threads_type) == 0;
}

bool IsThreads(PyObject* object) { return PyObject_TypeCheck(object, threads_type) != 0; }

BurnishThreads* ThreadsOf(PyObject* object) {
  return reinterpret_cast<ThreadsObject*>(object)->threads;
}

}  // namespace burnish
