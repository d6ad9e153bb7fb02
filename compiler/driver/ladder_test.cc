// One bundle for a range, with kernels for several bounds, against the graph interpreter.
#include "compiler/driver/ladder.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_info.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/ladder_sizes.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/driver/unwritten_bundle.h"
#include "compiler/driver/weight_pool.h"
#include "compiler/graph/control.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/runtime/bundle.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/target/target.h"
#include "gtest/gtest.h"
#include "proto/builder_client.h"

namespace burnish {
namespace {

constexpr int64_t kColumns = 40;

std::span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// exp(x) + w of up to `bound` rows, the number of rows twice, and what three iterations of a loop
// make of that number. `mark` is added to each element, and says which list of steps ran.
Graph Rows(int64_t bound, double mark = 0) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {bound, kColumns}});
  const ValueId n = AddInput(graph, "n", {DType::kI64, {}});
  std::vector<double> numbers(kColumns);
  for (int64_t i = 0; i < kColumns; ++i) numbers[i] = mark + static_cast<double>(i) / 4;
  const ValueId w =
      AddConstant(graph, "w", {DType::kF32, {kColumns}}, FromDoubles(DType::kF32, numbers));
  const ValueId twice = Op(graph, "add", {n, n});
  Graph body;
  const ValueId state = AddInput(body, "state", {DType::kI64, {}});
  const ValueId ten = AddConstant(body, "ten", {DType::kI64, {}}, FromInts(DType::kI64, {10}));
  body.outputs = {Op(body, "add", {state, ten})};
  GraphNode loop{.name = "loop", .op = OpId::kLoop, .attributes = {}};
  loop.attributes.Set("count", int64_t{3});
  loop.attributes.Set("states", int64_t{1});
  loop.attributes.Set("slices", int64_t{0});
  loop.attributes.Set("backwards", std::vector<int64_t>{});
  loop.inputs = {twice};
  loop.bodies = {std::make_shared<const Graph>(std::move(body))};
  const absl::StatusOr<GraphNodeId> id = AddControlNode(graph, std::move(loop));
  EXPECT_THAT(id, IsOk());
  graph.outputs = {Op(graph, "add", {Op(graph, "exp", {x}), w}), graph.nodes[*id].outputs[0], n};
  graph.values[graph.outputs[0]].name = "rows";
  graph.values[graph.outputs[1]].name = "twice";
  graph.hidden_outputs = 1;
  graph.bounded_axes = {{.output = 0, .axis = 0, .extent = 2}};
  graph.sizes = {{.name = "n", .least = 0, .greatest = bound}};
  graph.input_axes = {{.input = 0, .axis = 0, .parts = {{.size = 0}}}};
  return graph;
}

UnwrittenBundle Built(const Graph& graph, WeightPool& pool, bool is_variant) {
  static BuilderClient& builder = *new BuilderClient();
  DefaultScheduleSource source;
  EXPECT_THAT(VerifyGraph(graph), IsOk());
  auto built = BuildUnwritten(
      graph, source, builder,
      {.target = *HostTarget(HostCpuInfo(), 2), .pool = &pool, .is_variant = is_variant});
  EXPECT_THAT(built, IsOk());
  return std::move(built->unwritten);
}

absl::StatusOr<std::string> Composed(int64_t whole, const std::vector<int64_t>& smaller) {
  WeightPool pool;
  std::vector<UnwrittenBundle> variants;
  UnwrittenBundle greatest = Built(Rows(whole), pool, /*is_variant=*/false);
  for (const int64_t bound : smaller) {
    variants.push_back(Built(Rows(bound), pool, /*is_variant=*/true));
    // Nothing is said of parameters but by the whole.
    EXPECT_EQ(variants.back().refit + variants.back().packs, "");
  }
  ASSIGN_OR_RETURN(const UnwrittenBundle composed,
                   ComposeLadder(std::move(greatest), variants, pool));
  return Write(composed);
}

