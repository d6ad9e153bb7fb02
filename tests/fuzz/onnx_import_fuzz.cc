// libFuzzer target: the importer answers any bytes with a verified graph or a status:
// `./dev fuzz onnx_import`.
// What crashes it becomes a case of compiler/frontend/onnx_import_test.cc and stays in the corpus.
#include <cstdint>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/graph/graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Small limits: the fuzzer looks for wrong code, not for large models.
  const burnish::ImportOptions options = {.max_constant_bytes = 1 << 20,
                                          .max_folded_bytes = 1 << 20,
                                          .max_tensor_elements = 1 << 20,
                                          .max_nodes = 1000};
  const absl::StatusOr<burnish::Graph> graph =
      burnish::ImportOnnx(absl::string_view(reinterpret_cast<const char*>(data), size), options);
  if (graph.ok()) CHECK(burnish::VerifyGraph(*graph).ok());
  return 0;
}
