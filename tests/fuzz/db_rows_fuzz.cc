// libFuzzer target: a database whose rows are garbage. What a fuzzer writes into one column of all
// rows, or leaves of the file, is read with a status or a value. The input: where it goes, what
// type it has, the value.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/file.h"
#include "base/rng.h"
#include "db/open.h"
#include "db/random_entries.h"
#include "db/sqlite/connection.h"

namespace burnish {
namespace {

struct Column {
  const char* table;
  const char* name;
  char type;  // Of the STRICT table: "i"nteger, "r"eal, "t"ext, "b"lob.
};

constexpr Column kColumns[] = {
    {"workload", "sha256", 'b'},
    {"workload", "anchor_sha256", 'b'},
    {"workload", "text", 't'},
    {"target", "text", 't'},
    {"target", "isa_key", 't'},
    {"contract", "text", 't'},
    {"sketch", "text", 't'},
    {"record", "candidate_id", 'b'},
    {"record", "decisions", 'b'},
    {"record", "rank_ns", 'i'},
    {"record", "median_ns", 'i'},
    {"record", "process_count", 'i'},
    {"record", "repeat_count", 'i'},
    {"record", "failure_kind", 'i'},
    {"record", "failure_text", 't'},
    {"record", "numerics_kind", 'i'},
    {"record", "numerics_error", 'r'},
    {"record", "numerics_algorithm", 't'},
    {"record", "scratch_bytes", 'i'},
    {"record", "lowered_sha256", 'b'},
    {"record", "network_factor", 'r'},
    {"record", "unconfirmed", 'i'},
    {"record", "workload_id", 'i'},
    {"measurement", "purpose", 'i'},
    {"measurement", "body", 'b'},
    {"measurement", "number", 'i'},
    {"measurement", "failure_kind", 'i'},
    {"environment", "body", 'b'},
    {"study", "state", 'i'},
    {"study", "spec", 'b'},
    {"study", "target", 't'},
    {"study", "lease_expires_ns", 'i'},
    {"study", "crash_count", 'i'},
    {"study_task", "weight", 'r'},
    {"study_task", "workload_sha256", 'b'},
    {"study_log", "body", 'b'},
    {"study_log", "sequence", 'i'},
    {"open_job", "task_index", 'i'},
    {"open_job", "payload", 'b'},
};

constexpr int kEntryCount = 12;

MeasurementEntry EntryAt(int index) {
  Rng rng(static_cast<uint64_t>(index));
  MeasurementEntry entry = RandomEntry(rng, {.only_trials = true});
  entry.study_id = "study";
  entry.trial_id = absl::StrCat("study/0/", index);
  return entry;
}

std::string Template() {
  const absl::StatusOr<TempDir> folder = TempDir::Create("db_rows_fuzz");
  CHECK_OK(folder);
  const std::string path = absl::StrCat(folder->path(), "/a.db");
  {
    const absl::StatusOr<Database> database = OpenDatabase(path);
    CHECK_OK(database);
    std::vector<MeasurementEntry> entries;
    for (int i = 0; i < kEntryCount; ++i) entries.push_back(EntryAt(i));
    CHECK_OK(database->records->AppendBatch(entries));
    CHECK_OK(database->studies->Create(
        {.id = "study", .title = "t", .target = RandomEntryTarget(0).ToText()},
        {{.workload_id = entries[0].candidate.workload.id, .name = "task"}}));
    CHECK_OK(database->studies->AppendLog(
        "study", 0, {{.kind = StudyLogKind::kPhase, .task_index = 0, .snapshot_id = "round/3"}}));
    CHECK_OK(database->studies->PutJobs(
        "study", {{.job_id = "job", .trial_id = "study/0/1", .payload = "p"}}));
  }
  const absl::StatusOr<std::string> bytes = ReadFile(path, 1 << 24);
  CHECK_OK(bytes);
  return *bytes;
}

// Whatever rows say: a status or a value.
void ReadAll(const Database& database) {
  const RecordStore& records = *database.records;
  for (int i = 0; i < kEntryCount; ++i) {
    const MeasurementEntry entry = EntryAt(i);
    records.FindCandidate(entry.candidate.Id()).status().IgnoreError();
    const std::string workload_id = entry.candidate.workload.id;
    records.FindWorkload(workload_id).status().IgnoreError();
    records.Best({.workload_id = workload_id, .target = entry.candidate.target.ToText()})
        .status()
        .IgnoreError();
  }
  records.Scan({}).status().IgnoreError();
  records.ScanEntries({.study_id = "study"}).status().IgnoreError();
  records.CountTrials("study").status().IgnoreError();
  records.ListTasks().status().IgnoreError();
  const StudyStore& studies = *database.studies;
  studies.List({}).status().IgnoreError();
  studies.Get("study").status().IgnoreError();
  studies.Tasks("study").status().IgnoreError();
  studies.ReadLog("study", 0, 100).status().IgnoreError();
  studies.OpenJobs("study").status().IgnoreError();
}

absl::Status Spoil(const std::string& path, const Column& column, absl::string_view value) {
  absl::StatusOr<std::unique_ptr<SqliteConnection>> connection = SqliteConnection::Open(path, {});
  if (!connection.ok()) return connection.status();
  absl::StatusOr<SqliteQuery> query =
      (*connection)
          ->Query(absl::StrCat("UPDATE OR IGNORE ", column.table, " SET ", column.name, " = ?"));
  if (!query.ok()) return query.status();
  int64_t number = 0;
  std::memcpy(&number, value.data(), std::min(value.size(), sizeof(number)));
  double real = 0;
  std::memcpy(&real, &number, sizeof(real));
  switch (column.type) {
    case 'i':
      return query->Int(number).Run();
    case 'r':
      return query->Real(real).Run();
    case 't':
      return query->Text(value).Run();
    default:
      return query->Blob(value).Run();
  }
}

}  // namespace
}  // namespace burnish

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace burnish;  // NOLINT: a C function has no namespace of its own.
  static const std::string* const bytes = new std::string(Template());
  static const TempDir* const folder = new TempDir(*TempDir::Create("db_rows_fuzz"));
  static int count = 0;
  if (size < 1) return 0;
  const std::string path = absl::StrCat(folder->path(), "/", count++, ".db");
  std::string file = *bytes;
  const absl::string_view value(reinterpret_cast<const char*>(data + 1), size - 1);
  const size_t which = data[0] % (std::size(kColumns) + 1);
  if (which == std::size(kColumns) && value.size() >= 2) {
    // Not a row: bytes anywhere in the file, as a bad disk leaves them.
    uint16_t at = 0;
    std::memcpy(&at, value.data(), sizeof(at));
    const absl::string_view garbage = value.substr(2);
    const size_t offset = (at * 16) % file.size();
    file.replace(offset, std::min(garbage.size(), file.size() - offset), std::string(garbage), 0,
                 std::min(garbage.size(), file.size() - offset));
  }
  CHECK_OK(WriteFileAtomically(path, file));
  // A value that the table does not take leaves the rows as they are.
  if (which < std::size(kColumns)) Spoil(path, kColumns[which], value).IgnoreError();
  if (const absl::StatusOr<Database> database = OpenDatabase(path); database.ok()) {
    ReadAll(*database);
  }
  for (const char* end : {"", "-wal", "-shm", "-journal"}) {
    std::error_code error;
    std::filesystem::remove(absl::StrCat(path, end), error);
  }
  return 0;
}
