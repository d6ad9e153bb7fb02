// New weights for a bundle's code. The test bundle's "w" is packed by turning it round, which
// kernel 1 of its library does: it stands for a pack function.
#include "compiler/runtime/refit.h"

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "compiler/runtime/bundle.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/test_bundle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kBytes = kTestCount * sizeof(float);

RefitInfo TestRefit() {
  const TensorInfo w = DenseTensor("w", ElementType::kF32, {kTestCount});
  return {
      .parameters = {w},
      .recipes = {
          {.pack = kReverseKernel,
           .inputs = {{.source = 0, .tensor = w, .source_strides = {1}, .storage_bytes = kBytes}},
           .outputs = {{.offset_bytes = 0, .size_bytes = kBytes}}}}};
}

std::string BundleWith(const RefitInfo& refit) {
  const std::vector<float> weights = TestWeights();
  const std::vector<float> packed(weights.rbegin(), weights.rend());
  auto bundle =
      WriteBundle(TestBundleManifest(), TestElf(), AsBytes(packed),
                  {.refit = AsBytes(EncodeRefit(refit)), .packs = AsBytes(TestArtifact())});
  EXPECT_TRUE(bundle.ok()) << bundle.status().message();
  return *std::move(bundle);
}

Replacement New(const std::string& name, const std::vector<float>& values) {
  return {.name = name,
          .tensor = {.data = reinterpret_cast<uint8_t*>(const_cast<float*>(values.data())),
                     .type = ElementType::kF32,
                     .size_bytes = values.size() * sizeof(float)}};
}

RuntimeOr<std::shared_ptr<const Model>> Open(const std::string& bundle,
                                             std::vector<Replacement> replacements) {
  return Model::LoadBytes(AsBytes(bundle), {.replacements = std::move(replacements)});
}

// Of x = 1 everywhere: reverse(w) + 1.
std::vector<float> SumOf(std::shared_ptr<const Model> model) {
  auto pool = ThreadPool::Create({.thread_count = 2});
  auto session = Session::Create(std::move(model), *std::move(pool));
  const std::vector<float> x(kTestCount, 1.0f);
  EXPECT_TRUE((*session)->SetInput(0, AsBytes(x)).ok());
  EXPECT_TRUE((*session)->Run().ok());
  std::vector<float> sum(kTestCount);
  EXPECT_TRUE((*session)->GetOutput(0, AsWritableBytes(sum)).ok());
  return sum;
}

std::vector<float> WantedSum(const std::vector<float>& w) {
  std::vector<float> sum(w.rbegin(), w.rend());
  for (float& value : sum) value += 1.0f;
  return sum;
}

std::vector<float> Ramp() {
  std::vector<float> values(kTestCount);
  std::iota(values.begin(), values.end(), -3.0f);
  return values;
}

TEST(RefitTest, PacksNewWeights) {
  const std::string bundle = BundleWith(TestRefit());
  const std::vector<float> w = Ramp();
  auto model = Open(bundle, {New("w", w)});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(SumOf(*model), WantedSum(w));
  model = Open(bundle, {});
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(SumOf(*model), WantedSum(TestWeights()));
}

