#include "compiler/frontend/named_outputs.h"

#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace burnish {

absl::Status SetNamedOutputs(Graph& graph, absl::Span<const NamedOutput> outputs) {
  if (outputs.empty()) return absl::InvalidArgumentError("the model has no output");
  std::unordered_set<ValueId> named;
  std::unordered_map<std::string, ValueId> names;
  for (const NamedOutput& output : outputs) {
    // One value may be given twice.
    if (names.try_emplace(output.name, output.value).first->second != output.value) {
      return absl::InvalidArgumentError(absl::StrCat("two outputs are named '", output.name, "'"));
    }
    ValueId id = output.value;
    const bool is_own = graph.value(id).producer >= 0 && named.count(id) == 0;
    if (ElementCount(graph.value(id).type.shape) == 0) {
      // Nobody has to write it.
      id = AddConstant(graph, output.name, graph.value(id).type, graph.value(id).data);
    } else if (!is_own && (named.count(id) > 0 || graph.value(id).name != output.name)) {
      ASSIGN_OR_RETURN(id, AddOp(graph, "identity", {id}, {}, output.name));
    }
    named.insert(id);
    if (graph.value(id).producer >= 0) graph.values[id].name = output.name;
    graph.outputs.push_back(id);
  }
  return absl::OkStatus();
}

}  // namespace burnish
