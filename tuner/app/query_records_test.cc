#include "tuner/app/query_records.h"

#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "base/status_matchers.h"
#include "db/random_entries.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/study.h"
#include "proto/study.pb.h"

namespace burnish {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Records of three workloads on one target, and what studies call them.
class QueryRecordsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(database_, OpenDatabase("memory:"));
    Rng rng(7);
    for (int i = 0; i < 200; ++i) {
      const MeasurementEntry entry = RandomEntry(
          rng, {.workload_count = 3, .target_count = 1, .failure_share = 0, .only_trials = true});
      ASSERT_THAT(database_.records->Append(entry), IsOk());
    }
    ASSERT_OK_AND_ASSIGN(keys_, database_.records->ListTasks());
    ASSERT_THAT(keys_, SizeIs(3));
    ASSERT_THAT(
        database_.studies->Create({.id = "s",
                                   .target = keys_[0].target,
                                   .spec = ToProto(StudySpec{.model_path = "/there/m.onnx",
                                                             .model_sha256 = Sha256Bytes("m")})
                                               .SerializeAsString()},
                                  {{.workload_id = keys_[1].workload_id, .name = "conv"},
                                   {.workload_id = keys_[2].workload_id, .name = "pool"}}),
        IsOk());
  }

  std::vector<std::string> NamesOf(const RecordsQuestion& question) {
    const absl::StatusOr<RecordsAnswer> answer = QueryRecords(database_, question);
    std::vector<std::string> names;
    if (!answer.ok()) return {std::string(answer.status().message())};
    for (const RecordedTask& task : answer->tasks) names.push_back(task.name);
    return names;
  }

  Database database_;
  std::vector<TaskKey> keys_;
};

TEST_F(QueryRecordsTest, FindsTasksByWhatPeopleCallThem) {
  EXPECT_THAT(NamesOf({}), ::testing::UnorderedElementsAre("", "conv", "pool"));
  EXPECT_THAT(NamesOf({.task = "pool"}), ::testing::ElementsAre("pool"));
  EXPECT_THAT(NamesOf({.task = absl::BytesToHexString(keys_[1].workload_id).substr(0, 8)}),
              ::testing::ElementsAre("conv"));
  EXPECT_THAT(NamesOf({.model_path = "/there/m.onnx"}), ::testing::ElementsAre("conv", "pool"));
  // The same bytes in another place, as a daemon keeps them.
  EXPECT_THAT(NamesOf({.model_path = "/here/n.onnx", .model_sha256 = Sha256Bytes("m")}),
              ::testing::ElementsAre("conv", "pool"));
  EXPECT_THAT(NamesOf({.model_sha256 = Sha256Bytes("other")}), IsEmpty());
  EXPECT_THAT(NamesOf({.task = "nobody"}), IsEmpty());
  EXPECT_THAT(NamesOf({.target = "cpu:arch=other"}), IsEmpty());
}

// Its names are lost, and no record is.
TEST_F(QueryRecordsTest, DamagedStudyIsInNoOthersWay) {
  for (const std::string& spec : {std::string("\x01\xff no message"), std::string()}) {
    ASSERT_THAT(database_.studies->Create(
                    {.id = absl::StrCat("damaged", spec.size()), .target = "", .spec = spec},
                    {{.workload_id = keys_[0].workload_id, .name = "lost"}}),
                IsOk());
  }
  EXPECT_THAT(NamesOf({.model_path = "/there/m.onnx"}), ::testing::ElementsAre("conv", "pool"));
  EXPECT_THAT(NamesOf({}), ::testing::UnorderedElementsAre("", "conv", "pool"));
}

TEST_F(QueryRecordsTest, PagesTogetherAreTheWhole) {
  // By number, and by size: each task is over the bound alone, and is a page of its own.
  for (const RecordsQuestion& first :
       {RecordsQuestion{.top = 2, .tasks_max = 1}, RecordsQuestion{.top = 2, .bytes_max = 1}}) {
    RecordsQuestion question = first;
    std::multiset<std::string> names;
    for (int page = 1; page <= 3; ++page) {
      ASSERT_OK_AND_ASSIGN(const RecordsAnswer answer, QueryRecords(database_, question));
      ASSERT_THAT(answer.tasks, SizeIs(1));
      EXPECT_THAT(answer.tasks[0].records, SizeIs(2));
      EXPECT_EQ(answer.tasks_left, 3 - page);
      names.insert(answer.tasks[0].name);
      question.tasks_skipped = answer.tasks_next;
    }
    EXPECT_EQ(names, (std::multiset<std::string>{"", "conv", "pool"}));
    ASSERT_OK_AND_ASSIGN(const RecordsAnswer behind, QueryRecords(database_, question));
    EXPECT_THAT(behind.tasks, IsEmpty());
    EXPECT_EQ(behind.tasks_left, 0);
  }
}

}  // namespace
}  // namespace burnish
