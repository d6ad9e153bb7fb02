// What is printed for CUDA compiles for the architectures that kernels are meant for, and needs no
// local memory, which a GPU has far away: arrays of a thread's own became registers. Nothing runs.
#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_matchers.h"
#include "compiler/codegen/test_programs.h"
#include "compiler/codegen/text/launch_text.h"
#include "compiler/ir/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

// As far as it is used here.
struct Nvrtc {
  int (*create)(void**, const char*, const char*, int, const char**, const char**);
  int (*compile)(void*, int, const char**);
  int (*destroy)(void**);
  int (*log_size)(void*, size_t*);
  int (*log)(void*, char*);
  int (*cubin_size)(void*, size_t*);
};

class NvrtcTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    void* library = nullptr;
    for (const char* name :
         {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"}) {
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (library == nullptr) GTEST_SKIP() << "no NVRTC: CUDA's text was not compiled";
    const auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      ASSERT_NE(function, nullptr) << name;
    };
    find("nvrtcCreateProgram", nvrtc_.create);
    find("nvrtcCompileProgram", nvrtc_.compile);
    find("nvrtcDestroyProgram", nvrtc_.destroy);
    find("nvrtcGetProgramLogSize", nvrtc_.log_size);
    find("nvrtcGetProgramLog", nvrtc_.log);
    find("nvrtcGetCUBINSize", nvrtc_.cubin_size);
  }

  // What the compiler says; expects that it compiles.
  std::string Compiled(const Program& program) {
    const auto text = PrintLaunches({.program = &program}, TextDialect::kCuda);
    EXPECT_THAT(text, IsOk());
    if (!text.ok()) return "";
    void* compiled = nullptr;
    EXPECT_EQ(nvrtc_.create(&compiled, text->text.c_str(), "launches.cu", 0, nullptr, nullptr), 0);
    const std::string arch = absl::StrCat("--gpu-architecture=", GetParam());
    const char* options[] = {arch.c_str(), "--fmad=false", "--ptxas-options=-v"};
    const int code = nvrtc_.compile(compiled, 3, options);
    size_t size = 0;
    nvrtc_.log_size(compiled, &size);
    std::string log(size, '\0');
    nvrtc_.log(compiled, log.data());
    EXPECT_EQ(code, 0) << log << text->text;
    size = 0;
    EXPECT_EQ(nvrtc_.cubin_size(compiled, &size), 0);
    EXPECT_GT(size, 0u);
    nvrtc_.destroy(&compiled);
    return log;
  }

  Nvrtc nvrtc_ = {};
};

TEST_P(NvrtcTest, KernelsOfThreadsSpillNothing) {
  int kernels = 0;
  for (const auto& file :
       std::filesystem::directory_iterator("compiler/schedule/testdata/threads")) {
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const std::vector<std::string> parts = absl::StrSplit(text.str(), "----\n");
    ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(parts.at(2)));
    const std::string log = Compiled(program);
    // A tile's nest is done by one thread here: an array with indices.
    if (file.path().stem() == "tiles") continue;
    EXPECT_THAT(log, ::testing::HasSubstr("0 bytes stack frame, 0 bytes spill stores"))
        << file.path();
    ++kernels;
  }
  EXPECT_GE(kernels, 4);
}

// Every function of the pieces, in every type.
TEST_P(NvrtcTest, FunctionsCompile) {
  for (const DType type :
       {DType::kF32, DType::kF64, DType::kBf16, DType::kF16, DType::kI64, DType::kI32, DType::kI16,
        DType::kI8, DType::kU64, DType::kU32, DType::kU16, DType::kU8}) {
    ProgramWriter w("functions");
    const BufferId x = w.Add("X", {8}, BufferRole::kInput, type);
    w.Loop(LoopKind::kSerial, 8, [&](Expr i) {
      const auto store = [&](const Expr& value) {
        const std::string name = absl::StrCat("out", w.program().buffers.size());
        w.Store(w.Add(name, {8}, BufferRole::kOutput, value->dtype), {i}, value);
      };
      const bool storage = type == DType::kBf16 || type == DType::kF16;
      const Expr raw = w.At(x, {i}), p = storage ? Cast(DType::kF32, raw) : raw;
      if (storage) return store(Cast(type, p + p));
      for (const ExprKind kind : {ExprKind::kAdd, ExprKind::kMul, ExprKind::kDiv, ExprKind::kMod,
                                  ExprKind::kMin, ExprKind::kMax, ExprKind::kPow, ExprKind::kLt}) {
        store(Binary(kind, p, p));
      }
      for (const ExprKind kind : {ExprKind::kNeg, ExprKind::kAbs, ExprKind::kSign}) {
        store(Unary(kind, p));
      }
      if (!IsFloat(type)) return store(Cast(DType::kF64, p));
      for (const ExprKind kind :
           {ExprKind::kExp, ExprKind::kLog, ExprKind::kTanh, ExprKind::kErf, ExprKind::kSin,
            ExprKind::kCos, ExprKind::kSqrt, ExprKind::kFloor, ExprKind::kIsNan}) {
        store(Unary(kind, p));
      }
      store(Cast(DType::kI32, p));
    });
    Compiled(w.program());
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, NvrtcTest, ::testing::Values("sm_80", "sm_90a", "sm_100"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace burnish
