// From the C API's status to BurnishError.
#ifndef PYTHON_RUNTIME_ERRORS_H_
#define PYTHON_RUNTIME_ERRORS_H_

#include <new>
#include <string>

#include "burnish/burnish.h"
#include "python/runtime/python_object.h"

namespace burnish {

// What was asked for: which number of docs/cli.md a status has depends on it.
enum class Doing { kOpening, kRefitting, kRunning, kOther };

// Finds the class. Once, when the module is made.
bool ImportErrors();

// Sets a BurnishError.
void RaiseStatus(Doing doing, BurnishStatus status, const std::string& message);

// The same for what this folder finds wrong with a tensor.
inline void RaiseTensorError(const std::string& message) {
  RaiseStatus(Doing::kRunning, BURNISH_INVALID_ARGUMENT, message);
}

// No C++ exception may leave for Python; only std::bad_alloc is possible. `failed`: what the
// function returns with an exception of Python's.
template <typename Call, typename Result>
Result Guarded(Result failed, const Call& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
    return failed;
  }
}

}  // namespace burnish

#endif  // PYTHON_RUNTIME_ERRORS_H_
