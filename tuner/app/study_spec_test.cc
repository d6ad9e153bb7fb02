#include "tuner/app/study_spec.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"
#include "proto/study.pb.h"
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

// Each number at its extremes, by the descriptor: whoever adds one has to bound it. Oracle: the
// bounds of `tuner submit`, whose least and greatest values are taken.
TEST(StudySpecTest, NumbersBeyondWhatSubmitTakesAreRefusedFieldByField) {
  using Field = google::protobuf::FieldDescriptor;
  const v1::StudySpec usual = ToProto(*CompleteStudySpec({.task = "resnet18"}));
  const auto refuses = [](const v1::StudySpec& message) {
    const absl::StatusOr<StudySpec> spec = FromProto(message);
    return !spec.ok() || !CheckStudySpec(*spec).ok();
  };
  ASSERT_FALSE(refuses(usual));
  int checked_count = 0;
  for (int i = 0; i < v1::StudySpec::descriptor()->field_count(); ++i) {
    const Field* field = v1::StudySpec::descriptor()->field(i);
    if (field->is_repeated() || field->name() == "seed") continue;  // Any seed is one.
    v1::StudySpec odd = usual;
    const auto* reflection = odd.GetReflection();
    switch (field->cpp_type()) {
      case Field::CPPTYPE_INT64:
        for (const int64_t value : {INT64_MIN, int64_t{-2}, int64_t{1} << 62, INT64_MAX}) {
          reflection->SetInt64(&odd, field, value);
          EXPECT_TRUE(refuses(odd)) << field->name() << " " << value;
        }
        break;
      case Field::CPPTYPE_INT32:
        for (const int32_t value : {INT32_MIN, -2000, INT32_MAX}) {
          reflection->SetInt32(&odd, field, value);
          EXPECT_TRUE(refuses(odd)) << field->name() << " " << value;
        }
        break;
      case Field::CPPTYPE_DOUBLE:
        for (const double value : {-1.0, 1.5, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
          reflection->SetDouble(&odd, field, value);
          EXPECT_TRUE(refuses(odd)) << field->name() << " " << value;
        }
        break;
      case Field::CPPTYPE_STRING:
        // Hashes are 32 bytes; the daemon sets whose the study is.
        if (field->name() == "client_sha256") continue;
        reflection->SetString(&odd, field, std::string(5000, 'x'));
        EXPECT_TRUE(refuses(odd)) << field->name();
        break;
      default:
        continue;
    }
    ++checked_count;
  }
  EXPECT_GT(checked_count, 15);
  for (const char* field : {"scheduler", "strategy", "task_scheduler", "cost_model", "precision"}) {
    v1::StudySpec odd = usual;
    odd.GetReflection()->SetString(&odd, v1::StudySpec::descriptor()->FindFieldByName(field),
                                   "unheard-of");
    EXPECT_TRUE(refuses(odd)) << field;
  }
  StudySpec widest = *FromProto(usual);
  widest.trials_max = 1'000'000'000;
  widest.gain_min = widest.error_max = 1;
  widest.early_stopping_trials = 1'000'000;
  widest.batch = 65536;
  widest.priority = -1000;
  EXPECT_THAT(CheckStudySpec(widest), IsOk());
}

TEST(StudySpecTest, AFileThatIsNotThereIsRefused) {
  EXPECT_EQ(ErrorCodeOf(CompleteStudySpec({.model_path = "nowhere.onnx"}).status()),
            ErrorCode::kNoInputFile);
}

}  // namespace
}  // namespace burnish
