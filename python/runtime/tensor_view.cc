#include "python/runtime/tensor_view.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "python/runtime/errors.h"

namespace burnish {
namespace {

static_assert(std::is_same_v<Py_ssize_t, int64_t>, "shapes of buffers are taken as they are");

// A scalar has no extents, but a shape: without one the C API takes the model's.
constexpr int64_t kNoExtents[1] = {};

// Raises a BurnishError for the exception that is set, which becomes its cause.
bool FailBecause(const TensorPurpose& purpose) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const Ref owned_type(type), owned_traceback(traceback);
  Ref cause(value);
  const Ref text(PyObject_Str(cause.get()));
  const char* utf8 = text ? PyUnicode_AsUTF8AndSize(text.get(), nullptr) : nullptr;
  PyErr_Clear();
  // One line: torch adds a trace of its C++ functions, which the cause keeps.
  std::string reason = utf8 != nullptr ? utf8 : "no reason given";
  reason.resize(std::min(reason.size(), reason.find('\n')));
  RaiseTensorError(purpose.Name() + ": got a tensor that does not give its memory (" + reason +
                   "), want " + purpose.Wanted());
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyException_SetCause(value, cause.release());
  PyErr_Restore(type, value, traceback);
  return false;
}

bool Fail(const TensorPurpose& purpose, const std::string& got) {
  RaiseTensorError(purpose.Name() + ": got " + got + ", want " + purpose.Wanted());
  return false;
}

// The first of several exceptions, while other ways are tried.
class FirstError {
 public:
  FirstError() = default;
  FirstError(const FirstError&) = delete;
  FirstError& operator=(const FirstError&) = delete;
  ~FirstError() {
    Py_XDECREF(type_);
    Py_XDECREF(value_);
    Py_XDECREF(traceback_);
  }

