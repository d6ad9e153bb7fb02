#include "compiler/runtime/host/host_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "compiler/runtime/kernel_abi.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr ElementType kF32 = ElementType::kF32, kI64 = ElementType::kI64;

HostSignature Call(const std::string& kernel, std::vector<HostType> inputs,
                   std::vector<HostAttribute> given = {}) {
  HostSignature call{.kernel = kernel,
                     .attributes = FindHostKernel(kernel)->attributes,
                     .inputs = std::move(inputs)};
  for (HostAttribute& attribute : call.attributes) {
    for (const HostAttribute& g : given) {
      if (g.name == attribute.name) attribute = g;
    }
  }
  return call;
}

// Empty: it is accepted, and passes CheckHostSignature with the outputs that it infers.
std::string Refusal(HostSignature call) {
  auto outputs = FindHostKernel(call.kernel)->infer(call);
  if (!outputs.ok()) return outputs.status().message();
  call.outputs = *outputs;
  return CheckHostSignature(call).message();
}

TEST(HostKernelTest, WhatAModelsAuthorGetsWrong) {
  EXPECT_EQ(Refusal(Call("top_k", {{kF32, {2, 3}}}, {{"k", 3}})), "");
  EXPECT_EQ(Refusal(Call("top_k", {{kF32, {2, 3}}}, {{"k", 4}})),
            "got k=4, want 1 to the 3 elements of the axis");
  EXPECT_EQ(Refusal(Call("top_k", {{kF32, {2, 3}}}, {{"axis", 2}})),
            "got axis 2, want one of the 2 dimensions");
  EXPECT_EQ(Refusal(Call("top_k", {{kF32, {}}})), "got axis -1, want one of the 0 dimensions");
  EXPECT_EQ(Refusal(Call("cum_sum", {{ElementType::kBool, {2}}})), "got X bool[2], want numbers");
  EXPECT_EQ(Refusal(Call("scatter_elements", {{kF32, {2, 3}}, {kI64, {3, 3}}, {kF32, {3, 3}}},
                         {{"axis", 1}})),
            "got indices i64[3,3] and updates f32[3,3], want one shape, no larger than data "
            "f32[2,3] but along the axis");
  EXPECT_EQ(Refusal(Call("scatter_elements", {{kF32, {2}}, {kI64, {2}}, {kF32, {2}}},
                         {{"reduction", 0, "avg"}})),
            "got reduction \"avg\", want none, add, mul, max or min");
  EXPECT_EQ(Refusal(Call("scatter_nd", {{kF32, {2, 3}}, {kI64, {4, 3}}, {kF32, {4}}})),
            "got indices i64[4,3], want 1 to 2 coordinates in the last dimension");
  EXPECT_EQ(Refusal(Call("scatter_nd", {{kF32, {2, 3}}, {kI64, {4, 1}}, {kF32, {4}}})),
            "got updates f32[4], want f32[4,3] for indices i64[4,1] and data f32[2,3]");
}

TEST(HostKernelTest, ASignatureIsAllThatAKernelReliesOn) {
  HostSignature call = Call("cum_sum", {{kF32, {2, 3}}});
  call.outputs = {{kF32, {2, 3}}};
  EXPECT_TRUE(CheckHostSignature(call).ok());
  HostSignature other = call;
  other.outputs[0].shape = {2, 4};
  EXPECT_FALSE(CheckHostSignature(other).ok());
  other = call;
  other.attributes.pop_back();
  EXPECT_FALSE(CheckHostSignature(other).ok());
  other = call;
  other.kernel = "no_such_kernel";
  EXPECT_FALSE(CheckHostSignature(other).ok());
  other = call;
  other.inputs[0].shape = other.outputs[0].shape = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_FALSE(CheckHostSignature(other).ok());
  other.inputs[0].shape = other.outputs[0].shape = {0, 3};
  EXPECT_FALSE(CheckHostSignature(other).ok());
}

