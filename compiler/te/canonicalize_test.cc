#include "compiler/te/canonicalize.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/verifier.h"
#include "compiler/te/builder.h"
#include "compiler/te/operator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

// Adds operators of the library to one program, and interprets it before and after.
class Net {
 public:
  TeBuilder te{"net"};

  Tensor Input(std::vector<int64_t> shape, BufferRole role = BufferRole::kInput) {
    return te.Parameter("X", {DType::kF32, std::move(shape)}, role);
  }
  Tensor Op(const std::string& name, std::vector<Tensor> inputs,
            std::vector<std::pair<std::string, AttributeValue>> attributes = {}) {
    const OperatorDef* op = FindOperator(name);
    Attributes values;
    for (auto& [key, value] : attributes) values.Set(key, value);
    std::vector<TensorType> types;
    for (const Tensor& t : inputs) types.push_back(t.type);
    const auto inferred = op->infer(values, types);
    EXPECT_THAT(inferred, IsOk()) << name;
    const std::vector<Tensor> outputs = op->define(te, values, inputs);
    EXPECT_TRUE(outputs[0].type == (*inferred)[0]) << name;
    return outputs[0];
  }
  // The canonical program of everything that `output` needs.
  Program Canonical(const Tensor& output) {
    te.Output("out", output);
    const Program program = te.Build();
    Program canonical = Canonicalize(program);
    ExpectSame(program, canonical, /*seed=*/1);
    return canonical;
  }

  // Same inputs, same bits out.
  static void ExpectSame(const Program& a, const Program& b, uint64_t seed) {
    std::vector<TensorValue> arguments;
    Rng rng(seed);
    for (const Buffer& buffer : a.buffers) {
      if (buffer.role != BufferRole::kInput && buffer.role != BufferRole::kConstant) continue;
      TensorValue value{.dtype = buffer.dtype, .shape = buffer.shape};
      for (int64_t i = 0; i < ElementCount(buffer.shape); ++i) value.floats.push_back(rng.Normal());
      arguments.push_back(std::move(value));
    }
    ASSERT_THAT(Verify(b), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto want, Interpret(a, arguments));
    ASSERT_OK_AND_ASSIGN(const auto got, Interpret(b, arguments));
    ASSERT_EQ(got.size(), want.size());
    for (size_t k = 0; k < got.size(); ++k) {
      ASSERT_EQ(got[k].shape, want[k].shape);
      for (size_t i = 0; i < got[k].floats.size(); ++i) {
        const double g = got[k].floats[i];
        const double w = want[k].floats[i];
        ASSERT_TRUE(g == w || (std::isnan(g) && std::isnan(w)))
            << "output " << k << " element " << i << ": got " << g << ", want " << w;
      }
    }
  }
};

std::vector<std::string> BlockNames(const Program& program) {
  std::vector<std::string> names;
  for (const Block& block : program.blocks) names.push_back(block.name);
  return names;
}

using Ints = std::vector<int64_t>;

TEST(CanonicalizeTest, ResidualAndActivationFoldIntoTheFinishOfAConvolution) {
  Net net;
  const Tensor x = net.Input({1, 6, 5, 3});
  const Tensor w = net.Input({4, 3, 3, 3}, BufferRole::kConstant);
  const Tensor bias = net.Input({4}, BufferRole::kConstant);
  const Tensor r = net.Input({1, 6, 5, 4});
  const Tensor y =
      net.Op("conv", {x, w, bias}, {{"pads", Ints{1, 1, 1, 1}}, {"channels_last", int64_t{1}}});
  const Program p = net.Canonical(net.Op("relu", {net.Op("add", {y, r})}));
  // The pad stays a block: a schedule may turn it into a border of its input.
  EXPECT_THAT(BlockNames(p), ElementsAre("P", "Y"));
  const Block& block = p.blocks[1];
  EXPECT_EQ(p.buffers[block.output].name, "out");
  EXPECT_NE(block.finish, nullptr);
  EXPECT_EQ(p.vars[block.spatial[3]].name, "Y.o");
  EXPECT_EQ(p.vars[block.reduction[2]].name, "Y.c");
}

