#include "tuner/cli/torch_model.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

class TorchModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(TempDir folder, TempDir::Create("torch-model"));
    folder_ = std::make_unique<TempDir>(std::move(folder));
  }

  std::string Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(folder_->path()) / name;
    std::filesystem::create_directories(path.parent_path());
    EXPECT_THAT(WriteFileAtomically(path.string(), text), IsOk());
    return path.string();
  }

  // A program in Python's place.
  std::string Python(const std::string& script) {
    const std::string path = Write("python", "#!/bin/sh\n" + script);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  std::unique_ptr<TempDir> folder_;
};

TEST_F(TorchModelTest, OtherFilesAreNobodysBusiness) {
  EXPECT_THAT(ModelFile("m.onnx", "/no/such/python"), IsOkAndHolds("m.onnx"));
  EXPECT_THAT(ModelFile("", "/no/such/python"), IsOkAndHolds(""));
}

TEST_F(TorchModelTest, PythonIsAskedForTheFileThatItKeeps) {
  const std::string model = Write("m.pt2", "PK");
  const std::string python = Python("echo \"$*\" > " + folder_->path() + "/args; echo /kept.graph");
  EXPECT_THAT(ModelFile(model, python), IsOkAndHolds("/kept.graph"));
  EXPECT_THAT(ReadFile(folder_->path() + "/args", 1000),
              IsOkAndHolds(absl::StrCat("-P -m burnish.export ", model, " --keep\n")));
}

TEST_F(TorchModelTest, WithoutPythonTheHintSaysWhereToConvert) {
  const std::string model = Write("m.pt2", "PK");
  for (const std::string& python :
       {std::string("/no/such/python"), Python("echo 'No module named torch' >&2; exit 69")}) {
    const absl::Status status = ModelFile(model, python).status();
    EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kUnavailable) << status;
    EXPECT_THAT(PartsOf(status).hint, HasSubstr("python -m burnish.export"));
    EXPECT_THAT(PartsOf(status).hint, HasSubstr("./dev wheel"));
    EXPECT_THAT(PartsOf(status).hint, HasSubstr("--python"));
  }
}

TEST_F(TorchModelTest, WhatTheConversionRefusesKeepsItsNumberAndHint) {
  const std::string model = Write("m.pt2", "PK");
  absl::Status status =
      ModelFile(model, Python("printf 'talk\\nerror[B0302]: no aten.x\\n  hint: leave it\\n' >&2\n"
                              "exit 65"))
          .status();
  EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kUnsupportedOperator) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no aten.x"));
  EXPECT_EQ(PartsOf(status).hint, "leave it");
  status = ModelFile(model, Python("echo 'error: not a zip' >&2; exit 65")).status();
  EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kBadModel) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("not a zip"));
}

TEST_F(TorchModelTest, FilesThatAreNotThere) {
  const absl::Status status = ModelFile(folder_->path() + "/none.pt2", "python3").status();
  EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kNoInputFile) << status;
}

TEST_F(TorchModelTest, DumpsOfOneGraph) {
  const std::string model = Write("all/net_forward_0/model.graph", "x");
  EXPECT_THAT(DumpedModel(folder_->path() + "/all/net_forward_0"), IsOkAndHolds(model));
  EXPECT_THAT(DumpedModel(folder_->path() + "/all"), IsOkAndHolds(model));
  Write("all/net_joint_0/not_converted.txt", "aten.x is missing\n");
  EXPECT_THAT(DumpedModel(folder_->path() + "/all"), IsOkAndHolds(model));
  const absl::Status status = DumpedModel(folder_->path() + "/all/net_joint_0").status();
  EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kUnsupportedOperator) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("aten.x is missing"));
}

TEST_F(TorchModelTest, DumpsOfSeveralGraphsAreNamed) {
  Write("all/net_forward_0/model.graph", "x");
  Write("all/net_backward_0/model.graph", "x");
  absl::Status status = DumpedModel(folder_->path() + "/all").status();
  EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kUsage) << status;
  EXPECT_THAT(PartsOf(status).hint, HasSubstr("/all/net_backward_0, or --graph "));
  for (const char* name : {"", "/none"}) {
    status = DumpedModel(folder_->path() + name).status();
    EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kNoInputFile) << status;
  }
}

}  // namespace
}  // namespace burnish
