// Loops and branches of a bundle, by the test kernels, and manifests that must not pass.
#include "compiler/runtime/control_walk.h"

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/runtime/bundle.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/test_bundle.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr uint64_t kSlice = 4096;  // Bytes from one vector to the next.
constexpr int kPitch = kSlice / sizeof(float);

ModelStep Add(const std::string& name, Place a, Place b, Place sum) {
  ModelStep step;
  step.name = name;
  step.kernel = kAddKernel;
  step.buffers = {a, b, sum};
  step.outputs = {{.buffer = 2, .tensor = DenseTensor(name, ElementType::kF32, {kTestCount})}};
  return step;
}

ModelTensor Vectors(const std::string& name, int64_t count) {
  return {.tensor = DenseTensor(name, ElementType::kF32, {count, kPitch}),
          .storage_bytes = count * kSlice};
}

Place Arena(uint64_t slot) { return {Region::kArena, 0, slot * kSlice}; }
Place At(uint32_t walker) { return {Region::kWalker, walker, 0}; }

// The running sum of the input's vectors: state + slice, over `count` of them. Inputs: "start",
// "xs" with `rows` vectors, "flags"; outputs: "sums" with `rows` vectors, "last".
//   walkers: 0 the slice, 1 the sum that is written, 2 the sum that is read
BundleManifest SumManifest(uint64_t count, int64_t rows = 4, bool backwards = false) {
  BundleManifest manifest;
  const ArtifactManifest artifact = TestArtifactManifest();
  manifest.target = artifact.target;
  manifest.kernels = artifact.kernels;
  for (KernelManifest& kernel : manifest.kernels) kernel.pack.reset();
  manifest.arena_bytes = 4 * kSlice;
  manifest.inputs = {Vectors("start", 1),
                     Vectors("xs", rows),
                     {.tensor = DenseTensor("flags", ElementType::kBool, {rows + 1}),
                      .storage_bytes = static_cast<uint64_t>(rows) + 1}};
  manifest.outputs = {Vectors("sums", rows), Vectors("last", 1)};
  manifest.steps = {Add("sum", At(2), At(0), At(1))};
  const uint64_t start = backwards ? (rows - 1) * kSlice : 0;
  const int64_t stride = backwards ? -static_cast<int64_t>(kSlice) : kSlice;
  Walker slice{.base = {Region::kInput, 1, start},
               .stride_bytes = stride,
               .alignment_bytes = 64,
               .size_bytes = kSlice};
  Walker written = slice;
  written.base = {Region::kOutput, 0, start};
  Walker read = written;
  read.has_first = true;
  read.first = {Region::kInput, 0, 0};
  read.lag = 1;
  manifest.control.walkers = {slice, written, read};
  ControlBlock loop{.name = "the loop", .middle_step = 1, .end_step = 1, .count = count};
  loop.results = {{.from = At(2), .to = {Region::kOutput, 1, 0}, .size_bytes = kSlice}};
  manifest.control.blocks = {loop};
  return manifest;
}

// The state in two places of the arena, in turn.
void TakeTurns(BundleManifest& manifest) {
  for (const int walker : {1, 2}) {
    manifest.control.walkers[walker].base = Arena(0);
    manifest.control.walkers[walker].stride_bytes = kSlice;
    manifest.control.walkers[walker].period = 2;
  }
}

std::unique_ptr<Session> Open(const BundleManifest& manifest, int thread_count) {
  auto bundle = WriteBundle(manifest, TestElf(), {});
  EXPECT_TRUE(bundle.ok()) << bundle.status().message();
  if (!bundle.ok()) return nullptr;
  auto model = Model::LoadBytes(AsBytes(*bundle), {});
  EXPECT_TRUE(model.ok()) << model.status().message();
  auto pool = ThreadPool::Create({.thread_count = thread_count});
  auto session = Session::Create(*model, std::shared_ptr<ThreadPool>(std::move(*pool)));
  EXPECT_TRUE(session.ok());
  return *std::move(session);
}

