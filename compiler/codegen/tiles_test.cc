// Products on tile registers, from the schedule to the machine code: each block of tiles and each
// number of rows computes what the definition computes, with as many loads and products as it
// should have. The code runs on any processor: see tile_emulator.h.
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/cpu_info.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/codegen/kernel_runner.h"
#include "compiler/codegen/llvm/disassembler.h"
#include "compiler/codegen/llvm/llvm_backend.h"
#include "compiler/codegen/text/text_backend.h"
#include "compiler/codegen/tile_emulator.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/verifier.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

// What runs everywhere, and tiles.
const std::vector<std::string> kWithTiles = {"sse4.2",   "avx",      "avx2",    "fma",
                                             "amx-tile", "amx-bf16", "amx-int8"};

struct Kind {
  std::string left, right, sum;
  int depth;  // Of one instruction.
  int pack;
  std::string intrinsic;
};
const Kind kBf16 = {"bf16", "bf16", "f32", 32, 2, "amx_bf16"};
const Kind kBytes = {"u8", "i8", "i32", 64, 4, "amx_u8s8"};

struct Shape {
  int64_t m, n, k;
};

// Rows of X are `apart` elements longer than what is summed. Sums begin with `init`.
Program Definition(const Kind& kind, const Shape& shape, const std::string& init = "",
                   int64_t apart = 0) {
  return ParseProgram(absl::StrReplaceAll(
                          R"(program/1 dot input X: $left[$m, $row]
    const W: $right[$n, $k]
    output Y: $sum[$m, $n]
    block Y(m in $m, n in $n; k in $k) {
      $init
      step Y[m, n] += $sum(X[m, k]) * $sum(W[n, k])
      finish max(self, $least)
    })",
                          {{"$left", kind.left},
                           {"$right", kind.right},
                           {"$sum", kind.sum},
                           {"$least", kind.sum == "f32" ? "-100.0" : "-5000_i32"},
                           {"$init", init},
                           {"$m", absl::StrCat(shape.m)},
                           {"$n", absl::StrCat(shape.n)},
                           {"$row", absl::StrCat(shape.k + apart)},
                           {"$k", absl::StrCat(shape.k)}}))
      .value();
}

// How many tiles of how many rows and columns are computed together.
struct Block {
  int rows, tile_rows, tile_columns;
  int columns = 16;
  int depth = 0;  // Of one product; 0: all that an instruction does.
};

std::string TraceText(const Kind& kind, const Block& block, bool blocked = false) {
  return absl::StrReplaceAll(R"(split@1 m->(mt,mi) size=$rows
      split@1 n->(nt,ni) size=$columns
      split@1 k->(kt,ks) size=$depth
      split@1 ks->(kp,kv) size=$pack
      split@1 mt->(mo,mb) size=$tr
      split@1 nt->(no,nb) size=$tc
      $split
      relayout@1 W->Wp dims=(no,$kb,nb,kp,ni,kv)
      stage@1 Y->acc inside=mo scope=tile
      precompute@1 Wp
      parallel@1 no
      unroll@1 mb
      unroll@1 nb
      tensorize@1 mi intrinsic=$intrinsic)",
                             {{"$rows", absl::StrCat(block.rows)},
                              {"$columns", absl::StrCat(block.columns)},
                              {"$depth", absl::StrCat(block.depth > 0 ? block.depth : kind.depth)},
                              {"$pack", absl::StrCat(kind.pack)},
                              {"$tr", absl::StrCat(block.tile_rows)},
                              {"$tc", absl::StrCat(block.tile_columns)},
                              // Partial sums leave the tiles between blocks of the reduction.
                              {"$split", blocked ? "split@1 kt->(kb,kq) size=2\n"
                                                   "reorder@1 (no,kb,mo,kq,mb,nb,mi,ni,kp,kv)"
                                                 : "reorder@1 (no,mo,kt,mb,nb,mi,ni,kp,kv)"},
                              {"$kb", blocked ? "kb,kq" : "kt"},
                              {"$intrinsic", kind.intrinsic}});
}