TEST(HostKernelTest, NoIndexLeavesTheTensor) {
  HostSignature call = Call("scatter_nd", {{kF32, {2, 2}}, {kI64, {3, 2}}, {kF32, {3}}});
  const std::vector<float> data = {1, 2, 3, 4}, updates = {10, 20, 30};
  std::vector<float> result(4);
  uint8_t* const outputs[] = {reinterpret_cast<uint8_t*>(result.data())};
  const auto run = [&](std::vector<int64_t> indices) {
    const uint8_t* const inputs[] = {reinterpret_cast<const uint8_t*>(data.data()),
                                     reinterpret_cast<const uint8_t*>(indices.data()),
                                     reinterpret_cast<const uint8_t*>(updates.data())};
    return FindHostKernel("scatter_nd")->run(call, inputs, outputs);
  };
  EXPECT_EQ(run({0, 1, -1, 0, 1, -1}), BURNISH_KERNEL_OK);
  EXPECT_EQ(result, (std::vector<float>{1, 10, 20, 30}));
  for (const int64_t wrong : {int64_t{2}, int64_t{-3}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(run({0, wrong, wrong, 0, 1, 1}), BURNISH_KERNEL_INDEX_OUT_OF_BOUNDS) << wrong;
    EXPECT_EQ(result, (std::vector<float>{1, 2, 3, 30}));
  }
}

// One index for whole rows, as exporters spread it, almost one, and all of them apart; of shapes
// that agree behind the axis, and of ones that do not.
TEST(HostKernelTest, ScatteredAlongAnyAxis) {
  struct Shapes {
    std::vector<int64_t> data, indices;
  };
  const std::vector<Shapes> all = {{{5}, {9}},
                                   {{4, 40}, {3, 40}},
                                   {{4, 40}, {4, 39}},
                                   {{3, 2, 3, 7}, {3, 2, 3, 7}},
                                   {{3, 4, 5, 6}, {3, 2, 4, 6}}};
  for (const Shapes& shapes : all) {
    const size_t rank = shapes.data.size();
    for (size_t axis = 0; axis < rank; ++axis) {
      for (int way = 0; way < 4; ++way) {
        HostSignature call = Call(
            "scatter_elements",
            {{kF32, shapes.data}, {kI64, shapes.indices}, {kF32, shapes.indices}},
            {{"axis", static_cast<int64_t>(axis)}, {"reduction", 0, way < 2 ? "none" : "add"}});
        const auto outputs = FindHostKernel(call.kernel)->infer(call);
        ASSERT_TRUE(outputs.ok()) << outputs.status().message();
        call.outputs = *outputs;
        int64_t data_size = 1, size = 1;
        for (const int64_t extent : shapes.data) data_size *= extent;
        for (const int64_t extent : shapes.indices) size *= extent;
        std::vector<float> data(data_size), updates(size), got(data_size);
        std::vector<int64_t> indices(size);
        for (int64_t i = 0; i < data_size; ++i) data[i] = static_cast<float>(i) / 4;
        std::vector<float> want = data;
        for (int64_t i = 0; i < size; ++i) {
          std::vector<int64_t> at(rank);
          int64_t rest = i;
          for (size_t d = rank; d-- > 0; rest /= shapes.indices[d]) {
            at[d] = rest % shapes.indices[d];
          }
          const int64_t extent = shapes.data[axis];
          const int64_t spread = (at[axis] * 2 + 1) % extent;
          indices[i] = way % 2 == 0 ? spread : i % 11 == 3 ? i % extent : spread - extent;
          updates[i] = static_cast<float>(1000 + i);
          at[axis] = indices[i] < 0 ? indices[i] + extent : indices[i];
          int64_t to = 0;
          for (size_t d = 0; d < rank; ++d) to = to * shapes.data[d] + at[d];
          want[to] = way < 2 ? updates[i] : want[to] + updates[i];
        }
        const uint8_t* const inputs[] = {reinterpret_cast<const uint8_t*>(data.data()),
                                         reinterpret_cast<const uint8_t*>(indices.data()),
                                         reinterpret_cast<const uint8_t*>(updates.data())};
        uint8_t* const results[] = {reinterpret_cast<uint8_t*>(got.data())};
        ASSERT_EQ(FindHostKernel(call.kernel)->run(call, inputs, results), BURNISH_KERNEL_OK);
        EXPECT_EQ(got, want) << "rank " << rank << ", axis " << axis << ", way " << way;
        indices[size / 2] = shapes.data[axis];
        EXPECT_EQ(FindHostKernel(call.kernel)->run(call, inputs, results),
                  BURNISH_KERNEL_INDEX_OUT_OF_BOUNDS);
      }
    }
  }
}

// Where two meet that differ, and one is no number, the other one does not count.
TEST(HostKernelTest, ScatteredNanStays) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  const std::vector<float> numbers = {0, -1, 2, inf, -inf, nan};
  for (const char* const reduction : {"add", "mul", "max", "min"}) {
    for (const char* const kernel : {"scatter_elements", "scatter_nd"}) {
      const bool nd = std::string(kernel) == "scatter_nd";
      HostSignature call = Call(kernel,
                                {{kF32, {1}},
                                 {kI64, nd ? std::vector<int64_t>{2, 1} : std::vector<int64_t>{2}},
                                 {kF32, {2}}},
                                {{"reduction", 0, reduction}});
      if (!nd) call.attributes.push_back({"axis", 0});
      for (const float old : numbers) {
        for (const float first : numbers) {
          for (const float second : numbers) {
            const int64_t indices[] = {0, 0};
            const float updates[] = {first, second};
            float got = 0;
            const uint8_t* const inputs[] = {reinterpret_cast<const uint8_t*>(&old),
                                             reinterpret_cast<const uint8_t*>(indices),
                                             reinterpret_cast<const uint8_t*>(updates)};
            uint8_t* const outputs[] = {reinterpret_cast<uint8_t*>(&got)};
            ASSERT_EQ(FindHostKernel(kernel)->run(call, inputs, outputs), BURNISH_KERNEL_OK);
            if (std::isnan(old) || std::isnan(first) || std::isnan(second)) {
              EXPECT_TRUE(std::isnan(got)) << reduction << old << first << second;
            } else if (reduction[1] == 'a') {
              EXPECT_EQ(got, std::max({old, first, second}));
            } else if (reduction[1] == 'i') {
              EXPECT_EQ(got, std::min({old, first, second}));
            }
          }
        }
      }
    }
  }
}

