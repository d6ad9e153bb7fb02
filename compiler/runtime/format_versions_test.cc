// Bundles as each format version wrote them, in testdata/bundles: they open, or are refused with
// what to do. A file that is there once stays as it is.
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "compiler/runtime/bundle.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/test_bundle.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

std::string PathOf(uint32_t version) {
  return "compiler/runtime/testdata/bundles/format_" + std::to_string(version) + ".bundle";
}

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

uint32_t VersionOf(const std::string& bundle) {
  uint32_t version = 0;
  std::memcpy(&version, bundle.data() + 8, sizeof(version));
  return version;
}

TEST(FormatVersionsTest, EachFileHasTheVersionOfItsName) {
  for (uint32_t version : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u})
    EXPECT_EQ(VersionOf(Contents(PathOf(version))), version);
}

// Whoever raises the version adds a file and says below what becomes of the others. Version 3 is of
// bundles with control or host kernels only, version 4 of those with sizes that a run decides,
// version 5 of those whose inputs have such sizes, version 6 of those with kernels that ask what a
// run reads, version 7 of those with loops of the last iterations, or with control and what a run
// leaves out, version 8 of those with inputs that are read in a run's shape, version 9 of
// those with inputs that a run may leave out.
TEST(FormatVersionsTest, TodaysVersionHasAFile) {
  EXPECT_EQ(VersionOf(TestBundle()), 2u) << "add testdata/bundles/format_N.bundle and its test";
}

