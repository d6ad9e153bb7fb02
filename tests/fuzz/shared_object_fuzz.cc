// libFuzzer target: the file of a shared object is refused with a status, or loaded. None of its
// code runs.
#include <cstddef>
#include <cstdint>

#include "compiler/runtime/shared_object.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)burnish::SharedObject::Load({data, size});
  return 0;
}
