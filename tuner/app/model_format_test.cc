#include "tuner/app/model_format.h"

#include <string>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

std::string ExportHint(const std::string& path) {
  const absl::Status status = CheckModelFormat(path);
  EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kBadModel) << path;
  return PartsOf(status).hint;
}

TEST(ModelFormatTest, OwnFilesPass) {
  for (const char* path : {"", "m", "m.onnx", "m.graph", "m.pt2", "m.pb", "safetensors", "m.bin"}) {
    EXPECT_THAT(CheckModelFormat(path), IsOk()) << path;
  }
}

TEST(ModelFormatTest, HintsAreCommandsForTheFile) {
  EXPECT_THAT(ExportHint("a/x.tflite"),
              HasSubstr("tf2onnx.convert --tflite 'a/x.tflite' --output 'x.onnx'"));
  EXPECT_THAT(ExportHint("a/x.safetensors"), HasSubstr("--model 'a' onnx"));
  EXPECT_THAT(ExportHint("x.safetensors"), HasSubstr("--model '.' onnx"));
  EXPECT_THAT(ExportHint("X.PT"), HasSubstr("torch.onnx.export"));
  EXPECT_THAT(ExportHint("a/pytorch_model.bin"), HasSubstr("--model 'a' onnx"));
  EXPECT_THAT(ExportHint("x.pth"), HasSubstr("'x.onnx'"));
  EXPECT_THAT(ExportHint("x.h5"), HasSubstr("\" 'x.h5' 'x.onnx'"));
}

TEST(ModelFormatTest, NamesStayOneWord) {
  EXPECT_THAT(ExportHint("it's; rm.tflite"), HasSubstr("'it'\\''s; rm.tflite'"));
}

}  // namespace
}  // namespace burnish