CallTensor Tensor(void* data, const std::vector<int64_t>& shape, int64_t size, bool has_strides) {
  CallTensor tensor{.data = static_cast<uint8_t*>(data), .is_dense = true};
  int64_t count = 1;
  for (size_t d = shape.size(); d-- > 0; count *= shape[d]) tensor.strides[d] = count;
  tensor.has_strides = has_strides;
  tensor.begin = tensor.data;
  tensor.end = tensor.data + count * size;
  return tensor;
}

// A graph of inputs of these sizes; size `counted` says how often a loop runs.
Graph Sized(const std::vector<GraphSize>& sizes, int counted = -1) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {100, 2}});
  const ValueId start = AddInput(graph, "h", {DType::kF32, {2}});
  for (const GraphSize& size : sizes) AddInput(graph, size.name, {DType::kI64, {}});
  graph.sizes = sizes;
  if (counted < 0) return graph;
  Graph body;
  const ValueId state = AddInput(body, "state", {DType::kF32, {2}});
  const ValueId row = AddInput(body, "row", {DType::kF32, {2}});
  body.outputs = {Op(body, "add", {state, row})};
  GraphNode node{.name = "sum", .op = OpId::kLoop, .attributes = {}, .inputs = {}};
  const ValueId count = graph.inputs[graph.shown_inputs() + counted];
  node.inputs = {Op(graph, "reshape", {count}, {{"shape", std::vector<int64_t>{}}}), start, x};
  node.bodies = {std::make_shared<const Graph>(std::move(body))};
  node.attributes = MakeAttributes({{"count", int64_t{100}},
                                    {"has_count", int64_t{1}},
                                    {"states", int64_t{1}},
                                    {"slices", int64_t{1}},
                                    {"backwards", std::vector<int64_t>{0}}});
  EXPECT_THAT(AddControlNode(graph, std::move(node)), IsOk());
  return graph;
}

TEST(LadderTest, BoundsAreSharesOfTheWidestRanges) {
  using Ladder = std::vector<LadderBounds>;
  EXPECT_EQ(LadderOf({}), Ladder());
  EXPECT_EQ(LadderOf(Sized({{.name = "n", .least = 1, .greatest = 3}})), Ladder());
  EXPECT_EQ(LadderOf(Sized({{.name = "n", .least = 1, .greatest = 4}})), Ladder({{1}, {2}, {3}}));
  EXPECT_EQ(LadderOf(Sized({{.name = "b", .least = 1, .greatest = 4},
                            {.name = "s", .least = 1, .greatest = 512}})),
            Ladder({{4, 32}, {4, 128}, {4, 256}, {4, 384}}));
  EXPECT_EQ(LadderOf(Sized({{.name = "s", .least = 8, .greatest = 511}})),
            Ladder({{127}, {255}, {383}}));
  // None below the least.
  EXPECT_EQ(LadderOf(Sized({{.name = "s", .least = 26, .greatest = 211}})),
            Ladder({{52}, {105}, {158}}));
  EXPECT_EQ(LadderOf(Sized({{.name = "s", .least = 60, .greatest = 503}})),
            Ladder({{125}, {251}, {377}}));
  // A past and its words. The past has bounds of its own behind one word.
  EXPECT_EQ(LadderOf(Sized({{.name = "seq", .least = 1, .greatest = 16},
                            {.name = "b", .least = 1, .greatest = 2},
                            {.name = "past", .least = 0, .greatest = 200}})),
            Ladder({{4, 2, 200}, {1, 2, 200}, {1, 2, 50}, {1, 2, 100}}));
}

