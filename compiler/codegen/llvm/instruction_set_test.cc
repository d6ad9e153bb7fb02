// Compiled code has no instruction that its target's features do not include: an unknown machine
// gets a refusal from the feature list, never SIGILL. Every object is disassembled, and each
// instruction is placed in the extension that brought it.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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
std::string ExtensionOf(const MachineInstruction& i) {
  const std::string& name = i.mnemonic;
  const bool is_evex = i.encoding == MachineInstruction::Encoding::kEvex;
  if (IsOneOf(name, {"tdpbf16"})) return "amx-bf16";
  if (IsOneOf(name, {"tdpb"})) return "amx-int8";
  if (IsOneOf(name, {"tile", "ldtile", "sttile", "tdp"})) return "amx";
  if (IsOneOf(name, {"vpdpb", "vpdpw"})) return is_evex ? "avx512vnni" : "avxvnni";
  if (IsOneOf(name, {"vpmadd52"})) return "ifma";
  if (IsOneOf(name, {"vpermb", "vpermi2b", "vpermt2b", "vpmultishift", "vpcompressb", "vpcompressw",
                     "vpexpandb", "vpexpandw", "vpshld", "vpshrd"})) {
    return "vbmi";
  }
  if (IsOneOf(name, {"vcvtne", "vdpbf16"})) return is_evex ? "avx512bf16" : "avxneconvert";
  if (IsOneOf(name, {"vgf2", "gf2"})) return "gfni";
  const bool converts_half = name == "vcvtph2ps" || name == "vcvtps2ph";
  if (is_evex && !converts_half && (name.ends_with("ph") || name.ends_with("sh"))) {
    return "avx512fp16";
  }
  if (is_evex) return "avx512";
  if (Contains(i.operands, "%k") || Contains(i.operands, "%zmm")) return "avx512";
  if (IsOneOf(name, {"vfmadd", "vfmsub", "vfnmadd", "vfnmsub"})) return "fma";
  if (converts_half) return "f16c";
  if (IsOneOf(name, {"andn", "bextr", "blsi", "blsmsk", "blsr", "tzcnt"})) {
    // "andnps" is SSE's.
    return StartsWith(name, "andnp") ? "" : "bmi";
  }
  if (IsOneOf(name, {"bzhi", "mulx", "pdep", "pext", "rorx", "sarx", "shlx", "shrx"}) &&
      !StartsWith(name, "pextr")) {
    return "bmi2";
  }
  if (i.encoding == MachineInstruction::Encoding::kVex) {
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
  std::string uses = {};  // Of its extensions: without it the test would not see where it is not
                          // allowed.
};

std::vector<Isa> Isas() {
  const std::vector<std::string> avx2 = {"sse4.2", "avx", "avx2", "fma"};
  const std::vector<std::string> avx512 = {"sse4.2",   "avx2",     "fma",     "avx512f",
                                           "avx512bw", "avx512dq", "avx512vl"};
  const auto with = [](std::vector<std::string> features, std::vector<std::string> more) {
    features.insert(features.end(), more.begin(), more.end());
    return features;
  };
  return {{"sse42", {"sse4.2"}, {""}, 4},
          {"avx", {"sse4.2", "avx"}, {"", "avx"}, 8},
          {"avx2", {"sse4.2", "avx", "avx2"}, {"", "avx", "avx2"}, 8},
          {"avx2_fma_bmi2",
           {"sse4.2", "avx", "avx2", "fma", "bmi2"},
           {"", "avx", "avx2", "fma", "bmi2"},
           8,
           "fma"},
          {"avx_f16c", {"sse4.2", "avx", "f16c"}, {"", "avx", "f16c"}, 8, "f16c"},
          {"f16c", with(avx2, {"f16c"}), {"", "avx", "avx2", "fma", "f16c"}, 8, "f16c"},
          {"avxvnni", with(avx2, {"avxvnni"}), {"", "avx", "avx2", "fma", "avxvnni"}, 8, "avxvnni"},
          {"avx512", avx512, {"", "avx", "avx2", "fma", "avx512"}, 16, "avx512"},
          {"avx512vnni",
           with(avx512, {"avx512vnni"}),
           {"", "avx", "avx2", "fma", "avx512", "avx512vnni"},
           16,
           "avx512vnni"},
          {"avx512bf16",
           with(avx512, {"avx512bf16"}),
           {"", "avx", "avx2", "fma", "avx512", "avx512bf16"},
           16,
           "avx512bf16"},
          {"amx_bf16",
           with(avx2, {"amx-tile", "amx-bf16"}),
           {"", "avx", "avx2", "fma", "amx", "amx-bf16"},
           8,
           "amx-bf16"},
          {"amx_int8",
           with(avx2, {"amx-tile", "amx-int8"}),
           {"", "avx", "avx2", "fma", "amx", "amx-int8"},
           8,
           "amx-int8"}};
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

// Casts between f32 and what numbers of few bits lie in memory as, there and back, with rounding as
// quantized numbers have it.
Program Casts(int lanes) {
  ProgramWriter w("casts");
  const BufferId x = w.Add("X", {77}, BufferRole::kInput);
  const BufferId y = w.Add("Y", {77}, BufferRole::kOutput);
  for (const DType type :
       {DType::kF16, DType::kBf16, DType::kI8, DType::kU8, DType::kI16, DType::kU16, DType::kI32}) {
    const std::string name(DTypeName(type));
    const BufferId narrow = w.Add("N_" + name, {77}, BufferRole::kOutput, type);
    const auto stored = [&](const Expr& value) {
      return IsFloat(type) ? Cast(type, value)
                           : Cast(type, Cast(DType::kI32, Unary(ExprKind::kRound, value)));
    };
    w.Loop(
        LoopKind::kVectorized, 77, [&](Expr i) { w.Store(narrow, {i}, stored(w.At(x, {i}))); },
        lanes);
    w.Loop(
        LoopKind::kVectorized, 77,
        [&](Expr i) {
          w.Store(y, {i}, Cast(DType::kF32, w.At(narrow, {Int(76) - i})), Combiner::kSum);
        },
        lanes);
    w.Loop(LoopKind::kSerial, 3, [&](Expr i) { w.Store(narrow, {i}, stored(w.At(y, {i}))); });
  }
  return std::move(w.program());
}

// Sums of groups of products, as `tensorize` leaves them to a unit.
Program Dots(const std::string& unit, int lanes, int group, const std::string& left,
             const std::string& right, const std::string& sum) {
  const std::string text = R"(program/1 dots lowered
    input A: $left[5, $depth]
    input B: $right[5, $lanes, $group]
    output Y: $sum[5, $lanes]
    temp acc: $sum[$lanes] register
    var m in 5 var k in 5 var i in $lanes var z in $lanes var s in $lanes var j in $group
    kernel {
      parallel m in 5 {
        vectorize($lanes) z { acc[z] = $sum(0_i32) }
        for k {
          tensorize($unit) i { for j {
            acc[i] += $sum(A[m, k * $group + j]) * $sum(B[k, i, j])
          } }
        }
        vectorize($lanes) s { Y[m, s] = acc[s] }
      }
    })";
  return ParseProgram(absl::StrReplaceAll(text, {{"$left", left},
                                                 {"$right", right},
                                                 {"$sum", sum},
                                                 {"$unit", unit},
                                                 {"$lanes", absl::StrCat(lanes)},
                                                 {"$group", absl::StrCat(group)},
                                                 {"$depth", absl::StrCat(5 * group)}}))
      .value();
}

std::vector<Program> AllDots() {
  std::vector<Program> all;
  for (const int lanes : {4, 8, 16}) {
    all.push_back(Dots(absl::StrCat("vnni_u8s8x", lanes), lanes, 4, "u8", "i8", "i32"));
    all.push_back(Dots(absl::StrCat("dot2_u8i8x", lanes), lanes, 2, "u8", "i8", "i32"));
    all.push_back(Dots(absl::StrCat("dot2_i8x", lanes), lanes, 2, "i8", "i8", "i32"));
    all.push_back(Dots(absl::StrCat("dot_bf16x", lanes), lanes, 2, "bf16", "bf16", "f32"));
  }
  return all;
}

// One product on tile registers, of groups as `Dots` has them.
Program Tiles(const std::string& unit, int group, const std::string& left, const std::string& right,
              const std::string& sum) {
  const std::string text = R"(program/1 tiles lowered
    input A: $left[16, $depth]
    input B: $right[16, 16, $group]
    output Y: $sum[16, 16]
    temp acc: $sum[16, 16] tile
    var p in 1 var i in 16 var j in 16 var k in 16 var v in $group
    kernel {
      parallel p in 1 {
        tensorize(tile_zero) i { for j { acc[i, j] = $zero } }
        tensorize($unit) i { for j { for k { for v {
          acc[i, j] += $sum(A[i, k * $group + v]) * $sum(B[k, j, v])
        } } } }
        tensorize(tile_store) i { for j { Y[i, j] = acc[i, j] } }
      }
    })";
  return ParseProgram(absl::StrReplaceAll(text, {{"$left", left},
                                                 {"$right", right},
                                                 {"$sum", sum},
                                                 {"$unit", unit},
                                                 {"$zero", sum == "f32" ? "0.0" : "0_i32"},
                                                 {"$group", absl::StrCat(group)},
                                                 {"$depth", absl::StrCat(16 * group)}}))
      .value();
}

