#include "tuner/app/build_range.h"

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/driver/ladder.h"
#include "compiler/graph/constant_memo.h"
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

// Tells `of`, the graph within these bounds, which sizes have others. A size that the bounds decide
// is none there.
void SetServed(const Graph& whole, const LadderBounds& bounds,
               const std::vector<LadderBounds>& ladder, Graph& of) {
  const std::vector<int64_t> least = LeastServed(bounds, ladder, whole);
  for (size_t i = 0; i < least.size(); ++i) {
    for (GraphSize& size : of.sizes) {
      if (size.name == whole.sizes[i].name) size.served_from = least[i];
    }
  }
}

// The model within these bounds, which are of the ladder, with the memo of `graph`.
absl::StatusOr<Graph> LoadNarrowed(const Graph& graph, const LadderBounds& bounds,
                                   const std::vector<LadderBounds>& ladder, ModelLoader& loader) {
  std::map<std::string, std::string> shapes = loader.request().shapes;
  for (size_t i = 0; i < bounds.size(); ++i) {
    const GraphSize& size = graph.sizes[i];
    if (bounds[i] == size.greatest) continue;
    shapes[absl::StrCat(":", size.name)] = absl::StrCat(size.least, "..", bounds[i]);
  }
  absl::StatusOr<Graph> narrowed = loader.Load(shapes);
  if (!narrowed.ok()) return narrowed;
  narrowed->memo = graph.memo;
  SetServed(graph, bounds, ladder, *narrowed);
  return narrowed;
}

// With as many of `smaller` as there is room for. Where bounds have chosen other forms of the same
// weights, the smallest goes first: its runs are the rarest.
absl::StatusOr<UnwrittenBundle> ComposeWithin(const UnwrittenBundle& whole,
                                              absl::Span<const UnwrittenBundle> smaller,
                                              WeightPool& pool) {
  while (true) {
    ASSIGN_OR_RETURN(UnwrittenBundle composed, ComposeLadder(whole, smaller, pool));
    if (AddedBytes(whole, composed) <= kAddedBytesMax) return composed;
    smaller.remove_prefix(1);
  }
}

struct BuiltLadder {
  BuiltModel whole;  // As if it were alone.
  absl::StatusOr<UnwrittenBundle> composed;
};

// What only building needs, such as weights before they were packed, is gone when it is built.
absl::StatusOr<BuiltLadder> BuildLadder(const std::vector<LadderBounds>& ladder, const Graph& model,
                                        ModelLoader& loader, const ScheduleFacts& facts,
                                        const BuildModelOptions& options, const std::string& what) {
  Graph graph = model;
  graph.memo = std::make_shared<ConstantMemo>();
  LadderBounds greatest;
  for (const GraphSize& size : graph.sizes) greatest.push_back(size.greatest);
  SetServed(model, greatest, ladder, graph);
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
    const absl::StatusOr<Graph> variant = LoadNarrowed(graph, *least, ladder, loader);
    if (variant.ok()) RETURN_IF_ERROR(builder.KeepMeasuredForms(*variant, options, what));
  }
  // While the builder compiles one bound, the schedules of the next one are looked up.
  const auto start = [&](size_t i) {
    return std::async(std::launch::async, [&, i] {
      absl::StatusOr<Graph> variant = LoadNarrowed(graph, ladder[i], ladder, loader);
      // Which layers are narrow is only known when the whole is built.
      if (variant.ok() && !options.fastest_storage) builder.LookUpSchedules(*variant, options);
      return variant;
    });
  };
  std::future<absl::StatusOr<Graph>> next = start(0);
  ASSIGN_OR_RETURN(BuiltModel built, builder.BuildUnwritten(graph, of_whole, what));
  // Constants are shared where they are stored alike.
  BuildModelOptions as_whole = of_whole;
  as_whole.is_variant = true;
  as_whole.storage = built.storage;
  as_whole.fastest_storage = false;
  // What `submit` tunes: the greatest bounds.
  as_whole.require_tuned = false;
  std::vector<std::pair<LadderBounds, UnwrittenBundle>> variants;
  for (size_t i = 0; i < ladder.size(); ++i) {
    const absl::StatusOr<Graph> variant = next.get();
    if (i + 1 < ladder.size()) next = start(i + 1);
    // What the importer has no rule for at these bounds runs at larger ones; nor can any flag set a
    // size of an ONNX file that the importer has named itself.
    if (!variant.ok()) continue;
    ASSIGN_OR_RETURN(BuiltModel each, builder.BuildUnwritten(*variant, as_whole, what));
    variants.emplace_back(ladder[i], std::move(each.unwritten));
  }
  std::sort(variants.begin(), variants.end(),
            [](const auto& a, const auto& b) { return HasLessWork(a.first, b.first); });
  std::vector<UnwrittenBundle> smaller;
  for (auto& [bounds, variant] : variants) smaller.push_back(std::move(variant));
  absl::StatusOr<UnwrittenBundle> composed = ComposeWithin(built.unwritten, smaller, pool);
  return BuiltLadder{.whole = std::move(built), .composed = std::move(composed)};
}

}  // namespace

absl::StatusOr<BuiltModel> BuildRange(const Graph& model, ModelLoader& loader,
                                      const ScheduleFacts& facts, const BuildModelOptions& options,
                                      const std::string& what) {
  const std::vector<LadderBounds> ladder = LadderOf(model);
  if (ladder.empty() || loader.request().refit) return BuildBundle(model, facts, options, what);
  ASSIGN_OR_RETURN(BuiltLadder made, BuildLadder(ladder, model, loader, facts, options, what));
  absl::StatusOr<std::string> written = made.composed.ok()
                                            ? Write(*made.composed)
                                            : absl::StatusOr<std::string>(made.composed.status());
  // The narrower range decides sizes that the whole one does not: the whole runs as it is.
  if (written.status().code() == absl::StatusCode::kInvalidArgument) {
    written = Write(made.whole.unwritten);
  }
  if (!written.ok()) return BuildError(written.status(), what);
  BuiltModel built = std::move(made.whole);
  built.bundle = *std::move(written);
  built.unwritten = {};
  return built;
}

}  // namespace burnish