Program Lowered(const Program& defined, const std::string& trace) {
  const Program lowered = Lower(ApplyTrace(ParseTrace(trace).value(), defined).value()).value();
  EXPECT_THAT(Verify(lowered), IsOk());
  return lowered;
}

std::vector<TensorValue> Arguments(const Program& defined, uint64_t seed) {
  std::vector<TensorValue> arguments;
  for (const Buffer& buffer : defined.buffers) {
    if (buffer.role == BufferRole::kOutput) continue;
    TensorValue value{.dtype = buffer.dtype, .shape = buffer.shape};
    Rng rng(RngStream{.seed = seed, .purpose = "tiles", .task = buffer.name});
    for (int64_t i = 0; i < ElementCount(buffer.shape); ++i) {
      if (IsFloat(buffer.dtype)) {
        const auto bits = std::bit_cast<uint32_t>(static_cast<float>(rng.Normal()));
        value.floats.push_back(static_cast<double>(std::bit_cast<float>(bits & 0xffff0000u)));
      } else {
        value.integers.push_back(IsUnsigned(buffer.dtype) ? rng.Between(0, 255)
                                                          : rng.Between(-128, 127));
      }
    }
    arguments.push_back(std::move(value));
  }
  return arguments;
}

bool HostHasAllButTiles() {
  const CpuInfo cpu = HostCpuInfo();
  for (const std::string& feature : kWithTiles) {
    if (!absl::StartsWith(feature, "amx") && !cpu.Has(feature)) return false;
  }
  return true;
}

int64_t CountOf(const std::vector<MachineInstruction>& code, const std::string& prefix) {
  int64_t count = 0;
  for (const MachineInstruction& i : code) count += absl::StartsWith(i.mnemonic, prefix) ? 1 : 0;
  return count;
}

// The kernel's results beside plain sums in double and beside the interpreter's.
void ExpectRight(const Program& defined, const Program& lowered,
                 const std::vector<std::string>& features, uint64_t seed = 3,
                 bool uses_tiles = true) {
  ASSERT_OK_AND_ASSIGN(CompiledModule module,
                       MakeLlvmBackend()->Compile({.features = features}, {{.program = &lowered}}));
  if (!HostHasAllButTiles()) GTEST_SKIP() << "this CPU lacks AVX2 or FMA";
  const std::vector<TensorValue> arguments = Arguments(defined, seed);
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want,
                       Interpret(defined, arguments, {.magnitudes = true}));
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> stepwise, Interpret(lowered, arguments));
  ASSERT_OK_AND_ASSIGN(const KernelRunner runner, KernelRunner::Load(std::move(module)));
  for (int workers : {1, 2}) {
    const ScopedTileEmulator emulator;
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                         runner.Run(lowered, arguments, workers));
    EXPECT_TRUE(emulator.IsReleased());
    const bool emulated = features == kWithTiles && !HostCpuInfo().Has("amx-tile");
    if (emulated) EXPECT_EQ(emulator.counts().products > 0, uses_tiles);
    EXPECT_EQ(got[0].integers, want[0].integers);
    EXPECT_EQ(stepwise[0].integers, want[0].integers);
    ASSERT_EQ(got[0].floats.size(), want[0].floats.size());
    for (size_t i = 0; i < want[0].floats.size(); ++i) {
      // As of a sum of floats in any order: some roundings of 2^-24 of the magnitudes' sum.
      EXPECT_NEAR(got[0].floats[i], want[0].floats[i], 4e-7 * want[0].magnitudes[i]);
      EXPECT_NEAR(stepwise[0].floats[i], want[0].floats[i], 4e-7 * want[0].magnitudes[i]);
    }
  }
}

