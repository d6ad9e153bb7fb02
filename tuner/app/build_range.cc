#include "tuner/app/build_range.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/driver/ladder.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

// What smaller bounds may add to a bundle: kernels, and weights in another form. A choice.
constexpr size_t kAddedBytesMax = size_t{16} << 20;

}  // namespace

absl::StatusOr<BuiltModel> BuildRange(const Graph& graph, const ModelRequest& request,
                                      const ScheduleFacts& facts, const BuildModelOptions& options,
                                      const std::string& what) {
  BundleBuilder builder(facts, options);
  ASSIGN_OR_RETURN(BuiltModel built, builder.Build(graph, options, what));
  const Ladder ladder = LadderOf(graph.sizes);
  if (ladder.bounds.empty() || request.refit) return built;
  const GraphSize& size = graph.sizes[ladder.size];
  const std::string name = absl::StrCat(":", size.name);
  // Constants are shared where they are stored alike.
  BuildModelOptions as_whole = options;
  as_whole.storage = built.storage;
  as_whole.fastest_storage = false;
  // What `submit` tunes: one bound.
  as_whole.require_tuned = false;
  std::vector<std::string> smaller;
  for (const int64_t bound : ladder.bounds) {
    ModelRequest narrow = request;
    narrow.shapes[name] = absl::StrCat(size.least, "..", bound);
    const absl::StatusOr<Graph> variant = LoadModel(narrow);
    // Of ONNX a size that the importer has named itself, and that no flag can set.
    if (!variant.ok() && request.shapes.count(name) == 0) return built;
    RETURN_IF_ERROR(variant.status());
    ASSIGN_OR_RETURN(BuiltModel each, builder.Build(*variant, as_whole, what));
    smaller.push_back(std::move(each.bundle));
  }
  absl::StatusOr<std::string> composed = ComposeLadder(built.bundle, smaller);
  // Where bounds have chosen other forms of the same weights, the smallest goes first: its runs are
  // the rarest.
  while (composed.ok() && composed->size() > built.bundle.size() + kAddedBytesMax) {
    smaller.erase(smaller.begin());
    if (smaller.empty()) return built;
    composed = ComposeLadder(built.bundle, smaller);
  }
  // The narrower range decides sizes that the whole one does not: the whole runs as it is.
  if (composed.status().code() == absl::StatusCode::kInvalidArgument) return built;
  if (!composed.ok()) return BuildError(composed.status(), what);
  built.bundle = *std::move(composed);
  return built;
}

}  // namespace burnish
