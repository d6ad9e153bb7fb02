#include "tuner/app/compile_cache.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "compiler/te/builder.h"
#include "compiler/te/operator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/compile.h"
#include "proto/measurement.h"
#include "tuner/sketch/default_schedule.h"

namespace burnish {
namespace {

namespace fs = std::filesystem;
using ::testing::SizeIs;

Program Product(int64_t n) {
  TeBuilder te("product");
  const Tensor x = te.Parameter("x", {DType::kF32, {8, 32}}, BufferRole::kInput);
  const Tensor w = te.Parameter("w", {DType::kF32, {32, n}}, BufferRole::kConstant);
  te.Output("y", FindOperator("matmul")->define(te, Attributes(), {x, w})[0]);
  return Canonicalize(te.Build());
}

Target TargetOf(const std::string& text) {
  absl::StatusOr<Target> target = ParseTarget(text);
  CHECK_OK(target);
  return *target;
}

// Counts what it is asked for.
class CountingBuilder : public Builder {
 public:
  absl::StatusOr<CompileReply> Build(const CompileRequest& request) override {
    ++count;
    CompileReply reply{.library = "library"};
    for (const CompileItem& item : request.items) {
      reply.results.push_back({.id = item.id});
      if (item.id == "bad") {
        reply.results.back().outcome = Failure{.kind = FailureKind::kBuildError, .message = "bad"};
      } else {
        reply.results.back().outcome = CompiledKernel{.contract = item.trace};
      }
    }
    return reply;
  }

  int count = 0;
};

class CompileCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(TempDir folder, TempDir::Create("compile_cache_test"));
    parent_.emplace(std::move(folder));
    folder_ = parent_->path() + "/cache";
  }
  // How many values are kept.
  int64_t FileCount() const {
    if (!fs::exists(folder_)) return 0;
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  std::optional<TempDir> parent_;
  std::string folder_;
};

TEST_F(CompileCacheTest, DefaultsAreThoseThatWouldBeMadeAndAreKeptByAllThatTheyDependOn) {
  const Target target = TargetOf("cpu:arch=znver3,threads=2");
  const Program workload = Product(48);
  const std::vector<DefaultChoice> made = DefaultSchedules(workload, DeviceModelOf(target), {});
  for (int run = 0; run < 2; ++run) {
    const CompileCache cache(folder_);
    const std::vector<DefaultChoice> found = cache.Defaults(workload, target, std::nullopt, {});
    ASSERT_THAT(found, SizeIs(made.size()));
    for (size_t i = 0; i < made.size(); ++i) {
      EXPECT_EQ(PrintTrace(found[i].trace), PrintTrace(made[i].trace));
      EXPECT_EQ(found[i].seconds, made[i].seconds);
      EXPECT_EQ(found[i].numerics, made[i].numerics);
    }
    EXPECT_EQ(FileCount(), 1);
  }
  const CompileCache cache(folder_);
  cache.Defaults(Product(64), target, std::nullopt, {});
  cache.Defaults(workload, TargetOf("cpu:arch=znver3,threads=1"), std::nullopt, {});
  cache.Defaults(workload, target, std::nullopt, {.algorithms = true});
  CalibrationRow row{.clock_ghz = 3};
  cache.Defaults(workload, target, row, {});
  EXPECT_EQ(FileCount(), 5);
  EXPECT_GT(cache.Defaults(workload, target, std::nullopt, {}, {.by_form = true}).size(),
            made.size());
  cache.Defaults(workload, target, std::nullopt, {}, {.call_parts = 2});
  EXPECT_EQ(FileCount(), 7);
  // Confirmed at another boot: the same rates give the same schedules.
  row.boot_id = "another";
  row.measured_at_ns = 7;
  cache.Defaults(workload, target, row, {});
  EXPECT_EQ(FileCount(), 7);
  row.clock_ghz = 4;
  cache.Defaults(workload, target, row, {});
  EXPECT_EQ(FileCount(), 8);
}

TEST_F(CompileCacheTest, LibraryIsBuiltOnceAndWhatFailedAgain) {
  CountingBuilder builder;
  const CompileRequest request{.items = {{.id = "good", .workload = "w", .trace = "t"}},
                               .target = "cpu:arch=znver3",
                               .output = CompileOutput::kLibrary};
  ASSERT_OK_AND_ASSIGN(const CompileReply built,
                       CompileCache(folder_).Over(builder)->Build(request));
  ASSERT_OK_AND_ASSIGN(const CompileReply kept,
                       CompileCache(folder_).Over(builder)->Build(request));
  EXPECT_EQ(kept, built);
  EXPECT_EQ(builder.count, 1);
  CompileRequest other = request;
  other.items[0].trace = "another";
  EXPECT_THAT(CompileCache(folder_).Over(builder)->Build(other), IsOk());
  EXPECT_EQ(builder.count, 2);
  other.items[0].id = "bad";
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(CompileCache(folder_).Over(builder)->Build(other), IsOk());
  EXPECT_EQ(builder.count, 4) << "what failed is tried again";
  CompileRequest text = request;
  text.output = CompileOutput::kText;
  for (int i = 0; i < 2; ++i) EXPECT_THAT(CompileCache(folder_).Over(builder)->Build(text), IsOk());
  EXPECT_EQ(builder.count, 6) << "only libraries are kept";
}

TEST_F(CompileCacheTest, WithoutAFolderNothingIsKept) {
  CountingBuilder builder;
  const CompileCache cache("");
  const CompileRequest request{.items = {{.id = "good"}}, .output = CompileOutput::kLibrary};
  for (int i = 0; i < 2; ++i) EXPECT_THAT(cache.Over(builder)->Build(request), IsOk());
  EXPECT_EQ(builder.count, 2);
  EXPECT_FALSE(cache.Defaults(Product(16), TargetOf("cpu:arch=znver3"), std::nullopt, {}).empty());
}

}  // namespace
}  // namespace burnish
