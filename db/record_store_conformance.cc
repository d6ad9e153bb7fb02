#include "db/record_store_conformance.h"

#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "db/memory/memory_record_store.h"
#include "db/random_entries.h"
#include "gmock/gmock.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr auto kRecorded = AppendOutcome::kRecorded;
constexpr auto kDuplicate = AppendOutcome::kDuplicate;

MeasurementEntry Timed(absl::string_view trial_id, absl::string_view trace, int64_t latency_ns) {
  MeasurementEntry entry = {
      .study_id = "study",
      .trial_id = std::string(trial_id),
      .recorded_ns = 99,
      .candidate = {.workload = RandomEntryWorkload(0),
                    .target = RandomEntryTarget(0),
                    .contract = "nhwc",
                    .trace = std::string(trace),
                    .codegen_epoch = 1},
      .measurement = {.outcome = Latencies{.processes = {{.latency_ns = {latency_ns}}}},
                      .environment = {.host = "here", .method_version = 1},
                      .build = {.code_sha256 = Sha256Bytes(trace)},
                      .numerics = {.kind = NumericsClass::kExact, .error = 0}},
  };
  entry.measurement.candidate_id = entry.candidate.Id();
  return entry;
}

MeasurementEntry Failed(absl::string_view trial_id, absl::string_view trace, FailureKind kind) {
  MeasurementEntry entry = Timed(trial_id, trace, 1);
  entry.measurement.outcome = Failure{.kind = kind, .message = "why"};
  return entry;
}

// Changes a candidate, and the id that its measurement carries.
template <typename Change>
MeasurementEntry With(MeasurementEntry entry, Change change) {
  change(entry);
  entry.measurement.candidate_id = entry.candidate.Id();
  return entry;
}

BestQuery QueryOf(const MeasurementEntry& entry) {
  return {.workload_id = entry.candidate.workload.id, .target = entry.candidate.target.ToText()};
}

std::vector<std::string> Traces(const std::vector<Record>& records) {
  std::vector<std::string> traces;
  for (const Record& record : records) traces.push_back(record.trace);
  return traces;
}

