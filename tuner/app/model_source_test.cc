#include "tuner/app/model_source.h"

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gtest/gtest.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

TEST(ModelSourceTest, ShapesAreExtents) {
  EXPECT_TRUE(CheckShapes({{"x", "1x3x224x224"}, {"y", "1,3"}, {"z", "1x0"}}).ok());
  // Values, which only the model can judge.
  EXPECT_TRUE(CheckShapes({{"rate", "=16000"}, {"axes", "=-1,0"}, {"none", "="}}).ok());
  for (const char* shape : {"", "1x", "1x-3", "batch"}) {
    const absl::Status status = CheckShapes({{"x", shape}});
    EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kUsage) << shape;
    EXPECT_EQ(PartsOf(status).where, "x") << shape;
  }
}

TEST(ModelSourceTest, ARequestNamesOneModel) {
  EXPECT_EQ(ErrorCodeOf(LoadModel({}).status()), ErrorCode::kUsage);
  EXPECT_EQ(ErrorCodeOf(LoadModel({.task = "resnet18", .model = "x.onnx"}).status()),
            ErrorCode::kUsage);
  EXPECT_EQ(ErrorCodeOf(LoadModel({.task = "resnet51"}).status()), ErrorCode::kUnknownModel);
  EXPECT_EQ(ErrorCodeOf(LoadModel({.task = "matmul:m=-1"}).status()), ErrorCode::kBadSpec);
  EXPECT_EQ(ErrorCodeOf(LoadModel({.model = "nowhere.onnx"}).status()), ErrorCode::kNoInputFile);
  EXPECT_TRUE(LoadModel({.task = "matmul:m=4,n=4,k=4"}).ok());
}

TEST(ModelSourceTest, ModelFilesAreReadWhole) {
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("model_source_test"));
  const std::string path = absl::StrCat(folder.path(), "/model.onnx");
  ASSERT_TRUE(WriteFileAtomically(path, "bytes").ok());
  EXPECT_THAT(ReadModelFile(path), IsOkAndHolds("bytes"));
  EXPECT_EQ(ErrorCodeOf(ReadModelFile(absl::StrCat(path, "2")).status()), ErrorCode::kNoInputFile);
}

}  // namespace
}  // namespace burnish
