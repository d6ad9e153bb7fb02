#include "python/runtime/errors.h"

#include <string>

namespace burnish {
namespace {

PyObject* error_class = nullptr;

const char* StatusName(BurnishStatus status) {
  switch (status) {
    case BURNISH_OK:
      return "OK";
    case BURNISH_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case BURNISH_NOT_FOUND:
      return "NOT_FOUND";
    case BURNISH_RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case BURNISH_FAILED_PRECONDITION:
      return "FAILED_PRECONDITION";
    case BURNISH_OUT_OF_RANGE:
      return "OUT_OF_RANGE";
    case BURNISH_INTERNAL:
      return "INTERNAL";
    case BURNISH_DATA_LOSS:
      return "DATA_LOSS";
  }
  return "UNKNOWN";
}

// The numbers of docs/cli.md; nullptr: it has none.
const char* CodeOf(Doing doing, BurnishStatus status, const std::string& message) {
  const bool is_open = doing == Doing::kOpening || doing == Doing::kRefitting;
  // A kernel met what it cannot work on. Only the text tells that from a tensor that was refused
  // before the run: both are the caller's fault.
  if (doing == Doing::kRunning && message.starts_with("step ")) {
    return status == BURNISH_INTERNAL ? "B0901" : "B0406";
  }
  // One that goes on for longer than it may, and no lack of memory.
  if (doing == Doing::kRunning && message.starts_with("loop ")) return "B0406";
  switch (status) {
    case BURNISH_INVALID_ARGUMENT:
      if (doing == Doing::kOpening) return "B0401";  // Not a bundle.
      return doing == Doing::kOther ? nullptr : "B0404";
    case BURNISH_NOT_FOUND:
      return is_open ? "B0201" : nullptr;
    case BURNISH_RESOURCE_EXHAUSTED:
      return "B0903";
    case BURNISH_FAILED_PRECONDITION:
      return is_open ? "B0403" : nullptr;
    case BURNISH_OUT_OF_RANGE:
      return doing == Doing::kOther ? nullptr : "B0405";  // No such input, output or parameter.
    case BURNISH_DATA_LOSS:
      return "B0402";
    case BURNISH_INTERNAL:
      return "B0901";
    case BURNISH_OK:
      break;
  }
  return nullptr;
}

}  // namespace

bool ImportErrors() {
  if (error_class != nullptr) return true;
  const Ref module(PyImport_ImportModule("burnish_runtime._errors"));
  if (!module) return false;
  error_class = PyObject_GetAttrString(module.get(), "BurnishError");
  return error_class != nullptr;
}

void RaiseStatus(Doing doing, BurnishStatus status, const std::string& message) {
  // A path may be any bytes, and a bundle's names too.
  const Ref arguments(Py_BuildValue(
      "(N)", PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()),
                                  "backslashreplace")));
  const Ref keywords(Py_BuildValue("{szss}", "code", CodeOf(doing, status, message), "status",
                                   StatusName(status)));
  if (!arguments || !keywords) return;
  const Ref error(PyObject_Call(error_class, arguments.get(), keywords.get()));
  if (error) PyErr_SetObject(error_class, error.get());
}

}  // namespace burnish
