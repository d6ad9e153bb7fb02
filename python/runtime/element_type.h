// The runtime's element types, as NumPy, the buffer protocol and DLPack name them.
#ifndef PYTHON_RUNTIME_ELEMENT_TYPE_H_
#define PYTHON_RUNTIME_ELEMENT_TYPE_H_

#include <cstdint>
#include <string>

#include "burnish/burnish.h"
#include "python/runtime/dlpack.h"
#include "python/runtime/python_object.h"

namespace burnish {

inline constexpr int32_t kNoElementType = 0;

// Imports what of NumPy is used. Once, when the module is made.
bool ImportNumpy();
PyObject* NumpyArrayClass();
// numpy.asarray.
PyObject* NumpyAsArray();

int32_t ElementBytes(int32_t dtype);

// A borrowed numpy.dtype. Of bfloat16 it is that of ml_dtypes; where that is not installed nullptr
// without an exception.
PyObject* NumpyType(int32_t dtype);

// The inverse: what `object` names, as numpy.dtype reads it. kNoElementType: an exception.
int32_t ElementTypeOfNumpy(PyObject* object);

// `format`: of a Py_buffer, maybe with a byte order in front; nullptr is "B". kNoElementType: none
// of ours, without an exception.
int32_t ElementTypeOfFormat(const char* format, int64_t element_bytes);
// Whether elements of more than one byte have another byte order than this machine's.
bool IsForeignByteOrder(const char* format, int64_t element_bytes);

int32_t ElementTypeOfDlpack(const dlpack::DataType& type);

// "f32[2,500]".
std::string TypeText(int32_t dtype, const int64_t* shape, int32_t rank);

}  // namespace burnish

#endif  // PYTHON_RUNTIME_ELEMENT_TYPE_H_
