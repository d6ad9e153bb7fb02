// The store of measurements: an append-only log, and the records that are derived from it in the
// same transaction. A history-best query is an index look-up.
#ifndef DB_RECORD_STORE_H_
#define DB_RECORD_STORE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/record.h"

namespace burnish {

// kDuplicate: that (trial id, purpose, number) was there before. The first one counts and nothing
// was changed, also where the late one says something else.
enum class AppendOutcome { kRecorded, kDuplicate };

// What roundings a caller puts up with.
struct AccuracyLimit {
  double error_max = 1e-4;  // Tensor error against float64.
  bool strict = false;      // Exact and reassociated only.

  // Exact and reassociated candidates pass unless their error was measured and is larger; others
  // must have been measured. A class that is not known never passes.
  bool Accepts(const Numerics& numerics) const;
};

// All hashes are 32 raw bytes. An unset filter accepts everything.
struct BestQuery {
  std::string workload_id;
  std::string anchor_id;  // Empty: no look-up by anchor.
  std::string target;     // Canonical text.
  std::string isa_key;    // Empty: that target only, no compatible ones.
  std::optional<std::string> contract;
  std::optional<AccuracyLimit> accuracy;
  std::optional<int32_t> method_version;
  std::optional<int32_t> codegen_epoch;
  int limit = 1;  // Top N; 1..10000.
};

// How a record's workload relates to the one asked for, best first.
enum class WorkloadMatch { kNone, kExact, kSameAnchor };

struct BestAnswer {
  WorkloadMatch workload_match = WorkloadMatch::kNone;
  bool exact_target = false;  // False: of a target with the same isa key; latencies do not compare.
  std::vector<Record> records;  // All of that match, by rising rank_ns, then by age; empty: kNone.
};

struct RecordQuery {
  std::optional<std::string> workload_id;
  std::optional<std::string> anchor_id;
  std::optional<std::string> target;
  bool with_failures = true;
  int64_t after_row_id = 0;  // Cursor: 0 starts; then the last row id of the page before.
  int limit = 1000;          // 1..10000
};

struct EntryQuery {
  std::string study_id;
  int64_t after_row_id = 0;
  int limit = 1000;  // 1..10000
};

struct EntryPage {
  std::vector<MeasurementEntry> entries;  // In the order of the log.
  int64_t last_row_id = 0;                // The next page's cursor. No entries: the end.
};

struct TrialCounts {
  int64_t trial_count = 0;  // Entries of purpose TRIAL, with those that failed.
  std::map<FailureKind, int64_t> failure_counts;

  bool operator==(const TrialCounts&) const = default;
};

// A task that has at least one successful record.
struct TaskKey {
  std::string workload_id;
  std::string target;

  auto operator<=>(const TaskKey&) const = default;
};

// Thread-safe. A successful append is on the disk (where the store has one). Errors of all calls:
// UNAVAILABLE: somebody else holds the store, try again. RESOURCE_EXHAUSTED: no space; nothing was
// changed. DATA_LOSS: the store is damaged. ABORTED: the disk failed; nothing was changed.
// INVALID_ARGUMENT: the caller's fault, with the entry or the field named.
class RecordStore {
 public:
  virtual ~RecordStore() = default;

  // All entries or none, in one transaction. Returns one outcome per entry.
  virtual absl::StatusOr<std::vector<AppendOutcome>> AppendBatch(
      absl::Span<const MeasurementEntry> entries) = 0;
  absl::StatusOr<AppendOutcome> Append(const MeasurementEntry& entry);

  // Exact workload, then same anchor (the trace applies unchanged); within each the target itself,
  // then targets of the same isa key. The first that has any record answers.
  virtual absl::StatusOr<BestAnswer> Best(const BestQuery& query) const = 0;

  // Records of a candidate, one per method version; empty: never measured.
  virtual absl::StatusOr<std::vector<Record>> FindCandidate(
      absl::string_view candidate_id) const = 0;

  // By rising row id: rows keep theirs when a later measurement changes them.
  virtual absl::StatusOr<std::vector<Record>> Scan(const RecordQuery& query) const = 0;

  virtual absl::StatusOr<EntryPage> ScanEntries(const EntryQuery& query) const = 0;

  virtual absl::StatusOr<TrialCounts> CountTrials(absl::string_view study_id) const = 0;

  virtual absl::StatusOr<std::optional<Workload>> FindWorkload(
      absl::string_view workload_id) const = 0;

  // Sorted. Does not read the records.
  virtual absl::StatusOr<std::vector<TaskKey>> ListTasks() const = 0;
};

// What every store refuses in a query: limits and hashes out of bounds.
absl::Status ValidateQuery(const BestQuery& query);
absl::Status ValidateLimit(int limit);

}  // namespace burnish

#endif  // DB_RECORD_STORE_H_