  // Takes the exception that is set.
  void Keep() {
    if (type_ == nullptr) {
      PyErr_Fetch(&type_, &value_, &traceback_);
    } else {
      PyErr_Clear();
    }
  }
  // Sets it; false: there was none.
  bool Raise() {
    if (type_ == nullptr) return false;
    PyErr_Restore(std::exchange(type_, nullptr), std::exchange(value_, nullptr),
                  std::exchange(traceback_, nullptr));
    return true;
  }

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

// Whether the object has the attribute; without an exception.
bool Has(PyObject* object, const char* name) {
  const Ref attribute(PyObject_GetAttrString(object, name));
  if (!attribute) PyErr_Clear();
  return static_cast<bool>(attribute);
}

bool IsHostMemory(const dlpack::Device& device) {
  return device.type == dlpack::kCpu || device.type == dlpack::kCudaHost ||
         device.type == dlpack::kRocmHost;
}

// A program's tensors are mostly of one type: what the last one's type offers. Under the
// interpreter's lock.
struct LastType {
  PyObject* type = nullptr;
  const dlpack::ExchangeApi* api = nullptr;
};
LastType last_type;

const dlpack::ExchangeApi* ExchangeApiOf(PyObject* object) {
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (last_type.type == type) return last_type.api;
  const Ref capsule(PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
  const auto* api = static_cast<const dlpack::ExchangeApi*>(
      capsule ? PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api") : nullptr);
  PyErr_Clear();
  while (api != nullptr && api->version.major != dlpack::kMajorVersion) api = api->previous;
  const Ref before(last_type.type);
  last_type = {Ref::Borrowed(type).release(), api};
  return api;
}

// A new capsule; empty with an exception.
Ref CallDlpack(PyObject* method) {
  const Ref none(PyTuple_New(0));
  const Ref keywords(Py_BuildValue("{s(II)}", "max_version", dlpack::kMajorVersion, 0u));
  if (!none || !keywords) return Ref();
  Ref capsule(PyObject_Call(method, none.get(), keywords.get()));
  if (capsule || !PyErr_ExceptionMatches(PyExc_TypeError)) return capsule;
  PyErr_Clear();  // From before version 1: it does not know the argument.
  return Ref(PyObject_CallNoArgs(method));
}

}  // namespace

TensorView::~TensorView() {
  // Whoever gave the memory may run code of Python's now, which must not meet an exception.
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
  if (exchanged_ != nullptr && exchanged_->deleter != nullptr) exchanged_->deleter(exchanged_);
  capsule_ = Ref();
  PyErr_Restore(type, value, traceback);
}

bool TensorView::Read(PyObject* object, const TensorPurpose& purpose) {
  if (PyObject_CheckBuffer(object) != 0 &&
      PyObject_GetBuffer(object, &buffer_, PyBUF_RECORDS_RO) == 0) {
    return ReadBuffer(purpose);
  }
  // Buffers know no bfloat16: NumPy's and JAX's arrays of that come by another way.
  FirstError first;
  if (PyErr_Occurred() != nullptr) first.Keep();
  if (const dlpack::ExchangeApi* const api = ExchangeApiOf(object); api != nullptr) {
    if (api->from_object(object, &exchanged_) == 0) {
      is_read_only_ = (exchanged_->flags & dlpack::kReadOnlyFlag) != 0;
      return ReadDlpack(exchanged_->tensor, purpose);
    }
    first.Keep();
  } else if (const Ref method(PyObject_GetAttrString(object, "__dlpack__")); method) {
    if (Ref capsule = CallDlpack(method.get()); capsule) {
      return ReadCapsule(std::move(capsule), purpose);
    }
    first.Keep();
  } else {
    PyErr_Clear();
  }
  if (Has(object, "__array_interface__")) return ReadArrayInterface(object, purpose);
  if (first.Raise()) return FailBecause(purpose);
  const std::string name = purpose.Name(), wanted = purpose.Wanted();
  PyErr_Format(PyExc_TypeError,
               "%s: got an object of %R, want %s: numpy.asarray makes a tensor of numbers",
               name.c_str(), reinterpret_cast<PyObject*>(Py_TYPE(object)), wanted.c_str());
  return false;
}

bool TensorView::TakeRank(int32_t rank, const TensorPurpose& purpose) {
  rank_ = rank;
  return (rank >= 0 && rank <= BURNISH_RANK_MAX) || Fail(purpose, "rank " + std::to_string(rank));
}

bool TensorView::ReadBuffer(const TensorPurpose& purpose) {
  const auto named = [this] {
    return "'" + std::string(buffer_.format == nullptr ? "B" : buffer_.format) + "'";
  };
  dtype_ = ElementTypeOfFormat(buffer_.format, buffer_.itemsize);
  if (dtype_ == kNoElementType) {
    return Fail(purpose, "elements of format " + named() + " and " +
                             std::to_string(buffer_.itemsize) + " bytes");
  }
  if (IsForeignByteOrder(buffer_.format, buffer_.itemsize)) {
    return Fail(purpose, "elements of the other byte order (" + named() +
                             "; x.astype(x.dtype.newbyteorder('=')) turns them round)");
  }
  if (!TakeRank(buffer_.ndim, purpose)) return false;
  data_ = buffer_.buf;
  shape_ = rank_ == 0 ? kNoExtents : buffer_.shape;
  is_read_only_ = buffer_.readonly != 0;
  if (PyBuffer_IsContiguous(&buffer_, 'C') != 0) return true;
  for (int32_t axis = 0; axis < rank_; ++axis) {
    if (buffer_.strides[axis] % buffer_.itemsize != 0) {
      return Fail(purpose, "a stride of " + std::to_string(buffer_.strides[axis]) +
                               " bytes on axis " + std::to_string(axis) + ", which is not a " +
                               "multiple of the element's " + std::to_string(buffer_.itemsize) +
                               " (numpy.ascontiguousarray makes one that is)");
    }
    own_strides_[axis] = buffer_.strides[axis] / buffer_.itemsize;
  }
  strides_ = own_strides_;
  return true;
}

bool TensorView::ReadCapsule(Ref capsule, const TensorPurpose& purpose) {
  // Its name is left as it is, so that the capsule frees the tensor when it goes.
  capsule_ = std::move(capsule);
  if (PyCapsule_IsValid(capsule_.get(), "dltensor_versioned") != 0) {
    const auto* versioned = static_cast<const dlpack::VersionedTensor*>(
        PyCapsule_GetPointer(capsule_.get(), "dltensor_versioned"));
    if (versioned->version.major != dlpack::kMajorVersion) {
      return Fail(purpose, "a tensor of DLPack " + std::to_string(versioned->version.major) +
                               "; this version knows " + std::to_string(dlpack::kMajorVersion));
    }
    is_read_only_ = (versioned->flags & dlpack::kReadOnlyFlag) != 0;
    return ReadDlpack(versioned->tensor, purpose);
  }
  if (PyCapsule_IsValid(capsule_.get(), "dltensor") != 0) {
    return ReadDlpack(
        static_cast<const dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule_.get(), "dltensor"))
            ->tensor,
        purpose);
  }
  return Fail(purpose, "a DLPack capsule without a tensor in it, or of one that was taken out");
}

bool TensorView::ReadDlpack(const dlpack::Tensor& tensor, const TensorPurpose& purpose) {
  if (!IsHostMemory(tensor.device)) {
    return Fail(purpose, "a tensor of another device (DLPack's type " +
                             std::to_string(tensor.device.type) + ", number " +
                             std::to_string(tensor.device.id) + "; x.cpu() brings it here)");
  }
  dtype_ = ElementTypeOfDlpack(tensor.type);
  if (dtype_ == kNoElementType) {
    return Fail(purpose, "elements of DLPack's type " + std::to_string(tensor.type.code) + ", " +
                             std::to_string(tensor.type.bits) + " bits, " +
                             std::to_string(tensor.type.lanes) + " lanes");
  }
  if (!TakeRank(tensor.rank, purpose)) return false;
  if (rank_ != 0 && tensor.shape == nullptr) return Fail(purpose, "a tensor without a shape");
  data_ =
      tensor.data == nullptr ? nullptr : static_cast<uint8_t*>(tensor.data) + tensor.offset_bytes;
  shape_ = rank_ == 0 ? kNoExtents : tensor.shape;
  strides_ = rank_ == 0 ? nullptr : tensor.strides;
  return true;
}

// NumPy knows how to read it, and makes no copy.
bool TensorView::ReadArrayInterface(PyObject* object, const TensorPurpose& purpose) {
  Ref array(PyObject_CallFunctionObjArgs(NumpyAsArray(), object, nullptr));
  const Ref type(array ? PyObject_GetAttrString(array.get(), "dtype") : nullptr);
  const Ref name(type ? PyObject_GetAttrString(type.get(), "name") : nullptr);
  const char* const type_name = name ? PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
  if (type_name == nullptr) return FailBecause(purpose);
  const bool is_bfloat16 = std::string(type_name) == "bfloat16";
  if (is_bfloat16) array = Ref(PyObject_CallMethod(array.get(), "view", "s", "uint16"));
  if (!array || PyObject_GetBuffer(array.get(), &buffer_, PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    return Fail(purpose, "elements of type " + std::string(type_name));
  }
  if (!ReadBuffer(purpose)) return false;
  if (is_bfloat16) dtype_ = BURNISH_BF16;
  return true;
}

}  // namespace burnish