TEST(TilesTest, EachNumberOfRowsAndEachBlockOfTiles) {
  for (const Kind& kind : {kBf16, kBytes}) {
    for (int rows = 1; rows <= 16; ++rows) {
      SCOPED_TRACE(absl::StrCat(kind.intrinsic, " rows ", rows));
      const Program defined = Definition(kind, {rows, 16, kind.depth});
      ExpectRight(defined, Lowered(defined, TraceText(kind, {rows, 1, 1})), kWithTiles);
    }
    for (const Block& block : std::vector<Block>{{8, 2, 2}, {7, 1, 2}, {13, 2, 1}, {9, 3, 1}}) {
      SCOPED_TRACE(absl::StrCat(block.rows, "x", block.tile_rows, "x", block.tile_columns));
      const Program defined = Definition(
          kind, {2 * block.rows * block.tile_rows, 32 * block.tile_columns, 3 * kind.depth});
      ExpectRight(defined, Lowered(defined, TraceText(kind, block)), kWithTiles);
    }
  }
}

// In C a tile is an array, and its nests are loops.
TEST(TilesTest, TilesAreArraysInC) {
  for (const Kind& kind : {kBf16, kBytes}) {
    const Program defined = Definition(kind, {26, 32, 3 * kind.depth});
    const Program lowered = Lowered(defined, TraceText(kind, {13, 2, 1}));
    ASSERT_OK_AND_ASSIGN(CompiledModule module,
                         MakeTextBackend()->Compile({}, {{.program = &lowered}}));
    const std::vector<TensorValue> arguments = Arguments(defined, 3);
    ASSERT_OK_AND_ASSIGN(const auto want, Interpret(defined, arguments, {.magnitudes = true}));
    ASSERT_OK_AND_ASSIGN(const KernelRunner runner, KernelRunner::Load(std::move(module)));
    ASSERT_OK_AND_ASSIGN(const auto got, runner.Run(lowered, arguments, 2));
    EXPECT_EQ(got[0].integers, want[0].integers);
    ASSERT_EQ(got[0].floats.size(), want[0].floats.size());
    for (size_t i = 0; i < want[0].floats.size(); ++i) {
      EXPECT_NEAR(got[0].floats[i], want[0].floats[i], 4e-7 * want[0].magnitudes[i]);
    }
  }
}

// As of channels that are no whole tiles, and of colours: the registers are configured smaller, and
// nothing beyond a row's own elements is read. Loops of one iteration are gone when kernels are
// written, so that one column or one group is no nest of a unit; no sketch has such tiles.
TEST(TilesTest, FewerColumnsAndShallowerProducts) {
  for (const Kind& kind : {kBf16, kBytes}) {
    for (int columns = 1; columns <= 16; ++columns) {
      SCOPED_TRACE(absl::StrCat(kind.intrinsic, " columns ", columns));
      const Program defined = Definition(kind, {16, columns, kind.depth});
      ExpectRight(defined, Lowered(defined, TraceText(kind, {16, 1, 1, columns})), kWithTiles,
                  /*seed=*/3, /*uses_tiles=*/columns > 1);
    }
    for (int groups = 1; groups <= 16; ++groups) {
      SCOPED_TRACE(absl::StrCat(kind.intrinsic, " groups ", groups));
      const int depth = groups * kind.pack;
      const Program defined = Definition(kind, {32, 24, 3 * depth});
      ExpectRight(defined, Lowered(defined, TraceText(kind, {8, 2, 2, 12, depth})), kWithTiles,
                  /*seed=*/3, /*uses_tiles=*/groups > 1);
    }
  }
}

// The last block is narrower: code of its own, which takes the same registers.
TEST(TilesTest, BlocksWithARest) {
  for (const Kind& kind : {kBf16, kBytes}) {
    const Program defined = Definition(kind, {5 * 7, 3 * 16, 2 * kind.depth});
    ExpectRight(defined, Lowered(defined, TraceText(kind, {7, 2, 2})), kWithTiles);
  }
}

