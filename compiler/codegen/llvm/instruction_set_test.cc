// Compiled code has no instruction that its target's features do not include: an unknown machine
// gets a refusal from the feature list, never SIGILL. Every object is disassembled, and each
// instruction is placed in the extension that brought it.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/codegen/backend.h"
#include "compiler/codegen/llvm/disassembler.h"
#include "compiler/codegen/llvm/llvm_backend.h"
#include "compiler/codegen/test_programs.h"
#include "compiler/ir/parser.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

bool StartsWith(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }
bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}
bool IsOneOf(const std::string& mnemonic, std::vector<const char*> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const char* prefix) { return StartsWith(mnemonic, prefix); });
}

// The extension that an instruction needs, "" for the base (SSE2, general registers).
// Source: Intel SDM vol. 2, "CPUID feature flag" of each instruction.
std::string ExtensionOf(const Instruction& i) {
  const std::string& name = i.mnemonic;
  if (IsOneOf(name, {"tile", "ldtile", "sttile", "tdp"})) return "amx";
  if (IsOneOf(name, {"vpdpb", "vpdpw"})) return "vnni";
  if (IsOneOf(name, {"vpmadd52"})) return "ifma";
  if (IsOneOf(name, {"vpermb", "vpermi2b", "vpermt2b", "vpmultishift", "vpcompressb", "vpcompressw",
                     "vpexpandb", "vpexpandw", "vpshld", "vpshrd"})) {
    return "vbmi";
  }
  if (IsOneOf(name, {"vcvtne", "vdpbf16", "vgf2", "gf2"})) return "bf16 or gfni";
  if (i.encoding == Instruction::Encoding::kEvex) return "avx512";
  if (Contains(i.operands, "%k") || Contains(i.operands, "%zmm")) return "avx512";
  if (IsOneOf(name, {"vfmadd", "vfmsub", "vfnmadd", "vfnmsub"})) return "fma";
  if (IsOneOf(name, {"vcvtph2ps", "vcvtps2ph"})) return "f16c";
  if (IsOneOf(name, {"andn", "bextr", "blsi", "blsmsk", "blsr", "tzcnt"})) {
    // "andnps" is SSE's.
    return StartsWith(name, "andnp") ? "" : "bmi";
  }
  if (IsOneOf(name, {"bzhi", "mulx", "pdep", "pext", "rorx", "sarx", "shlx", "shrx"}) &&
      !StartsWith(name, "pextr")) {
    return "bmi2";
  }
  if (i.encoding == Instruction::Encoding::kVex) {
    const bool wide = Contains(i.operands, "%ymm");
    if (IsOneOf(name, {"vpbroadcast", "vbroadcasti", "vpermd", "vpermq", "vpermps", "vpermpd",
                       "vpgather", "vgather", "vpmaskmov", "vextracti", "vinserti", "vpsllv",
                       "vpsrlv", "vpsrav", "vpblendd"})) {
      return "avx2";
    }
    if (wide && StartsWith(name, "vp") && !IsOneOf(name, {"vpermil", "vperm2f", "vptest"})) {
      return "avx2";
    }
    return "avx";
  }
  if (IsOneOf(name, {"lzcnt"})) return "lzcnt";
  if (IsOneOf(name, {"movbe"})) return "movbe";
  if (IsOneOf(name, {"popcnt"})) return "popcnt";
  return "";
}

struct Isa {
  std::string name;
  std::vector<std::string> features;
  std::set<std::string> extensions;
  int lanes;
};

std::vector<Isa> Isas() {
  return {{"sse42", {"sse4.2"}, {""}, 4},
          {"avx", {"sse4.2", "avx"}, {"", "avx"}, 8},
          {"avx2", {"sse4.2", "avx", "avx2"}, {"", "avx", "avx2"}, 8},
          {"avx2_fma_bmi2",
           {"sse4.2", "avx", "avx2", "fma", "bmi2"},
           {"", "avx", "avx2", "fma", "bmi2"},
           8},
          {"avx512",
           {"sse4.2", "avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"},
           {"", "avx", "avx2", "fma", "avx512"},
           16},
          {"amx",
           {"sse4.2", "avx", "avx2", "fma", "amx-tile", "amx-bf16"},
           {"", "avx", "avx2", "fma", "amx"},
           8}};
}

