#include "tuner/explain/assembly_facts.h"

#include "gtest/gtest.h"

namespace burnish {
namespace {

// An outer loop with two inner ones: a copy, and the sums.
constexpr char kKernel[] = R"(	.text
	.globl	k0
k0:
	pushq	%rbp
	vxorps	%xmm0, %xmm0, %xmm0
.LBB0_1:                                # header
	xorl	%eax, %eax
.LBB0_2:
	vmovups	(%rdi,%rax), %zmm30
	vmovups	%zmm30, (%rsi,%rax)
	addq	$64, %rax
	jne	.LBB0_2
.LBB0_3:
	leaq	64(%rdi), %rcx
	prefetcht0	(%rdx)
	vmovaps	(%rsi), %zmm1
	vbroadcastss	(%rdi,%rcx,4), %zmm2
	vfmadd231ps	%zmm1, %zmm2, %zmm3
	vfmadd231ps	64(%rsi){1to16}, %zmm2, %zmm4
	vmovups	%zmm4, 128(%rsp)
	vaddps	%zmm3, %zmm3, %zmm5
	#APP
	#NO_APP
	decq	%rcx
	jne	.LBB0_3
	jne	.LBB0_1
	jmp	.LBB0_9
.LBB0_9:
	retq
)";

TEST(FindHotLoopTest, InnermostLoopWithTheMostMultiplyAddsIsCounted) {
  const std::optional<HotLoop> hot = FindHotLoop(kKernel);
  ASSERT_TRUE(hot.has_value());
  EXPECT_EQ(hot->label, ".LBB0_3");
  EXPECT_EQ(hot->instructions, 10);
  EXPECT_EQ(hot->multiply_adds, 2);
  EXPECT_EQ(hot->arithmetic, 3);
  // The address and the prefetch wait for nothing.
  EXPECT_EQ(hot->loads, 3);
  EXPECT_EQ(hot->stores, 1);
  EXPECT_EQ(hot->stack_accesses, 1);
  EXPECT_EQ(hot->vector_registers, 5);
  EXPECT_EQ(hot->vector_bits, 512);
}

TEST(FindHotLoopTest, KernelWithoutLoopsIsCountedWhole) {
  const std::optional<HotLoop> hot = FindHotLoop("k0:\n\tvmulps\t%ymm1, %ymm2, %ymm2\n\tretq\n");
  ASSERT_TRUE(hot.has_value());
  EXPECT_EQ(hot->label, "");
  EXPECT_EQ(hot->instructions, 2);
  EXPECT_EQ(hot->arithmetic, 1);
  EXPECT_EQ(hot->vector_bits, 256);
}

TEST(FindHotLoopTest, TextWithoutVectorsSaysNothing) {
  for (const char* text : {"", "\n", "k0:", "k0:\n\tretq\n", ".L1:\n\tincq %rax\n\tjne .L1\n",
                           "\tj", "%zmm", "\tvaddps %zmm"}) {
    EXPECT_FALSE(FindHotLoop(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace burnish
