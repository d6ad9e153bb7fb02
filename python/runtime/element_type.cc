#include "python/runtime/element_type.h"

#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

namespace burnish {
namespace {

static_assert(std::endian::native == std::endian::little, "the runtime's tensors are");

// By BurnishDtype.
struct TypeRow {
  const char* numpy_name;
  int32_t bytes;
  const char* formats;  // Of the buffer protocol: any of these characters, of that many bytes.
  dlpack::TypeCode dlpack_code;
};
constexpr TypeRow kTypes[] = {
    {"", 0, "", dlpack::kComplex},
    {"float32", 4, "f", dlpack::kFloat},
    {"float64", 8, "d", dlpack::kFloat},
    {"float16", 2, "e", dlpack::kFloat},
    {"bfloat16", 2, "", dlpack::kBfloat},
    {"int8", 1, "b", dlpack::kInt},
    {"uint8", 1, "B", dlpack::kUint},
    {"int16", 2, "h", dlpack::kInt},
    {"uint16", 2, "H", dlpack::kUint},
    {"int32", 4, "iln", dlpack::kInt},  // l: as it is called on systems with a long of four bytes.
    {"uint32", 4, "ILN", dlpack::kUint},
    {"int64", 8, "qln", dlpack::kInt},
    {"uint64", 8, "QLN", dlpack::kUint},
    {"bool", 1, "?", dlpack::kBool},
};
constexpr int32_t kTypeCount = std::size(kTypes);
static_assert(kTypeCount == BURNISH_BOOL + 1);

struct Numpy {
  PyObject* array_class = nullptr;
  PyObject* as_array = nullptr;
  PyObject* type_class = nullptr;
  std::array<PyObject*, kTypeCount> types = {};
};
Numpy numpy;  // Filled once and kept: NumPy is not unloaded either.

bool IsByteOrder(char c) { return std::strchr("@=<>!", c) != nullptr && c != '\0'; }

// ml_dtypes' bfloat16 as a numpy.dtype, or nullptr without an exception.
PyObject* MakeBfloat16() {
  const Ref module(PyImport_ImportModule("ml_dtypes"));
  const Ref scalar(module ? PyObject_GetAttrString(module.get(), "bfloat16") : nullptr);
  PyObject* type =
      scalar ? PyObject_CallFunctionObjArgs(numpy.type_class, scalar.get(), nullptr) : nullptr;
  PyErr_Clear();
  return type;
}

}  // namespace

bool ImportNumpy() {
  if (numpy.array_class != nullptr) return true;
  const Ref module(PyImport_ImportModule("numpy"));
  if (!module) return false;
  Ref array_class(PyObject_GetAttrString(module.get(), "ndarray"));
  Ref as_array(PyObject_GetAttrString(module.get(), "asarray"));
  Ref type_class(PyObject_GetAttrString(module.get(), "dtype"));
  if (!array_class || !as_array || !type_class) return false;
  for (int32_t i = 1; i < kTypeCount; ++i) {
    if (i == BURNISH_BF16) continue;  // NumPy lacks it; looked for when it is needed.
    numpy.types[i] = PyObject_CallFunction(type_class.get(), "s", kTypes[i].numpy_name);
    if (numpy.types[i] == nullptr) return false;
  }
  numpy.as_array = as_array.release();
  numpy.type_class = type_class.release();
  numpy.array_class = array_class.release();
  return true;
}

PyObject* NumpyArrayClass() { return numpy.array_class; }
PyObject* NumpyAsArray() { return numpy.as_array; }

int32_t ElementBytes(int32_t dtype) {
  return dtype > 0 && dtype < kTypeCount ? kTypes[dtype].bytes : 0;
}

PyObject* NumpyType(int32_t dtype) {
  if (dtype == BURNISH_BF16 && numpy.types[BURNISH_BF16] == nullptr) {
    numpy.types[BURNISH_BF16] = MakeBfloat16();
  }
  return dtype > 0 && dtype < kTypeCount ? numpy.types[dtype] : nullptr;
}

int32_t ElementTypeOfNumpy(PyObject* object) {
  const Ref type(PyObject_CallFunctionObjArgs(numpy.type_class, object, nullptr));
  if (!type) return kNoElementType;
  for (int32_t i = 1; i < kTypeCount; ++i) {
    PyObject* const ours = NumpyType(i);
    const int equal = ours == nullptr ? 0 : PyObject_RichCompareBool(type.get(), ours, Py_EQ);
    if (equal < 0) return kNoElementType;
    if (equal > 0) return i;
  }
  PyErr_Format(PyExc_TypeError, "got dtype %R, which no tensor of a bundle has", type.get());
  return kNoElementType;
}

int32_t ElementTypeOfFormat(const char* format, int64_t element_bytes) {
  std::string_view text = format == nullptr ? "B" : format;
  if (!text.empty() && IsByteOrder(text[0])) text.remove_prefix(1);
  if (text.size() != 1) return kNoElementType;
  for (int32_t i = 1; i < kTypeCount; ++i) {
    if (kTypes[i].bytes == element_bytes && std::strchr(kTypes[i].formats, text[0]) != nullptr) {
      return i;
    }
  }
  return kNoElementType;
}

bool IsForeignByteOrder(const char* format, int64_t element_bytes) {
  return format != nullptr && element_bytes > 1 && (format[0] == '>' || format[0] == '!');
}

int32_t ElementTypeOfDlpack(const dlpack::DataType& type) {
  if (type.lanes != 1) return kNoElementType;
  for (int32_t i = 1; i < kTypeCount; ++i) {
    if (kTypes[i].dlpack_code == type.code && kTypes[i].bytes * 8 == type.bits) return i;
  }
  return kNoElementType;
}

std::string TypeText(int32_t dtype, const int64_t* shape, int32_t rank) {
  std::string text = std::string(burnish_dtype_name(dtype)) + "[";
  for (int32_t i = 0; i < rank; ++i) text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace burnish
