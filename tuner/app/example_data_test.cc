// Folders of examples: each form that is taken, and each mistake by its error and hint.
#include "tuner/app/example_data.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "compiler/runtime/tensor_info.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/app/error.h"
#include "tuner/app/npy.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ExampleDataTest : public ::testing::Test {
 protected:
  ExampleDataTest() : folder_(*TempDir::Create("examples")) {}

  const std::string& folder() const { return folder_.path(); }

  // Numbers from `first` on.
  void Write(const std::string& name, const Shape& shape, float first,
             ElementType type = ElementType::kF32) {
    NpyArray array{.type = type, .shape = shape};
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    std::vector<float> floats(count);
    std::vector<int64_t> ints(count);
    for (int64_t i = 0; i < count; ++i) {
      floats[i] = first + static_cast<float>(i);
      ints[i] = static_cast<int64_t>(floats[i]);
    }
    const bool is_float = type == ElementType::kF32;
    array.bytes.resize(count * ElementBytes(type));
    std::memcpy(array.bytes.data(),
                is_float ? static_cast<const void*>(floats.data()) : ints.data(),
                array.bytes.size());
    WriteArray(name, array);
  }
  void WriteArray(const std::string& name, const NpyArray& array) {
    const std::string path = absl::StrCat(folder(), "/", name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    ASSERT_THAT(WriteNpyFile(path, array), IsOk());
  }

  absl::StatusOr<ExampleData> Open(std::vector<TensorInfo> inputs, int64_t least = 1) {
    return ExampleData::Open(folder(), std::move(inputs), least);
  }

  // What the error says, with its number, place and hint in front.
  std::string Complaint(std::vector<TensorInfo> inputs, int64_t least = 1) {
    const absl::Status status = Open(std::move(inputs), least).status();
    const ErrorParts parts = PartsOf(status);
    if (!parts.code.has_value() || parts.where.empty()) return "no number or place";
    return absl::StrCat(ErrorName(*parts.code), " ", status.message(), " AT ", parts.where,
                        " HINT ", parts.hint);
  }

 private:
  const TempDir folder_;
};

TensorInfo Image() { return DenseTensor("image", ElementType::kF32, {1, 2}); }
TensorInfo Mask() { return DenseTensor("mask", ElementType::kI64, {1}); }

// The first number of each input of each example.
std::vector<double> FirstNumbers(ExampleData& data) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < data.count(); ++i) {
    const auto example = data.Read(i);
    EXPECT_THAT(example, IsOk());
    if (!example.ok()) return {};
    for (const NpyArray& array : *example) {
      float value = 0;
      int64_t number = 0;
      if (array.type == ElementType::kF32) {
        std::memcpy(&value, array.bytes.data(), sizeof(value));
        EXPECT_EQ(array.shape, (Shape{1, 2}));
      } else {
        std::memcpy(&number, array.bytes.data(), sizeof(number));
        EXPECT_EQ(array.shape, Shape{1});
      }
      numbers.push_back(value + static_cast<double>(number));
    }
  }
  return numbers;
}

TEST_F(ExampleDataTest, AFileAnInputHoldsAllExamples) {
  Write("image.npy", {3, 2}, 10);
  Write("mask.npy", {3}, 100, ElementType::kI64);
  ASSERT_OK_AND_ASSIGN(ExampleData data, Open({Image(), Mask()}));
  EXPECT_EQ(FirstNumbers(data), (std::vector<double>{10, 100, 12, 101, 14, 102}));
}

TEST_F(ExampleDataTest, AStackHoldsAllExamples) {
  Write("image.npy", {3, 1, 2}, 10);
  ASSERT_OK_AND_ASSIGN(ExampleData data, Open({Image()}));
  EXPECT_EQ(FirstNumbers(data), (std::vector<double>{10, 12, 14}));
}

TEST_F(ExampleDataTest, NumberedFilesAreInTheOrderOfTheirNumbers) {
  Write("x10.npy", {1, 2}, 30);
  Write("x9.npy", {2, 2}, 10);
  Write("x0010.npy", {1, 2}, 20);
  ASSERT_OK_AND_ASSIGN(ExampleData data, Open({Image()}));
  EXPECT_EQ(FirstNumbers(data).front(), 10);
  EXPECT_EQ(data.count(), 4);
  // From the last to the first.
  ASSERT_OK_AND_ASSIGN(const auto last, data.Read(3));
  ASSERT_OK_AND_ASSIGN(const auto second, data.Read(1));
  float value = 0;
  std::memcpy(&value, second[0].bytes.data(), sizeof(value));
  EXPECT_EQ(value, 12);
}

