// Builds a graph from operators of the library, some of whose inputs have dimensions that each run
// decides (docs/adr/0013-bounded-axes.md): the importer of ONNX without ONNX. Internal to
// compiler/frontend.
#ifndef COMPILER_FRONTEND_SIZED_GRAPH_H_
#define COMPILER_FRONTEND_SIZED_GRAPH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/frontend/import_options.h"
#include "compiler/frontend/named_outputs.h"
#include "compiler/graph/graph.h"

namespace burnish {

struct ImportContext;

// `factor` times a product of sizes, by their places in Graph::sizes.
struct SizeProduct {
  int64_t factor = 1;
  std::vector<int> sizes;
};
// A sum of them. At the sizes' greatest it is what the attribute or shape says in its place.
using SizeSum = std::vector<SizeProduct>;

class SizedGraph {
 public:
  // `options` outlives the object.
  explicit SizedGraph(const ImportOptions& options);
  ~SizedGraph();

  // Callers add inputs and constants, and the sizes with the axes of inputs that hold them.
  Graph& graph();
  // Once, behind the inputs, before all else: adds an input for each of the graph's sizes.
  absl::Status AddSizes();
  // A constant of which a run reads the first elements of these axes. UNIMPLEMENTED where a sum
  // may be below 0 or beyond the axis.
  absl::StatusOr<ValueId> Held(ValueId constant, const std::map<int64_t, SizeSum>& axes);
  // An operator's results. `sums`: elements of its attributes that a run decides, by the
  // attribute's name and the place in its list: a reshape's or an expand's `shape`, a slice's
  // `starts` and `ends`. UNIMPLEMENTED where an axis cannot be carried on.
  absl::StatusOr<std::vector<ValueId>> Emit(
      absl::string_view op, absl::string_view name, std::vector<ValueId> inputs,
      Attributes attributes, const std::map<std::string, std::map<int64_t, SizeSum>>& sums);
  absl::Status SetOutputs(std::vector<NamedOutput> outputs);

 private:
  std::unique_ptr<ImportContext> context_;
  std::vector<ValueId> sizes_;  // By place in Graph::sizes.
};

}  // namespace burnish

#endif  // COMPILER_FRONTEND_SIZED_GRAPH_H_
