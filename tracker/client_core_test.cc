#include "tracker/client_core.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> Ids(const std::optional<SubmitBatch>& batch) {
  std::vector<std::string> ids;
  if (batch.has_value()) {
    for (const JobSpec& job : batch->jobs) ids.push_back(job.id);
  }
  return ids;
}

ResultEntry Result(int64_t number, const std::string& id) {
  return {.number = number, .job_id = id, .outcome = JobOutcome("result")};
}

class ClientCoreTest : public ::testing::Test {
 protected:
  void SubmitAll(int64_t session) {
    while (client_.NextBatch().has_value()) client_.BatchTaken(session);
  }
  std::vector<ResultEntry> Collect(const Collected& collected) {
    return client_.Collect(client_.MakeCollect(), collected);
  }

  ClientCore client_{"tuner"};
};

TEST_F(ClientCoreTest, JobsAreSubmittedOnceInOrder) {
  client_.Add({{.id = "b"}, {.id = "a"}}, /*resubmission=*/false);
  const std::optional<SubmitBatch> batch = client_.NextBatch();
  EXPECT_THAT(Ids(batch), ElementsAre("b", "a"));
  EXPECT_FALSE(batch->resubmission);
  client_.BatchTaken(1);
  EXPECT_FALSE(client_.has_batch());
  EXPECT_EQ(client_.NextBatch(), std::nullopt) << "nothing left";
}

TEST_F(ClientCoreTest, BatchThatMayHaveArrivedIsSentAgainAsSuch) {
  client_.Add({{.id = "a"}}, /*resubmission=*/false);
  client_.NextBatch();
  client_.BatchFailed();
  client_.Add({{.id = "b"}}, /*resubmission=*/false);
  const std::optional<SubmitBatch> again = client_.NextBatch();
  EXPECT_THAT(Ids(again), ElementsAre("a"));
  EXPECT_TRUE(again->resubmission);
  client_.BatchTaken(1);
  const std::optional<SubmitBatch> fresh = client_.NextBatch();
  EXPECT_THAT(Ids(fresh), ElementsAre("b"));
  EXPECT_FALSE(fresh->resubmission);
}

// All of a batch are taken or none, so that one for which no room will ever be would stall.
TEST_F(ClientCoreTest, BatchThatHasNoRoomIsHalvedAndGrowsAgain) {
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 100; ++i) jobs.push_back({.id = absl::StrCat("job", i)});
  client_.Add(jobs, /*resubmission=*/false);
  std::vector<size_t> sizes;
  for (const bool is_taken : {false, false, false, false, true, true, false, true}) {
    sizes.push_back(client_.NextBatch()->jobs.size());
    is_taken ? client_.BatchTaken(1) : client_.BatchFailed(/*too_many=*/true);
  }
  EXPECT_THAT(sizes, ElementsAre(100, 50, 25, 12, 6, 12, 24, 12));
  // A call that breaks says nothing of the batch's size.
  client_.NextBatch();
  client_.BatchFailed();
  EXPECT_EQ(client_.NextBatch()->jobs.size(), 24);
}

TEST_F(ClientCoreTest, BatchesAreBounded) {
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 300; ++i) jobs.push_back({.id = std::to_string(i)});
  jobs.push_back({.id = "large", .payload = std::string(1 << 20, 'x')});
  jobs.push_back({.id = "larger", .payload = std::string((1 << 20) + 1, 'x')});
  client_.Add(std::move(jobs), /*resubmission=*/false);
  EXPECT_THAT(Ids(client_.NextBatch()), SizeIs(256));
  client_.BatchTaken(1);
  EXPECT_THAT(Ids(client_.NextBatch()), SizeIs(45));
  client_.BatchTaken(1);
  EXPECT_THAT(Ids(client_.NextBatch()), ElementsAre("larger"));
}

TEST_F(ClientCoreTest, NewSessionMeansThatAllOpenJobsAreSubmittedAgain) {
  client_.Add({{.id = "a"}, {.id = "b"}, {.id = "c"}}, /*resubmission=*/false);
  SubmitAll(/*session=*/1);
  EXPECT_THAT(Collect({.session = 1, .results = {Result(1, "b")}}), SizeIs(1));
  EXPECT_FALSE(client_.has_batch());
  Collect({.session = 2});
  const std::optional<SubmitBatch> batch = client_.NextBatch();
  EXPECT_THAT(Ids(batch), ElementsAre("a", "c"));
  EXPECT_TRUE(batch->resubmission);
  EXPECT_EQ(client_.MakeCollect().seen_number, 0) << "numbers begin anew";
}

TEST_F(ClientCoreTest, NewSessionCanShowFirstInASubmission) {
  client_.Add({{.id = "a"}}, /*resubmission=*/false);
  SubmitAll(/*session=*/1);
  client_.Add({{.id = "b"}}, /*resubmission=*/false);
  EXPECT_THAT(Ids(client_.NextBatch()), ElementsAre("b"));
  client_.BatchTaken(/*session=*/2);
  EXPECT_THAT(Ids(client_.NextBatch()), ElementsAre("a"));
}

TEST_F(ClientCoreTest, LateAnswersOfAnEarlierTrackerChangeNothing) {
  client_.Add({{.id = "a"}}, /*resubmission=*/false);
  const CollectRequest early = client_.MakeCollect();
  ASSERT_TRUE(client_.NextBatch().has_value());
  Collect({.session = 2});
  client_.BatchTaken(/*session=*/1);
  EXPECT_TRUE(client_.has_batch()) << "the present tracker does not have it";
  EXPECT_THAT(client_.Collect(early, {.session = 1, .results = {Result(1, "a")}}), IsEmpty());
  EXPECT_EQ(client_.MakeCollect().session, 2);
}