// The running sum of the input's vectors, as control_walk_test.cc describes it.
TEST(FormatVersionsTest, Format3RunsItsLoop) {
  auto model = Model::LoadFile(PathOf(3), {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto pool = ThreadPool::Create({.thread_count = 2});
  ASSERT_TRUE(pool.ok());
  auto session = Session::Create(*model, *std::move(pool));
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE((*session)->SetInput(0, AsBytes(std::vector<float>(1024, 100.0f))).ok());
  ASSERT_TRUE((*session)->SetInput(1, AsBytes(std::vector<float>(4 * 1024, 2.0f))).ok());
  ASSERT_TRUE((*session)->Run().ok());
  std::vector<float> last(1024);
  ASSERT_TRUE((*session)->GetOutput(1, AsWritableBytes(last)).ok());
  EXPECT_EQ(last[0], 108.0f);
}

// What test_bundle.h says of TestSizesBundle.
TEST(FormatVersionsTest, Format4FindsWhatIsThere) {
  auto model = Model::LoadFile(PathOf(4), {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto pool = ThreadPool::Create({.thread_count = 2});
  ASSERT_TRUE(pool.ok());
  auto session = Session::Create(*model, *std::move(pool));
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE((*session)->SetInput(0, AsBytes(std::vector<float>{0, 0, 0, 5, 0, 0, 5, 0})).ok());
  ASSERT_TRUE((*session)->Run().ok());
  EXPECT_EQ((*session)->OutputShape(0), (std::vector<int64_t>{2, 2}));
  std::vector<int64_t> places(4);
  ASSERT_TRUE((*session)->GetOutput(0, AsWritableBytes(places)).ok());
  EXPECT_EQ(places, (std::vector<int64_t>{0, 1, 3, 2}));
}

// What test_bundle.h says of TestGivenBundle.
TEST(FormatVersionsTest, Format5RunsInTheSizesThatAreSet) {
  auto model = Model::LoadFile(PathOf(5), {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto pool = ThreadPool::Create({.thread_count = 2});
  ASSERT_TRUE(pool.ok());
  auto session = Session::Create(*model, *std::move(pool));
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE((*session)->SetSizes(std::vector<int64_t>{2, 2}).ok());
  ASSERT_TRUE((*session)->SetInput(0, AsBytes(std::vector<float>{1, 2, 3, 4})).ok());
  ASSERT_TRUE((*session)->SetInput(1, AsBytes(std::vector<float>{10, 20, 30, 40})).ok());
  ASSERT_TRUE((*session)->Run().ok());
  std::vector<float> sum(4);
  ASSERT_TRUE((*session)->GetOutput(0, AsWritableBytes(sum)).ok());
  EXPECT_EQ(sum, (std::vector<float>{11, 22, 33, 44}));
}

// The same as format 5, and a step that is told which of its two rows a run reads.
TEST(FormatVersionsTest, Format6TellsLoopsWhatIsRead) {
  auto model = Model::LoadFile(PathOf(6), {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_EQ((*model)->manifest().live.size(), 1u);
  auto pool = ThreadPool::Create({.thread_count = 2});
  ASSERT_TRUE(pool.ok());
  auto session = Session::Create(*model, *std::move(pool));
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE((*session)->SetSizes(std::vector<int64_t>{2, 2}).ok());
  ASSERT_TRUE((*session)->SetInput(0, AsBytes(std::vector<float>{1, 2, 3, 4})).ok());
  ASSERT_TRUE((*session)->SetInput(1, AsBytes(std::vector<float>{10, 20, 30, 40})).ok());
  ASSERT_TRUE((*session)->Run().ok());
  std::vector<float> sum(4);
  ASSERT_TRUE((*session)->GetOutput(0, AsWritableBytes(sum)).ok());
  EXPECT_EQ(sum, (std::vector<float>{11, 22, 33, 44}));
}

// The running sum of the last two vectors, from the last one, as control_walk_test.cc describes it.
TEST(FormatVersionsTest, Format7RunsTheLastIterations) {
  auto model = Model::LoadFile(PathOf(7), {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto pool = ThreadPool::Create({.thread_count = 2});
  ASSERT_TRUE(pool.ok());
  auto session = Session::Create(*model, *std::move(pool));
  ASSERT_TRUE(session.ok());
  std::vector<float> xs(4 * 1024, 2.0f);
  xs[0] = 5.0f;
  ASSERT_TRUE((*session)->SetInput(0, AsBytes(std::vector<float>(1024, 100.0f))).ok());
  ASSERT_TRUE((*session)->SetInput(1, AsBytes(xs)).ok());
  ASSERT_TRUE((*session)->SetInput(2, AsBytes(std::vector<int64_t>{2})).ok());
  ASSERT_TRUE((*session)->Run().ok());
  std::vector<float> last(1024);
  ASSERT_TRUE((*session)->GetOutput(1, AsWritableBytes(last)).ok());
  EXPECT_EQ(last[0], 107.0f);
  EXPECT_EQ(last[1], 104.0f);
}

// Before that, control was of version 3, and no runtime told its kernels what to leave out.
TEST(FormatVersionsTest, ControlAndWhatARunLeavesOutAreOfVersion7) {
  const auto reader = BundleReader::OpenFile(PathOf(3));
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  BundleManifest manifest = reader->manifest();
  std::vector<uint8_t> weights(manifest.weights_bytes);
  ASSERT_TRUE(reader->ReadWeights(weights, /*check_hash=*/true).ok());
  const auto elf = reader->ReadElf();
  ASSERT_TRUE(elf.ok());
  const auto before = WriteBundle(manifest, *elf, weights, {}, {});
  ASSERT_TRUE(before.ok()) << before.status().message();
  EXPECT_EQ(VersionOf(*before), 3u);
  manifest.live = {{.place = {}, .size_bytes = 1, .loops = {}}};
  const auto after = WriteBundle(manifest, *elf, weights, {}, {});
  ASSERT_TRUE(after.ok()) << after.status().message();
  EXPECT_EQ(VersionOf(*after), 7u);
  EXPECT_TRUE(BundleReader::FromBytes(AsBytes(*after)).ok());
}

// The same as format 5, of which the second input is read where the caller has it.
TEST(FormatVersionsTest, Format8ReadsAnInputInTheRunsShape) {
  auto model = Model::LoadFile(PathOf(8), {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_EQ((*model)->manifest().input_strides.size(), 1u);
  auto pool = ThreadPool::Create({.thread_count = 2});
  ASSERT_TRUE(pool.ok());
  auto session = Session::Create(*model, *std::move(pool));
  ASSERT_TRUE(session.ok());
  alignas(64) std::vector<float> x(1000, 1.0f), y(1000, 2.0f), sum(1000);
  const auto tensor = [](std::vector<float>& values) {
    uint8_t* const data = reinterpret_cast<uint8_t*>(values.data());
    return CallTensor{.data = data,
                      .strides = {2, 1},
                      .is_dense = true,
                      .begin = data,
                      .end = data + 4 * sizeof(float)};
  };
  std::vector<int64_t> extents = {2, 2};
  ASSERT_TRUE((*session)
                  ->RunTensors(std::vector<CallTensor>{tensor(x), tensor(y)},
                               std::vector<CallTensor>{tensor(sum)}, {}, extents)
                  .ok());
  EXPECT_EQ(std::vector<float>(sum.begin(), sum.begin() + 4), std::vector<float>(4, 3.0f));
}

// The test bundle, with a default of the input that says what is picked.
TEST(FormatVersionsTest, Format9HasWhatARunDoesNotGive) {
  auto model = Model::LoadFile(PathOf(9), {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto pool = ThreadPool::Create({.thread_count = 2});
  ASSERT_TRUE(pool.ok());
  auto session = Session::Create(*model, *std::move(pool));
  ASSERT_TRUE(session.ok());
  std::vector<float> x(kTestCount, 2.0f), picked(4);
  ASSERT_TRUE((*session)->SetInput(0, AsBytes(x)).ok());
  ASSERT_TRUE((*session)->Run().ok());
  ASSERT_TRUE((*session)->GetOutput(1, AsWritableBytes(picked)).ok());
  const std::vector<float> weights = TestWeights();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(picked[i], 2.0f * weights[kTestCount - 5 + i]);
}

TEST(FormatVersionsTest, Format2Runs) {
  auto model = Model::LoadFile(PathOf(2), {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto pool = ThreadPool::Create({.thread_count = 2});
  ASSERT_TRUE(pool.ok());
  auto session = Session::Create(*model, *std::move(pool));
  ASSERT_TRUE(session.ok());
  const std::vector<float> x(kTestCount, 3.0f);
  ASSERT_TRUE((*session)->SetInput(0, AsBytes(x)).ok());
  ASSERT_TRUE((*session)->Run().ok());
  std::vector<float> sum(kTestCount);
  ASSERT_TRUE((*session)->GetOutput(0, AsWritableBytes(sum)).ok());
  for (int i = 0; i < kTestCount; ++i) {
    ASSERT_EQ(sum[i], TestWeights()[kTestCount - 1 - i] * 3.0f + 3.0f) << i;
  }
}

// Its sections are hashed in another way.
TEST(FormatVersionsTest, Format1IsRefusedByName) {
  EXPECT_EQ(Model::LoadFile(PathOf(1), {}).status().message(),
            PathOf(1) +
                ": got format version 1, want 2 to 9: it was written by an older Burnish; build it "
                "again");
}

TEST(FormatVersionsTest, AFormatOfTheFutureIsRefusedByName) {
  std::string bundle = Contents(PathOf(2));
  bundle[8] = 10;
  EXPECT_EQ(
      BundleReader::FromBytes(AsBytes(bundle)).status().message(),
      "got format version 10, want 2 to 9: it was written by a newer Burnish; run it with that");
}

}  // namespace
}  // namespace burnish