// Vector v of the input is v + 1 everywhere, the start is 100.
void SetInputs(Session& session, int rows, std::vector<uint8_t> flags = {}) {
  std::vector<float> xs;
  for (int v = 0; v < rows; ++v) xs.insert(xs.end(), kPitch, static_cast<float>(v + 1));
  ASSERT_TRUE(session.SetInput(0, AsBytes(std::vector<float>(kPitch, 100.0f))).ok());
  ASSERT_TRUE(session.SetInput(1, AsBytes(xs)).ok());
  flags.resize(rows + 1, 0);
  ASSERT_TRUE(session.SetInput(2, AsBytes(flags)).ok());
}

float Last(Session& session) {
  std::vector<float> last(kPitch);
  EXPECT_TRUE(session.GetOutput(1, AsWritableBytes(last)).ok());
  for (int i = 1; i < kTestCount; ++i) EXPECT_EQ(last[i], last[0]) << i;
  return last[0];
}

std::vector<float> Sums(Session& session, int rows) {
  std::vector<float> all(rows * kPitch), firsts;
  EXPECT_TRUE(session.GetOutput(0, AsWritableBytes(all)).ok());
  for (int v = 0; v < rows; ++v) firsts.push_back(all[v * kPitch]);
  return firsts;
}

TEST(ControlWalkTest, AScanReadsAndWritesSlices) {
  for (const int threads : {1, 2, 3, 8}) {
    const auto session = Open(SumManifest(4), threads);
    SetInputs(*session, 4);
    for (int run = 0; run < 20; ++run) {
      ASSERT_TRUE(session->Run().ok());
      EXPECT_EQ(Sums(*session, 4), (std::vector<float>{101, 103, 106, 110}));
      EXPECT_EQ(Last(*session), 110);
    }
  }
}

TEST(ControlWalkTest, AScanBackwards) {
  const auto session = Open(SumManifest(4, 4, /*backwards=*/true), 2);
  SetInputs(*session, 4);
  ASSERT_TRUE(session->Run().ok());
  EXPECT_EQ(Sums(*session, 4), (std::vector<float>{110, 109, 107, 104}));
}

TEST(ControlWalkTest, StatesTakeTurnsAndZeroIterationsKeepTheFirst) {
  for (const uint64_t count : {0, 1, 2, 3, 4}) {
    BundleManifest manifest = SumManifest(count);
    TakeTurns(manifest);
    const auto session = Open(manifest, 2);
    SetInputs(*session, 4);
    ASSERT_TRUE(session->Run().ok());
    EXPECT_EQ(Last(*session), 100 + count * (count + 1) / 2) << count;
  }
}

// The loop of 3 in a loop of 2, which reads its slices twice.
TEST(ControlWalkTest, ALoopInALoop) {
  BundleManifest manifest = SumManifest(3);
  TakeTurns(manifest);
  // The outer state lies in other places of the arena, in turn; the inner loop starts from it.
  Walker outer_read = manifest.control.walkers[2], outer_written = manifest.control.walkers[1];
  outer_read.base = outer_written.base = Arena(2);
  std::vector<Walker> inner = manifest.control.walkers;
  for (Walker& walker : inner) walker.block = 1;
  inner[2].first = At(0);
  manifest.control.walkers = {outer_read, outer_written, inner[0], inner[1], inner[2]};
  manifest.steps = {Add("sum", At(4), At(2), At(3))};
  ControlBlock loop = manifest.control.blocks[0];
  ControlBlock outer = loop;
  outer.count = 2;
  outer.results[0].from = At(0);
  loop.parent = 0;
  loop.results[0] = {.from = At(4), .to = At(1), .size_bytes = kSlice};
  manifest.control.blocks = {outer, loop};
  for (const int threads : {1, 3}) {
    const auto session = Open(manifest, threads);
    SetInputs(*session, 4);
    for (int run = 0; run < 20; ++run) {
      ASSERT_TRUE(session->Run().ok());
      EXPECT_EQ(Last(*session), 112);
    }
  }
}