// One kernel with every operation in it.
Program Everything(int lanes) {
  ProgramWriter w("everything");
  const BufferId x = w.Add("X", {77}, BufferRole::kInput);
  const BufferId n = w.Add("N", {77}, BufferRole::kInput, DType::kI64);
  const BufferId y = w.Add("Y", {77}, BufferRole::kOutput);
  const BufferId z = w.Add("Z", {77}, BufferRole::kOutput, DType::kI64);
  const BufferId u = w.Add("U", {77}, BufferRole::kOutput, DType::kU8);
  const auto each = [&](const std::function<void(Expr)>& body) {
    w.Loop(LoopKind::kVectorized, 77, body, lanes);
  };
  for (const ExprKind kind :
       {ExprKind::kSqrt, ExprKind::kExp, ExprKind::kLog, ExprKind::kTanh, ExprKind::kErf,
        ExprKind::kSin, ExprKind::kCos, ExprKind::kFloor, ExprKind::kRound, ExprKind::kSign}) {
    each([&](Expr i) { w.Store(y, {i}, Unary(kind, w.At(x, {i})), Combiner::kSum); });
  }
  for (const ExprKind kind : {ExprKind::kMax, ExprKind::kPow, ExprKind::kMod}) {
    each([&](Expr i) {
      w.Store(y, {i}, Binary(kind, w.At(x, {i}), w.At(y, {Int(76) - i})), Combiner::kMax);
    });
  }
  for (const ExprKind kind : {ExprKind::kDiv, ExprKind::kMul, ExprKind::kMax, ExprKind::kMod}) {
    each([&](Expr i) {
      w.Store(z, {i}, Binary(kind, w.At(n, {i}), w.At(n, {FloorDiv(i, 3)})), Combiner::kSum);
    });
  }
  each([&](Expr i) {
    w.Store(y, {i},
            Select(Lt(w.At(x, {i}), Float(0)), w.At(x, {BoundsCheck(w.At(n, {i}), Int(77))}),
                   Cast(DType::kF32, w.At(n, {i}))));
    w.Store(u, {i}, Cast(DType::kU8, w.At(x, {i})));
  });
  return std::move(w.program());
}

// One product on tile registers.
constexpr char kTiles[] = R"(program/1 tiles lowered
  input A: bf16[16, 32]
  input B: bf16[16, 16, 2]
  output Y: f32[16, 16]
  temp acc: f32[16, 16] tile
  var p in 1 var i in 16 var j in 16 var k in 16 var v in 2
  kernel {
    parallel p in 1 {
      tensorize(tile_zero) i { for j { acc[i, j] = 0.0 } }
      tensorize(amx_bf16) i { for j { for k { for v {
        acc[i, j] += f32(A[i, k * 2 + v]) * f32(B[k, j, v])
      } } } }
      tensorize(tile_store) i { for j { Y[i, j] = acc[i, j] } }
    }
  })";

class InstructionSetTest : public ::testing::TestWithParam<Isa> {};

TEST_P(InstructionSetTest, CodeStaysWithinTheFeatures) {
  const Program everything = Everything(GetParam().lanes);
  const Program tiles = ParseProgram(kTiles).value();
  const Program tile =
      GemmTileProgram({.columns = 2 * GetParam().lanes, .lanes = GetParam().lanes});
  for (const std::string cpu : {"generic", "znver4", "skylake-avx512"}) {
    SCOPED_TRACE(cpu);
    ASSERT_OK_AND_ASSIGN(
        const CompiledModule module,
        MakeLlvmBackend()->Compile({.tune_cpu = cpu, .features = GetParam().features},
                                   {{.symbol = "all", .program = &everything},
                                    {.symbol = "tile", .program = &tile},
                                    {.symbol = "tiles", .program = &tiles}}));
    ASSERT_OK_AND_ASSIGN(const std::vector<Instruction> code, Disassemble(module.elf));
    EXPECT_GT(code.size(), 500);
    std::set<std::string> used;
    for (const Instruction& instruction : code) {
      const std::string extension = ExtensionOf(instruction);
      used.insert(extension);
      ASSERT_TRUE(GetParam().extensions.count(extension))
          << instruction.mnemonic << " " << instruction.operands << " is of " << extension;
    }
    // The strongest extension is used: the test would see it where it is not allowed.
    if (GetParam().name == "avx512") EXPECT_TRUE(used.count("avx512"));
    if (GetParam().name == "avx2_fma_bmi2") EXPECT_TRUE(used.count("fma"));
    if (GetParam().name == "amx") EXPECT_TRUE(used.count("amx"));
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, InstructionSetTest, ::testing::ValuesIn(Isas()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace burnish
