#include "python/runtime/model_type.h"

#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "burnish/burnish.h"
#include "python/runtime/element_type.h"
#include "python/runtime/errors.h"
#include "python/runtime/model_call.h"
#include "python/runtime/model_docs.h"
#include "python/runtime/threads_type.h"

namespace burnish {
namespace {

struct ModelObject {
  PyObject_HEAD;
  BurnishModel* model;
  PyObject* inputs;  // Tuples of TensorInfo.
  PyObject* outputs;
  PyObject* path;       // str, absolute.
  PyObject* threads;    // As it was given.
  uint64_t loop_limit;  // 0: the default.
  std::vector<OutputPlan>* plans;
};

PyTypeObject* model_type = nullptr;
PyTypeObject* tensor_info_type = nullptr;
PyObject* out_name = nullptr;  // "out", interned: what callers mostly pass.

ModelObject* ModelOf(PyObject* self) { return reinterpret_cast<ModelObject*>(self); }

void Free(PyObject* self) {
  ModelObject* const object = ModelOf(self);
  burnish_close(object->model);
  delete object->plans;
  Py_XDECREF(object->inputs);
  Py_XDECREF(object->outputs);
  Py_XDECREF(object->path);
  Py_XDECREF(object->threads);
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

// A tensor's name for the C API, which the object owns; nullptr: an exception.
const char* NameText(PyObject* name) {
  Py_ssize_t size_bytes = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(name, &size_bytes);
  if (text == nullptr || std::strlen(text) == static_cast<size_t>(size_bytes)) return text;
  // The C API would take what stands before it for the name.
  PyErr_Format(PyExc_ValueError, "got a name with a null character in it: %R", name);
  return nullptr;
}

// --- what a model says about its tensors

Ref ShapeOf(const BurnishTensorInfo& info) {
  Ref shape(PyTuple_New(info.rank));
  for (int32_t axis = 0; shape && axis < info.rank; ++axis) {
    PyObject* const extent = PyLong_FromLongLong(info.shape[axis]);
    if (extent == nullptr) return Ref();
    PyTuple_SetItem(shape.get(), axis, extent);
  }
  return shape;
}

Ref MakeTensorInfo(const BurnishTensorInfo& info) {
  Ref name(PyUnicode_DecodeUTF8(info.name, static_cast<Py_ssize_t>(std::strlen(info.name)),
                                "backslashreplace"));
  Ref shape = ShapeOf(info);
  PyObject* const type = NumpyType(info.dtype);
  Ref dtype = type != nullptr ? Ref::Borrowed(type)
                              : Ref(PyUnicode_FromString(burnish_dtype_name(info.dtype)));
  Ref result(PyStructSequence_New(tensor_info_type));
  if (!name || !shape || !dtype || !result) return Ref();
  PyStructSequence_SetItem(result.get(), 0, name.release());
  PyStructSequence_SetItem(result.get(), 1, dtype.release());
  PyStructSequence_SetItem(result.get(), 2, shape.release());
  return result;
}

using InfoFunction = BurnishStatus (*)(const BurnishModel*, int32_t, BurnishTensorInfo*);

Ref MakeTensorInfos(const BurnishModel* model, int32_t count, InfoFunction get,
                    std::vector<OutputPlan>* plans) {
  Ref tuple(PyTuple_New(count));
  for (int32_t i = 0; tuple && i < count; ++i) {
    BurnishTensorInfo info = {};
    info.struct_size = sizeof(info);
    get(model, i, &info);
    Ref entry = MakeTensorInfo(info);
    if (!entry) return Ref();
    if (plans != nullptr) {
      plans->push_back({.dtype = info.dtype,
                        .size_bytes = info.size_bytes,
                        .alignment = info.bind_alignment,
                        .shape = PyStructSequence_GetItem(entry.get(), 2)});
    }
    PyTuple_SetItem(tuple.get(), i, entry.release());
  }
  return tuple;
}

// --- opening

class ParameterPurpose final : public TensorPurpose {
 public:
  explicit ParameterPurpose(const char* name) : name_(name) {}
  std::string Name() const override { return "parameter \"" + std::string(name_) + "\""; }
  std::string Wanted() const override { return "a tensor as the model's parameter is"; }

 private:
  const char* name_;
};

// Parameters by name, held while a model is opened.
class Replacements {
 public:
  // False: an exception.
  bool Read(PyObject* mapping) {
    items_ = Ref(PyMapping_Items(mapping));
    if (!items_) return PyErr_ExceptionMatches(PyExc_AttributeError) != 0 && NoMapping(mapping);
    const auto count = static_cast<size_t>(PyList_Size(items_.get()));
    views_ = std::vector<TensorView>(count);
    for (size_t i = 0; i < count; ++i) {
      PyObject* const item = PyList_GetItem(items_.get(), static_cast<Py_ssize_t>(i));
      PyObject *name = nullptr, *value = nullptr;
      if (PyTuple_Check(item) == 0) return NoMapping(mapping);
      if (PyArg_ParseTuple(item, "UO:refit", &name, &value) == 0) return false;
      const char* const text = NameText(name);
      if (text == nullptr || !views_[i].Read(value, ParameterPurpose(text))) return false;
      inputs_.push_back(InputOf(views_[i], text));
    }
    return true;
  }
  const std::vector<BurnishInput>& inputs() const { return inputs_; }

 private:
  static bool NoMapping(PyObject* object) {
    PyErr_Format(PyExc_TypeError, "parameters: got %R, want a mapping of names to tensors", object);
    return false;
  }

  Ref items_;  // Owns the names.
  std::vector<TensorView> views_;
  std::vector<BurnishInput> inputs_;
};

// Threads that a model is opened with; it keeps what it needs of them.
class OpeningThreads {
 public:
  OpeningThreads() = default;
  OpeningThreads(const OpeningThreads&) = delete;
  OpeningThreads& operator=(const OpeningThreads&) = delete;
  ~OpeningThreads() { burnish_threads_release(own_); }

  // `given`: None, an int or Threads. False: an exception.
  bool Read(PyObject* given) {
    if (given == Py_None) return true;
    if (IsThreads(given)) {
      threads_ = ThreadsOf(given);
      return true;
    }
    if (PyIndex_Check(given) == 0) {
      PyErr_Format(PyExc_TypeError,
                   "threads: got %R, want None, an int or a burnish_runtime.Threads", given);
      return false;
    }
    const Py_ssize_t count = PyNumber_AsSsize_t(given, nullptr);  // Clips.
    if (count == -1 && PyErr_Occurred() != nullptr) return false;
    if (count < 1 || count > INT32_MAX) {
      PyErr_Format(PyExc_ValueError, "threads: got %R, want 1 or more", given);
      return false;
    }
    return Make(static_cast<int32_t>(count));
  }
  BurnishThreads* get() const { return threads_; }  // nullptr: the model's own choice.

 private:
  // Apart from the bundle, so that each refusal says whose fault it is.
  bool Make(int32_t count) {
    BurnishThreadsOptions options = {};
    options.struct_size = sizeof(options);
    options.thread_count = count;
    const BurnishStatus status = burnish_threads_create(&options, &own_);
    if (status != BURNISH_OK) RaiseStatus(Doing::kOther, status, burnish_last_error());
    threads_ = own_;
    return status == BURNISH_OK;
  }

  BurnishThreads* own_ = nullptr;
  BurnishThreads* threads_ = nullptr;
};

PyObject* Open(PyObject* path, PyObject* threads, uint64_t loop_limit, BurnishOptions options,
               Doing doing) {
  OpeningThreads opening;
  if (!opening.Read(threads)) return nullptr;
  options.threads = opening.get();
  PyObject* encoded = nullptr;
  if (PyUnicode_FSConverter(path, static_cast<void*>(&encoded)) == 0) return nullptr;
  const Ref file(encoded);
  auto* const object = PyObject_New(ModelObject, model_type);
  if (object == nullptr) return nullptr;
  *reinterpret_cast<ModelObject*>(object) = {.ob_base = object->ob_base,
                                             .model = nullptr,
                                             .inputs = nullptr,
                                             .outputs = nullptr,
                                             .path = Ref::Borrowed(path).release(),
                                             .threads = Ref::Borrowed(threads).release(),
                                             .loop_limit = loop_limit,
                                             .plans = nullptr};
  Ref owner(reinterpret_cast<PyObject*>(object));

  PyThreadState* const state = PyEval_SaveThread();
  const BurnishStatus status = burnish_open(PyBytes_AsString(file.get()), &options, &object->model);
  PyEval_RestoreThread(state);
  if (status != BURNISH_OK) {
    RaiseStatus(doing, status, burnish_last_error());
    return nullptr;
  }
  if (loop_limit > 0) burnish_set_loop_limit(object->model, loop_limit);
  object->plans = new std::vector<OutputPlan>;
  object->inputs = MakeTensorInfos(object->model, burnish_input_count(object->model),
                                   burnish_input_info, nullptr)
                       .release();
  object->outputs = MakeTensorInfos(object->model, burnish_output_count(object->model),
                                    burnish_output_info, object->plans)
                        .release();
  return object->inputs == nullptr || object->outputs == nullptr ? nullptr : owner.release();
}

// `given`: None, or a number above 0. False: an exception.
bool ReadLoopLimit(PyObject* given, uint64_t& limit) {
  if (given == Py_None) return true;
  const Ref number(PyNumber_Index(given));
  if (!number) return false;
  const long long value = PyLong_AsLongLong(number.get());
  if (value == -1 && PyErr_Occurred() != nullptr) return false;
  if (value < 1) {
    PyErr_Format(PyExc_ValueError, "loop_limit: got %R, want 1 or more", given);
    return false;
  }
  limit = static_cast<uint64_t>(value);
  return true;
}

BurnishOptions DefaultOptions() {
  BurnishOptions options = {};
  options.struct_size = sizeof(options);
  return options;
}

PyObject* Refit(PyObject* self, PyObject* parameters) {
  return Guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    Replacements replacements;
    if (!replacements.Read(parameters)) return nullptr;
    BurnishOptions options = DefaultOptions();
    options.replacements = replacements.inputs().data();
    options.replacement_count = static_cast<int32_t>(replacements.inputs().size());
    return Open(ModelOf(self)->path, ModelOf(self)->threads, ModelOf(self)->loop_limit, options,
                Doing::kRefitting);
  });
}

// --- running

// `names`: nullptr, or of the last of `values`.
PyObject* Call(PyObject* self, std::span<PyObject* const> values, std::span<PyObject* const> names,
               PyObject* out) {
  std::vector<const char*> texts(values.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const char*& text = texts[values.size() - names.size() + i];
    text = NameText(names[i]);
    if (text == nullptr) return nullptr;
  }
  return RunModel(ModelOf(self)->model, *ModelOf(self)->plans, values, texts, out);
}

bool IsOut(PyObject* name) {
  return name == out_name || PyUnicode_CompareWithASCIIString(name, "out") == 0;
}

// Model.run and Model.__call__, by Python's quicker convention.
PyObject* CallFast(PyObject* self, PyObject* const* arguments, Py_ssize_t positional_count,
                   PyObject* keyword_names, bool takes_out) {
  return Guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const Py_ssize_t keyword_count = keyword_names == nullptr ? 0 : PyTuple_Size(keyword_names);
    std::vector<PyObject*> values(arguments, arguments + positional_count), names;
    PyObject* out = nullptr;
    for (Py_ssize_t i = 0; i < keyword_count; ++i) {
      PyObject* const name = PyTuple_GetItem(keyword_names, i);
      PyObject* const value = arguments[positional_count + i];
      if (takes_out && IsOut(name)) {
        out = value;
        continue;
      }
      names.push_back(name);
      values.push_back(value);
    }
    return Call(self, values, names, out);
  });
}

