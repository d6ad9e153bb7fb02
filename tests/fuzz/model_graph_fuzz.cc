// libFuzzer target: the importer answers any bytes with a verified graph or a status:
// `./dev fuzz model_graph`. The input is the file's JSON, and some bytes are its data: the head is
// the fuzzer's last need.
#include <cstdint>
#include <memory>
#include <string>

#include "base/check.h"
#include "compiler/frontend/model_graph_import.h"
#include "compiler/graph/graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Small limits: the fuzzer looks for wrong code, not for large models.
  const burnish::ImportOptions options = {
      .max_constant_bytes = 1 << 16, .max_tensor_elements = 1 << 20, .max_nodes = 100};
  const auto file = std::make_shared<std::string>("BURNGRPH");
  const uint64_t json_bytes = size;
  file->append(reinterpret_cast<const char*>(&json_bytes), sizeof(json_bytes));
  file->append(reinterpret_cast<const char*>(data), size);
  file->append(256, '\1');
  const absl::StatusOr<burnish::Graph> graph = burnish::ImportModelGraph(
      file, {reinterpret_cast<const uint8_t*>(file->data()), file->size()}, options);
  if (graph.ok()) CHECK(burnish::VerifyGraph(*graph).ok());
  return 0;
}