TEST(ControlWalkTest, AConditionEndsTheLoopAndTheLimitNamesIt) {
  BundleManifest manifest = SumManifest(4);
  TakeTurns(manifest);
  manifest.control.walkers.push_back(
      {.base = {Region::kInput, 2, 0}, .stride_bytes = 1, .size_bytes = 1});
  manifest.control.blocks[0].has_condition = true;
  manifest.control.blocks[0].condition = At(3);
  const auto session = Open(manifest, 3);
  SetInputs(*session, 4, {1, 1, 0, 1});
  ASSERT_TRUE(session->Run().ok());
  EXPECT_EQ(Last(*session), 103);
  SetInputs(*session, 4, {1, 1, 1, 1, 0});
  ASSERT_TRUE(session->Run().ok());
  EXPECT_EQ(Last(*session), 110);
  session->SetLoopLimit(3);
  EXPECT_EQ(
      session->Run().message(),
      "loop \"the loop\" goes on after 3 iterations (the limit); give a higher one if that is "
      "right");
  session->SetLoopLimit(4);
  EXPECT_TRUE(session->Run().ok());
}

TEST(ControlWalkTest, ACountFromMemory) {
  BundleManifest manifest = SumManifest(4);
  TakeTurns(manifest);
  manifest.inputs[2] = {.tensor = DenseTensor("count", ElementType::kI64, {1}), .storage_bytes = 8};
  manifest.control.blocks[0].has_count = true;
  manifest.control.blocks[0].count_place = {Region::kInput, 2, 0};
  const auto session = Open(manifest, 2);
  std::vector<float> xs;
  for (int v = 0; v < 4; ++v) xs.insert(xs.end(), kPitch, static_cast<float>(v + 1));
  ASSERT_TRUE(session->SetInput(0, AsBytes(std::vector<float>(kPitch, 100.0f))).ok());
  ASSERT_TRUE(session->SetInput(1, AsBytes(xs)).ok());
  const std::pair<int64_t, float> cases[] = {{-1, 100}, {0, 100}, {2, 103}, {99, 110}};
  for (const auto& [count, want] : cases) {
    ASSERT_TRUE(session->SetInput(2, AsBytes(std::vector<int64_t>{count})).ok());
    ASSERT_TRUE(session->Run().ok());
    EXPECT_EQ(Last(*session), want) << count;
  }
}

// The last iterations of four, by a count in memory, with the sums stacked or in turn: the first of
// them reads what iteration 0 would, and the rows are those of so many iterations.
BundleManifest LastIterations(bool in_turn) {
  BundleManifest manifest = SumManifest(4, 4, /*backwards=*/true);
  if (in_turn) TakeTurns(manifest);
  manifest.inputs[2] = {.tensor = DenseTensor("count", ElementType::kI64, {1}), .storage_bytes = 8};
  manifest.control.blocks[0].kind = BlockKind::kLastIterations;
  manifest.control.blocks[0].has_count = true;
  manifest.control.blocks[0].count_place = {Region::kInput, 2, 0};
  return manifest;
}

TEST(ControlWalkTest, TheLastIterationsEndWithTheFirstRow) {
  for (const bool in_turn : {false, true}) {
    for (const int threads : {1, 3}) {
      const auto session = Open(LastIterations(in_turn), threads);
      std::vector<float> xs;
      for (int v = 0; v < 4; ++v) xs.insert(xs.end(), kPitch, static_cast<float>(v + 1));
      ASSERT_TRUE(session->SetInput(0, AsBytes(std::vector<float>(kPitch, 100.0f))).ok());
      ASSERT_TRUE(session->SetInput(1, AsBytes(xs)).ok());
      const std::pair<int64_t, float> cases[] = {{-1, 100}, {0, 100}, {1, 101},
                                                 {2, 103},  {3, 106}, {99, 110}};
      for (const auto& [count, want] : cases) {
        ASSERT_TRUE(session->SetInput(2, AsBytes(std::vector<int64_t>{count})).ok());
        ASSERT_TRUE(session->Run().ok());
        EXPECT_EQ(Last(*session), want) << count;
      }
      ASSERT_TRUE(session->SetInput(2, AsBytes(std::vector<int64_t>{2})).ok());
      session->SetLoopLimit(1);
      EXPECT_EQ(session->Run().code(), RuntimeCode::kResourceExhausted);
      session->SetLoopLimit(2);
      ASSERT_TRUE(session->Run().ok());
      if (in_turn) continue;
      const std::vector<float> sums = Sums(*session, 4);
      EXPECT_EQ(sums[0], 103);
      EXPECT_EQ(sums[1], 102);
    }
  }
}

