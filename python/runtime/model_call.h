// One inference on objects of Python's.
#ifndef PYTHON_RUNTIME_MODEL_CALL_H_
#define PYTHON_RUNTIME_MODEL_CALL_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "burnish/burnish.h"
#include "python/runtime/python_object.h"
#include "python/runtime/tensor_view.h"

namespace burnish {

// What a call needs of an output to make it.
struct OutputPlan {
  int32_t dtype = 0;
  uint64_t size_bytes = 0;
  uint64_t alignment = 0;
  PyObject* shape = nullptr;  // A tuple, which the model's TensorInfo owns.
};

// "input" or "output", as the model has it.
class ModelTensorPurpose final : public TensorPurpose {
 public:
  // `name` nullptr: by `index`. There may be no such tensor.
  ModelTensorPurpose(const BurnishModel* model, bool is_input, int32_t index, const char* name)
      : model_(model), is_input_(is_input), index_(index), name_(name) {}
  std::string Name() const override;
  std::string Wanted() const override;

 private:
  bool Find(BurnishTensorInfo& info) const;

  const BurnishModel* model_;
  bool is_input_;
  int32_t index_;
  const char* name_;
};

// The input that is shown as `view` is.
BurnishInput InputOf(const TensorView& view, const char* name);

// `names`: of values, nullptr for one by its place; those come first. `out`: nullptr, None, a
// tensor, or a tuple or list with one for each output. Returns what Model.run does.
PyObject* RunModel(BurnishModel* model, std::span<const OutputPlan> plans,
                   std::span<PyObject* const> values, std::span<const char* const> names,
                   PyObject* out);

}  // namespace burnish

#endif  // PYTHON_RUNTIME_MODEL_CALL_H_
