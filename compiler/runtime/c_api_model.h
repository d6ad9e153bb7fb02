// What the files of the C API share: the model behind the handle, and the way out of a function.
#ifndef COMPILER_RUNTIME_C_API_MODEL_H_
#define COMPILER_RUNTIME_C_API_MODEL_H_

#include <exception>
#include <memory>
#include <string>
#include <type_traits>

#include "burnish/burnish.h"
#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/call_tensor.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/sized_struct.h"
#include "compiler/runtime/tensor_info.h"
#include "compiler/runtime/thread_pool.h"

struct BurnishModel {
  std::unique_ptr<burnish::Session> session;
};

struct BurnishThreads {
  std::shared_ptr<burnish::ThreadPool> pool;
};

namespace burnish {

// Of burnish_last_error().
void SetLastError(const std::string& text);

// Each function of the C API is a Guard around one call, so that no exception (only std::bad_alloc
// is possible) leaves the library.
template <typename Call>
BurnishStatus Guard(const Call& call) noexcept {
  try {
    const RuntimeStatus status = call();
    if (!status.ok()) SetLastError(status.message());
    return static_cast<BurnishStatus>(status.code());
  } catch (const std::exception&) {
    SetLastError("");  // Whatever was thrown, there may be no memory for its text.
    return BURNISH_RESOURCE_EXHAUSTED;
  }
}

inline RuntimeStatus InvalidArgument(const std::string& text) {
  return RuntimeStatus(RuntimeCode::kInvalidArgument, text);
}

// Null pointers are the caller's fault and not a crash.
template <typename... Pointers>
RuntimeStatus CheckPointers(Pointers... pointers) {
  if (((pointers != nullptr) && ...)) return RuntimeStatus();
  return InvalidArgument("got a null pointer");
}

inline const BundleManifest& ManifestOf(const BurnishModel* model) {
  return model->session->manifest();
}

inline const std::vector<TensorInfo>& ParametersOf(const BurnishModel* model) {
  return model->session->model()->parameters();
}

// What is no ElementType has the name "?" (a cast alone would wrap numbers above 255 around).
inline ElementType ElementTypeOf(int32_t dtype) {
  return static_cast<ElementType>(dtype < 0 || dtype > 255 ? 0 : dtype);
}

BurnishTensorInfo Describe(const TensorInfo& tensor);

// With bind_alignment. kOutOfRange: no such input or output. `region`: kInput or kOutput.
RuntimeOr<BurnishTensorInfo> DescribeModelTensor(const BundleManifest& manifest, Region region,
                                                 int32_t index);

// An array of a program's structs: their size, as the program was compiled, is its stride.
template <typename Struct>
class StructArray {
 public:
  StructArray(const char* name, Struct* first, int32_t count)
      : name_(name), first_(first), count_(count) {}

  RuntimeStatus Check() const {
    if (count_ < 0) return InvalidArgument("got " + std::to_string(count_) + " tensors");
    if (count_ > 0 && first_ == nullptr) return InvalidArgument("got a null pointer");
    for (int32_t i = 0; i < count_; ++i) {
      if (i == 0) RUNTIME_RETURN_IF_ERROR(CheckStructSize(name_, StructSizeAt(first_)));
      if (StructSizeAt(at(i)) != StructSizeAt(first_)) {
        return InvalidArgument("got " + std::string(name_) + " " + std::to_string(i) +
                               " with struct_size " + std::to_string(StructSizeAt(at(i))) +
                               " behind one with " + std::to_string(StructSizeAt(first_)));
      }
    }
    return RuntimeStatus();
  }
  int32_t count() const { return count_; }
  Struct* at(int32_t i) const {
    using Byte = std::conditional_t<std::is_const_v<Struct>, const uint8_t, uint8_t>;
    return reinterpret_cast<Struct*>(reinterpret_cast<Byte*>(first_) +
                                     static_cast<size_t>(i) * StructSizeAt(first_));
  }

 private:
  const char* name_;
  Struct* first_;
  int32_t count_;
};

// kInvalidArgument, in `what`'s name: reserved fields that are not 0.
RuntimeOr<GivenTensor> GivenOf(const std::string& what, const BurnishInput& input);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_C_API_MODEL_H_