TEST(ControlWalkTest, FilesOfTheLastIterationsAreOfVersion7) {
  const auto bundle = WriteBundle(LastIterations(true), TestElf(), {});
  ASSERT_TRUE(bundle.ok());
  uint32_t version = 0;
  std::memcpy(&version, bundle->data() + 8, sizeof(version));
  EXPECT_EQ(version, 7u);
}

// last = start + start, or start + xs[0].
BundleManifest BranchManifest() {
  BundleManifest manifest = SumManifest(1);
  const Place start{Region::kInput, 0, 0}, x{Region::kInput, 1, 0}, last{Region::kOutput, 1, 0};
  manifest.steps = {Add("twice", start, start, last), Add("more", start, x, last)};
  manifest.control.walkers.clear();
  manifest.control.blocks = {{.kind = BlockKind::kBranch,
                              .name = "the branch",
                              .middle_step = 1,
                              .end_step = 2,
                              .has_condition = true,
                              .condition = {Region::kInput, 2, 0}}};
  return manifest;
}

TEST(ControlWalkTest, ABranchRunsOneOfItsRanges) {
  for (const int threads : {1, 3}) {
    const auto session = Open(BranchManifest(), threads);
    std::vector<float> step(kTestCount);
    SetInputs(*session, 4, {1});
    ASSERT_TRUE(session->Run().ok());
    EXPECT_EQ(Last(*session), 200);
    EXPECT_EQ(session->DebugOutput(1, 0, AsWritableBytes(step)).message(),
              "step 1 \"more\" does not run with these inputs");
    SetInputs(*session, 4, {0});
    ASSERT_TRUE(session->Run().ok());
    EXPECT_EQ(Last(*session), 101);
    ASSERT_TRUE(session->DebugOutput(1, 0, AsWritableBytes(step)).ok());
    EXPECT_EQ(step[0], 101);
  }
}

TEST(ControlWalkTest, DebugOutputIsTheFirstIterationsAndProfilesAddUp) {
  const auto session = Open(SumManifest(4), 2);
  SetInputs(*session, 4);
  std::vector<float> step(kTestCount);
  ASSERT_TRUE(session->DebugOutput(0, 0, AsWritableBytes(step)).ok());
  EXPECT_EQ(step[0], 101);
  std::vector<int64_t> step_ns(1, -1000000000);
  ASSERT_TRUE(session->RunProfiled(step_ns).ok());
  EXPECT_GT(step_ns[0], 0);
  EXPECT_EQ(Last(*session), 110);
}