TEST(CanonicalizeTest, SumOfTwoConvolutionsFoldsIntoTheLaterOne) {
  Net net;
  const Tensor x = net.Input({1, 4, 4, 3});
  const Tensor v = net.Input({2, 3, 1, 1});
  const Tensor w = net.Input({2, 3, 1, 1});
  const Tensor a = net.Op("conv", {x, v}, {{"channels_last", int64_t{1}}});
  const Tensor b = net.Op("conv", {x, w}, {{"channels_last", int64_t{1}}});
  const Program p = net.Canonical(net.Op("add", {a, b}));
  EXPECT_THAT(BlockNames(p), ElementsAre("Y", "Y_1"));
  EXPECT_EQ(p.blocks[0].finish, nullptr);
  EXPECT_NE(p.blocks[1].finish, nullptr);
}

TEST(CanonicalizeTest, TransposeOfAProductPermutesItsOutputIndices) {
  Net net;
  const Tensor y = net.Op("matmul", {net.Input({3, 5}), net.Input({5, 7})});
  const Program p = net.Canonical(net.Op("transpose", {y}, {{"perm", Ints{1, 0}}}));
  ASSERT_THAT(BlockNames(p), ElementsAre("Y"));
  const Block& block = p.blocks[0];
  EXPECT_TRUE(StructurallyEqual(block.output_indices[0], VarRef(block.spatial[1])));
  EXPECT_TRUE(StructurallyEqual(block.output_indices[1], VarRef(block.spatial[0])));
}

TEST(CanonicalizeTest, GlobalPoolWritesTheFlattenedShape) {
  Net net;
  const Tensor y =
      net.Op("average_pool", {net.Input({2, 3, 4, 5})}, {{"kernel_shape", Ints{4, 5}}});
  const Program p = net.Canonical(net.Op("reshape", {y}, {{"shape", Ints{2, 3}}}));
  ASSERT_THAT(BlockNames(p), ElementsAre("Y"));
  EXPECT_EQ(p.blocks[0].output_indices.size(), 2u);
}

TEST(CanonicalizeTest, AxesOfExtentOneMayBeMissingFromTheIndices) {
  Net net;
  const Tensor y =
      net.Op("average_pool", {net.Input({2, 3, 4, 5})}, {{"kernel_shape", Ints{4, 5}}});
  const Tensor flat = net.Op("reshape", {y}, {{"shape", Ints{2, 3}}});
  const Program p = net.Canonical(net.Op("softmax", {flat}));  // Verified there.
  EXPECT_THAT(BlockNames(p), ElementsAre("Y", "M", "E", "S", "Y_2"));
}

TEST(CanonicalizeTest, CheapProducersOfAReductionAreInlinedAndCostlyOnesStay) {
  for (const bool cheap : {true, false}) {
    Net net;
    const Tensor x = net.Input({3, 5});
    const Tensor a = net.Op(cheap ? "relu" : "exp", {x});
    const Program p = net.Canonical(net.Op("matmul", {a, net.Input({5, 7})}));
    EXPECT_EQ(p.blocks.size(), cheap ? 1u : 2u);
  }
}

TEST(CanonicalizeTest, CostlyProducerThatIsReadOnceIsInlined) {
  Net net;
  const Tensor a = net.Op("exp", {net.Input({3, 5})});
  const Program p = net.Canonical(net.Op("reduce_sum", {a}, {{"axes", Ints{1}}}));
  EXPECT_THAT(BlockNames(p), ElementsAre("Y_1"));
}

TEST(CanonicalizeTest, TransposeAndSliceBeforeAProductBecomeIndices) {
  Net net;
  const Tensor x = net.Input({5, 9});
  const Tensor t = net.Op("transpose", {x}, {{"perm", Ints{1, 0}}});
  const Tensor s =
      net.Op("slice", {t},
             {{"axes", Ints{0}}, {"starts", Ints{2}}, {"ends", Ints{8}}, {"steps", Ints{2}}});
  const Program p = net.Canonical(net.Op("matmul", {s, net.Input({5, 7})}));
  EXPECT_EQ(p.blocks.size(), 1u);
}

