#include "tuner/app/build_range.h"

#include <algorithm>
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

// Whether weights may not be there once more. Where they may each bound has its own form: weights
// that caches hold between runs are read faster than the cost model thinks, and with one form for
// all a decoder of 5 MiB took 1.09 of the time (AMD EPYC, Zen 4).
bool HasMuchWeight(const Graph& graph) {
  size_t bytes = 0;
  for (const GraphValue& value : graph.values) {
    if (value.data != nullptr)
      bytes += ElementCount(value.type.shape) * SizeBytes(value.type.dtype);
  }
  return bytes > kAddedBytesMax;
}

ModelRequest Narrowed(const Graph& graph, const LadderBounds& bounds, const ModelRequest& request) {
  ModelRequest narrow = request;
  for (size_t i = 0; i < bounds.size(); ++i) {
    const GraphSize& size = graph.sizes[i];
    if (bounds[i] == size.greatest) continue;
    narrow.shapes[absl::StrCat(":", size.name)] = absl::StrCat(size.least, "..", bounds[i]);
  }
  return narrow;
}

// With as many of `smaller` as there is room for. Where bounds have chosen other forms of the same
// weights, the smallest goes first: its runs are the rarest.
absl::StatusOr<std::string> WriteLadder(const UnwrittenBundle& whole,
                                        absl::Span<const UnwrittenBundle> smaller,
                                        WeightPool& pool) {
  while (true) {
    ASSIGN_OR_RETURN(const UnwrittenBundle composed, ComposeLadder(whole, smaller, pool));
    if (AddedBytes(whole, composed) <= kAddedBytesMax) return Write(composed);
    smaller.remove_prefix(1);
  }
}

}  // namespace

absl::StatusOr<BuiltModel> BuildRange(const Graph& graph, const ModelRequest& request,
                                      const ScheduleFacts& facts, const BuildModelOptions& options,
                                      const std::string& what) {
  const std::vector<LadderBounds> ladder = LadderOf(graph);
  if (ladder.empty() || request.refit) return BuildBundle(graph, facts, options, what);
  const bool keeps_forms = HasMuchWeight(graph);
  BundleBuilder builder(facts, options, keeps_forms);
  WeightPool pool;
  BuildModelOptions of_whole = options;
  of_whole.pool = &pool;
  if (keeps_forms && facts.find_best != nullptr) {
    // What was measured stays as it is, so that the others have its form: the sizes that people
    // tune are the greatest and the least, such as one word.
    RETURN_IF_ERROR(builder.KeepMeasuredForms(graph, options, what));
    const auto least = std::min_element(ladder.begin(), ladder.end(), HasLessWork);
    const absl::StatusOr<Graph> variant = LoadModel(Narrowed(graph, *least, request));
    if (variant.ok()) RETURN_IF_ERROR(builder.KeepMeasuredForms(*variant, options, what));
  }
  ASSIGN_OR_RETURN(BuiltModel built, builder.BuildUnwritten(graph, of_whole, what));
  // Constants are shared where they are stored alike.
  BuildModelOptions as_whole = of_whole;
  as_whole.is_variant = true;
  as_whole.storage = built.storage;
  as_whole.fastest_storage = false;
  // What `submit` tunes: the greatest bounds.
  as_whole.require_tuned = false;
  std::vector<std::pair<LadderBounds, UnwrittenBundle>> variants;
  for (const LadderBounds& bounds : ladder) {
    const absl::StatusOr<Graph> variant = LoadModel(Narrowed(graph, bounds, request));
    // What the importer has no rule for at these bounds runs at larger ones; nor can any flag set a
    // size of an ONNX file that the importer has named itself.
    if (!variant.ok()) continue;
    ASSIGN_OR_RETURN(BuiltModel each, builder.BuildUnwritten(*variant, as_whole, what));
    variants.emplace_back(bounds, std::move(each.unwritten));
  }
  std::sort(variants.begin(), variants.end(),
            [](const auto& a, const auto& b) { return HasLessWork(a.first, b.first); });
  std::vector<UnwrittenBundle> smaller;
  for (auto& [bounds, variant] : variants) smaller.push_back(std::move(variant));
  absl::StatusOr<std::string> written = WriteLadder(built.unwritten, smaller, pool);
  // The narrower range decides sizes that the whole one does not: the whole runs as it is.
  if (written.status().code() == absl::StatusCode::kInvalidArgument) {
    written = Write(built.unwritten);
  }
  if (!written.ok()) return BuildError(written.status(), what);
  built.bundle = *std::move(written);
  built.unwritten = {};
  return built;
}

}  // namespace burnish
