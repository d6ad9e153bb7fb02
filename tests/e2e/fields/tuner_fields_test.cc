// At `tuner serve`: no value of a field ends the daemon, and studies are run afterwards. With
// --pairs N, N pairs of fields of each message as well.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/child.h"
#include "base/file.h"
#include "base/self_path.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/calibration_row.h"
#include "proto/protocol.h"
#include "proto/rpc.h"
#include "proto/study.h"
#include "proto/study.pb.h"
#include "proto/tuner.pb.h"
#include "tests/e2e/fields/cases.h"
#include "tests/e2e/fields/farm.h"
#include "tuner/app/study_spec.h"
#include "tuner/serve/tuner_client.h"

namespace burnish {
namespace {

class TunerFieldsTest : public ::testing::Test {
 protected:
  TunerFieldsTest() { Start(); }

  void Start() {
    client_ = nullptr;
    daemon_ = nullptr;
    address_ = absl::StrCat("unix:", folder_.path(), "/tuner", ++starts_);
    // No study needs a farm: none has trials. One at a time, and so the others wait.
    daemon_ = *Child::Start(
        {.program = *FindProgram("tuner/tuner"),
         .args = {"serve", "--listen", address_, "--db",
                  absl::StrCat(folder_.path(), "/studies.db"), "--tracker", "unix:/nowhere",
                  "--calibration", "table", "--log-level", "error"}});
    CHECK_OK(daemon_->ReadLine(kServedWithin));
    channel_ = OpenChannel(address_, ThisVersion("stranger"));
    client_ = std::make_unique<TunerClient>(
        address_, [] { return absl::StatusOr<std::string>(StrangersSecret()); });
  }

  static StudySpec Spec() {
    StudySpec spec = *CompleteStudySpec({.task = "matmul:m=4,n=4,k=4",
                                         .target = "cpu:arch=znver3,threads=1",
                                         .scheduler = "default"});
    return spec;
  }

  absl::Status Check() {
    RETURN_IF_ERROR(CheckRuns(*daemon_, "daemon"));
    return client_->List({.limit = 1}).status();
  }
  // What was submitted may wait for a farm for as long as it likes. Its sender gives it up.
  void CancelAll() {
    const absl::StatusOr<std::vector<StudySummary>> studies = client_->List({.limit = 10'000});
    ASSERT_THAT(studies, IsOk());
    for (const StudySummary& summary : *studies) {
      client_->Cancel(summary.study.id).IgnoreError();  // Most have ended.
    }
  }
  // A fresh study runs to its end.
  absl::Status CheckStudy() {
    ASSIGN_OR_RETURN(const std::string id, client_->Submit(Spec()));
    ASSIGN_OR_RETURN(const FollowedRun run, client_->Follow(id, [](const StudyProgress&) {}));
    RETURN_IF_ERROR(run.error);
    return CheckRuns(*daemon_, "daemon");
  }

  void Send(const std::string& method, const google::protobuf::Message& base) {
    for (const Case& one : CasesOf(base)) {
      absl::Status status;
      {
        RawCall call(channel_, "/burnish.v1.Tuner/" + method, one.bytes);
        // It answers by itself, but where a study is watched that never ends.
        if (method != "WatchStudy") call.Wait().IgnoreError();
        status = Check();
      }
      EXPECT_THAT(status, IsOk()) << one.name;
      if (!status.ok()) Start();
    }
    CancelAll();
    EXPECT_THAT(CheckStudy(), IsOk()) << method;
  }

  const TempDir folder_ = *TempDir::Create("fields");
  int starts_ = 0;
  std::string address_;
  std::unique_ptr<Child> daemon_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<TunerClient> client_;
};

// `id`: of a study that is done.
Bases TunerBases(const std::string& id, const StudySpec& spec) {
  Bases bases;
  v1::SubmitStudyRequest submit;
  *submit.mutable_spec() = ToProto(spec);
  *submit.mutable_spec()->mutable_calibration() = ToProto(StrangersRow());
  submit.set_client_secret(StrangersSecret());
  Add(bases, "SubmitStudy", submit);
  v1::GetStudyRequest get;
  get.set_study_id(id);
  Add(bases, "GetStudy", get);
  v1::ListStudiesRequest list;
  list.set_limit(1);
  list.set_after_id(id);
  Add(bases, "ListStudies", list);
  v1::WatchStudyRequest watch;
  watch.set_study_id(id);
  watch.set_what(v1::WatchStudyRequest::VIEW);
  watch.set_interval_ns(1);
  Add(bases, "WatchStudy", watch);
  v1::ResumeStudyRequest resume;
  resume.set_study_id(id);
  resume.set_client_secret(StrangersSecret());
  Add(bases, "ResumeStudy", resume);
  v1::CancelStudyRequest cancel;
  cancel.set_study_id(id);
  cancel.set_client_secret(StrangersSecret());
  Add(bases, "CancelStudy", cancel);
  v1::RetryStudyRequest retry;
  retry.set_what(id);
  retry.set_client_secret(StrangersSecret());
  Add(bases, "RetryStudy", retry);
  v1::FindBestRequest best;
  best.set_workload_id(std::string(32, 'w'));
  best.set_target(spec.target);
  best.set_isa_key("isa");
  best.set_error_max(1);
  best.set_limit(1);
  Add(bases, "FindBest", best);
  v1::QueryRecordsRequest query;
  query.set_task("matmul");
  query.set_top(1);
  query.set_tasks_max(1);
  Add(bases, "QueryRecords", query);
  return bases;
}

TEST_F(TunerFieldsTest, OfSpecifications) {
  Send("SubmitStudy", *TunerBases("", Spec()).at("SubmitStudy"));
}

TEST_F(TunerFieldsTest, OfEachOtherCall) {
  ASSERT_OK_AND_ASSIGN(const std::string id, client_->Submit(Spec()));
  ASSERT_THAT(client_->Follow(id, [](const StudyProgress&) {}), IsOk());
  const Bases bases = TunerBases(id, Spec());
  ExpectAllIn(*v1::GetStudyRequest::descriptor()->file()->FindServiceByName("Tuner"), bases);
  for (const auto& [method, base] : bases) {
    if (method != "SubmitStudy") Send(method, *base);
  }
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::RunFieldsTests(argc, argv); }