TEST(TilesTest, SumsThatBeginWithANumberAndSumsThatAreParked) {
  for (const Kind& kind : {kBf16, kBytes}) {
    const std::string init = kind.sum == "f32" ? "init 7.5" : "init 7_i32";
    for (const bool blocked : {false, true}) {
      const Program defined = Definition(kind, {28, 32, 4 * kind.depth}, init);
      ExpectRight(defined, Lowered(defined, TraceText(kind, {14, 2, 2}, blocked)), kWithTiles);
    }
  }
}

TEST(TilesTest, RowsThatLieApartByMoreThanTheirOwnLength) {
  for (const Kind& kind : {kBf16, kBytes}) {
    const Program defined = Definition(kind, {32, 32, kind.depth}, "", /*apart=*/19);
    ExpectRight(defined, Lowered(defined, TraceText(kind, {16, 2, 2})), kWithTiles);
  }
}

TEST(TilesTest, RandomShapes) {
  Rng rng(RngStream{.seed = 11, .purpose = "shapes", .task = ""});
  for (int i = 0; i < 12; ++i) {
    const Kind& kind = rng.Between(0, 1) == 0 ? kBf16 : kBytes;
    const Block blocks[] = {{1, 1, 1}, {1, 2, 2}, {1, 1, 2}, {1, 2, 1}, {1, 3, 1}};
    Block block = blocks[rng.Between(0, 4)];
    block.rows = static_cast<int>(rng.Between(1, 16));
    block.columns = static_cast<int>(rng.Between(1, 16));
    block.depth = static_cast<int>(kind.pack * rng.Between(1, 16));
    const Shape shape = {block.rows * rng.Between(1, 5), block.columns * rng.Between(1, 4),
                         block.depth * rng.Between(1, 4)};
    SCOPED_TRACE(absl::StrCat(kind.intrinsic, " ", shape.m, "x", shape.n, "x", shape.k, " rows ",
                              block.rows, " ", block.tile_rows, "x", block.tile_columns, " of ",
                              block.columns, " columns, depth ", block.depth));
    const Program defined = Definition(kind, shape);
    ExpectRight(defined, Lowered(defined, TraceText(kind, block, rng.Between(0, 1) == 1)),
                kWithTiles, /*seed=*/static_cast<uint64_t>(i),
                /*uses_tiles=*/block.columns > 1 && block.depth > kind.pack);
  }
}

// Loads and products of one step of the reduction, written out once in the kernel: the operands of
// a row and of a column of tiles are loaded once each.
TEST(TilesTest, InnerLoopLoadsEachOperandOnce) {
  for (const Kind& kind : {kBf16, kBytes}) {
    for (const Block& block :
         std::vector<Block>{{16, 1, 1}, {16, 2, 2}, {16, 1, 2}, {16, 2, 1}, {16, 3, 1}}) {
      SCOPED_TRACE(absl::StrCat(kind.intrinsic, " ", block.tile_rows, "x", block.tile_columns));
      const int64_t tiles = block.tile_rows * block.tile_columns;
      const Program defined =
          Definition(kind, {4 * 16 * block.tile_rows, 4 * 16 * block.tile_columns, 8 * kind.depth});
      const Program lowered = Lowered(defined, TraceText(kind, block));
      ASSERT_OK_AND_ASSIGN(
          const CompiledModule module,
          MakeLlvmBackend()->Compile({.features = kWithTiles}, {{.program = &lowered}}));
      EXPECT_EQ(module.kernels[0].innermost_spill_count, 0);
      ASSERT_OK_AND_ASSIGN(const std::vector<MachineInstruction> code, Disassemble(module.elf));
      EXPECT_EQ(CountOf(code, kind.pack == 2 ? "tdpbf16ps" : "tdpbusd"), tiles);
      EXPECT_EQ(CountOf(code, "tileload"), block.tile_rows + block.tile_columns);
      EXPECT_EQ(CountOf(code, "tilezero"), tiles);
      EXPECT_EQ(CountOf(code, "tilestore"), tiles);
      EXPECT_EQ(CountOf(code, "ldtilecfg"), 1);
      EXPECT_EQ(CountOf(code, "tilerelease"), 1);
    }
  }
}

