// How long look-ups take in a database of a million records, and how large it is.
//   bazel run //db:query_benchmark -- FILE [RECORDS]
// FILE is made and filled where it is not there; else it is used as it is.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/rng.h"
#include "db/open.h"
#include "db/random_entries.h"

namespace burnish {
namespace {

constexpr int kBatch = 20000;
constexpr int kQueries = 2000;
// About what tuning a few hundred models leaves behind.
constexpr RandomEntryOptions kOptions = {.workload_count = 400,
                                         .target_count = 2,
                                         .contract_count = 2,
                                         .sketch_count = 40,
                                         .decision_count = 9,
                                         .only_trials = true};

void Fill(const std::string& path, int64_t record_count) {
  const absl::Time start = absl::Now();
  absl::StatusOr<Database> database = OpenDatabase(path);
  CHECK_OK(database);
  Rng rng(1);
  for (int64_t begin = 0; begin < record_count; begin += kBatch) {
    std::vector<MeasurementEntry> batch;
    for (int64_t i = begin; i < std::min(begin + kBatch, record_count); ++i) {
      batch.push_back(RandomEntry(rng, kOptions));
      batch.back().trial_id = absl::StrCat("2026-11-21-", i / 20000, "/", i);
    }
    CHECK_OK(database->records->AppendBatch(batch));
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  std::printf("filled %lld records in %.1f s, %.0f records/s (made up and appended)\n",
              static_cast<long long>(record_count), seconds, record_count / seconds);
}

// Runs `query` kQueries times with a number of its own each.
void Time(const char* name, const std::function<void(Rng&)>& query) {
  Rng rng(7);
  std::vector<double> us;
  for (int i = 0; i < kQueries; ++i) {
    const absl::Time start = absl::Now();
    query(rng);
    us.push_back(absl::ToDoubleMicroseconds(absl::Now() - start));
  }
  const double first_us = us.front();
  std::sort(us.begin(), us.end());
  std::printf("%-44s n=%d first %8.0f median %8.1f p99 %8.1f max %8.1f us\n", name, kQueries,
              first_us, us[kQueries / 2], us[kQueries * 99 / 100], us.back());
}

BestQuery RandomQuery(Rng& rng) {
  const Workload workload = RandomEntryWorkload(static_cast<int>(rng.Below(400)));
  const Target target = RandomEntryTarget(static_cast<int>(rng.Below(2)));
  return {.workload_id = workload.id,
          .anchor_id = workload.anchor_id,
          .target = target.ToText(),
          .isa_key = target.IsaKey()};
}

void TimeQueries(const RecordStore& store) {
  Time("best", [&](Rng& rng) { CHECK_EQ(store.Best(RandomQuery(rng))->records.size(), 1); });
  Time("best 10, strict, of one contract", [&](Rng& rng) {
    BestQuery query = RandomQuery(rng);
    query.contract = "nhwc border=1";
    query.accuracy = AccuracyLimit{.strict = true};
    query.limit = 10;
    CHECK_EQ(store.Best(query)->records.size(), 10);
  });
  Time("best, which only the same anchor can answer", [&](Rng& rng) {
    BestQuery query = RandomQuery(rng);
    query.workload_id = std::string(32, 'x');
    CHECK(store.Best(query)->workload_match == WorkloadMatch::kSameAnchor);
  });
  Time("best that no record satisfies", [&](Rng& rng) {
    BestQuery query = RandomQuery(rng);
    query.codegen_epoch = 99;
    CHECK(store.Best(query)->records.empty());
  });
}

// What a cost model trains on before the first trial: all records of an anchor on a target.
void TimeHistory(const RecordStore& store) {
  const absl::Time start = absl::Now();
  RecordQuery query = {.anchor_id = RandomEntryWorkload(6).anchor_id,
                       .target = RandomEntryTarget(0).ToText(),
                       .limit = 1000};
  size_t count = 0;
  while (true) {
    const absl::StatusOr<std::vector<Record>> page = store.Scan(query);
    CHECK_OK(page);
    if (page->empty()) break;
    count += page->size();
    query.after_row_id = page->back().row_id;
  }
  std::printf("history of %zu records: %.0f us\n", count,
              absl::ToDoubleMicroseconds(absl::Now() - start));
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: query_benchmark FILE [RECORDS]\n");
    return 64;
  }
  const std::string path = argv[1];
  if (!std::filesystem::exists(path)) Fill(path, argc > 2 ? std::atoll(argv[2]) : 1'000'000);
  std::printf("file: %.3f GB\n", static_cast<double>(std::filesystem::file_size(path)) * 1e-9);
  const absl::Time start = absl::Now();
  const absl::StatusOr<Database> database = OpenDatabase(path);
  CHECK_OK(database);
  Rng rng(3);
  CHECK_EQ(database->records->Best(RandomQuery(rng))->records.size(), 1);
  std::printf("open and first best: %.0f us\n", absl::ToDoubleMicroseconds(absl::Now() - start));
  TimeQueries(*database->records);
  const absl::Time list_start = absl::Now();
  const size_t task_count = database->records->ListTasks()->size();
  std::printf("list of %zu tasks: %.0f us\n", task_count,
              absl::ToDoubleMicroseconds(absl::Now() - list_start));
  TimeHistory(*database->records);
  return 0;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
