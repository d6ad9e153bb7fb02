// An object of Python's as a tensor in memory.
#ifndef PYTHON_RUNTIME_TENSOR_VIEW_H_
#define PYTHON_RUNTIME_TENSOR_VIEW_H_

#include <cstdint>
#include <string>

#include "burnish/burnish.h"
#include "python/runtime/dlpack.h"
#include "python/runtime/element_type.h"
#include "python/runtime/python_object.h"

namespace burnish {

// What errors say: whose tensor it is, and what it has to be.
class TensorPurpose {
 public:
  virtual ~TensorPurpose() = default;
  virtual std::string Name() const = 0;    // "input \"x\"".
  virtual std::string Wanted() const = 0;  // "f32[2,500]", or "a tensor".
};

// Holds the object's memory while it lives, so that no other thread can free or resize it while the
// interpreter's lock is let go. Is made and destroyed with that lock. Not movable: a Py_buffer may
// point into itself.
class TensorView {
 public:
  TensorView() = default;
  TensorView(const TensorView&) = delete;
  TensorView& operator=(const TensorView&) = delete;
  ~TensorView();

  // Once. Looks for the buffer protocol, then DLPack, then __array_interface__. False: an
  // exception, a TypeError if it has none of them.
  bool Read(PyObject* object, const TensorPurpose& purpose);

  void* data() const { return data_; }  // Element 0.
  int32_t dtype() const { return dtype_; }
  int32_t rank() const { return rank_; }  // At most BURNISH_RANK_MAX.
  const int64_t* shape() const { return shape_; }
  // In elements; nullptr: dense row-major.
  const int64_t* strides() const { return strides_; }
  bool is_read_only() const { return is_read_only_; }

 private:
  bool TakeRank(int32_t rank, const TensorPurpose& purpose);
  bool ReadBuffer(const TensorPurpose& purpose);
  bool ReadCapsule(Ref capsule, const TensorPurpose& purpose);
  bool ReadDlpack(const dlpack::Tensor& tensor, const TensorPurpose& purpose);
  bool ReadArrayInterface(PyObject* object, const TensorPurpose& purpose);

  Py_buffer buffer_ = {};  // Of its object, if that is not null.
  Ref capsule_;            // Frees its DLPack tensor when it is freed.
  dlpack::VersionedTensor* exchanged_ = nullptr;

  void* data_ = nullptr;
  int32_t dtype_ = kNoElementType;
  int32_t rank_ = 0;
  const int64_t* shape_ = nullptr;
  const int64_t* strides_ = nullptr;
  bool is_read_only_ = false;
  int64_t own_strides_[BURNISH_RANK_MAX] = {};
};

}  // namespace burnish

#endif  // PYTHON_RUNTIME_TENSOR_VIEW_H_