PyObject* Run(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return CallFast(self, arguments, count, names, /*takes_out=*/true);
}

PyObject* CallMethod(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                     PyObject* names) {
  return CallFast(self, arguments, count, names, /*takes_out=*/false);
}

PyObject* CallSlot(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return Guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    std::vector<PyObject*> values, names;
    std::vector<Ref> held;  // Who made the dictionary may still change it.
    for (Py_ssize_t i = 0; i < PyTuple_Size(arguments); ++i) {
      values.push_back(PyTuple_GetItem(arguments, i));
    }
    PyObject *name = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    while (keywords != nullptr && PyDict_Next(keywords, &position, &name, &value) != 0) {
      held.push_back(Ref::Borrowed(name));
      held.push_back(Ref::Borrowed(value));
      names.push_back(name);
      values.push_back(value);
    }
    return Call(self, values, names, nullptr);
  });
}

// --- the rest of the type

PyObject* GetTarget(PyObject* self, void*) {
  return PyUnicode_FromString(burnish_target(ModelOf(self)->model));
}

PyObject* GetThreadCount(PyObject* self, void*) {
  return PyLong_FromLong(burnish_thread_count(ModelOf(self)->model));
}

std::string TensorsText(const BurnishModel* model, int32_t count, InfoFunction get) {
  std::string text;
  for (int32_t i = 0; i < count; ++i) {
    BurnishTensorInfo info = {};
    info.struct_size = sizeof(info);
    get(model, i, &info);
    text += (i > 0 ? ", " : "") + std::string(info.name) + " " +
            TypeText(info.dtype, info.shape, info.rank);
  }
  return text;
}