TEST(TilesTest, MoreTilesThanThereAreRegistersForAreRefused) {
  const Program defined = Definition(kBf16, {24, 48, 64});
  ASSERT_OK_AND_ASSIGN(const Trace trace, ParseTrace(TraceText(kBf16, {8, 3, 3})));
  ASSERT_OK_AND_ASSIGN(const Program scheduled, ApplyTrace(trace, defined));
  EXPECT_THAT(Lower(scheduled), StatusIs(absl::StatusCode::kInvalidArgument,
                                         ::testing::HasSubstr("9 tiles, want at most 6")));
}

// What the emulator computes is what a processor computes.
TEST(TilesTest, ProcessorAndEmulatorAgreeToTheBit) {
  if (!HostCpuInfo().Has("amx-bf16") || !HostCpuInfo().Has("amx-int8")) {
    GTEST_SKIP() << "this CPU, or its system, has no tile registers";
  }
  for (const Kind& kind : {kBf16, kBytes}) {
    const Program defined = Definition(kind, {16, 16, kind.depth});
    const Program lowered = Lowered(defined, TraceText(kind, {16, 1, 1}));
    ASSERT_OK_AND_ASSIGN(
        CompiledModule module,
        MakeLlvmBackend()->Compile({.features = kWithTiles}, {{.program = &lowered}}));
    ASSERT_OK_AND_ASSIGN(const KernelRunner runner, KernelRunner::Load(std::move(module)));
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const std::vector<TensorValue> arguments = Arguments(defined, seed);
      ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got, runner.Run(lowered, arguments));
      TileMachine machine;
      std::vector<uint8_t> configuration(64, 0), left(1024), right(1024), sums(1024, 0);
      configuration[0] = 1;
      for (size_t tile = 0; tile < 8; ++tile) {
        configuration[16 + 2 * tile] = 64;
        configuration[48 + tile] = 16;
      }
      const auto put = [&](const TensorValue& tensor, size_t element, uint8_t* to) {
        if (kind.pack == 4) {
          *to = static_cast<uint8_t>(tensor.integers[element]);
          return;
        }
        const auto bits = std::bit_cast<uint32_t>(static_cast<float>(tensor.floats[element])) >> 16;
        to[0] = static_cast<uint8_t>(bits), to[1] = static_cast<uint8_t>(bits >> 8);
      };
      const size_t bytes = kind.pack == 4 ? 1 : 2, depth = static_cast<size_t>(kind.depth),
                   pack = static_cast<size_t>(kind.pack);
      for (size_t row = 0; row < 16; ++row) {
        for (size_t k = 0; k < depth; ++k) {
          put(arguments[0], row * depth + k, &left[64 * row + bytes * k]);
          put(arguments[1], row * depth + k,
              &right[64 * (k / pack) + 4 * row + bytes * (k % pack)]);
        }
      }
      ASSERT_TRUE(machine.Configure(configuration.data()));
      ASSERT_TRUE(machine.Load(1, left.data(), 64) && machine.Load(2, right.data(), 64));
      ASSERT_TRUE(machine.Zero(0));
      ASSERT_TRUE(kind.pack == 4 ? machine.MultiplyU8S8(0, 1, 2) : machine.MultiplyBf16(0, 1, 2));
      ASSERT_TRUE(machine.Store(0, sums.data(), 64));
      for (size_t i = 0; i < 256; ++i) {
        if (kind.pack == 4) {
          int32_t sum;
          std::memcpy(&sum, &sums[4 * i], 4);
          EXPECT_EQ(got[0].integers[i], std::max(sum, -5000));
        } else {
          float sum;
          std::memcpy(&sum, &sums[4 * i], 4);
          EXPECT_EQ(got[0].floats[i], static_cast<double>(std::max(sum, -100.0f)));
        }
      }
    }
  }
}