TEST_P(RecordStoreConformanceTest, EmptyStoreHasNoAnswerAndNoError) {
  const MeasurementEntry entry = Timed("t", "a", 10);
  ASSERT_OK_AND_ASSIGN(const BestAnswer best, store_->Best(QueryOf(entry)));
  EXPECT_EQ(best.workload_match, WorkloadMatch::kNone);
  EXPECT_THAT(best.records, IsEmpty());
  EXPECT_THAT(store_->FindCandidate(entry.candidate.Id()), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(store_->Scan({}), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(store_->ScanEntries({.study_id = "study"}),
              IsOkAndHolds(Field(&EntryPage::entries, IsEmpty())));
  EXPECT_THAT(store_->CountTrials("study"), IsOkAndHolds(TrialCounts{}));
  EXPECT_THAT(store_->ListTasks(), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(store_->FindWorkload(entry.candidate.workload.id), IsOkAndHolds(std::nullopt));
  EXPECT_THAT(store_->AppendBatch({}), IsOkAndHolds(IsEmpty()));
}

TEST_P(RecordStoreConformanceTest, AppendedMeasurementIsARecordAndComesBackWhole) {
  MeasurementEntry entry = Timed("t", "split@1 i->(a,b) max=6\n", 10);
  entry.measurement.candidate_id.clear();  // The store fills it in.
  ASSERT_THAT(store_->Append(entry), IsOkAndHolds(kRecorded));
  entry.measurement.candidate_id = entry.candidate.Id();
  ASSERT_OK_AND_ASSIGN(const std::vector<Record> records,
                       store_->FindCandidate(entry.candidate.Id()));
  ASSERT_THAT(records, SizeIs(1));
  const Record& record = records[0];
  EXPECT_EQ(record.candidate_id, entry.candidate.Id());
  EXPECT_EQ(record.workload_id, entry.candidate.workload.id);
  EXPECT_EQ(record.anchor_id, entry.candidate.workload.anchor_id);
  EXPECT_EQ(record.target, entry.candidate.target.ToText());
  EXPECT_EQ(record.contract, "nhwc");
  EXPECT_EQ(record.trace, entry.candidate.trace);
  EXPECT_EQ(record.method_version, 1);
  EXPECT_EQ(record.rank_ns, 10);
  EXPECT_EQ(record.median_ns, 10);
  EXPECT_EQ(record.process_count, 1);
  EXPECT_EQ(record.repeat_count, 1);
  EXPECT_EQ(record.first_trial_id, "t");
  EXPECT_EQ(record.first_recorded_ns, 99);
  EXPECT_EQ(record.host, "here");
  EXPECT_EQ(record.code_sha256, entry.measurement.build.code_sha256);
  EXPECT_EQ(record.numerics, entry.measurement.numerics);
  EXPECT_TRUE(record.successful());
  EXPECT_THAT(store_->ScanEntries({.study_id = "study"}),
              IsOkAndHolds(Field(&EntryPage::entries, ElementsAre(entry))));
  EXPECT_THAT(store_->FindWorkload(record.workload_id),
              IsOkAndHolds(std::optional(entry.candidate.workload)));
  EXPECT_THAT(store_->ListTasks(),
              IsOkAndHolds(ElementsAre(TaskKey{record.workload_id, record.target})));
}

TEST_P(RecordStoreConformanceTest, SecondTrialOfOneIdIsDroppedWhateverItSays) {
  ASSERT_THAT(store_->Append(Timed("t", "a", 10)), IsOkAndHolds(kRecorded));
  EXPECT_THAT(store_->AppendBatch({Timed("t", "a", 5), Timed("t", "b", 4), Timed("u", "b", 20),
                                   Timed("u", "b", 1)}),
              IsOkAndHolds(ElementsAre(kDuplicate, kDuplicate, kRecorded, kDuplicate)));
  ASSERT_OK_AND_ASSIGN(const std::vector<Record> records, store_->Scan({}));
  ASSERT_THAT(Traces(records), ElementsAre("a", "b"));
  EXPECT_EQ(records[0].rank_ns, 10);
  EXPECT_EQ(records[1].rank_ns, 20);
  EXPECT_THAT(store_->CountTrials("study"), IsOkAndHolds(TrialCounts{.trial_count = 2}));
}

TEST_P(RecordStoreConformanceTest, SamePurposeWithAnotherNumberIsAnotherMeasurement) {
  MeasurementEntry refine = Timed("t", "a", 12);
  refine.purpose = Purpose::kRefine;
  MeasurementEntry again = Timed("t", "a", 14);
  again.purpose = Purpose::kRefine;
  again.number = 1;
  EXPECT_THAT(store_->AppendBatch({Timed("t", "a", 10), refine, again, again}),
              IsOkAndHolds(ElementsAre(kRecorded, kRecorded, kRecorded, kDuplicate)));
  ASSERT_OK_AND_ASSIGN(const std::vector<Record> records, store_->Scan({}));
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].process_count, 3);
  EXPECT_EQ(records[0].rank_ns, 10);
  EXPECT_EQ(records[0].median_ns, 12);
  EXPECT_THAT(store_->CountTrials("study"), IsOkAndHolds(TrialCounts{.trial_count = 1}));
}

TEST_P(RecordStoreConformanceTest, OneBadEntryKeepsTheWholeBatchOut) {
  EXPECT_THAT(store_->AppendBatch({Timed("t", "a", 10), Timed("", "b", 10)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("trial_id")));
  EXPECT_THAT(store_->Scan({}), IsOkAndHolds(IsEmpty()));
}

TEST_P(RecordStoreConformanceTest, BestAreTheFastestAndOfEqualOnesTheOldest) {
  ASSERT_THAT(store_->AppendBatch({Timed("1", "slow", 30), Timed("2", "old", 20),
                                   Timed("3", "young", 20), Timed("4", "fast", 10)}),
              IsOk());
  BestQuery query = QueryOf(Timed("", "", 1));
  ASSERT_OK_AND_ASSIGN(BestAnswer best, store_->Best(query));
  EXPECT_THAT(Traces(best.records), ElementsAre("fast"));
  EXPECT_EQ(best.workload_match, WorkloadMatch::kExact);
  EXPECT_TRUE(best.exact_target);
  query.limit = 3;
  ASSERT_OK_AND_ASSIGN(best, store_->Best(query));
  EXPECT_THAT(Traces(best.records), ElementsAre("fast", "old", "young"));
}

// However often candidate 0 is measured alone afterwards.
TEST_P(RecordStoreConformanceTest, VerdictOfTheNetworkRanksAndStays) {
  MeasurementEntry verdict = Timed("2", "network", 99);
  verdict.purpose = Purpose::kRefine;
  verdict.measurement.network_factor = 0.5;
  ASSERT_THAT(store_->AppendBatch({Timed("1", "alone", 20), Timed("2", "network", 30), verdict}),
              IsOk());
  for (int i = 0; i < 100; ++i) {
    ASSERT_THAT(store_->Append(Timed(absl::StrCat("again", i).c_str(), "network", 30)), IsOk());
  }
  BestQuery query = QueryOf(verdict);
  query.limit = 2;
  ASSERT_OK_AND_ASSIGN(const BestAnswer best, store_->Best(query));
  ASSERT_THAT(Traces(best.records), ElementsAre("network", "alone"));
  EXPECT_EQ(best.records[0].rank_ns, 15);
  EXPECT_EQ(best.records[0].isolated_rank_ns(), 30);
  EXPECT_EQ(best.records[0].median_ns, 30);
  EXPECT_EQ(best.records[1].network_factor, 1);
  ASSERT_OK_AND_ASSIGN(const EntryPage page, store_->ScanEntries({.study_id = "study"}));
  EXPECT_EQ(page.entries[2].measurement.network_factor, 0.5);
}

TEST_P(RecordStoreConformanceTest, TimeOfOneAddressIsMarkedUntilAnotherHasIt) {
  MeasurementEntry entry = Timed("1", "alone", 20);
  entry.measurement.worker_address = "10.0.0.1";
  entry.measurement.unconfirmed = true;
  const auto is_unconfirmed = [&]() -> absl::StatusOr<bool> {
    RETURN_IF_ERROR(store_->Append(entry).status());
    ASSIGN_OR_RETURN(const BestAnswer best, store_->Best(QueryOf(entry)));
    return best.records.at(0).unconfirmed;
  };
  EXPECT_THAT(is_unconfirmed(), IsOkAndHolds(true));
  entry.trial_id = "2";
  entry.measurement.worker_address = "10.0.0.2";
  EXPECT_THAT(is_unconfirmed(), IsOkAndHolds(false));
  ASSERT_OK_AND_ASSIGN(const EntryPage page, store_->ScanEntries({.study_id = "study"}));
  EXPECT_EQ(page.entries[1].measurement, entry.measurement);
}

TEST_P(RecordStoreConformanceTest, FailuresAreRowsButNeverBest) {
  ASSERT_THAT(store_->AppendBatch({Failed("1", "a", FailureKind::kCrashed),
                                   Failed("2", "b", FailureKind::kBuildTimeout),
                                   Failed("3", "c", FailureKind::kCrashed)}),
              IsOk());
  const BestQuery query = QueryOf(Timed("", "", 1));
  EXPECT_THAT(store_->Best(query), IsOkAndHolds(Field(&BestAnswer::records, IsEmpty())));
  EXPECT_THAT(store_->ListTasks(), IsOkAndHolds(IsEmpty()));
  ASSERT_OK_AND_ASSIGN(const std::vector<Record> records, store_->Scan({}));
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_EQ(records[1].failure, (Failure{.kind = FailureKind::kBuildTimeout, .message = "why"}));
  EXPECT_THAT(store_->Scan({.with_failures = false}), IsOkAndHolds(IsEmpty()));
  ASSERT_OK_AND_ASSIGN(const TrialCounts counts, store_->CountTrials("study"));
  EXPECT_EQ(counts.trial_count, 3);
  EXPECT_THAT(counts.failure_counts,
              ElementsAre(Pair(FailureKind::kBuildTimeout, 1), Pair(FailureKind::kCrashed, 2)));
}

TEST_P(RecordStoreConformanceTest, LaterWrongResultTakesTheBestAway) {
  ASSERT_THAT(store_->AppendBatch({Timed("1", "fast", 10), Timed("2", "slow", 20)}), IsOk());
  MeasurementEntry wrong = Failed("1", "fast", FailureKind::kWrongResult);
  wrong.purpose = Purpose::kRefine;
  ASSERT_THAT(store_->Append(wrong), IsOkAndHolds(kRecorded));
  ASSERT_OK_AND_ASSIGN(const BestAnswer best, store_->Best(QueryOf(wrong)));
  EXPECT_THAT(Traces(best.records), ElementsAre("slow"));
}

TEST_P(RecordStoreConformanceTest, LimitsOfTheCallerPassOverFasterRecords) {
  const auto change = [](const char* trial, const char* trace, int64_t latency_ns, auto edit) {
    return With(Timed(trial, trace, latency_ns), edit);
  };
  ASSERT_THAT(store_->AppendBatch({
                  change("1", "winograd", 10,
                         [](MeasurementEntry& e) {
                           e.measurement.numerics = {NumericsClass::kAlgorithm, "winograd", 4,
                                                     5e-5};
                         }),
                  change("2", "other contract", 11,
                         [](MeasurementEntry& e) { e.candidate.contract = "nchw"; }),
                  change("4", "other method", 13,
                         [](MeasurementEntry& e) { e.measurement.environment.method_version = 2; }),
                  change("5", "other epoch", 14,
                         [](MeasurementEntry& e) { e.candidate.codegen_epoch = 2; }),
                  change("6", "unmeasured winograd", 15,
                         [](MeasurementEntry& e) {
                           e.measurement.numerics = {NumericsClass::kAlgorithm, "winograd", 4, -1};
                         }),
                  change("7", "plain", 16, [](MeasurementEntry&) {}),
              }),
              IsOk());
  const auto best = [this](auto limit) {
    BestQuery query = QueryOf(Timed("", "", 1));
    limit(query);
    const absl::StatusOr<BestAnswer> answer = store_->Best(query);
    EXPECT_THAT(answer, IsOk());
    return answer.ok() && !answer->records.empty() ? answer->records[0].trace : "none";
  };
  EXPECT_EQ(best([](BestQuery&) {}), "winograd");
  EXPECT_EQ(best([](BestQuery& q) { q.accuracy = AccuracyLimit{.error_max = 1e-4}; }), "winograd");
  EXPECT_EQ(best([](BestQuery& q) { q.accuracy = AccuracyLimit{.error_max = 1e-5}; }),
            "other contract");
  EXPECT_EQ(best([](BestQuery& q) { q.accuracy = AccuracyLimit{.strict = true}; }),
            "other contract");
  EXPECT_EQ(best([](BestQuery& q) { q.contract = "nchw"; }), "other contract");
  EXPECT_EQ(best([](BestQuery& q) { q.contract = "none of it"; }), "none");
  const auto strict_nhwc = [](BestQuery& q) {
    q.accuracy = AccuracyLimit{.strict = true};
    q.contract = "nhwc";
  };
  EXPECT_EQ(best(strict_nhwc), "other method");
  EXPECT_EQ(best([&](BestQuery& q) { strict_nhwc(q), q.method_version = 1; }), "other epoch");
  EXPECT_EQ(best([&](BestQuery& q) { strict_nhwc(q), q.method_version = 1, q.codegen_epoch = 1; }),
            "plain");
}

TEST_P(RecordStoreConformanceTest, LookUpGoesFromExactToAnchor) {
  const auto of_workload = [](const char* trial, const char* trace, int64_t latency_ns, int index) {
    return With(Timed(trial, trace, latency_ns), [index](MeasurementEntry& entry) {
      entry.candidate.workload = RandomEntryWorkload(index);
    });
  };
  const Workload asked = RandomEntryWorkload(0);
  BestQuery query = {.workload_id = asked.id,
                     .anchor_id = asked.anchor_id,
                     .target = RandomEntryTarget(0).ToText()};
  ASSERT_THAT(store_->Append(of_workload("1", "another anchor", 1, 2)), IsOk());
  ASSERT_OK_AND_ASSIGN(BestAnswer best, store_->Best(query));
  EXPECT_EQ(best.workload_match, WorkloadMatch::kNone);
  ASSERT_THAT(store_->Append(of_workload("3", "anchor", 3, 1)), IsOk());
  ASSERT_OK_AND_ASSIGN(best, store_->Best(query));
  EXPECT_EQ(best.workload_match, WorkloadMatch::kSameAnchor);
  EXPECT_THAT(Traces(best.records), ElementsAre("anchor"));
  ASSERT_THAT(store_->Append(of_workload("4", "exact", 4, 0)), IsOk());
  ASSERT_OK_AND_ASSIGN(best, store_->Best(query));
  EXPECT_EQ(best.workload_match, WorkloadMatch::kExact);
  EXPECT_THAT(Traces(best.records), ElementsAre("exact"));
}

TEST_P(RecordStoreConformanceTest, CompatibleTargetAnswersOnlyWhereItsIsaKeyIsGiven) {
  const MeasurementEntry entry = With(
      Timed("1", "a", 10), [](MeasurementEntry& e) { e.candidate.target = RandomEntryTarget(1); });
  ASSERT_THAT(store_->Append(entry), IsOk());
  BestQuery query = QueryOf(Timed("", "", 1));
  EXPECT_THAT(store_->Best(query), IsOkAndHolds(Field(&BestAnswer::records, IsEmpty())));
  query.isa_key = RandomEntryTarget(0).IsaKey();
  ASSERT_OK_AND_ASSIGN(BestAnswer best, store_->Best(query));
  EXPECT_THAT(Traces(best.records), ElementsAre("a"));
  EXPECT_FALSE(best.exact_target);
  ASSERT_THAT(store_->Append(Timed("2", "own", 99)), IsOk());
  ASSERT_OK_AND_ASSIGN(best, store_->Best(query));
  EXPECT_THAT(Traces(best.records), ElementsAre("own"));
  EXPECT_TRUE(best.exact_target);
}

TEST_P(RecordStoreConformanceTest, CandidateOfTwoMethodsHasARecordOfEach) {
  ASSERT_THAT(
      store_->AppendBatch({Timed("1", "a", 10),
                           With(Timed("2", "a", 20),
                                [](auto& e) { e.measurement.environment.method_version = 2; })}),
      IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<Record> records,
                       store_->FindCandidate(Timed("", "a", 1).candidate.Id()));
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].rank_ns, 10);
  EXPECT_EQ(records[1].rank_ns, 20);
}