// A gather whose index is out of bounds in the second iteration: no worker waits for ever.
TEST(ControlWalkTest, AFailureInALoopEndsTheRunForAllWorkers) {
  BundleManifest manifest = SumManifest(4);
  TakeTurns(manifest);
  manifest.inputs[2] = {.tensor = DenseTensor("index", ElementType::kI32, {4, 1024}),
                        .storage_bytes = 4 * kSlice};
  manifest.control.walkers.push_back({.base = {Region::kInput, 2, 0},
                                      .stride_bytes = kSlice,
                                      .alignment_bytes = 64,
                                      .size_bytes = kSlice});
  ModelStep gather;
  gather.name = "gather";
  gather.kernel = kGatherKernel;
  gather.buffers = {{Region::kInput, 0, 0}, At(3), Arena(2)};
  manifest.steps.push_back(gather);
  manifest.control.blocks[0].middle_step = manifest.control.blocks[0].end_step = 2;
  for (const int threads : {1, 2, 3}) {
    const auto session = Open(manifest, threads);
    std::vector<int32_t> index(4 * 1024, 0);
    index[1024] = 1000;
    ASSERT_TRUE(session->SetInput(2, AsBytes(index)).ok());
    for (int run = 0; run < 50; ++run) {
      EXPECT_EQ(session->Run().message(),
                "step 1 \"gather\": an index input is out of bounds (code 1)");
    }
  }
}

TEST(ControlWalkTest, FilesWithControlAreOfVersion3AndKeepIt) {
  const BundleManifest manifest = SumManifest(4);
  const auto bundle = WriteBundle(manifest, TestElf(), {});
  ASSERT_TRUE(bundle.ok());
  uint32_t version = 0;
  std::memcpy(&version, bundle->data() + 8, sizeof(version));
  EXPECT_EQ(version, 3u);
  const auto reader = BundleReader::FromBytes(AsBytes(*bundle));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->manifest(), manifest);
}

struct Fault {
  const char* what;
  std::function<void(BundleManifest&)> make;
};

