#include "python/runtime/model_call.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "python/runtime/aligned_array.h"
#include "python/runtime/element_type.h"
#include "python/runtime/errors.h"

namespace burnish {
namespace {

using DenseStrides = std::array<int64_t, BURNISH_RANK_MAX>;

constexpr bool kIsInput = true, kIsOutput = false;

// `out` as a tuple of one object an output; empty with an exception. A list could change while its
// tensors are asked for their memory.
Ref GivenOutputs(PyObject* out, size_t output_count) {
  Ref tuple = PyTuple_Check(out) != 0  ? Ref::Borrowed(out)
              : PyList_Check(out) != 0 ? Ref(PyList_AsTuple(out))
                                       : Ref(PyTuple_Pack(1, out));
  if (!tuple) return tuple;
  const auto given = static_cast<size_t>(PyTuple_Size(tuple.get()));
  if (given == output_count) return tuple;
  RaiseTensorError("out: got " + std::to_string(given) + (given == 1 ? " tensor" : " tensors") +
                   ", want a tuple of " + std::to_string(output_count) +
                   ", one for each output of the model (None: one is made)");
  return Ref();
}

bool ReadInputs(const BurnishModel* model, std::span<PyObject* const> values,
                std::span<const char* const> names, std::vector<TensorView>& views,
                std::vector<BurnishInput>& inputs) {
  for (size_t i = 0; i < values.size(); ++i) {
    const ModelTensorPurpose purpose(model, kIsInput, static_cast<int32_t>(i), names[i]);
    if (!views[i].Read(values[i], purpose)) return false;
    inputs[i] = InputOf(views[i], names[i]);
  }
  return true;
}

// `object` as output `index`, in the caller's memory.
bool TakeOutput(const BurnishModel* model, int32_t index, PyObject* object, TensorView& view,
                DenseStrides& dense, BurnishOutput& output) {
  const ModelTensorPurpose purpose(model, kIsOutput, index, nullptr);
  if (!view.Read(object, purpose)) return false;
  BurnishTensorInfo want = {};
  want.struct_size = sizeof(want);
  burnish_output_info(model, index, &want);
  bool is_same = view.dtype() == want.dtype && view.rank() == want.rank;
  for (int32_t axis = 0; is_same && axis < want.rank; ++axis) {
    is_same = view.shape()[axis] == want.shape[axis];
  }
  if (!is_same) {
    RaiseTensorError(purpose.Name() + ": got " + TypeText(view.dtype(), view.shape(), view.rank()) +
                     ", want " + purpose.Wanted());
    return false;
  }
  if (view.is_read_only()) {
    RaiseTensorError(purpose.Name() + ": got memory that must not be written, want " +
                     purpose.Wanted() + " that may");
    return false;
  }
  for (int32_t axis = 0; view.strides() != nullptr && axis < want.rank; ++axis) {
    if (view.strides()[axis] >= 0 || want.shape[axis] <= 1) continue;
    // burnish_run_tensors takes an output's memory from its first element on.
    RaiseTensorError(purpose.Name() + ": got a stride of " +
                     std::to_string(view.strides()[axis] * ElementBytes(want.dtype)) +
                     " bytes on axis " + std::to_string(axis) + ", want " + purpose.Wanted() +
                     " with strides that are not negative");
    return false;
  }
  if (view.data() == nullptr && want.size_bytes != 0) {
    // To the C API that is an output which is not wanted.
    RaiseTensorError(purpose.Name() + ": got no memory, want " + purpose.Wanted());
    return false;
  }
  output.data = view.data();
  output.capacity_bytes = UINT64_MAX;  // What shape and strides say is the object's own word.
  output.strides = view.strides();
  if (output.strides == nullptr) {
    // Said all the same: where the run decides about the shape, elements stay at their places.
    int64_t step = 1;
    for (int32_t axis = want.rank; axis-- > 0; step *= want.shape[axis]) dense[axis] = step;
    output.strides = dense.data();
  }
  return true;
}

// This run's shape of an output, or an index of so much of an array.
Ref ShapeOfRun(const BurnishOutput& output, bool as_index) {
  Ref shape(PyTuple_New(output.rank));
  for (int32_t axis = 0; shape && axis < output.rank; ++axis) {
    Ref extent(PyLong_FromLongLong(output.shape[axis]));
    if (extent && as_index) extent = Ref(PySlice_New(nullptr, extent.get(), nullptr));
    if (!extent) return Ref();
    PyTuple_SetItem(shape.get(), axis, extent.release());
  }
  return shape;
}

// What the run left in memory of ours. Extents only shrink, so that the same size is the same
// shape.
Ref MadeArray(const AlignedMemory& memory, const OutputPlan& plan, const BurnishOutput& output) {
  PyObject* const type = NumpyType(plan.dtype);
  if (output.size_bytes == plan.size_bytes) return ArrayIn(memory, plan.shape, type);
  const Ref shape = ShapeOfRun(output, /*as_index=*/false);
  return shape ? ArrayIn(memory, shape.get(), type) : Ref();
}

// What of the caller's array this run's shape has: elements lie at their places.
Ref GivenArray(Ref array, const OutputPlan& plan, const BurnishOutput& output) {
  if (output.size_bytes == plan.size_bytes) return array;
  const Ref index = ShapeOfRun(output, /*as_index=*/true);
  return index ? Ref(PyObject_GetItem(array.get(), index.get())) : Ref();
}

}  // namespace

bool ModelTensorPurpose::Find(BurnishTensorInfo& info) const {
  info = {};
  info.struct_size = sizeof(info);
  int32_t index = index_;
  if (name_ != nullptr) {
    index = is_input_ ? burnish_find_input(model_, name_) : burnish_find_output(model_, name_);
  }
  return (is_input_ ? burnish_input_info(model_, index, &info)
                    : burnish_output_info(model_, index, &info)) == BURNISH_OK;
}

std::string ModelTensorPurpose::Name() const {
  BurnishTensorInfo info;
  const std::string role = is_input_ ? "input " : "output ";
  if (Find(info)) return role + "\"" + info.name + "\"";
  return role +
         (name_ != nullptr ? "\"" + std::string(name_) + "\"" : "number " + std::to_string(index_));
}

std::string ModelTensorPurpose::Wanted() const {
  BurnishTensorInfo info;
  if (Find(info)) return TypeText(info.dtype, info.shape, info.rank);
  return "none: the model has no such tensor";
}

BurnishInput InputOf(const TensorView& view, const char* name) {
  BurnishInput input = {};
  input.struct_size = sizeof(input);
  input.dtype = view.dtype();
  input.name = name;
  input.data = view.data();
  input.shape = view.shape();
  input.strides = view.strides();
  input.rank = view.rank();
  return input;
}

PyObject* RunModel(BurnishModel* model, std::span<const OutputPlan> plans,
                   std::span<PyObject* const> values, std::span<const char* const> names,
                   PyObject* out) {
  Ref given_outputs;
  if (out != nullptr && out != Py_None) {
    given_outputs = GivenOutputs(out, plans.size());
    if (!given_outputs) return nullptr;
  }
  std::vector<TensorView> views(values.size() + plans.size());
  std::vector<BurnishInput> inputs(values.size());
  std::vector<BurnishOutput> outputs(plans.size());
  std::vector<Ref> results(plans.size());             // First what the caller has given.
  std::vector<AlignedMemory> memories(plans.size());  // Of the others.
  std::vector<DenseStrides> strides;                  // Of tensors of the caller.
  if (!ReadInputs(model, values, names, views, inputs)) return nullptr;
  for (size_t i = 0; i < plans.size(); ++i) {
    const OutputPlan& plan = plans[i];
    outputs[i].struct_size = sizeof(BurnishOutput);
    PyObject* const given =
        given_outputs ? PyTuple_GetItem(given_outputs.get(), static_cast<Py_ssize_t>(i)) : Py_None;
    if (given != Py_None) {
      strides.resize(plans.size());  // Once: outputs point into it.
      if (!TakeOutput(model, static_cast<int32_t>(i), given, views[values.size() + i], strides[i],
                      outputs[i])) {
        return nullptr;
      }
      results[i] = Ref::Borrowed(given);
      continue;
    }
    if (NumpyType(plan.dtype) == nullptr) {
      const ModelTensorPurpose purpose(model, kIsOutput, static_cast<int32_t>(i), nullptr);
      RaiseTensorError(purpose.Name() + ": NumPy has no type for " + purpose.Wanted() +
                       ": install ml_dtypes, or give a tensor for it by `out`");
      return nullptr;
    }
    memories[i] = MakeAlignedMemory(plan.size_bytes, plan.alignment);
    if (!memories[i].object) return nullptr;
    outputs[i].data = memories[i].data;
    outputs[i].capacity_bytes = plan.size_bytes;
  }

  PyThreadState* const state = PyEval_SaveThread();
  const BurnishStatus status =
      burnish_run_tensors(model, inputs.data(), static_cast<int32_t>(inputs.size()), outputs.data(),
                          static_cast<int32_t>(outputs.size()), nullptr);
  PyEval_RestoreThread(state);
  if (status != BURNISH_OK) {
    RaiseStatus(Doing::kRunning, status, burnish_last_error());
    return nullptr;
  }

  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = memories[i].object ? MadeArray(memories[i], plans[i], outputs[i])
                                    : GivenArray(std::move(results[i]), plans[i], outputs[i]);
    if (!results[i]) return nullptr;
  }
  if (results.size() == 1) return results[0].release();
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
  for (size_t i = 0; tuple && i < results.size(); ++i) {
    PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), results[i].release());
  }
  return tuple.release();
}

}  // namespace burnish