TEST_P(RecordStoreConformanceTest, PagesCoverEveryRowOnce) {
  Rng rng(1);
  std::vector<MeasurementEntry> entries;
  for (int i = 0; i < 300; ++i) entries.push_back(RandomEntry(rng, {}));
  ASSERT_THAT(store_->AppendBatch(entries), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<Record> all, store_->Scan({.limit = 10000}));
  const Workload workload = RandomEntryWorkload(1);
  size_t anchor_count = 0;
  for (const Record& record : all) anchor_count += record.anchor_id == workload.anchor_id;
  std::vector<Record> paged;
  RecordQuery query = {.anchor_id = workload.anchor_id, .limit = 7};
  while (true) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Record> page, store_->Scan(query));
    if (page.empty()) break;
    ASSERT_LE(page.size(), 7u);
    query.after_row_id = page.back().row_id;
    paged.insert(paged.end(), page.begin(), page.end());
  }
  EXPECT_GT(anchor_count, 50u);
  ASSERT_THAT(paged, SizeIs(anchor_count));
  for (size_t i = 1; i < paged.size(); ++i) EXPECT_LT(paged[i - 1].row_id, paged[i].row_id);
}

TEST_P(RecordStoreConformanceTest, LimitsOutOfBoundsAreRefused) {
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("want 1..10000"));
  EXPECT_THAT(store_->Scan({.limit = 0}), refused);
  EXPECT_THAT(store_->ScanEntries({.limit = 10001}), refused);
  BestQuery query = QueryOf(Timed("", "", 1));
  query.limit = -1;
  EXPECT_THAT(store_->Best(query), refused);
  query.workload_id = "short";
  EXPECT_THAT(store_->Best(query), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(RecordStoreConformanceTest, ThreadsThatAppendTheSameTrialsRecordEachOnce) {
  constexpr int kThreads = 4, kTrials = 50;
  std::atomic<int> recorded = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTrials; ++i) {
        const absl::StatusOr<AppendOutcome> outcome =
            store_->Append(Timed(absl::StrCat(i), absl::StrCat("trace", i), 10 + i));
        EXPECT_THAT(outcome, IsOk());
        if (outcome.ok() && *outcome == kRecorded) ++recorded;
        EXPECT_THAT(store_->Best(QueryOf(Timed("", "", 1))), IsOk());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(recorded, kTrials);
  EXPECT_THAT(store_->CountTrials("study"), IsOkAndHolds(TrialCounts{.trial_count = kTrials}));
}

// All that a store answers about a log of RandomEntry.
struct State {
  std::vector<Record> records;
  std::vector<std::vector<MeasurementEntry>> entries;
  std::vector<TrialCounts> counts;
  std::vector<TaskKey> tasks;
  std::vector<std::pair<WorkloadMatch, std::vector<Record>>> best;

  bool operator==(const State&) const = default;
};

State StateOf(const RecordStore& store) {
  State state = {.records = *store.Scan({.limit = 10000}), .tasks = *store.ListTasks()};
  for (const char* study : {"study-0", "study-1"}) {
    state.entries.push_back(store.ScanEntries({.study_id = study, .limit = 10000})->entries);
    state.counts.push_back(*store.CountTrials(study));
  }
  Rng rng(5);
  for (int i = 0; i < 40; ++i) {
    const Workload workload = RandomEntryWorkload(static_cast<int>(rng.Below(6)));
    const Target target = RandomEntryTarget(static_cast<int>(rng.Below(3)));
    BestQuery query = {.workload_id = workload.id, .target = target.ToText(), .limit = 5};
    if (rng.Below(2)) query.anchor_id = workload.anchor_id;
    if (rng.Below(2)) query.isa_key = target.IsaKey();
    if (rng.Below(2)) query.contract = "nhwc border=1";
    if (rng.Below(2))
      query.accuracy = AccuracyLimit{.error_max = 1e-4, .strict = rng.Below(2) == 0};
    if (rng.Below(2)) query.method_version = 1;
    if (rng.Below(2)) query.codegen_epoch = 2;
    BestAnswer answer = *store.Best(query);
    state.best.emplace_back(answer.workload_match, std::move(answer.records));
  }
  return state;
}

// Exactly once: a tuner that crashed and tells everything again, from any point, changes nothing.
TEST_P(RecordStoreConformanceTest, AnyPrefixReplayedTwiceGivesTheSameState) {
  Rng rng(2);
  std::vector<MeasurementEntry> log;
  for (int i = 0; i < 400; ++i) log.push_back(RandomEntry(rng, {.trial_count = 150}));
  ASSERT_THAT(store_->AppendBatch(log), IsOk());
  const State want = StateOf(*store_);
  for (const size_t length : {size_t{1}, size_t{17}, size_t{200}, log.size()}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<AppendOutcome> outcomes,
                         store_->AppendBatch(absl::MakeSpan(log).subspan(0, length)));
    EXPECT_THAT(outcomes, ::testing::Each(kDuplicate));
    EXPECT_TRUE(StateOf(*store_) == want) << "length=" << length;
  }
  // In pieces, each told twice, the state is the same again.
  const std::unique_ptr<RecordStore> other = GetParam()();
  ASSERT_NE(other, nullptr);
  for (size_t begin = 0; begin < log.size();) {
    const size_t length = std::min<size_t>(1 + rng.Below(40), log.size() - begin);
    ASSERT_THAT(other->AppendBatch(absl::MakeSpan(log).subspan(begin, length)), IsOk());
    ASSERT_THAT(other->AppendBatch(absl::MakeSpan(log).subspan(0, begin + length)), IsOk());
    begin += length;
  }
  EXPECT_TRUE(StateOf(*other) == want);
}

TEST_P(RecordStoreConformanceTest, AnswersAsThePlainStoreDoes) {
  for (uint64_t seed = 10; seed < 13; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    Rng rng(seed);
    std::vector<MeasurementEntry> log;
    for (int i = 0; i < 500; ++i) log.push_back(RandomEntry(rng, {.trial_count = 400}));
    MemoryRecordStore plain;
    ASSERT_OK_AND_ASSIGN(const std::vector<AppendOutcome> want, plain.AppendBatch(log));
    const std::unique_ptr<RecordStore> store = GetParam()();
    ASSERT_NE(store, nullptr);
    ASSERT_THAT(store->AppendBatch(log), IsOkAndHolds(want));
    const State got_state = StateOf(*store), want_state = StateOf(plain);
    EXPECT_EQ(got_state.records, want_state.records);
    EXPECT_TRUE(got_state == want_state);
  }
}

}  // namespace
}  // namespace burnish