TEST(HostKernelTest, TopOfRowsWithNanAndTies) {
  const HostSignature call = Call("top_k", {{kF32, {5}}}, {{"k", 4}});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {2, 7, nan, 7, nan};
  std::vector<float> values(4);
  std::vector<int64_t> places(4);
  const uint8_t* const inputs[] = {reinterpret_cast<const uint8_t*>(x.data())};
  uint8_t* const outputs[] = {reinterpret_cast<uint8_t*>(values.data()),
                              reinterpret_cast<uint8_t*>(places.data())};
  EXPECT_EQ(FindHostKernel("top_k")->run(call, inputs, outputs), BURNISH_KERNEL_OK);
  EXPECT_EQ(places, (std::vector<int64_t>{2, 4, 1, 3}));
}

// NaN scores, boxes without area, and limits that only a run knows.
std::vector<int64_t> Suppress(const std::vector<float>& boxes, const std::vector<float>& scores,
                              int64_t limit, float overlap, float threshold, int64_t holding,
                              int32_t want_code = BURNISH_KERNEL_OK) {
  const auto n = static_cast<int64_t>(scores.size());
  HostSignature call =
      Call("non_max_suppression",
           {{kF32, {1, n, 4}}, {kF32, {1, 1, n}}, {kI64, {1}}, {kF32, {}}, {kF32, {1}}, {kI64, {}}},
           {{"most", 3}});
  call.outputs = *FindHostKernel(call.kernel)->infer(call);
  EXPECT_EQ(call.outputs[0].shape, (std::vector<int64_t>{std::min<int64_t>(3, n), 3}));
  std::vector<int64_t> rows(9, -1);
  int64_t count = -1;
  const auto bytes = [](const auto& value) { return reinterpret_cast<const uint8_t*>(value); };
  const uint8_t* const inputs[] = {bytes(boxes.data()), bytes(scores.data()), bytes(&limit),
                                   bytes(&overlap),     bytes(&threshold),    bytes(&holding)};
  uint8_t* const outputs[] = {reinterpret_cast<uint8_t*>(rows.data()),
                              reinterpret_cast<uint8_t*>(&count)};
  EXPECT_EQ(FindHostKernel(call.kernel)->run(call, inputs, outputs), want_code);
  if (want_code != BURNISH_KERNEL_OK) return {};
  std::vector<int64_t> selected;
  for (int64_t i = 0; i < count; ++i) selected.push_back(rows[3 * i + 2]);
  return selected;
}