TEST(LadderTest, SizesBelowABoundOfTheirOwnRunElsewhere) {
  const Graph batch = Sized({{.name = "n", .least = 1, .greatest = 8}});
  const std::vector<LadderBounds> bounds = LadderOf(batch);
  EXPECT_EQ(bounds, std::vector<LadderBounds>({{2}, {4}, {6}}));
  EXPECT_EQ(LeastServed({2}, bounds, batch), std::vector<int64_t>({1}));
  EXPECT_EQ(LeastServed({4}, bounds, batch), std::vector<int64_t>({3}));
  EXPECT_EQ(LeastServed({8}, bounds, batch), std::vector<int64_t>({7}));
  // Short pasts have bounds of their own behind one word, but not behind two.
  const Graph words = Sized(
      {{.name = "seq", .least = 1, .greatest = 16}, {.name = "past", .least = 0, .greatest = 200}});
  const std::vector<LadderBounds> of_words = LadderOf(words);
  EXPECT_EQ(LeastServed({16, 200}, of_words, words), std::vector<int64_t>({5, 0}));
  EXPECT_EQ(LeastServed({1, 200}, of_words, words), std::vector<int64_t>({1, 101}));
}

// What a loop runs for is never computed for nothing, so that another size gets the bounds, or the
// count where no other is wide.
TEST(LadderTest, CountsOfLoopsNeedNoBounds) {
  using Ladder = std::vector<LadderBounds>;
  const GraphSize steps{.name = "steps", .least = 1, .greatest = 100};
  EXPECT_EQ(LadderOf(Sized({steps, {.name = "b", .least = 1, .greatest = 4}}, 0)),
            Ladder({{100, 1}, {100, 2}, {100, 3}}));
  EXPECT_EQ(LadderOf(Sized({steps, {.name = "b", .least = 1, .greatest = 4}}, 1)),
            Ladder({{6, 4}, {25, 4}, {50, 4}, {75, 4}}));
  EXPECT_EQ(LadderOf(Sized({steps, {.name = "b", .least = 1, .greatest = 2}}, 0)),
            Ladder({{6, 2}, {25, 2}, {50, 2}, {75, 2}}));
}

TEST(LadderTest, LessWorkComesBeforeWhatHoldsIt) {
  EXPECT_TRUE(HasLessWork({1, 200}, {16, 50}));
  EXPECT_TRUE(HasLessWork({1, 200}, {2, 200}));
  EXPECT_FALSE(HasLessWork({2, 200}, {1, 200}));
  EXPECT_FALSE(HasLessWork({2, 200}, {2, 200}));
}

