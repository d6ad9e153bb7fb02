// The structs of DLPack 1.x by which libraries hand tensors to each other (dmlc/dlpack, dlpack.h
// and its "Python Specification"): layouts and numbers are fixed by that interface.
#ifndef PYTHON_RUNTIME_DLPACK_H_
#define PYTHON_RUNTIME_DLPACK_H_

#include <cstdint>

namespace burnish::dlpack {

inline constexpr uint32_t kMajorVersion = 1;  // Another one has other structs.

enum DeviceType : int32_t { kCpu = 1, kCudaHost = 3, kRocmHost = 11 };
enum TypeCode : uint8_t { kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };
inline constexpr uint64_t kReadOnlyFlag = 1;

struct Device {
  int32_t type, id;
};

struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t rank;
  DataType type;
  int64_t* shape;
  int64_t* strides;  // In elements; nullptr: dense row-major.
  uint64_t offset_bytes;
};

// In a capsule "dltensor".
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

struct Version {
  uint32_t major, minor;
};

// In a capsule "dltensor_versioned".
struct VersionedTensor {
  Version version;
  void* context;
  void (*deleter)(VersionedTensor*);
  uint64_t flags;
  Tensor tensor;
};

// In a capsule "dlpack_exchange_api", the attribute __dlpack_c_exchange_api__ of a type: a tensor
// without the call of a Python method. Lives as long as the process.
struct ExchangeApi {
  Version version;
  const ExchangeApi* previous;
  int (*allocate)(Tensor*, VersionedTensor**, void*, void (*)(void*, const char*, const char*));
  // -1 with an exception; else *out is the caller's to delete. `object` is of the attribute's type.
  int (*from_object)(void* object, VersionedTensor** out);
  int (*to_object)(VersionedTensor*, void** out);
  int (*borrow_from_object)(void* object, Tensor* out);
  int (*current_stream)(int32_t device_type, int32_t device_id, void** out);
};

}  // namespace burnish::dlpack

#endif  // PYTHON_RUNTIME_DLPACK_H_