class InstructionSetTest : public ::testing::TestWithParam<Isa> {};

TEST_P(InstructionSetTest, CodeStaysWithinTheFeatures) {
  const Program everything = Everything(GetParam().lanes);
  const Program tiles = Tiles("amx_bf16", 2, "bf16", "bf16", "f32");
  const Program byte_tiles = Tiles("amx_u8s8", 4, "u8", "i8", "i32");
  const Program casts = Casts(GetParam().lanes);
  const std::vector<Program> dots = AllDots();
  const Program tile =
      GemmTileProgram({.columns = 2 * GetParam().lanes, .lanes = GetParam().lanes});
  for (const std::string cpu : {"generic", "znver4", "skylake-avx512"}) {
    SCOPED_TRACE(cpu);
    std::vector<std::pair<std::string, const Program*>> all = {{"all", &everything},
                                                               {"casts", &casts},
                                                               {"tile", &tile},
                                                               {"tiles", &tiles},
                                                               {"byte_tiles", &byte_tiles}};
    for (const Program& dot : dots) all.emplace_back(absl::StrCat("dot", all.size()), &dot);
    std::vector<KernelSource> sources;
    for (const auto& [name, program] : all) {
      sources.push_back({.symbol = name, .program = program});
    }
    ASSERT_OK_AND_ASSIGN(
        const CompiledModule module,
        MakeLlvmBackend()->Compile({.tune_cpu = cpu, .features = GetParam().features}, sources));
    ASSERT_OK_AND_ASSIGN(const std::vector<MachineInstruction> code, Disassemble(module.elf));
    EXPECT_GT(code.size(), 500);
    std::set<std::string> used;
    for (const MachineInstruction& instruction : code) {
      const std::string extension = ExtensionOf(instruction);
      used.insert(extension);
      ASSERT_TRUE(GetParam().extensions.count(extension))
          << instruction.mnemonic << " " << instruction.operands << " is of " << extension;
    }
    EXPECT_TRUE(used.count(GetParam().uses)) << GetParam().uses;
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, InstructionSetTest, ::testing::ValuesIn(Isas()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace burnish
