#include "compiler/runtime/run_sizes.h"

#include <numeric>
#include <string>
#include <vector>

#include "compiler/runtime/bundle.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/test_bundle.h"
#include "compiler/runtime/thread_pool.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

std::unique_ptr<Session> MakeSession(const std::string& bundle) {
  auto model = Model::LoadBytes(AsBytes(bundle), {});
  EXPECT_TRUE(model.ok()) << model.status().message();
  auto pool = ThreadPool::Create({.thread_count = 2});
  EXPECT_TRUE(pool.ok());
  auto session = Session::Create(*std::move(model), *std::move(pool));
  EXPECT_TRUE(session.ok());
  return *std::move(session);
}

TEST(RunSizesTest, ComeBackAsTheyWere) {
  const RunSizes sizes = TestSizesManifest().run_sizes;
  const std::string bytes = EncodeRunSizes(sizes);
  EXPECT_TRUE(*DecodeRunSizes(AsBytes(bytes)) == sizes);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(DecodeRunSizes(AsBytes(bytes.substr(0, length))).ok());
  }
  EXPECT_FALSE(DecodeRunSizes(AsBytes(bytes + "x")).ok());
}

TEST(RunSizesTest, ABundleWithSizesHasAVersionOfItsOwn) {
  EXPECT_EQ(TestSizesBundle()[8], 4);
  auto reader = BundleReader::FromBytes(AsBytes(TestSizesBundle()));
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_TRUE(reader->manifest() == TestSizesManifest());
}

TEST(RunSizesTest, WhatDoesNotFitIsRefused) {
  const auto refusal = [](auto change) {
    BundleManifest manifest = TestSizesManifest();
    change(manifest.run_sizes);
    return CheckManifest(manifest).message();
  };
  EXPECT_EQ(refusal([](RunSizes&) {}), "");
  EXPECT_EQ(refusal([](RunSizes& s) { s.sizes[0].place = {Region::kOutput, 0, 0}; }),
            "sizes of a run: \"count\" is no number in the arena");
  EXPECT_EQ(refusal([](RunSizes& s) { s.sizes[0].place.offset_bytes = 65; }),
            "sizes of a run: \"count\" is no number in the arena");
  EXPECT_NE(refusal([](RunSizes& s) { s.sizes[0].place.offset_bytes = uint64_t{1} << 62; }), "");
  EXPECT_EQ(refusal([](RunSizes& s) { s.sizes[0].least = -1; }),
            "sizes of a run: \"count\" has no range");
  EXPECT_EQ(refusal([](RunSizes& s) { s.sizes[0].least = 9; }),
            "sizes of a run: \"count\" has no range");
  EXPECT_EQ(refusal([](RunSizes& s) { s.sizes[0].greatest = 9; }),
            "sizes of a run: axis 1 of output 0 does not fit");
  EXPECT_EQ(refusal([](RunSizes& s) { s.axes[0].size = 1; }),
            "sizes of a run: axis 1 of output 0 does not fit");
  EXPECT_EQ(refusal([](RunSizes& s) { s.axes[0].axis = 2; }),
            "sizes of a run: axis 2 of output 0 does not fit");
  EXPECT_EQ(refusal([](RunSizes& s) { s.axes.push_back(s.axes[0]); }),
            "sizes of a run: axis 1 of output 0 does not fit");
  EXPECT_EQ(refusal([](RunSizes& s) { s.axes[0].tensor = 1; }),
            "sizes of a run: got no such output");
  EXPECT_EQ(refusal([](RunSizes& s) { s.axes[0].region = Region::kWeights; }),
            "sizes of a run: got no such output");
}

TEST(RunSizesTest, OutputsHaveTheShapeOfTheLastRun) {
  const auto session = MakeSession(TestSizesBundle());
  EXPECT_EQ(session->OutputShape(0), (Shape{2, 0}));
  const auto run = [&](const std::vector<float>& x) {
    EXPECT_TRUE(session->SetInput(0, AsBytes(x)).ok());
    EXPECT_TRUE(session->Run().ok());
    Shape shape = session->OutputShape(0);
    std::vector<int64_t> places(2 * shape[1]);
    EXPECT_TRUE(session->GetOutput(0, AsWritableBytes(places)).ok());
    EXPECT_EQ(shape[0], 2);
    return places;
  };
  EXPECT_EQ(run({0, 1, 0, 1, 1, 0, 0, 0}), (Shape{0, 0, 1, 1, 3, 0}));
  EXPECT_EQ(run({0, 0, 0, 0, 0, 0, 0, 0}), Shape());
  EXPECT_EQ(run({1, 1, 1, 1, 1, 1, 1, 1}), (Shape{0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 2, 3, 0, 1, 2, 3}));
  std::vector<int64_t> other(14);
  EXPECT_EQ(session->GetOutput(0, AsWritableBytes(other)).message(),
            "got 112 bytes for \"places\", want 128");
}

TEST(RunSizesTest, ASizeBeyondItsRangeIsAnError) {
  BundleManifest manifest = TestSizesManifest();
  manifest.run_sizes.sizes[0].greatest = 2;
  const auto session = MakeSession(*WriteBundle(manifest, TestElf(), {}));
  ASSERT_TRUE(session->SetInput(0, AsBytes(std::vector<float>{1, 1, 1, 0, 0, 0, 0, 0})).ok());
  EXPECT_EQ(session->Run().message(), "size \"count\" is 3, want 0 to 2");
}

TEST(RunSizesTest, MoveTogetherKeepsWhatIsWithinTheShape) {
  const std::vector<Shape> bounds = {{5}, {3, 4}, {2, 3, 4}, {2, 2, 3, 2}};
  for (const Shape& bound : bounds) {
    const int64_t count =
        std::accumulate(bound.begin(), bound.end(), int64_t{1}, std::multiplies<>());
    // Every shape within the bound.
    for (Shape shape(bound.size(), 0);;) {
      std::vector<int32_t> data(count);
      std::iota(data.begin(), data.end(), 0);
      std::vector<int32_t> want;
      for (int64_t i = 0; i < count; ++i) {
        bool inside = true;
        int64_t rest = i;
        for (size_t d = bound.size(); d-- > 0; rest /= bound[d]) {
          inside = inside && rest % bound[d] < shape[d];
        }
        if (inside) want.push_back(static_cast<int32_t>(i));
      }
      MoveTogether(4, bound, shape, reinterpret_cast<uint8_t*>(data.data()));
      data.resize(want.size());
      ASSERT_EQ(data, want);
      size_t d = 0;
      while (d < shape.size() && ++shape[d] > bound[d]) shape[d++] = 0;
      if (d == shape.size()) break;
    }
  }
}

}  // namespace
}  // namespace burnish