TEST(ControlWalkTest, ManifestsThatLeaveTheirMemoryAreRefused) {
  const Fault faults[] = {
      {"one iteration too many", [](auto& m) { m.control.blocks[0].count = 5; }},
      {"endless iterations", [](auto& m) { m.control.blocks[0].count = ~uint64_t{0}; }},
      {"a stride that wraps",
       [](auto& m) { m.control.walkers[0].stride_bytes = int64_t{1} << 62; }},
      {"below the region", [](auto& m) { m.control.walkers[0].stride_bytes = -4096; }},
      {"more than the region", [](auto& m) { m.control.walkers[0].size_bytes = 4097; }},
      {"a huge size", [](auto& m) { m.control.walkers[0].size_bytes = ~uint64_t{0}; }},
      {"less than the kernel touches", [](auto& m) { m.control.walkers[0].size_bytes = 64; }},
      {"less aligned than the kernel", [](auto& m) { m.control.walkers[0].alignment_bytes = 32; }},
      {"an odd alignment", [](auto& m) { m.control.walkers[0].alignment_bytes = 3; }},
      {"no alignment", [](auto& m) { m.control.walkers[0].alignment_bytes = 0; }},
      {"a stride without it", [](auto& m) { m.control.walkers[0].stride_bytes = 32; }},
      {"a start without it", [](auto& m) { m.control.walkers[0].base.offset_bytes = 32; }},
      {"a lag without first", [](auto& m) { m.control.walkers[2].has_first = false; }},
      {"a lag of two", [](auto& m) { m.control.walkers[2].lag = 2; }},
      {"a period beyond the arena",
       [](auto& m) {
         TakeTurns(m);
         m.control.walkers[1].period = 5;
       }},
      {"first beyond its region", [](auto& m) { m.control.walkers[2].first.offset_bytes = 64; }},
      {"writing an input", [](auto& m) { m.control.walkers[1].base = {Region::kInput, 1, 0}; }},
      {"writing an input at first", [](auto& m) { m.steps[0].buffers[2] = At(2); }},
      {"a walker of no loop", [](auto& m) { m.control.walkers[0].block = 1; }},
      {"no such walker", [](auto& m) { m.steps[0].buffers[0] = At(3); }},
      {"a start at itself", [](auto& m) { m.control.walkers[0].base = At(0); }},
      {"a start at a later one", [](auto& m) { m.control.walkers[0].base = At(1); }},
      {"a start at a neighbour", [](auto& m) { m.control.walkers[1].base = At(0); }},
      {"no such region", [](auto& m) { m.control.walkers[0].base.region = Region{9}; }},
      {"a walker outside of its loop",
       [](auto& m) { m.steps.push_back(Add("late", At(0), At(0), Arena(0))); }},
      {"a result into an input",
       [](auto& m) { m.control.blocks[0].results[0].to = {Region::kInput, 0, 0}; }},
      {"a result that is too long",
       [](auto& m) { m.control.blocks[0].results[0].size_bytes = 4097; }},
      {"a result into its own loop's walker",
       [](auto& m) { m.control.blocks[0].results[0].to = At(1); }},
      // At the end the slice's walker is one iteration further.
      {"a result from behind the end",
       [](auto& m) { m.control.blocks[0].results[0].from = At(0); }},
      {"a condition behind the end",
       [](auto& m) {
         m.control.blocks[0].has_condition = true;
         m.control.blocks[0].condition = At(0);
       }},
      {"a count of half a number",
       [](auto& m) {
         m.control.blocks[0].has_count = true;
         m.control.blocks[0].count_place = {Region::kInput, 2, 0};
       }},
      {"a count from its own walker",
       [](auto& m) {
         m.control.blocks[0].has_count = true;
         m.control.blocks[0].count_place = At(0);
       }},
      {"a loop of nothing",
       [](auto& m) { m.control.blocks[0].middle_step = m.control.blocks[0].end_step = 0; }},
      {"steps that do not exist",
       [](auto& m) { m.control.blocks[0].middle_step = m.control.blocks[0].end_step = 2; }},
      {"steps backwards", [](auto& m) { m.control.blocks[0].first_step = 2; }},
      {"a kind of the future", [](auto& m) { m.control.blocks[0].kind = BlockKind{4}; }},
      {"last iterations of too many",
       [](auto& m) {
         m = LastIterations(false);
         m.control.blocks[0].count = 5;
       }},
      {"its own parent", [](auto& m) { m.control.blocks[0].parent = 0; }},
      {"blocks that overlap", [](auto& m) { m.control.blocks.push_back(m.control.blocks[0]); }},
      {"a branch without condition",
       [](auto& m) {
         m = BranchManifest();
         m.control.blocks[0].has_condition = false;
       }},
      {"a condition that does not exist",
       [](auto& m) {
         m = BranchManifest();
         m.control.blocks[0].condition.offset_bytes = 5;
       }},
      {"a block across the arms",
       [](auto& m) {
         m = BranchManifest();
         ControlBlock inner = m.control.blocks[0];
         inner.parent = 0;
         m.control.blocks.push_back(inner);
       }},
      {"too deep",
       [](auto& m) {
         m.control.walkers.clear();
         m.steps = {Add("a", Arena(0), Arena(1), Arena(2))};
         m.control.blocks[0].results.clear();
         for (uint32_t i = 0; i < 64; ++i) {
           m.control.blocks.push_back(m.control.blocks[0]);
           m.control.blocks.back().parent = i;
         }
       }},
      {"a fill of a walker", [](auto& m) { m.fills = {{.place = At(0), .size_bytes = 4}}; }},
  };
  EXPECT_TRUE(CheckManifest(SumManifest(4)).ok());
  EXPECT_TRUE(CheckManifest(BranchManifest()).ok());
  EXPECT_TRUE(CheckManifest(LastIterations(false)).ok());
  for (const Fault& fault : faults) {
    BundleManifest manifest = SumManifest(4);
    fault.make(manifest);
    const RuntimeStatus status = CheckManifest(manifest);
    EXPECT_EQ(status.code(), RuntimeCode::kInvalidArgument) << fault.what;
  }
}

TEST(ControlWalkTest, DamagedControlProgramsAreRefused) {
  const std::string bytes = EncodeControl(SumManifest(4).control);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeControl(AsBytes(bytes.substr(0, size))).ok()) << size;
  }
  EXPECT_TRUE(DecodeControl(AsBytes(bytes)).ok());
}

}  // namespace
}  // namespace burnish