TEST(CanonicalizeTest, SoftmaxKeepsItsExponentials) {
  Net net;
  const Program p = net.Canonical(net.Op("softmax", {net.Input({3, 5})}));
  EXPECT_THAT(BlockNames(p), ElementsAre("M", "E", "S", "Y"));
}

TEST(CanonicalizeTest, ResultOfAnotherTypeIsNotFolded) {
  Net net;
  const Tensor y = net.Op("matmul", {net.Input({3, 5}), net.Input({5, 7})});
  const Program p = net.Canonical(net.Op("cast", {y}, {{"to", std::string("f64")}}));
  EXPECT_EQ(p.blocks.size(), 2u);
}

TEST(CanonicalizeTest, ReductionWithTwoReadersIsKept) {
  Net net;
  const Tensor y = net.Op("matmul", {net.Input({3, 5}), net.Input({5, 7})});
  net.te.Output("other", net.Op("exp", {y}));
  const Program p = net.Canonical(net.Op("relu", {y}));
  EXPECT_EQ(p.blocks.size(), 3u);
}

TEST(CanonicalizeTest, ExpressionsDoNotGrowWithoutBound) {
  Net net;
  Tensor t = net.Input({3, 5});
  for (int i = 0; i < 12; ++i) t = net.Op("mul", {t, net.Op("sigmoid", {t})});
  for (const Block& block : net.Canonical(t).blocks) {
    int nodes = 0;
    VisitExpr(block.step, [&](const ExprNode&) { ++nodes; });
    EXPECT_LE(nodes, 512);
  }
}

// ---- Random programs over the library.

int64_t Small(Rng& rng) { return rng.Between(1, 4); }

Tensor AddConvolution(Net& net, const Tensor& x, Rng& rng) {
  const int64_t kernel = rng.Between(1, 2);
  const Tensor w = net.Input({Small(rng), x.dim(3), kernel, kernel}, BufferRole::kConstant);
  return net.Op("conv", {x, w},
                {{"channels_last", int64_t{1}},
                 {"pads", Ints{rng.Between(0, 1), 1, 1, rng.Between(0, 1)}},
                 {"strides", Ints{rng.Between(1, 2), 1}}});
}

Tensor AddMatmul(Net& net, const Tensor& x, Rng& rng) {
  return net.Op("matmul", {x, net.Input({x.type.shape.back(), Small(rng)})});
}

Tensor AddBinary(Net& net, const Tensor& x, Rng& rng) {
  std::vector<int64_t> shape = x.type.shape;
  for (int64_t& extent : shape) {
    if (rng.Below(3) == 0) extent = 1;
  }
  const char* const ops[] = {"add", "sub", "mul", "div", "max", "min"};
  return net.Op(ops[rng.Below(6)], {x, net.Input(shape)});
}

Tensor AddUnary(Net& net, const Tensor& x, Rng& rng) {
  const char* const ops[] = {"relu", "exp", "sigmoid", "neg", "silu", "gelu", "hard_swish", "elu"};
  return net.Op(ops[rng.Below(8)], {x});
}

Tensor AddTranspose(Net& net, const Tensor& x, Rng& rng) {
  Ints perm;
  for (int d = 0; d < x.rank(); ++d) {
    perm.insert(perm.begin() + static_cast<int>(rng.Below(perm.size() + 1)), d);
  }
  return net.Op("transpose", {x}, {{"perm", perm}});
}

Tensor AddReshape(Net& net, const Tensor& x, Rng& rng) {
  Ints shape = x.type.shape;
  const size_t d = rng.Below(shape.size());
  if (rng.Below(2) == 0 && d + 1 < shape.size()) {
    shape[d] *= shape[d + 1];
    shape.erase(shape.begin() + static_cast<int>(d) + 1);
  } else if (shape[d] % 2 == 0) {
    shape[d] /= 2;
    shape.insert(shape.begin() + static_cast<int>(d), 2);
  } else {
    shape.insert(shape.begin() + static_cast<int>(d), 1);
  }
  return net.Op("reshape", {x}, {{"shape", shape}});
}

