#include "compiler/runtime/run_sizes.h"

#include <cstdint>
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

// ---- Sizes that callers give.

TEST(GivenSizesTest, ComeBackAsTheyWereInAVersionOfTheirOwn) {
  const std::vector<InputAxis> axes = TestGivenManifest().run_sizes.inputs;
  const std::string bytes = EncodeInputAxes(axes);
  EXPECT_TRUE(*DecodeInputAxes(AsBytes(bytes)) == axes);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(DecodeInputAxes(AsBytes(bytes.substr(0, length))).ok());
  }
  EXPECT_FALSE(DecodeInputAxes(AsBytes(bytes + "x")).ok());
  EXPECT_EQ(TestGivenBundle()[8], 5);
  auto reader = BundleReader::FromBytes(AsBytes(TestGivenBundle()));
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_TRUE(reader->manifest() == TestGivenManifest());
}

TEST(GivenSizesTest, WhatDoesNotFitIsRefused) {
  const auto refusal = [](auto change) {
    BundleManifest manifest = TestGivenManifest();
    change(manifest.run_sizes);
    return CheckManifest(manifest).message();
  };
  EXPECT_EQ(refusal([](RunSizes&) {}), "");
  const std::string axis0 = "sizes of a run: axis 0 of input 0 does not fit";
  EXPECT_EQ(refusal([](RunSizes& s) { s.inputs[0].parts[0].factor = 2; }), axis0);
  EXPECT_EQ(refusal([](RunSizes& s) { s.inputs[0].parts[0].factor = 0; }), axis0);
  EXPECT_EQ(refusal([](RunSizes& s) { s.inputs[0].parts[0].factor = INT64_MAX; }), axis0);
  EXPECT_EQ(refusal([](RunSizes& s) { s.inputs[0].parts[0].size = 2; }), axis0);
  EXPECT_EQ(refusal([](RunSizes& s) { s.inputs[0].parts.clear(); }), axis0);
  EXPECT_EQ(refusal([](RunSizes& s) { s.inputs[0].constant = 1; }), axis0);
  EXPECT_EQ(refusal([](RunSizes& s) { s.inputs[0].constant = -1; }), axis0);
  EXPECT_EQ(refusal([](RunSizes& s) { s.inputs[1] = s.inputs[0]; }), axis0);
  EXPECT_EQ(refusal([](RunSizes& s) { s.inputs[2].input = 2; }),
            "sizes of a run: axis 0 of input 2 does not fit");
  EXPECT_EQ(refusal([](RunSizes& s) { s.inputs[2].axis = 2; }),
            "sizes of a run: axis 2 of input 1 does not fit");
  EXPECT_EQ(
      refusal([](RunSizes& s) {
        s.sizes.push_back({.name = "c", .place = s.sizes[0].place, .least = 0, .greatest = 1});
        s.inputs[0].parts[0].factor = 1;
        s.inputs[0].parts = {{.size = 0}};
        s.inputs[2].constant = 1;
        s.inputs[2].parts = {{.size = 2}};
      }),
      "sizes of a run: no input gives \"c\"");
}

TEST(GivenSizesTest, ShapesSaySizes) {
  RunSizes sizes = TestGivenManifest().run_sizes;
  // A mask of past and present, and one more.
  sizes.inputs.push_back(
      {.input = 2, .axis = 0, .constant = 1, .parts = {{.size = 0}, {.size = 1, .factor = 2}}});
  Shape extents(2);
  const auto read = [&](const Shape& x, const Shape& y, int64_t z) {
    const std::vector<ShapedInput> inputs = {{"x", x}, {"y", y}, {"z", {z}}};
    return ReadGivenSizes(sizes, inputs, extents).message();
  };
  EXPECT_EQ(read({2, 30}, {2, 30}, 63), "");
  EXPECT_EQ(extents, (Shape{2, 30}));
  EXPECT_EQ(InputShapeInRun(sizes, 2, {1003}, extents), (Shape{63}));
  EXPECT_EQ(InputShapeInRun(sizes, 0, {2, 500}, extents), (Shape{2, 30}));
  EXPECT_EQ(read({1, 0}, {1, 0}, 2), "");
  EXPECT_EQ(read({3, 30}, {2, 30}, 63), "input \"x\": dimension 0 (b) is 3, want 1 to 2");
  EXPECT_EQ(read({2, 30}, {2, 501}, 63), "input \"y\": dimension 1 (n) is 501, want 0 to 500");
  EXPECT_EQ(read({2, 30}, {2, -1}, 63), "input \"y\": dimension 1 (n) is -1, want 0 to 500");
  EXPECT_EQ(read({2, 30}, {2, 31}, 63),
            "input \"y\": dimension 1 (n) is 31, but that of input \"x\" is 30");
  EXPECT_EQ(read({2, 30}, {2, 30}, 64), "input \"z\": dimension 0 is 64, want b + 2 * n + 1 = 63");
}

TEST(GivenSizesTest, RunsAreOfTheSizesThatAreSet) {
  const auto session = MakeSession(TestGivenBundle());
  EXPECT_EQ(session->InputShape(0), (Shape{2, 500})) << "the greatest before any is set";
  EXPECT_EQ(session->SetSizes(Shape{2, 501}).message(), "size \"n\" is 501, want 0 to 500");
  EXPECT_EQ(session->SetSizes(Shape{2}).message(), "got 1 sizes, want 2");
  const std::vector<float> ones(1000, 1.0f);
  for (const Shape& size : {Shape{2, 500}, Shape{1, 7}, Shape{2, 3}, Shape{2, 0}, Shape{2, 499}}) {
    ASSERT_TRUE(session->SetSizes(size).ok());
    std::vector<float> x(size[0] * size[1]), sum(x.size());
    std::iota(x.begin(), x.end(), 0.0f);
    EXPECT_EQ(session->InputShape(1), size);
    EXPECT_FALSE(session->SetInput(0, AsBytes(std::vector<float>(x.size() + 1))).ok());
    ASSERT_TRUE(session->SetInput(0, AsBytes(x)).ok());
    ASSERT_TRUE(session->SetInput(1, AsBytes(ones).first(4 * x.size())).ok());
    ASSERT_TRUE(session->Run().ok());
    EXPECT_EQ(session->OutputShape(0), size);
    ASSERT_TRUE(session->GetOutput(0, AsWritableBytes(sum)).ok());
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(sum[i], x[i] + 1);
  }
}

}  // namespace
}  // namespace burnish
