#include "tuner/app/study_spec.h"

#include <filesystem>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gtest/gtest.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

TEST(StudySpecTest, ThePresetSettlesTrialsAndDefaults) {
  const StudySpec asked{.task = "resnet18", .trials_max = 100, .scheduler = "burnish"};
  ASSERT_OK_AND_ASSIGN(const StudySpec burnish, CompleteStudySpec(asked));
  EXPECT_EQ(burnish.trials_max, 100);
  EXPECT_FALSE(burnish.no_default);
  StudySpec other = asked;
  other.scheduler = "default";
  ASSERT_OK_AND_ASSIGN(const StudySpec untuned, CompleteStudySpec(other));
  EXPECT_EQ(untuned.trials_max, 0);
  EXPECT_FALSE(untuned.no_default);
  other.scheduler = "auto_scheduler";
  ASSERT_OK_AND_ASSIGN(const StudySpec ansor, CompleteStudySpec(other));
  EXPECT_EQ(ansor.trials_max, 100);
  EXPECT_TRUE(ansor.no_default);
  other.scheduler = "none";
  EXPECT_EQ(ErrorCodeOf(CompleteStudySpec(other).status()), ErrorCode::kUsage);
}

TEST(StudySpecTest, AModelFileHasItsWholePathAndHash) {
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("study_spec_test"));
  const std::string path = absl::StrCat(folder.path(), "/model.onnx");
  ASSERT_TRUE(WriteFileAtomically(path, "abc").ok());
  const std::string relative =
      std::filesystem::relative(path, std::filesystem::current_path()).string();
  ASSERT_OK_AND_ASSIGN(const StudySpec spec,
                       CompleteStudySpec({.model_path = relative, .out_path = "a.bundle"}));
  EXPECT_EQ(spec.model_path, path);
  EXPECT_EQ(spec.out_path, (std::filesystem::current_path() / "a.bundle").string());
  // FIPS 180-4, appendix B.1.
  EXPECT_EQ(absl::BytesToHexString(spec.model_sha256),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(StudySpecTest, AFileThatIsNotThereIsRefused) {
  EXPECT_EQ(ErrorCodeOf(CompleteStudySpec({.model_path = "nowhere.onnx"}).status()),
            ErrorCode::kNoInputFile);
}

}  // namespace
}  // namespace burnish