TEST_F(ClientCoreTest, ResultComesOutOnceHoweverOftenItIsSent) {
  client_.Add({{.id = "a"}}, /*resubmission=*/false);
  SubmitAll(1);
  const Collected collected{.session = 1, .results = {Result(5, "a")}};
  EXPECT_THAT(Collect(collected), ElementsAre(Result(5, "a")));
  EXPECT_THAT(Collect(collected), IsEmpty());
  EXPECT_EQ(client_.open_count(), 0);
  EXPECT_EQ(client_.MakeCollect().seen_number, 5);
}

TEST_F(ClientCoreTest, AcknowledgementIsRepeatedUntilAnAnswerComes) {
  client_.Add({{.id = "a"}}, /*resubmission=*/false);
  SubmitAll(1);
  Collect({.session = 1, .results = {Result(1, "a")}});
  EXPECT_THAT(client_.MakeCollect().acknowledged, IsEmpty()) << "not before it is safe";
  client_.Acknowledge({"a", "unknown"});
  EXPECT_THAT(client_.MakeCollect().acknowledged, ElementsAre("a"));
  EXPECT_THAT(client_.MakeCollect().acknowledged, ElementsAre("a"));
  Collect({.session = 1});
  EXPECT_THAT(client_.MakeCollect().acknowledged, IsEmpty());
}

TEST_F(ClientCoreTest, ResultThatComesBeforeItsJobIsSubmittedAgainIsHeld) {
  const ResultEntry poisoned{
      .number = 4, .job_id = "a", .outcome = Failure{.kind = FailureKind::kPoisoned}};
  EXPECT_THAT(Collect({.session = 1, .results = {poisoned}}), IsEmpty());
  EXPECT_FALSE(client_.has_acknowledgements()) << "the tracker keeps it";
  EXPECT_THAT(client_.Add({{.id = "a"}, {.id = "b"}}, /*resubmission=*/true),
              ElementsAre(poisoned));
  EXPECT_THAT(Ids(client_.NextBatch()), ElementsAre("b"));
  EXPECT_THAT(Collect({.session = 1, .results = {poisoned}}), IsEmpty()) << "it is out";
  client_.Acknowledge({"a"});
  EXPECT_THAT(client_.MakeCollect().acknowledged, ElementsAre("a"));
}

TEST_F(ClientCoreTest, HeldResultOutlivesItsTracker) {
  Collect({.session = 1, .results = {Result(4, "a"), Result(5, "b")}});
  Collect({.session = 2});
  EXPECT_THAT(client_.Add({{.id = "a"}}, /*resubmission=*/true), SizeIs(1));
  client_.AllResubmitted();
  EXPECT_THAT(client_.MakeCollect().unwanted, IsEmpty()) << "5 is a number of session 1";
}

TEST_F(ClientCoreTest, ResultsThatAreHeldToTheEndAreUnwanted) {
  Collect({.session = 1, .results = {Result(4, "recorded by an earlier run")}});
  client_.AllResubmitted();
  EXPECT_TRUE(client_.has_acknowledgements());
  EXPECT_THAT(client_.MakeCollect().unwanted, ElementsAre(4));
}

TEST_F(ClientCoreTest, ResultThatNobodyWaitsForIsUnwantedButNotAcknowledged) {
  client_.AllResubmitted();
  EXPECT_THAT(Collect({.session = 1, .results = {Result(4, "of an earlier run")}}), IsEmpty());
  const CollectRequest request = client_.MakeCollect();
  EXPECT_THAT(request.acknowledged, IsEmpty());
  EXPECT_THAT(request.unwanted, ElementsAre(4));
  client_.Collect(request, {.session = 1});
  EXPECT_THAT(client_.MakeCollect().unwanted, IsEmpty());
}

TEST_F(ClientCoreTest, UnwantedNumbersMeanNothingToTheNextTracker) {
  client_.AllResubmitted();
  Collect({.session = 1, .results = {Result(4, "of an earlier run")}});
  Collect({.session = 2});
  EXPECT_THAT(client_.MakeCollect().unwanted, IsEmpty());
}

TEST_F(ClientCoreTest, JobsAreSentOnceATrackerHasTakenThem) {
  client_.Add({{.id = "a", .study = "s"}, {.id = "b"}}, /*resubmission=*/false);
  EXPECT_FALSE(client_.AllSent({"b"}, ""));
  EXPECT_FALSE(client_.AllSent({}, "s"));
  EXPECT_TRUE(client_.AllSent({"unknown"}, "other study"));
  ASSERT_TRUE(client_.NextBatch().has_value());
  EXPECT_FALSE(client_.AllSent({}, "s")) << "it is under way";
  client_.BatchTaken(1);
  EXPECT_TRUE(client_.AllSent({"a", "b"}, "s"));
}

TEST_F(ClientCoreTest, OnlyJobsThatNoTrackerHasSeenAreTakenBack) {
  client_.Add({{.id = "sent", .study = "s"}}, /*resubmission=*/false);
  SubmitAll(1);
  client_.Add({{.id = "new", .study = "s"}, {.id = "other"}}, /*resubmission=*/false);
  const std::vector<ResultEntry> results = client_.TakeBack({"sent", "unknown"}, "s");
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_EQ(results[0].job_id, "new");
  EXPECT_EQ(std::get<Failure>(results[0].outcome).kind, FailureKind::kCancelled);
  EXPECT_THAT(Ids(client_.NextBatch()), ElementsAre("other"));
  EXPECT_EQ(client_.open_count(), 2);
}

}  // namespace
}  // namespace burnish
