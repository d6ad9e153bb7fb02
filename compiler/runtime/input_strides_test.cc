#include "compiler/runtime/input_strides.h"

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/runtime/bundle.h"
#include "compiler/runtime/test_bundle.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

InputStrides OfX() { return {.input = 0, .place = {Region::kArena, 0, 128}, .in_place = true}; }

TEST(InputStridesTest, ComesBackAsItWas) {
  const std::vector<InputStrides> tables = {OfX(), {.input = 1, .place = {Region::kArena, 0, 8}}};
  const std::string bytes = EncodeInputStrides(tables);
  EXPECT_TRUE(*DecodeInputStrides(AsBytes(bytes)) == tables);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(DecodeInputStrides(AsBytes(bytes.substr(0, length))).ok());
  }
}

TEST(InputStridesTest, ATableHasTheLastRowAndAStrideForEachAxis) {
  std::vector<int64_t> numbers(5);
  FillStrides(std::vector<int64_t>{2, 3, 5, 16}, /*last_sized_axis=*/2, numbers);
  EXPECT_EQ(numbers, (std::vector<int64_t>{2 * 3 * 5 * 16 - 16, 3 * 5 * 16, 5 * 16, 16, 1}));
  FillStrides(std::vector<int64_t>{2, 3, 5, 16}, /*last_sized_axis=*/0, numbers);
  EXPECT_EQ(numbers[0], 3 * 5 * 16);
  const RunSizes sizes{.sizes = {},
                       .axes = {},
                       .inputs = {{.input = 0, .axis = 2}, {.input = 0, .axis = 1}, {.input = 1}}};
  EXPECT_EQ(LastSizedAxis(sizes, 0), 2);
  EXPECT_EQ(LastSizedAxis(sizes, 1), 0);
  EXPECT_EQ(LastSizedAxis(sizes, 2), -1);
}

TEST(InputStridesTest, WhatDoesNotFitIsRefused) {
  BundleManifest manifest = TestGivenManifest();
  manifest.input_strides = {OfX()};
  EXPECT_TRUE(CheckManifest(manifest).ok());
  const auto bundle = WriteBundle(manifest, TestElf(), {});
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  EXPECT_EQ((*bundle)[8], 8) << "kernels of an older runtime would read what the arena holds";
  EXPECT_TRUE(BundleReader::FromBytes(AsBytes(*bundle))->manifest() == manifest);
  const auto fits = [&](const std::vector<InputStrides>& tables) {
    manifest.input_strides = tables;
    return CheckManifest(manifest).ok();
  };
  // Three numbers.
  const uint64_t end = manifest.arena_bytes;
  EXPECT_TRUE(fits({{.input = 1, .place = {Region::kArena, 0, end - 24}}}));
  EXPECT_FALSE(fits({{.input = 1, .place = {Region::kArena, 0, end - 16}}}));
  EXPECT_FALSE(fits({{.input = 1, .place = {Region::kArena, 0, 132}}}));
  EXPECT_FALSE(fits({{.input = 1, .place = {Region::kOutput, 0, 0}}}));
  EXPECT_FALSE(fits({{.input = 2, .place = {Region::kArena, 0, 128}}}));
  EXPECT_FALSE(fits({OfX(), OfX()}));
}

}  // namespace
}  // namespace burnish