TEST(LadderTest, EachRunTakesTheSmallestBoundThatHoldsIt) {
  const std::vector<int64_t> bounds = {3, 6, 12};
  const auto composed = Composed(12, {3, 6});
  ASSERT_THAT(composed, IsOk());
  const auto reader = BundleReader::FromBytes(BytesOf(*composed));
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  ASSERT_EQ(reader->variants().size(), 2u);
  // w and what masks are made of is there once, however many read it.
  int constants = 0;
  for (const ConstantInfo& constant : reader->manifest().constants) {
    if (constant.size_bytes == kColumns * sizeof(float)) ++constants;
  }
  EXPECT_EQ(constants, 1);

  const auto model = Model::LoadBytes(BytesOf(*composed), {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_EQ((*model)->variants().size(), 2u);
  EXPECT_EQ((*model)->variants()[0]->weights().data(), (*model)->weights().data());
  for (const int threads : {1, 2}) {
    auto pool = ThreadPool::Create({.thread_count = threads});
    ASSERT_TRUE(pool.ok());
    auto session = Session::Create(*model, *std::move(pool));
    ASSERT_TRUE(session.ok());
    // Boundaries, and back and forth between lists of steps.
    for (const int64_t rows : {12, 3, 4, 0, 1, 6, 7, 12, 2, 11, 5, 3}) {
      for (const bool has_strides : {false, true}) {
        alignas(64) float x[12 * kColumns], y[12 * kColumns];
        for (int64_t i = 0; i < rows * kColumns; ++i) x[i] = 0.01f * static_cast<float>(i % 70);
        std::fill(std::begin(y), std::end(y), -1.0f);
        int64_t twice = -1;
        std::vector<int64_t> extents = {rows, 0};
        const std::vector<CallTensor> inputs = {Tensor(x, {rows, kColumns}, sizeof(float), false)};
        const std::vector<CallTensor> outputs = {
            Tensor(y, {12, kColumns}, sizeof(float), has_strides),
            Tensor(&twice, {}, sizeof(int64_t), false)};
        const RuntimeStatus status = (*session)->RunTensors(inputs, outputs, {}, extents);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(twice, 2 * rows + 30);
        EXPECT_EQ((*session)->OutputShape(0), (std::vector<int64_t>{rows, kColumns}));
        for (int64_t i = 0; i < rows * kColumns; ++i) {
          ASSERT_NEAR(y[i], std::exp(x[i]) + static_cast<float>(i % kColumns) / 4, 1e-5)
              << rows << ": " << i;
        }
      }
    }
    std::vector<int64_t> extents = {13, 0};
    EXPECT_FALSE((*session)->RunTensors({}, {}, {}, extents).ok());
  }
}

// Rows by what SetSizes says, in the session's memory or in memory that is bound.
void ExpectRows(Session& session, int64_t rows, float mark, bool is_bound, bool is_profiled) {
  SCOPED_TRACE(testing::Message() << rows << " rows" << (is_bound ? ", bound" : "")
                                  << (is_profiled ? ", profiled" : ""));
  alignas(64) float x[12 * kColumns] = {}, y[12 * kColumns] = {};
  for (int64_t i = 0; i < rows * kColumns; ++i) x[i] = 0.01f * static_cast<float>(i % 70);
  const size_t bytes = static_cast<size_t>(rows) * kColumns * sizeof(float);
  ASSERT_TRUE(session.SetSizes(std::vector<int64_t>{rows, 0}).ok());
  if (is_bound) {
    ASSERT_TRUE(session.BindInput(0, x, sizeof(x)).ok());
    ASSERT_TRUE(session.BindOutput(0, y, sizeof(y)).ok());
  } else {
    ASSERT_TRUE(session.SetInput(0, {reinterpret_cast<const uint8_t*>(x), bytes}).ok());
  }
  std::vector<int64_t> step_ns(session.manifest().steps.size());
  const RuntimeStatus status = is_profiled ? session.RunProfiled(step_ns) : session.Run();
  ASSERT_TRUE(status.ok()) << status.message();
  int64_t twice = -1;
  ASSERT_TRUE(session.GetOutput(1, {reinterpret_cast<uint8_t*>(&twice), sizeof(twice)}).ok());
  EXPECT_EQ(twice, 2 * rows + 30);
  EXPECT_EQ(session.OutputShape(0), (std::vector<int64_t>{rows, kColumns}));
  if (!is_bound) {
    ASSERT_TRUE(session.GetOutput(0, {reinterpret_cast<uint8_t*>(y), bytes}).ok());
  }
  for (int64_t i = 0; i < rows * kColumns; ++i) {
    ASSERT_NEAR(y[i], std::exp(x[i]) + static_cast<float>(i % kColumns) / 4 + mark, 1e-4) << i;
  }
  if (!is_bound) return;
  ASSERT_TRUE(session.BindInput(0, nullptr, 0).ok());
  ASSERT_TRUE(session.BindOutput(0, nullptr, 0).ok());
}

TEST(LadderTest, RunsInASessionsMemoryTakeTheSmallestBoundToo) {
  WeightPool pool;
  UnwrittenBundle greatest = Built(Rows(12), pool, /*is_variant=*/false);
  const std::vector<UnwrittenBundle> smaller = {Built(Rows(3, 3), pool, /*is_variant=*/true),
                                                Built(Rows(6, 6), pool, /*is_variant=*/true)};
  ASSERT_OK_AND_ASSIGN(const UnwrittenBundle composed,
                       ComposeLadder(std::move(greatest), smaller, pool));
  ASSERT_OK_AND_ASSIGN(const std::string bundle, Write(composed));
  const auto model = Model::LoadBytes(BytesOf(bundle), {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto threads = ThreadPool::Create({.thread_count = 2});
  auto session = Session::Create(*model, *std::move(threads));
  ASSERT_TRUE(session.ok());
  for (const int64_t rows : {12, 3, 4, 0, 1, 6, 7, 12, 2, 11, 5, 3}) {
    const float mark = rows <= 3 ? 3 : rows <= 6 ? 6 : 0;
    ExpectRows(**session, rows, mark, /*is_bound=*/false, /*is_profiled=*/false);
    ExpectRows(**session, rows, mark, /*is_bound=*/true, /*is_profiled=*/false);
    // Times are those of the whole's steps.
    ExpectRows(**session, rows, 0, /*is_bound=*/false, /*is_profiled=*/true);
  }
}

// Replacements say how weights of the greatest sizes are made: no other list of steps may run.
TEST(LadderTest, ReplacedWeightsRunAtTheGreatestSizes) {
  const auto composed = Composed(12, {6});
  ASSERT_THAT(composed, IsOk());
  const auto plain = Model::LoadBytes(BytesOf(*composed), {});
  ASSERT_TRUE(plain.ok());
  ASSERT_EQ((*plain)->parameters().size(), 1u);
  std::vector<float> w(kColumns, 2.0f);
  const auto replaced =
      Model::LoadBytes(BytesOf(*composed),
                       {.replacements = {{.name = "w",
                                          .tensor = {.data = reinterpret_cast<uint8_t*>(w.data()),
                                                     .type = ElementType::kF32,
                                                     .rank = 1,
                                                     .shape = &kColumns}}}});
  ASSERT_TRUE(replaced.ok()) << replaced.status().message();
  EXPECT_TRUE((*replaced)->variants().empty());
  const auto shared = Model::LoadBytes(BytesOf(*composed), {.share_weights_with = *replaced});
  ASSERT_TRUE(shared.ok());
  EXPECT_TRUE((*shared)->variants().empty());
}

ModelTensor TensorOf(const std::string& name, std::vector<int64_t> shape) {
  ModelTensor tensor{.tensor = DenseTensor(name, ElementType::kF32, shape)};
  tensor.storage_bytes = tensor.tensor.dense_bytes();
  return tensor;
}

// As of a decoder: words, a past, a mask of both; the result has a row a word, a column a key.
BundleManifest Decoder(int64_t words, int64_t past) {
  const Place at{.region = Region::kArena};
  BundleManifest manifest;
  manifest.inputs = {TensorOf("words", {words}), TensorOf("past", {past}),
                     TensorOf("mask", {past + words})};
  manifest.outputs = {TensorOf("scores", {words, past + words})};
  manifest.arena_bytes = 32;
  manifest.run_sizes.sizes = {{"words", at, 1, words},
                              {"past", at, 1, past},
                              {"rows", at, 0, words},
                              {"keys", at, 0, past + words}};
  for (uint64_t i = 0; i < 4; ++i) manifest.run_sizes.sizes[i].place.offset_bytes = 8 * i;
  manifest.run_sizes.inputs = {{.input = 0, .axis = 0, .parts = {{.size = 0}}},
                               {.input = 1, .axis = 0, .parts = {{.size = 1}}},
                               {.input = 2, .axis = 0, .parts = {{.size = 0}, {.size = 1}}}};
  manifest.run_sizes.axes = {{.tensor = 0, .axis = 0, .size = 2},
                             {.tensor = 0, .axis = 1, .size = 3}};
  return manifest;
}

// The same for one word, as it is built: nothing says that there are words.
BundleManifest OneWord(int64_t past) {
  BundleManifest manifest = Decoder(1, past);
  RunSizes& sizes = manifest.run_sizes;
  sizes.sizes = {sizes.sizes[1], sizes.sizes[3]};
  sizes.inputs = {{.input = 1, .axis = 0, .parts = {{.size = 0}}},
                  {.input = 2, .axis = 0, .constant = 1, .parts = {{.size = 0}}}};
  sizes.axes = {{.tensor = 0, .axis = 1, .size = 1}};
  manifest.live = {{.place = {}, .size_bytes = 1, .loops = {{.count = 1, .axes = {{}}}}}};
  manifest.live[0].loops[0].axes[0].parts = {{.holds = {{.factor = 2, .sizes = {0}}}}};
  return manifest;
}

TEST(LadderTest, FixedSizesAreThoseOfTheWhole) {
  const BundleManifest whole = Decoder(16, 200);
  BundleManifest one = OneWord(50);
  ASSERT_THAT(TakeSizesOf(whole, one), IsOk());
  ASSERT_EQ(one.run_sizes.sizes.size(), 4u);
  EXPECT_EQ(one.run_sizes.inputs, whole.run_sizes.inputs);
  EXPECT_EQ(one.run_sizes.axes, whole.run_sizes.axes);
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const RunSize& size : one.run_sizes.sizes) ranges.emplace_back(size.least, size.greatest);
  EXPECT_EQ(ranges, (std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {1, 50}, {1, 1}, {0, 51}}));
  EXPECT_EQ(one.run_sizes.sizes[1].place.offset_bytes, 8u);   // Where steps read the past.
  EXPECT_EQ(one.run_sizes.sizes[3].place.offset_bytes, 24u);  // Where a step leaves the keys.
  // The words' and the rows' numbers are new ones, and there from the start.
  EXPECT_EQ(one.arena_bytes, 48u);
  ASSERT_EQ(one.fills.size(), 2u);
  EXPECT_EQ(one.fills[1].place, one.run_sizes.sizes[2].place);
  EXPECT_EQ(one.fills[1].element_bits, 1u);
  // What the past was is counted as in the whole.
  EXPECT_EQ(one.live[0].loops[0].axes[0].parts[0].holds[0].sizes, std::vector<uint32_t>{1});
}

TEST(LadderTest, SizesThatHoldSomethingElseAreRefused) {
  const BundleManifest whole = Decoder(16, 200);
  const auto refused = [&](BundleManifest variant) {
    return TakeSizesOf(whole, variant).code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_FALSE(refused(Decoder(8, 50)));
  BundleManifest other = OneWord(50);
  other.run_sizes.inputs[1].constant = 2;
  EXPECT_TRUE(refused(other)) << "a mask of past + 2";
  other = OneWord(50);
  other.run_sizes.inputs[1].parts[0].factor = 2;
  EXPECT_TRUE(refused(other)) << "a mask of 2 * past + 1";
  other = OneWord(50);
  other.run_sizes.inputs.pop_back();
  EXPECT_TRUE(refused(other)) << "a mask of 51 in every run";
  other = OneWord(50);
  other.inputs.clear();
  EXPECT_TRUE(refused(other)) << "no inputs";
  other = Decoder(8, 50);
  other.run_sizes.axes[0].size = 3;
  EXPECT_FALSE(refused(other)) << "rows by a number of the variant's own";
  other.run_sizes.axes.push_back({.tensor = 0, .axis = 2, .size = 2});
  EXPECT_TRUE(refused(other)) << "an axis more";
}

TEST(LadderTest, BundlesOfAnotherModelAreRefused) {
  EXPECT_THAT(Composed(6, {12}), StatusIs(absl::StatusCode::kInvalidArgument))
      << "larger than the whole";
  Graph other = Rows(3);
  other.values[other.inputs[0]].name = "z";
  WeightPool pool;
  const UnwrittenBundle whole = Built(Rows(6), pool, /*is_variant=*/false);
  const std::vector<UnwrittenBundle> smaller = {Built(other, pool, /*is_variant=*/true)};
  ASSERT_OK_AND_ASSIGN(const UnwrittenBundle composed, ComposeLadder(whole, smaller, pool));
  EXPECT_THAT(Write(composed), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace burnish
