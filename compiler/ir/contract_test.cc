#include "compiler/ir/contract.h"

#include <limits>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

// Parameters 0: input f32[1,28,7,3], 1: constant f32[4], 2: output f32 scalar.
Program Task() {
  Program program;
  const auto add = [&](std::string name, std::vector<int64_t> shape, BufferRole role) {
    Storage storage = DenseStorage(shape);
    AddBuffer(program, {.name = std::move(name),
                        .shape = std::move(shape),
                        .role = role,
                        .storage = std::move(storage)});
  };
  add("x", {1, 28, 7, 3}, BufferRole::kInput);
  add("w", {4}, BufferRole::kConstant);
  add("packed", {4}, BufferRole::kPacked);
  add("y", {}, BufferRole::kOutput);
  return program;
}

TEST(ContractTest, TextIsReadBackAsItWasWritten) {
  Program program = Task();
  program.buffers[0].storage = DenseStorage({1, 28, 7, 3}, {{0, 0}, {1, 1}, {1, 2}, {0, 0}},
                                            -std::numeric_limits<double>::infinity());
  program.buffers[3].storage.offset = 5;
  const std::string text = ContractOf(program);
  EXPECT_EQ(text,
            "parameter 0 strides 900,30,3,1 border 0:0,1:1,1:2,0:0 value -inf offset 33\n"
            "parameter 2 strides - offset 5\n");
  Program read = Task();
  ASSERT_THAT(ApplyContract(text, read), IsOk());
  EXPECT_EQ(ContractOf(read), text);
  EXPECT_TRUE(SameStorage(read.buffers[0].storage, program.buffers[0].storage));
}

TEST(ContractTest, NoTextIsAllDense) {
  Program program = Task();
  EXPECT_EQ(ContractOf(program), "");
  EXPECT_THAT(ApplyContract("", program), IsOk());
  EXPECT_EQ(ContractOf(program), "");
}

TEST(ContractTest, OtherSpellingsAreRefused) {
  for (const char* text : {
           "\n",
           "parameter 1 strides 2 offset 0",                            // No end of line.
           "parameter 1 strides 1 offset 0\n",                          // Dense.
           "parameter 1 strides 02 offset 0\n",                         // A leading zero.
           "parameter 1 strides 2 offset -1\n",                         // Negative.
           "parameter 1 strides 2 offset 2199023255552\n",              // Too large.
           "parameter 1 strides 1099511627776 offset 0\n",              // Leaves its memory.
           "parameter 1 strides 1 border 1:1 value 0x0p+0 offset 0\n",  // As does this.
           "parameter 1 strides 1 border 1:1 value 0.0 offset 1\n",     // Not a hex float.
           "parameter 1 strides 1 border 1:1,1:1 value 0x0p+0 offset 1\n",
           "parameter 1 strides 1 border 1:1 offset 1\n",  // No value.
           "parameter 1 strides 2,2 offset 0\n",           // One dimension.
           "parameter 3 strides 2 offset 0\n",             // No such parameter.
           "parameter 2 strides - offset 1\nparameter 1 strides 2 offset 0\n",
           "parameter 1 strides 2 offset 0\nparameter 1 strides 2 offset 0\n",
       }) {
    Program program = Task();
    EXPECT_THAT(ApplyContract(text, program), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
  Program program = Task();
  EXPECT_THAT(ApplyContract(std::string(1 << 20, 'x'), program),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1048576 bytes")));
}

}  // namespace
}  // namespace burnish