TEST_F(ExampleDataTest, AFolderMayBeAnExample) {
  Write("2/image.npy", {1, 2}, 20);
  Write("2/mask.npy", {1}, 200, ElementType::kI64);
  Write("11/image.npy", {1, 2}, 110);
  Write("11/mask.npy", {1}, 1100, ElementType::kI64);
  ASSERT_OK_AND_ASSIGN(ExampleData data, Open({Image(), Mask()}));
  EXPECT_EQ(FirstNumbers(data), (std::vector<double>{20, 200, 110, 1100}));
}

TEST_F(ExampleDataTest, ASlashInANameIsAnUnderscoreInItsFiles) {
  Write("in_image:0.npy", {2, 2}, 1);
  Write("in_mask.npy", {2}, 5, ElementType::kI64);
  ASSERT_OK_AND_ASSIGN(ExampleData data, Open({DenseTensor("in/image:0", ElementType::kF32, {1, 2}),
                                               DenseTensor("in/mask", ElementType::kI64, {1})}));
  EXPECT_EQ(FirstNumbers(data), (std::vector<double>{1, 5, 3, 6}));
}

TEST_F(ExampleDataTest, FloatsAreRoundedForABfloat16) {
  Write("image.npy", {2, 2}, 1);
  ASSERT_OK_AND_ASSIGN(ExampleData data, Open({DenseTensor("image", ElementType::kBf16, {1, 2})}));
  ASSERT_OK_AND_ASSIGN(const auto example, data.Read(1));
  EXPECT_EQ(example[0].type, ElementType::kBf16);
  EXPECT_EQ(example[0].bytes.size(), 4u);
}

TEST_F(ExampleDataTest, EachMistakeHasItsErrorAndHint) {
  EXPECT_THAT(Complaint({Image()}),
              AllOf(HasSubstr("B0408"), HasSubstr("no .npy file"), HasSubstr("numpy.save('"),
                    HasSubstr("/image.npy', x), x of shape [1,2], [N,2] or [N,1,2] for N")));
  Write("image.npy", {3, 2}, 0);
  EXPECT_THAT(Complaint({Image()}, 10),
              AllOf(HasSubstr("B0408"), HasSubstr("got 3 examples, want at least 10"),
                    HasSubstr("HINT some hundred inputs")));
  EXPECT_THAT(Complaint({Image(), Mask()}),
              AllOf(HasSubstr("B0201"), HasSubstr("no file for input mask i64[1]"),
                    HasSubstr("/mask.npy HINT a file for each input")));
  Write("mask.npy", {2}, 0, ElementType::kI64);
  EXPECT_THAT(Complaint({Image(), Mask()}),
              AllOf(HasSubstr("B0404"), HasSubstr("input mask: got 2 examples, want 3, as many")));
  EXPECT_THAT(Complaint({Image()}),
              AllOf(HasSubstr("B0405"), HasSubstr("want files for: image f32[1,2]"),
                    HasSubstr("/mask.npy HINT a file is named after its input")));
}

TEST_F(ExampleDataTest, ShapesAndTypesAreTheInputs) {
  Write("image.npy", {3, 4}, 0);
  EXPECT_THAT(Complaint({Image()}),
              AllOf(HasSubstr("B0404"),
                    HasSubstr("input image: got f32[3,4], want f32[1,2], [N,2] or [N,1,2]")));
  Write("image.npy", {3, 2}, 0, ElementType::kI64);
  EXPECT_THAT(Complaint({Image()}),
              AllOf(HasSubstr("B0404"), HasSubstr("HINT x.astype('f32') in NumPy's names")));
  // 5 rows are no examples of 2 rows each.
  Write("image.npy", {5, 2}, 0);
  EXPECT_THAT(Complaint({DenseTensor("image", ElementType::kF32, {2, 2})}),
              AllOf(HasSubstr("B0404"), HasSubstr("[N*2,2]")));
}

TEST_F(ExampleDataTest, ValuesAreFinite) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    NpyArray array{.type = ElementType::kF32, .shape = {3, 2}};
    const std::vector<float> values = {1, 2, 3, bad, 5, 6};
    array.bytes.assign(reinterpret_cast<const char*>(values.data()), 24);
    WriteArray("image.npy", array);
    EXPECT_THAT(Complaint({Image()}),
                AllOf(HasSubstr("B0408"), HasSubstr("NaN or infinite in example 1 of the file"),
                      HasSubstr("HINT numpy.isfinite(x).all()")));
  }
}

TEST_F(ExampleDataTest, AFolderThatIsNoneIsNamed) {
  const absl::Status none = ExampleData::Open(folder() + "/none", {Image()}).status();
  EXPECT_EQ(PartsOf(none).code, ErrorCode::kNoInputFile);
  Write("image.npy", {3, 2}, 0);
  const absl::Status file = ExampleData::Open(folder() + "/image.npy", {Image()}).status();
  EXPECT_EQ(PartsOf(file).code, ErrorCode::kNoInputFile);
  EXPECT_THAT(file.message(), HasSubstr("no folder"));
}

}  // namespace
}  // namespace burnish