PyObject* Repr(PyObject* self) {
  return Guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const BurnishModel* const model = ModelOf(self)->model;
    const std::string inputs = TensorsText(model, burnish_input_count(model), burnish_input_info);
    const std::string outputs =
        TensorsText(model, burnish_output_count(model), burnish_output_info);
    return PyUnicode_FromFormat("<burnish_runtime.Model %R: (%s) -> (%s)>", ModelOf(self)->path,
                                inputs.c_str(), outputs.c_str());
  });
}

PyObject* Reduce(PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError,
                  "a burnish_runtime.Model cannot be pickled: send its path, and load it there");
  return nullptr;
}

// Made when somebody asks: a model may have thousands.
PyObject* GetParameters(PyObject* self, void*) {
  return Guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const BurnishModel* const model = ModelOf(self)->model;
    return MakeTensorInfos(model, burnish_parameter_count(model), burnish_parameter_info, nullptr)
        .release();
  });
}

bool MakeTensorInfoType() {
  static PyStructSequence_Field fields[] = {
      {"name", "As the model has it."},
      {"dtype", "A numpy.dtype. Of bfloat16 it is that of ml_dtypes, or 'bf16' without that."},
      {"shape", "A tuple of int."},
      {nullptr, nullptr},
  };
  PyStructSequence_Desc description = {
      .name = "burnish_runtime.TensorInfo",
      .doc = "An input, output or parameter of a model.",
      .fields = fields,
      .n_in_sequence = 3,
  };
  tensor_info_type = PyStructSequence_NewType(&description);
  return tensor_info_type != nullptr;
}

