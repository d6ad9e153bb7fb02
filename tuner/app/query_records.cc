#include "tuner/app/query_records.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "tuner/app/database.h"
#include "tuner/app/study_view.h"
#include "tuner/app/workload_facts.h"

namespace burnish {
namespace {

constexpr int kStudiesSearched = 10000;
constexpr size_t kHashDigitsMin = 4;

// What studies say about workloads, newest first.
struct StudyIndex {
  std::map<std::string, std::string> names;  // Workload id to the task's name.
  // A model's name, path, or hash with "sha256:" before it, to its tasks.
  std::map<std::string, std::vector<TaskKey>> tasks;
};

std::string BytesKey(const std::string& sha256) { return absl::StrCat("sha256:", sha256); }

void AddOnce(const TaskKey& key, std::vector<TaskKey>& keys) {
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
}

// What one study says; DATA_LOSS: nothing that can be read.
absl::Status AddStudy(const Database& database, const Study& study, StudyIndex& index) {
  ASSIGN_OR_RETURN(const StudySpec spec, ParseStudySpec(study));
  ASSIGN_OR_RETURN(const std::vector<StudyTask> tasks, database.studies->Tasks(study.id));
  for (const StudyTask& task : tasks) {
    index.names.emplace(task.workload_id, task.name);
    const TaskKey key{.workload_id = task.workload_id, .target = study.target};
    AddOnce(key, index.tasks[spec.task.empty() ? spec.model_path : spec.task]);
    if (!spec.model_sha256.empty()) AddOnce(key, index.tasks[BytesKey(spec.model_sha256)]);
  }
  return absl::OkStatus();
}

absl::StatusOr<StudyIndex> IndexStudies(const Database& database) {
  StudyIndex index;
  const absl::StatusOr<std::vector<StudySummary>> studies =
      database.studies->List({.limit = kStudiesSearched});
  if (!studies.ok()) return DatabaseError(studies.status(), database.url);
  for (const StudySummary& summary : *studies) {
    const absl::Status status = AddStudy(database, summary.study, index);
    // Studies give names, and records answer: one that is damaged is in no other's way.
    if (absl::IsDataLoss(status)) {
      LogWarning(absl::StrCat("passed over: ", status.message()));
      continue;
    }
    RETURN_IF_ERROR(DatabaseError(status, database.url));
  }
  return index;
}

absl::StatusOr<std::vector<TaskKey>> SelectTasks(const Database& database, const StudyIndex& index,
                                                 const RecordsQuestion& question) {
  for (const std::string& model :
       {question.task, question.model_path, BytesKey(question.model_sha256)}) {
    if (const auto found = index.tasks.find(model); found != index.tasks.end()) {
      return found->second;
    }
  }
  if (!question.model_path.empty() || !question.model_sha256.empty()) {
    return std::vector<TaskKey>();
  }
  absl::StatusOr<std::vector<TaskKey>> tasks = database.records->ListTasks();
  if (!tasks.ok()) return DatabaseError(tasks.status(), database.url);
  const std::string& task = question.task;
  if (task.empty()) return *tasks;
  const bool is_hash = task.size() >= kHashDigitsMin &&
                       task.find_first_not_of("0123456789abcdef") == std::string::npos;
  std::erase_if(*tasks, [&](const TaskKey& key) {
    const auto name = index.names.find(key.workload_id);
    if (name != index.names.end() && name->second == task) return false;
    return !is_hash || !absl::StartsWith(absl::BytesToHexString(key.workload_id), task);
  });
  return *tasks;
}

// Without records where nothing but failures is on record.
absl::StatusOr<RecordedTask> FindRecords(const Database& database, const StudyIndex& index,
                                         const TaskKey& key, int top) {
  RecordedTask task;
  absl::StatusOr<BestAnswer> best =
      database.records->Best({.workload_id = key.workload_id, .target = key.target, .limit = top});
  RETURN_IF_ERROR(DatabaseError(best.status(), database.url));
  if (best->records.empty()) return task;
  task.records = std::move(best->records);
  const absl::StatusOr<std::optional<Workload>> workload =
      database.records->FindWorkload(key.workload_id);
  RETURN_IF_ERROR(DatabaseError(workload.status(), database.url));
  if (workload->has_value()) task.flop_count = WorkloadFlops((*workload)->text);
  if (const auto name = index.names.find(key.workload_id); name != index.names.end()) {
    task.name = name->second;
  }
  return task;
}

}  // namespace

absl::StatusOr<RecordsAnswer> QueryRecords(const Database& database,
                                           const RecordsQuestion& question) {
  ASSIGN_OR_RETURN(const StudyIndex index, IndexStudies(database));
  ASSIGN_OR_RETURN(std::vector<TaskKey> keys, SelectTasks(database, index, question));
  if (!question.target.empty()) {
    std::erase_if(keys, [&](const TaskKey& key) { return key.target != question.target; });
  }
  const auto found = static_cast<int64_t>(keys.size());
  RecordsAnswer answer;
  int64_t bytes = 0, next = std::min(question.tasks_skipped, found);
  const int64_t end = next + std::min(question.tasks_max, found - next);
  while (next < end && bytes <= question.bytes_max.value_or(bytes)) {
    ASSIGN_OR_RETURN(RecordedTask task, FindRecords(database, index, keys[next++], question.top));
    // Most of a record is its trace.
    for (const Record& record : task.records) {
      bytes += static_cast<int64_t>(record.trace.size() + record.target.size());
    }
    if (!task.records.empty()) answer.tasks.push_back(std::move(task));
  }
  answer.tasks_left = found - next;
  answer.tasks_next = next;
  return answer;
}

}  // namespace burnish