TEST(HostKernelTest, SuppressionOfBadNumbers) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> apart = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7};
  const std::vector<float> scores = {0.5f, kNan, 0.25f, 0.75f};
  EXPECT_EQ(Suppress(apart, scores, 4, 0.5f, 0, 4), (std::vector<int64_t>{3, 0, 2}));
  EXPECT_EQ(Suppress(apart, scores, 2, 0.5f, 0, 4), (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(Suppress(apart, scores, 4, 0.5f, 0, 3), (std::vector<int64_t>{0, 2}));
  for (const int64_t none : {int64_t{0}, int64_t{-7}, std::numeric_limits<int64_t>::min()}) {
    EXPECT_TRUE(Suppress(apart, scores, none, 0.5f, 0, 4).empty());
    EXPECT_TRUE(Suppress(apart, scores, 4, 0.5f, 0, none).empty());
  }
  EXPECT_TRUE(Suppress(apart, scores, 4, 0.5f, kNan, 4).empty());
  // More than there are: as many as there are.
  EXPECT_EQ(Suppress(apart, scores, 4, 0.5f, 0, int64_t{1} << 60).size(), 3u);
  const std::vector<float> broken = {kNan, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1};
  EXPECT_EQ(Suppress(broken, {4, 3, 2, 1}, 3, 0.5f, 0, 4), (std::vector<int64_t>{0, 1, 2}));
  for (const float overlap : {-0.1f, 1.1f, kNan}) {
    Suppress(apart, scores, 4, overlap, 0, 4, kHostValueOutOfRange);
  }
}

TEST(HostKernelTest, ABoundIsNeverOne) {
  HostSignature call = Call("non_zero", {{kF32, {1, 1}}});
  EXPECT_EQ((*FindHostKernel("non_zero")->infer(call))[0].shape, (std::vector<int64_t>{2, 2}));
  call = Call("unique", {{kF32, {1}}, {kI64, {}}});
  call.outputs = *FindHostKernel("unique")->infer(call);
  EXPECT_EQ(call.outputs[0].shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(call.outputs[2].shape, (std::vector<int64_t>{1}));
  EXPECT_EQ(Refusal(Call("non_zero", {{kF32, {}}})), "got X f32[], want a dimension at least");
  EXPECT_EQ(Refusal(Call("unique", {{kF32, {2}}, {kI64, {1}}})), "got count i64[1], want i64[]");
}

TEST(HostKernelTest, PlacesOfWhatIsNotZero) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<int64_t>> shapes = {{1}, {70}, {3, 5}, {4, 1}, {2, 3, 1, 4}};
  for (const std::vector<int64_t>& shape : shapes) {
    for (int step = 1; step < 6; ++step) {  // 1: none is 0.
      HostSignature call = Call("non_zero", {{kF32, shape}});
      call.outputs = *FindHostKernel("non_zero")->infer(call);
      int64_t size = 1;
      for (const int64_t extent : shape) size *= extent;
      std::vector<float> x(size, -0.0f);
      for (int64_t i = step / 2; i < size; i += step) x[i] = i % 3 == 0 ? kNan : -2.0f;
      const int64_t bound = call.outputs[0].shape[1];
      std::vector<int64_t> places(shape.size() * bound, -1), want(places.size(), 0);
      int64_t count = -1, wanted = 0;
      for (int64_t i = 0; i < size; ++i) {
        if (x[i] == 0) continue;
        int64_t rest = i;
        for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
          want[d * bound + wanted] = rest % shape[d];
        }
        ++wanted;
      }
      const uint8_t* const inputs[] = {reinterpret_cast<const uint8_t*>(x.data())};
      uint8_t* const outputs[] = {reinterpret_cast<uint8_t*>(places.data()),
                                  reinterpret_cast<uint8_t*>(&count)};
      ASSERT_EQ(FindHostKernel("non_zero")->run(call, inputs, outputs), BURNISH_KERNEL_OK);
      EXPECT_EQ(count, wanted);
      EXPECT_EQ(places, want) << size << " elements, one in " << step;
    }
  }
}

// NaN is one value, and what does not hold is nobody's.
TEST(HostKernelTest, UniqueOfAPrefixWithNan) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  HostSignature call = Call("unique", {{kF32, {5}}, {kI64, {}}});
  call.outputs = *FindHostKernel("unique")->infer(call);
  const std::vector<float> x = {kNan, 2, kNan, 2, 1};
  std::vector<float> y(5, -1);
  std::vector<int64_t> first(5, -1), inverse(5, -1), counts(5, -1);
  int64_t holding = 4, count = -1;
  const auto bytes = [](auto* value) { return reinterpret_cast<uint8_t*>(value); };
  const uint8_t* const inputs[] = {reinterpret_cast<const uint8_t*>(x.data()), bytes(&holding)};
  uint8_t* const outputs[] = {bytes(y.data()), bytes(first.data()), bytes(inverse.data()),
                              bytes(counts.data()), bytes(&count)};
  ASSERT_EQ(FindHostKernel("unique")->run(call, inputs, outputs), BURNISH_KERNEL_OK);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(y[0], 2);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(first, (std::vector<int64_t>{1, 0, 0, 0, 0}));
  EXPECT_EQ(inverse, (std::vector<int64_t>{1, 0, 1, 0, 0}));
  EXPECT_EQ(counts, (std::vector<int64_t>{2, 2, 0, 0, 0}));
}

}  // namespace
}  // namespace burnish