Tensor AddPad(Net& net, const Tensor& x, Rng& rng) {
  Ints pads;
  for (int d = 0; d < 2 * x.rank(); ++d) pads.push_back(rng.Between(0, 1));
  const char* const modes[] = {"constant", "edge", "wrap"};
  return net.Op("pad", {x}, {{"pads", pads}, {"mode", std::string(modes[rng.Below(3)])}});
}

Tensor AddSlice(Net& net, const Tensor& x, Rng& rng) {
  const int axis = static_cast<int>(rng.Below(x.rank()));
  return net.Op("slice", {x},
                {{"axes", Ints{axis}},
                 {"starts", Ints{x.dim(axis) - 1}},
                 {"ends", Ints{-1}},
                 {"steps", Ints{-rng.Between(1, 2)}}});
}

Tensor AddReduction(Net& net, const Tensor& x, Rng& rng) {
  const char* const ops[] = {"reduce_sum", "reduce_max", "reduce_mean", "reduce_log_sum_exp"};
  return net.Op(ops[rng.Below(4)], {x},
                {{"axes", Ints{static_cast<int64_t>(rng.Below(x.rank()))}},
                 {"keepdims", static_cast<int64_t>(rng.Below(2))}});
}

Tensor AddPool(Net& net, const Tensor& x, Rng& rng) {
  return net.Op(rng.Below(2) == 0 ? "max_pool" : "average_pool", {x},
                {{"kernel_shape", Ints{2, 2}},
                 {"pads", Ints{1, 1, 1, 1}},
                 {"strides", Ints{rng.Between(1, 2), 1}},
                 {"channels_last", static_cast<int64_t>(rng.Below(2))}});
}

Tensor AddSoftmax(Net& net, const Tensor& x, Rng& rng) {
  return net.Op("softmax", {x}, {{"axis", static_cast<int64_t>(rng.Below(x.rank()))}});
}

Tensor AddConcat(Net& net, const Tensor& x, Rng& rng) {
  const auto axis = static_cast<int64_t>(rng.Below(x.rank()));
  return net.Op("concat", {x, net.Input(x.type.shape), x}, {{"axis", axis}});
}

TEST(CanonicalizeTest, RandomProgramsKeepTheirValuesExactly) {
  const std::vector<Tensor (*)(Net&, const Tensor&, Rng&)> any_rank = {
      &AddBinary, &AddUnary,  &AddTranspose, &AddReshape, &AddPad,
      &AddSlice,  &AddConcat, &AddUnary,     &AddBinary};
  const auto random_step = [&](Net& net, const Tensor& x, Rng& rng) {
    const uint64_t choice = rng.Below(14);
    if (choice < any_rank.size()) return any_rank[choice](net, x, rng);
    if (choice == 9 && x.rank() == 4) return AddConvolution(net, x, rng);
    if (choice == 10 && x.rank() == 4) return AddPool(net, x, rng);
    if (choice == 11 && x.rank() > 1) return AddReduction(net, x, rng);
    if (choice == 12) return AddSoftmax(net, x, rng);
    return AddMatmul(net, x, rng);
  };
  size_t before = 0;
  size_t after = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed=" << seed);
    Rng rng(seed);
    Net net;
    std::vector<Tensor> tensors = {net.Input({2, 4, 3, Small(rng)})};
    for (int step = 0; step < 7; ++step) {
      // Mostly a chain; now and then an older tensor gets a second reader.
      const Tensor from = rng.Below(5) == 0 ? tensors[rng.Below(tensors.size())] : tensors.back();
      if (from.rank() < 1 || from.rank() > 6 || ElementCount(from.type.shape) > 2000) continue;
      tensors.push_back(random_step(net, from, rng));
    }
    if (tensors.size() > 3 && rng.Below(2) == 0) net.te.Output("middle", tensors[2]);
    net.te.Output("last", tensors.back());
    const Program program = net.te.Build();
    const Program canonical = Canonicalize(program);
    before += program.blocks.size();
    after += canonical.blocks.size();
    Net::ExpectSame(program, canonical, seed);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_LT(after, before * 3 / 4);  // It does something.
}

}  // namespace
}  // namespace burnish
