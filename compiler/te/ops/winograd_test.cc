#include "compiler/te/ops/winograd.h"

#include <string>
#include <vector>

#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/verifier.h"
#include "compiler/ir/winograd_matrices.h"
#include "compiler/te/builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish::ops {
namespace {

using ::testing::ElementsAre;

Attributes Attrs(std::vector<int64_t> pads) {
  Attributes attributes;
  attributes.Set("channels_last", int64_t{1});
  attributes.Set("pads", std::move(pads));
  return attributes;
}

template <typename Define>
Program Build(const std::vector<TensorType>& types, const Define& define) {
  TeBuilder te("conv");
  std::vector<Tensor> inputs;
  for (const TensorType& type : types) {
    inputs.push_back(
        te.Parameter("X", type, inputs.empty() ? BufferRole::kInput : BufferRole::kConstant));
  }
  te.Output("out", define(te, inputs)[0]);
  return te.Build();
}

// Heights and widths that are no multiples of a tile, pads that are not symmetric, a batch.
TEST(WinogradTest, ComputesTheConvolution) {
  for (const bool bias : {false, true}) {
    for (const std::vector<int64_t>& pads :
         {std::vector<int64_t>{1, 1, 1, 1}, {0, 0, 0, 0}, {2, 0, 1, 1}}) {
      const Attributes attributes = Attrs(pads);
      std::vector<TensorType> types = {{DType::kF32, {2, 7, 9, 3}}, {DType::kF32, {4, 3, 3, 3}}};
      if (bias) types.push_back({DType::kF32, {4}});
      std::vector<TensorValue> arguments;
      Rng rng(7);
      for (const TensorType& type : types) {
        TensorValue value{.shape = type.shape};
        for (int64_t i = 0; i < ElementCount(type.shape); ++i) {
          value.floats.push_back(rng.Normal());
        }
        arguments.push_back(value);
      }
      const OperatorDef* conv = FindOperator("conv");
      const Program direct = Build(types, [&](TeBuilder& te, const std::vector<Tensor>& inputs) {
        return conv->define(te, attributes, inputs);
      });
      ASSERT_OK_AND_ASSIGN(const auto want, Interpret(direct, arguments));
      const std::vector<Variant> variants = ConvVariants(attributes, types);
      ASSERT_EQ(variants.size(), 3u);
      for (const Variant& variant : variants) {
        const Program program =
            Canonicalize(Build(types, [&](TeBuilder& te, const std::vector<Tensor>& inputs) {
              return variant.define(te, inputs);
            }));
        EXPECT_THAT(Verify(program), IsOk());
        EXPECT_EQ(program.numerics, NumericsKind::kWinograd);
        EXPECT_EQ(program.winograd_m, variant.winograd_m);
        ASSERT_OK_AND_ASSIGN(const auto got, Interpret(program, arguments));
        ASSERT_EQ(got[0].shape, want[0].shape);
        for (size_t i = 0; i < want[0].floats.size(); ++i) {
          // In double: 27 terms, transforms that cancel some digits.
          ASSERT_NEAR(got[0].floats[i], want[0].floats[i], 1e-11) << variant.name << " " << i;
        }
      }
    }
  }
}

TEST(WinogradTest, BlocksAreNamedAsTracesNameThem) {
  const Attributes attributes = Attrs({1, 1, 1, 1});
  const std::vector<TensorType> types = {{DType::kF32, {1, 8, 8, 3}}, {DType::kF32, {4, 3, 3, 3}}};
  const Program program =
      Canonicalize(Build(types, [&](TeBuilder& te, const std::vector<Tensor>& inputs) {
        return ConvVariants(attributes, types)[1].define(te, inputs);
      }));
  std::vector<std::string> names;
  for (const Block& block : program.blocks) names.push_back(block.name);
  EXPECT_THAT(names, ElementsAre("P", "U", "V0", "V", "M", "T", "Y"));
}

// The matrices of F(4 x 4, 3 x 3) as the paper prints them, up to the order of the points.
TEST(WinogradTest, MatricesOfF4AreThoseOfThePaper) {
  const WinogradMatrices f4 = MakeWinogradMatrices(4);
  EXPECT_THAT(f4.at, ElementsAre(1, 1, 1, 1, 1, 0,    //
                                 0, 1, -1, 2, -2, 0,  //
                                 0, 1, 1, 4, 4, 0,    //
                                 0, 1, -1, 8, -8, 1));
  EXPECT_THAT(f4.bt, ElementsAre(4, 0, -5, 0, 1, 0,   //
                                 0, -4, -4, 1, 1, 0,  //
                                 0, 4, -4, -1, 1, 0,  //
                                 0, -2, -1, 2, 1, 0,  //
                                 0, 2, -1, -2, 1, 0,  //
                                 0, 4, 0, -5, 0, 1));
  EXPECT_THAT(f4.g, ElementsAre(1. / 4, 0, 0,               //
                                -1. / 6, -1. / 6, -1. / 6,  //
                                -1. / 6, 1. / 6, -1. / 6,   //
                                1. / 24, 1. / 12, 1. / 6,   //
                                1. / 24, -1. / 12, 1. / 6,  //
                                0, 0, 1));
}

TEST(WinogradTest, OtherConvolutionsHaveNoVariant) {
  const std::vector<TensorType> types = {{DType::kF32, {1, 8, 8, 4}}, {DType::kF32, {4, 4, 3, 3}}};
  EXPECT_EQ(ConvVariants(Attrs({0, 0, 0, 0}), types).size(), 3u);
  const auto with = [&](const char* name, AttributeValue value) {
    Attributes attributes = Attrs({0, 0, 0, 0});
    attributes.Set(name, std::move(value));
    return attributes;
  };
  EXPECT_TRUE(ConvVariants(with("strides", std::vector<int64_t>{2, 1}), types).empty());
  EXPECT_TRUE(ConvVariants(with("dilations", std::vector<int64_t>{1, 2}), types).empty());
  EXPECT_TRUE(ConvVariants(with("channels_last", int64_t{0}),
                           std::vector<TensorType>{{DType::kF32, {1, 4, 8, 8}}, types[1]})
                  .empty());
  EXPECT_TRUE(ConvVariants(with("group", int64_t{2}),
                           std::vector<TensorType>{types[0], {DType::kF32, {4, 2, 3, 3}}})
                  .empty());
  EXPECT_TRUE(ConvVariants(Attrs({0, 0, 0, 0}),
                           std::vector<TensorType>{types[0], {DType::kF32, {4, 4, 1, 3}}})
                  .empty());
}

}  // namespace
}  // namespace burnish::ops