// A trace that names an instruction is no leave to use it where the target lacks it: the nests are
// done as they stand.
TEST(TilesTest, TargetsWithoutTheUnitDoWithoutIt) {
  const std::vector<std::string> plain = {"sse4.2", "avx", "avx2", "fma"};
  std::vector<std::string> bytes_only = plain;
  bytes_only.insert(bytes_only.end(), {"amx-tile", "amx-int8"});
  const Program defined = Definition(kBf16, {16, 32, 64}, "init 7.5");
  const Program lowered = Lowered(defined, TraceText(kBf16, {8, 2, 2}));
  for (const std::vector<std::string>& features : {plain, bytes_only}) {
    ASSERT_OK_AND_ASSIGN(
        const CompiledModule module,
        MakeLlvmBackend()->Compile({.features = features}, {{.program = &lowered}}));
    ASSERT_OK_AND_ASSIGN(const std::vector<MachineInstruction> code, Disassemble(module.elf));
    EXPECT_EQ(CountOf(code, "tile") + CountOf(code, "ldtile") + CountOf(code, "tdp"), 0);
    ExpectRight(defined, lowered, features);
  }
}

// Taps and channels are one loop. Where pixels lie further apart than their channels, as in a part
// of a wider tensor, a step of the reduction still lies in one pixel.
TEST(TilesTest, ChannelsOfPixelsThatLieApart) {
  const Program defined = ParseProgram(R"(program/1 conv
    input X: u8[16, 128]
    const W: i8[16, 3, 128]
    output Y: i32[14, 16]
    block Y(x in 14, o in 16; t in 3, c in 128) {
      step Y[x, o] += i32(X[x + t, c]) * i32(W[o, t, c])
    })")
                              .value();
  Program lowered = Lowered(defined, R"(split@1 x->(mt,mi) size=7
      split@1 o->(nt,ni) size=16
      fuse@1 (t,c)->q
      split@1 q->(kt,ks) size=64
      split@1 ks->(kp,kv) size=4
      reorder@1 (nt,mt,kt,mi,ni,kp,kv)
      relayout@1 W->Wp dims=(nt,kt,kp,ni,kv)
      stage@1 Y->acc inside=mt scope=tile
      precompute@1 Wp
      parallel@1 nt
      tensorize@1 mi intrinsic=amx_u8s8)");
  lowered.buffers[0].storage.strides[0] = 160;
  ASSERT_OK_AND_ASSIGN(
      const CompiledModule module,
      MakeLlvmBackend()->Compile({.features = kWithTiles}, {{.program = &lowered}}));
  ASSERT_OK_AND_ASSIGN(const std::vector<MachineInstruction> code, Disassemble(module.elf));
  EXPECT_EQ(CountOf(code, "tdpbusd"), 1);
  ExpectRight(defined, lowered, kWithTiles);
}

// Whose rows do not lie one stride apart any more, because the input is stored another way.
TEST(TilesTest, NestWhoseWeightsAreStoredAnotherWayIsDoneWithoutIt) {
  const Program defined = Definition(kBytes, {16, 32, 64});
  Program lowered = Lowered(defined, TraceText(kBytes, {8, 2, 2}));
  for (Buffer& buffer : lowered.buffers) {
    if (buffer.role != BufferRole::kPacked) continue;
    for (int64_t& stride : buffer.storage.strides) stride *= 3;
  }
  ASSERT_OK_AND_ASSIGN(
      const CompiledModule module,
      MakeLlvmBackend()->Compile({.features = kWithTiles}, {{.program = &lowered}}));
  ASSERT_OK_AND_ASSIGN(const std::vector<MachineInstruction> code, Disassemble(module.elf));
  EXPECT_EQ(CountOf(code, "tdp"), 0);
  ExpectRight(defined, lowered, kWithTiles, /*seed=*/3, /*uses_tiles=*/false);
}

}  // namespace
}  // namespace burnish