TEST(RefitTest, AModelListsWhatCanBeReplaced) {
  const std::string bundle = BundleWith(TestRefit());
  const auto model = Open(bundle, {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ((*model)->parameters(), TestRefit().parameters);
  // Also to a caller of the C API, whose struct has room for 16 axes.
  RefitInfo hostile = TestRefit();
  hostile.parameters[0] =
      DenseTensor("w", ElementType::kF32, std::vector<int64_t>(kRankMax + 1, 1));
  EXPECT_THAT(Open(BundleWith(hostile), {}).status().message(), HasSubstr("rank 17"));
}

TEST(RefitTest, WeightsThatAreNotPackedAreLaidOut) {
  RefitInfo refit = TestRefit();
  refit.recipes[0].pack = -1;  // As the kernel has them: turned round.
  const std::vector<float> w = Ramp();
  auto model = Open(BundleWith(refit), {New("w", w)});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(SumOf(*model), WantedSum({w.rbegin(), w.rend()}));
}

TEST(RefitTest, NewWeightsMayHaveStrides) {
  const std::vector<float> w = Ramp();
  const std::vector<float> backwards(w.rbegin(), w.rend());
  const int64_t stride = -1;
  Replacement replacement = New("w", backwards);
  replacement.tensor.data += kBytes - sizeof(float);
  replacement.tensor.strides = &stride;
  replacement.tensor.rank = 1;
  replacement.tensor.size_bytes.reset();
  auto model = Open(BundleWith(TestRefit()), {replacement});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(SumOf(*model), WantedSum(w));
}

TEST(RefitTest, TheCompilerMayHaveTurnedAParameter) {
  RefitInfo refit = TestRefit();
  refit.parameters[0] = DenseTensor("w", ElementType::kF32, {2, 500});
  refit.recipes[0].inputs[0].tensor = DenseTensor("w", ElementType::kF32, {500, 2});
  refit.recipes[0].inputs[0].source_strides = {1, 500};
  const std::vector<float> w = Ramp();
  std::vector<float> turned(kTestCount);
  for (int i = 0; i < kTestCount; ++i) turned[i] = w[i % 2 * 500 + i / 2];
  auto model = Open(BundleWith(refit), {New("w", w)});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(SumOf(*model), WantedSum(turned));
}

TEST(RefitTest, SessionsShareTheNewWeights) {
  const std::string bundle = BundleWith(TestRefit());
  const std::vector<float> w = Ramp();
  auto first = Open(bundle, {New("w", w)});
  ASSERT_TRUE(first.ok());
  auto second = Model::LoadBytes(AsBytes(bundle), {.share_weights_with = *first});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(SumOf(*second), WantedSum(w));
  second = Model::LoadBytes(AsBytes(bundle),
                            {.share_weights_with = *first, .replacements = {New("w", w)}});
  EXPECT_THAT(second.status().message(), HasSubstr("shared or filled already"));
}

TEST(RefitTest, WhatCannotBeReplacedIsRefusedByName) {
  const std::string bundle = BundleWith(TestRefit());
  const std::vector<float> w = Ramp(), few(10);
  EXPECT_EQ(Open(bundle, {New("conv1.weight", w)}).status().message(),
            "parameter \"conv1.weight\" cannot be replaced in this bundle (the model has none of "
            "this name, or it was folded, shared or rewritten when it was compiled): compile the "
            "model with --refit. Those that can: \"w\"");
  EXPECT_THAT(Open(TestBundle(), {New("w", w)}).status().message(),
              HasSubstr("Those that can: none"));
  EXPECT_EQ(Open(bundle, {New("w", w), New("w", w)}).status().message(),
            "refit: parameter \"w\" twice");
  EXPECT_THAT(Open(bundle, {New("w", few)}).status().message(),
              HasSubstr("parameter \"w\": got 40 bytes"));
  Replacement wrong = New("w", w);
  wrong.tensor.type = ElementType::kF64;
  EXPECT_EQ(Open(bundle, {wrong}).status().message(),
            "parameter \"w\": got f64[1000], want f32[1000]");
}

TEST(RefitTest, ParametersThatArePackedTogetherAreReplacedTogether) {
  RefitInfo refit = TestRefit();
  refit.parameters.push_back(DenseTensor("v", ElementType::kF32, {kTestCount}));
  refit.recipes[0].pack = kAddKernel;  // Of two.
  refit.recipes[0].inputs.push_back(
      {.source = 1, .tensor = refit.parameters[1], .source_strides = {1}, .storage_bytes = kBytes});
  const std::vector<float> w = Ramp();
  EXPECT_EQ(Open(BundleWith(refit), {New("w", w)}).status().message(),
            "refit: parameters \"w\" and \"v\" are packed together: replace both");
}

// Whoever wrote the bundle: no byte outside of the weights is written, no buffer is too short.
TEST(RefitTest, HostileRecipesAreRefused) {
  const std::vector<float> w = Ramp();
  const std::vector<std::function<void(RefitInfo&)>> changes = {
      [](RefitInfo& r) { r.recipes[0].outputs[0].offset_bytes = 1; },
      [](RefitInfo& r) { r.recipes[0].outputs[0].offset_bytes = ~uint64_t{0}; },
      [](RefitInfo& r) { r.recipes[0].outputs[0].size_bytes = 3999; },
      [](RefitInfo& r) { r.recipes[0].outputs.clear(); },
      [](RefitInfo& r) { r.recipes[0].outputs.push_back({0, 4}); },
      [](RefitInfo& r) { r.recipes[0].inputs.clear(); },
      [](RefitInfo& r) { r.recipes[0].inputs[0].source = 1; },
      [](RefitInfo& r) { r.recipes[0].inputs[0].storage_bytes = 3996; },
      [](RefitInfo& r) { r.recipes[0].inputs[0].storage_bytes = 4004; },
      [](RefitInfo& r) { r.recipes[0].inputs[0].tensor.type = ElementType::kF64; },
      [](RefitInfo& r) { r.recipes[0].inputs[0].tensor.shape = {999}; },
      [](RefitInfo& r) { r.recipes[0].inputs[0].tensor.strides = {2}; },
      [](RefitInfo& r) { r.recipes[0].inputs[0].source_strides = {2}; },
      [](RefitInfo& r) { r.recipes[0].inputs[0].source_strides = {-1}; },
      [](RefitInfo& r) { r.recipes[0].inputs[0].source_strides = {}; },
      [](RefitInfo& r) { r.recipes[0].pack = 7; },
      [](RefitInfo& r) { r.recipes[0].pack = kGatherKernel; },
      [](RefitInfo& r) { r.recipes[0].pack = -1, r.recipes[0].outputs[0].size_bytes = 8; },
      [](RefitInfo& r) { r.parameters[0].strides = {2}; },
      [](RefitInfo& r) { r.parameters[0].shape = {-1}; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    RefitInfo refit = TestRefit();
    changes[i](refit);
    EXPECT_EQ(Open(BundleWith(refit), {New("w", w)}).status().code(), RuntimeCode::kInvalidArgument)
        << i;
  }
}

// ---- Plans: a program inside of the bundle computes what is packed.

// sum = b + a, as a model of its own.
BundleManifest ProgramManifest() {
  const TensorInfo sum = DenseTensor("sum", ElementType::kF32, {kTestCount});
  BundleManifest manifest = TestBundleManifest();
  manifest.model_name = "program";
  manifest.arena_bytes = 0;
  manifest.weights_bytes = 0;
  manifest.inputs = {{DenseTensor("b", ElementType::kF32, {kTestCount}), kBytes},
                     {DenseTensor("a", ElementType::kF32, {kTestCount}), kBytes}};
  manifest.outputs = {{sum, kBytes}};
  manifest.constants.clear();
  manifest.fills.clear();
  manifest.steps = {
      {.name = "add",
       .kernel = kAddKernel,
       .buffers = {{Region::kInput, 0, 0}, {Region::kInput, 1, 0}, {Region::kOutput, 0, 0}},
       .outputs = {{.buffer = 2, .tensor = sum}}}};
  return manifest;
}

// The test bundle's weights are reverse(b + a); "w" is read by nothing.
RefitInfo TestPlan() {
  RefitInfo plan = TestRefit();
  plan.parameters = {DenseTensor("a", ElementType::kF32, {kTestCount}),
                     DenseTensor("w", ElementType::kF32, {kTestCount}),
                     DenseTensor("b", ElementType::kF32, {kTestCount})};
  plan.computed = {
      {.tensor = DenseTensor("sum", ElementType::kF32, {kTestCount}), .parameters = {0, 2}}};
  plan.program_inputs = {2, 0};
  plan.recipes[0].inputs[0].source = 3;
  return plan;
}

std::string BundleWithPlan(const RefitInfo& plan, const BundleManifest& program_manifest) {
  auto program = WriteBundle(program_manifest, TestElf(), {});
  EXPECT_TRUE(program.ok()) << program.status().message();
  const std::vector<float> weights(kTestCount, 0.0f);
  auto bundle = WriteBundle(TestBundleManifest(), TestElf(), AsBytes(weights),
                            {.plan = AsBytes(EncodeRefitPlan(plan)),
                             .packs = AsBytes(TestArtifact()),
                             .program = AsBytes(*program)});
  EXPECT_TRUE(bundle.ok()) << bundle.status().message();
  return *std::move(bundle);
}

TEST(RefitTest, AProgramComputesWhatIsPacked) {
  const std::string bundle = BundleWithPlan(TestPlan(), ProgramManifest());
  const std::vector<float> a = Ramp(), b = TestWeights();
  std::vector<float> sum = a;
  for (int i = 0; i < kTestCount; ++i) sum[i] += b[i];
  auto model = Open(bundle, {New("a", a), New("b", b)});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(SumOf(*model), WantedSum(sum));
  EXPECT_EQ((*model)->parameters(), TestPlan().parameters);
  EXPECT_EQ(Open(bundle, {New("b", b)}).status().message(),
            "refit: parameters \"b\" and \"a\" are packed together: replace both");
  model = Open(bundle, {New("w", a)});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(SumOf(*model), WantedSum(std::vector<float>(kTestCount, 0.0f)));
}

TEST(RefitTest, WhatNoParameterChangesIsPackedBesideThem) {
  RefitInfo plan = TestPlan();
  const std::vector<float> ones(kTestCount, 1.0f), a = Ramp(), b = TestWeights();
  plan.constants = {{.tensor = DenseTensor("ones", ElementType::kF32, {kTestCount}),
                     .bytes = {reinterpret_cast<const char*>(ones.data()), kBytes}}};
  plan.recipes[0].pack = kAddKernel;
  plan.recipes[0].inputs.push_back(plan.recipes[0].inputs[0]);
  plan.recipes[0].inputs[1].source = 4;
  auto model = Open(BundleWithPlan(plan, ProgramManifest()), {New("a", a), New("b", b)});
  ASSERT_TRUE(model.ok()) << model.status().message();
  std::vector<float> sum = a;
  for (int i = 0; i < kTestCount; ++i) sum[i] += b[i] + 1.0f;
  EXPECT_EQ(SumOf(*model), WantedSum({sum.rbegin(), sum.rend()}));
}

TEST(RefitTest, HostilePlansAreRefused) {
  const std::vector<float> a = Ramp();
  const std::vector<std::function<void(RefitInfo&, BundleManifest&)>> changes = {
      [](RefitInfo& r, BundleManifest&) { r.recipes[0].inputs[0].source = 4; },
      [](RefitInfo& r, BundleManifest&) { r.recipes[0].inputs[0].source = ~uint32_t{0}; },
      [](RefitInfo& r, BundleManifest&) { r.program_inputs = {2}; },
      [](RefitInfo& r, BundleManifest&) { r.program_inputs = {2, 3}; },
      [](RefitInfo& r, BundleManifest&) { r.computed[0].parameters = {0, 3}; },
      [](RefitInfo& r, BundleManifest&) { r.computed[0].tensor.type = ElementType::kI32; },
      [](RefitInfo& r, BundleManifest&) { r.computed[0].tensor.shape = {2, 500}; },
      [](RefitInfo& r, BundleManifest&) { r.computed[0].tensor.offset_bytes = 4; },
      [](RefitInfo& r, BundleManifest&) { r.computed.push_back(r.computed[0]); },
      [](RefitInfo& r, BundleManifest&) { r.parameters[2].shape = {500, 2}; },
      [](RefitInfo& r, BundleManifest&) {
        r.constants = {{.tensor = r.parameters[0], .bytes = "short"}};
      },
      [](RefitInfo&, BundleManifest& m) { m.outputs.clear(), m.steps.clear(); },
      [](RefitInfo&, BundleManifest& m) {
        m.inputs[1].tensor = DenseTensor("a", ElementType::kF32, {2, 500});
      },
      [](RefitInfo&, BundleManifest& m) { m.outputs[0].tensor.type = ElementType::kI32; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    RefitInfo plan = TestPlan();
    BundleManifest program = ProgramManifest();
    changes[i](plan, program);
    EXPECT_EQ(Open(BundleWithPlan(plan, program), {New("a", a), New("b", a), New("w", a)})
                  .status()
                  .code(),
              RuntimeCode::kInvalidArgument)
        << i;
  }
  // No program at all, or no bundle.
  const std::vector<float> weights(kTestCount, 0.0f);
  for (const std::string& program : {std::string(), std::string("BRNSHBUN")}) {
    auto bundle = WriteBundle(TestBundleManifest(), TestElf(), AsBytes(weights),
                              {.plan = AsBytes(EncodeRefitPlan(TestPlan())),
                               .packs = AsBytes(TestArtifact()),
                               .program = AsBytes(program)});
    EXPECT_FALSE(Open(*bundle, {New("a", a), New("b", a)}).ok());
  }
}

TEST(RefitTest, EncodingOfPlansKeepsAllAndShortBytesAreRefused) {
  RefitInfo plan = TestPlan();
  plan.constants = {{.tensor = plan.parameters[0], .bytes = "bytes"}};
  const std::string bytes = EncodeRefitPlan(plan);
  const RuntimeOr<RefitInfo> back = DecodeRefitPlan(AsBytes(bytes));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, plan);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeRefitPlan(AsBytes(bytes).first(size)).ok()) << size;
  }
}

TEST(RefitTest, EncodingKeepsAllAndShortBytesAreRefused) {
  const RefitInfo refit = TestRefit();
  const std::string bytes = EncodeRefit(refit);
  const RuntimeOr<RefitInfo> back = DecodeRefit(AsBytes(bytes));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, refit);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeRefit(AsBytes(bytes).first(size)).ok()) << size;
  }
}

}  // namespace
}  // namespace burnish
