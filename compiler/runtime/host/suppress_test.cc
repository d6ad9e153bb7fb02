// Suppression against its definition: each box against each one that stays.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "compiler/runtime/host/host_kernel.h"
#include "compiler/runtime/kernel_abi.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr ElementType kF32 = ElementType::kF32, kI64 = ElementType::kI64;

struct Scene {
  int64_t classes = 1, count = 0;
  std::vector<float> boxes, scores;
  bool centers = false;
};

// The sides of a box: y and x, from and to.
std::vector<float> Sides(const float* b, bool centers) {
  if (centers) {
    return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  }
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

float Area(const std::vector<float>& s) { return (s[2] - s[0]) * (s[3] - s[1]); }

bool AreAlike(const std::vector<float>& a, const std::vector<float>& b, float threshold) {
  const float height = std::min(a[2], b[2]) - std::max(a[0], b[0]);
  const float width = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (!(width > 0 && height > 0)) return false;
  const float both = width * height;
  const float either = Area(a) + Area(b) - both;
  return both > 0 && Area(a) > 0 && Area(b) > 0 && either > 0 && both / either > threshold;
}

std::vector<int64_t> Want(const Scene& scene, int64_t limit, float overlap, float threshold) {
  std::vector<int64_t> rows;
  for (int64_t c = 0; c < scene.classes; ++c) {
    const float* const score = &scene.scores[c * scene.count];
    std::vector<int64_t> order(scene.count);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return score[a] != score[b] ? score[a] > score[b] : a < b;
    });
    std::vector<std::vector<float>> kept;
    for (const int64_t i : order) {
      if (!(score[i] > threshold) || static_cast<int64_t>(kept.size()) >= limit) continue;
      const std::vector<float> sides = Sides(&scene.boxes[4 * i], scene.centers);
      if (std::any_of(kept.begin(), kept.end(),
                      [&](const auto& other) { return AreAlike(sides, other, overlap); })) {
        continue;
      }
      kept.push_back(sides);
      rows.insert(rows.end(), {0, c, i});
    }
  }
  return rows;
}

std::vector<int64_t> Got(const Scene& scene, int64_t limit, float overlap, float threshold) {
  const HostKernel* const kernel = FindHostKernel("non_max_suppression");
  HostSignature call{.kernel = kernel->name,
                     .attributes = {{"center_point_box", scene.centers}, {"most", scene.count}},
                     .inputs = {{kF32, {1, scene.count, 4}},
                                {kF32, {1, scene.classes, scene.count}},
                                {kI64, {}},
                                {kF32, {}},
                                {kF32, {}},
                                {kI64, {}}},
                     .outputs = {}};
  call.outputs = *kernel->infer(call);
  std::vector<int64_t> rows(3 * call.outputs[0].shape[0], -1);
  int64_t holding = scene.count, found = -1;
  const auto bytes = [](const auto* value) { return reinterpret_cast<const uint8_t*>(value); };
  const uint8_t* const inputs[] = {
      bytes(scene.boxes.data()), bytes(scene.scores.data()), bytes(&limit),
      bytes(&overlap),           bytes(&threshold),          bytes(&holding)};
  uint8_t* const outputs[] = {reinterpret_cast<uint8_t*>(rows.data()),
                              reinterpret_cast<uint8_t*>(&found)};
  EXPECT_EQ(kernel->run(call, inputs, outputs), BURNISH_KERNEL_OK);
  EXPECT_TRUE(std::all_of(rows.begin() + 3 * found, rows.end(), [](int64_t v) { return v == 0; }));
  rows.resize(3 * found);
  return rows;
}

float Between(std::mt19937_64& random, float from, float to) {
  return std::uniform_real_distribution<float>(from, to)(random);
}

// Boxes about `size` wide in a picture 100 wide, each shifted by one of `shifts` places far apart.
Scene Make(std::mt19937_64& random, int64_t classes, int64_t count, float size, int shifts,
           bool is_coarse) {
  Scene scene{.classes = classes, .count = count, .boxes = {}, .scores = {}};
  scene.centers = random() % 2 == 0;
  for (int64_t i = 0; i < count; ++i) {
    const float place = 300.0f * static_cast<float>(random() % shifts);
    float x = place + Between(random, 0, 100), y = place + Between(random, 0, 100);
    // Some are as wide as the picture.
    float width = Between(random, 0, 2 * size), height = Between(random, 0, 2 * size);
    if (random() % 50 == 0) width = 250;
    if (is_coarse) {  // Sides that touch, areas of 0, and equal boxes.
      x = std::round(x / 10), y = std::round(y / 10);
      width = std::round(width / 10), height = std::round(height / 10);
    }
    if (scene.centers) {
      scene.boxes.insert(scene.boxes.end(), {x, y, width, height});
    } else if (random() % 2 == 0) {
      scene.boxes.insert(scene.boxes.end(), {y, x, y + height, x + width});
    } else {
      scene.boxes.insert(scene.boxes.end(), {y + height, x, y, x + width});
    }
  }
  for (int64_t i = 0; i < classes * count; ++i) {
    scene.scores.push_back(is_coarse ? static_cast<float>(random() % 8) / 8
                                     : Between(random, 0, 1));
  }
  return scene;
}

void ExpectAsDefined(const Scene& scene) {
  for (const int64_t limit : {int64_t{0}, int64_t{1}, int64_t{7}, scene.count}) {
    for (const float overlap : {0.0f, 0.45f, 1.0f}) {
      for (const float threshold : {-1.0f, 0.5f, 0.97f}) {
        ASSERT_EQ(Got(scene, limit, overlap, threshold), Want(scene, limit, overlap, threshold))
            << scene.count << " boxes, at most " << limit << ", overlap " << overlap
            << ", threshold " << threshold;
      }
    }
  }
}

TEST(SuppressTest, ManyBoxesOfOneClassAndOfShiftedOnes) {
  std::mt19937_64 random(17);
  for (const int64_t count : {1, 2, 20, 300, 1100}) {
    for (const float size : {1.0f, 8.0f, 60.0f}) {
      for (const int shifts : {1, 40}) {
        ExpectAsDefined(Make(random, 2, count, size, shifts, random() % 2 == 0));
      }
    }
  }
}

// None of them may make a strip of x that does not exist.
TEST(SuppressTest, SidesThatAreNoNumbers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  std::mt19937_64 random(18);
  for (const std::vector<float>& odd : {std::vector<float>{kNan},
                                        {kInfinity, -kInfinity},
                                        {kMax, -kMax},
                                        {kTiny, -kTiny},
                                        {kNan, kInfinity, -kInfinity, kMax, -kMax, kTiny, 0.0f}}) {
    for (const int one_in : {2, 10, 300}) {
      // More than one piece that is sorted at a time: what comes later is unlike the first.
      Scene scene = Make(random, 1, 700, 8, 3, false);
      for (float& side : scene.boxes) {
        if (random() % one_in == 0) side = odd[random() % odd.size()];
      }
      ExpectAsDefined(scene);
    }
  }
  // Nothing but one width that is too small for a number of strips.
  Scene scene{.classes = 1, .count = 64, .boxes = {}, .scores = std::vector<float>(64, 1.0f)};
  for (int i = 0; i < 64; ++i) scene.boxes.insert(scene.boxes.end(), {0, 0, 1, kTiny});
  ExpectAsDefined(scene);
}

}  // namespace
}  // namespace burnish