bool MakeModelType() {
  constexpr int kFast = METH_FASTCALL | METH_KEYWORDS;
  static PyMethodDef methods[] = {
      {"run", AsMethod(Run), kFast, kRunDoc},
      // Beside the slot, for its signature and text.
      {"__call__", AsMethod(CallMethod), kFast | METH_COEXIST, kCallDoc},
      {"refit", Refit, METH_O, kRefitDoc},
      {"__reduce__", Reduce, METH_NOARGS, nullptr},
      {nullptr, nullptr, 0, nullptr},
  };
  static PyMemberDef members[] = {
      {"inputs", T_OBJECT_EX, offsetof(ModelObject, inputs), READONLY,
       "Tuple of TensorInfo, in the order of positional arguments."},
      {"outputs", T_OBJECT_EX, offsetof(ModelObject, outputs), READONLY,
       "Tuple of TensorInfo, in the order of results."},
      {"path", T_OBJECT_EX, offsetof(ModelObject, path), READONLY,
       "The bundle's file, as an absolute path."},
      {nullptr, 0, 0, 0, nullptr},
  };
  static PyGetSetDef properties[] = {
      {"parameters", GetParameters, nullptr, "Tuple of TensorInfo: those that `refit` can replace.",
       nullptr},
      {"target", GetTarget, nullptr,
       "What the bundle was compiled for, such as 'cpu:arch=znver4,...'.", nullptr},
      {"thread_count", GetThreadCount, nullptr, "How many threads take part in an inference.",
       nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr},
  };
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(kModelDoc)},
      {Py_tp_dealloc, reinterpret_cast<void*>(Free)},
      {Py_tp_call, reinterpret_cast<void*>(CallSlot)},
      {Py_tp_repr, reinterpret_cast<void*>(Repr)},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {Py_tp_getset, properties},
      {0, nullptr},
  };
  PyType_Spec spec = {
      .name = "burnish_runtime.Model",
      .basicsize = sizeof(ModelObject),
      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
      .slots = slots,
  };
  out_name = PyUnicode_InternFromString("out");
  model_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return model_type != nullptr && out_name != nullptr;
}

}  // namespace

bool AddModelTypes(PyObject* module) {
  if (model_type == nullptr && (!MakeTensorInfoType() || !MakeModelType())) return false;
  return PyModule_AddType(module, model_type) == 0 &&
         PyModule_AddType(module, tensor_info_type) == 0;
}

PyObject* OpenBundle(PyObject*, PyObject* arguments) {
  PyObject *path = nullptr, *threads = nullptr, *share_with = nullptr, *limit = nullptr;
  int trust_parameters = 0;
  if (PyArg_ParseTuple(arguments, "UOOpO:open_bundle", &path, &threads, &share_with,
                       &trust_parameters, &limit) == 0) {
    return nullptr;
  }
  uint64_t loop_limit = 0;
  if (!ReadLoopLimit(limit, loop_limit)) return nullptr;
  BurnishOptions options = DefaultOptions();
  options.trust_parameters = trust_parameters;
  Doing doing = Doing::kOpening;
  if (share_with != Py_None) {
    if (PyObject_TypeCheck(share_with, model_type) == 0) {
      return PyErr_Format(PyExc_TypeError,
                          "share_with: got %R, want None or a burnish_runtime.Model", share_with);
    }
    options.share_with = ModelOf(share_with)->model;
    doing = Doing::kOther;  // What is wrong may be the other model.
  }
  return Guarded(static_cast<PyObject*>(nullptr),
                 [&] { return Open(path, threads, loop_limit, options, doing); });
}

}  // namespace burnish
