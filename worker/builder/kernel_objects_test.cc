#include "worker/builder/kernel_objects.h"

#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/ir/program.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

// An object is the kernel's symbol and its program's name; a library is its objects.
class FakeBackend : public Backend {
 public:
  absl::StatusOr<CompiledObject> CompileObject(
      const CodegenTarget& target, absl::Span<const KernelSource> sources) const override {
    ++compiled;
    if (sources.empty()) return CompiledObject{.elf = "nothing;"};
    EXPECT_EQ(sources.size(), 1u);
    if (sources[0].program->name == "bad") {
      return absl::InternalError(absl::StrCat("broken: ", sources[0].symbol));
    }
    return CompiledObject{
        .elf = absl::StrCat(sources[0].symbol, "=", sources[0].program->name, ";"),
        .kernels = {{.symbol = sources[0].symbol}}};
  }
  absl::StatusOr<std::vector<uint8_t>> Link(absl::Span<const std::string> objects) override {
    if (objects.empty()) return absl::InternalError("no input files");
    std::vector<uint8_t> elf;
    for (const std::string& object : objects) elf.insert(elf.end(), object.begin(), object.end());
    return elf;
  }
  absl::StatusOr<std::string> Emit(const CodegenTarget&, const KernelSource&,
                                   absl::string_view) override {
    return absl::UnimplementedError("not in this test");
  }

  mutable std::atomic<int> compiled = 0;
};

class KernelObjectsTest : public ::testing::Test {
 protected:
  // One kernel a name, "k0" the first. The library as text.
  absl::StatusOr<std::string> Library(const std::vector<std::string>& names,
                                      const CodegenTarget& target = {}) {
    std::vector<Program> programs(names.size());
    std::vector<KernelSource> sources;
    for (size_t i = 0; i < names.size(); ++i) {
      programs[i].name = names[i];
      sources.push_back({.symbol = absl::StrCat("k", i), .program = &programs[i]});
    }
    objects_.BeginLibrary();
    backend_.compiled = 0;
    absl::StatusOr<CompiledModule> module = objects_.Compile(backend_, target, sources);
    if (!module.ok()) return module.status();
    EXPECT_EQ(module->kernels.size(), names.size());
    return std::string(module->elf.begin(), module->elf.end());
  }

  FakeBackend backend_;
  KernelObjects objects_;
};

TEST_F(KernelObjectsTest, ALibraryCompilesWhatTheOneBeforeLacked) {
  EXPECT_THAT(Library({"a", "b", "c"}), IsOkAndHolds("k0=a;k1=b;k2=c;"));
  EXPECT_EQ(backend_.compiled, 3);
  EXPECT_THAT(Library({"a", "x", "c", "d"}), IsOkAndHolds("k0=a;k1=x;k2=c;k3=d;"));
  EXPECT_EQ(backend_.compiled, 2);
  // By symbol too: it is in the object.
  EXPECT_THAT(Library({"c", "x"}), IsOkAndHolds("k0=c;k1=x;"));
  EXPECT_EQ(backend_.compiled, 1);
  EXPECT_THAT(Library({"c", "x"}, {.features = {"avx2"}}), IsOkAndHolds("k0=c;k1=x;"));
  EXPECT_EQ(backend_.compiled, 2);
}

TEST_F(KernelObjectsTest, ALibraryMayHaveNoKernels) {
  EXPECT_THAT(Library({}), IsOkAndHolds("nothing;"));
}

TEST_F(KernelObjectsTest, TwoGenerationsAreKept) {
  EXPECT_THAT(Library({"a"}), IsOk());
  EXPECT_THAT(Library({"b"}), IsOk());
  EXPECT_THAT(Library({"a"}), IsOk());
  EXPECT_EQ(backend_.compiled, 1);
}

TEST_F(KernelObjectsTest, TheFirstKernelThatDoesNotCompileIsTheError) {
  EXPECT_THAT(Library({"a", "bad", "bad"}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("broken: k1")));
  EXPECT_THAT(Library({"a", "b"}), IsOkAndHolds("k0=a;k1=b;"));
}

}  // namespace
}  // namespace burnish
