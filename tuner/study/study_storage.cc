#include "tuner/study/study_storage.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "db/damaged_study.h"
#include "proto/study.pb.h"

namespace burnish {
namespace {

// A page bounds the memory of one read. A study has some hundreds to some thousands of entries; the
// size was not tuned.
constexpr int kPageEntries = 1000;

// What an open job carries: how many trials its round asked for, and the trace.
struct JobPayload {
  int asked = 0;
  std::string trace;
};

std::string Encode(const JobPayload& payload) {
  // How many were asked for travels with the job: if the process dies before the round is logged,
  // MendJobs writes that round from its jobs, and a replay asks for the same number.
  return absl::StrCat(payload.asked, "\n", payload.trace);
}

absl::StatusOr<JobPayload> DecodePayload(const OpenJob& job) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(job.payload, absl::MaxSplits('\n', 1));
  JobPayload payload{.trace = std::string(parts.second)};
  if (!absl::SimpleAtoi(parts.first, &payload.asked)) {
    return absl::DataLossError(absl::StrCat("open job ", job.job_id, ": malformed payload"));
  }
  return payload;
}

}  // namespace

absl::Status CreateStudy(StudyStore& studies, const NewStudy& study) {
  // The id becomes a prefix of trial and job ids, which have limits of their own. A long id must
  // fail here and not at the first trial.
  if (study.id.empty() || study.id.size() > kStudyIdBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("got a study id of ", study.id.size(),
                                                   " bytes, want 1 to ", kStudyIdBytesMax));
  }
  if (study.tasks.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("study ", study.id, ": got no task"));
  }
  std::vector<StudyTask> tasks;
  for (const StudyTaskSpec& task : study.tasks) {
    tasks.push_back({.workload_id = task.workload.id, .name = task.name, .weight = task.weight});
  }
  return studies.Create({.id = study.id,
                         .title = study.title,
                         .target = study.target.ToText(),
                         .spec = ToProto(study.spec).SerializeAsString(),
                         .created_ns = study.now_ns,
                         .updated_ns = study.now_ns},
                        tasks);
}

absl::StatusOr<StudySpec> ReadStudySpec(const StudyStore& studies, const std::string& study_id) {
  ASSIGN_OR_RETURN(const StudySummary summary, studies.Get(study_id));
  v1::StudySpec message;
  if (!message.ParseFromString(summary.study.spec)) {
    return DamagedStudy(study_id, "its specification is no message");
  }
  return FromProto(message);
}

absl::Status PutTrials(StudyStore& studies, const std::string& study_id, int task_index, int asked,
                       absl::Span<const Trial> trials) {
  std::vector<OpenJob> jobs;
  for (const Trial& trial : trials) {
    jobs.push_back({.job_id = trial.trial_id,
                    .trial_id = trial.trial_id,
                    .task_index = task_index,
                    .payload = Encode({asked, trial.trace})});
  }
  return studies.PutJobs(study_id, jobs);
}

std::set<std::string> LiftedTrials(absl::Span<const StudyEvent> events) {
  std::set<std::string> lifted;
  for (const StudyEvent& event : events) {
    if (event.kind == StudyEventKind::kLifted) {
      lifted.insert(event.trial_ids.begin(), event.trial_ids.end());
    }
  }
  return lifted;
}

absl::StatusOr<std::unique_ptr<StudyStorage>> StudyStorage::Open(
    RecordStore* records, StudyStore* studies, const std::string& study_id,
    absl::Span<const StudyTaskSpec> tasks) {
  ASSIGN_OR_RETURN(StudyLog log, StudyLog::Open(studies, study_id));
  std::unique_ptr<StudyStorage> storage(
      new StudyStorage(records, studies, study_id, std::move(log)));
  // In this order: a study of other tasks is refused before anything is written, and MendJobs needs
  // to know which jobs have a result.
  RETURN_IF_ERROR(storage->CheckTasks(tasks));
  RETURN_IF_ERROR(storage->ReadResults());
  RETURN_IF_ERROR(storage->MendJobs());
  return storage;
}

absl::Status StudyStorage::CheckTasks(absl::Span<const StudyTaskSpec> tasks) const {
  ASSIGN_OR_RETURN(const std::vector<StudyTask> stored, studies_->Tasks(study_id_));
  bool same = stored.size() == tasks.size();
  for (size_t i = 0; same && i < stored.size(); ++i) {
    // By position: trial ids name a task by its index. The same tasks in another order would give
    // each result to the wrong search.
    same = stored[i].workload_id == tasks[i].workload.id;
  }
  if (same) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("study ", study_id_, ": the model is not cut into the same ", stored.size(),
                   " tasks as when it was submitted; submit it again"));
}

absl::Status StudyStorage::ReadResults() {
  EntryQuery query{.study_id = study_id_, .limit = kPageEntries};
  while (true) {
    ASSIGN_OR_RETURN(EntryPage page, records_->ScanEntries(query));
    for (MeasurementEntry& entry : page.entries) {
      // Measurements of refine have the study's id too, but no search is told of them.
      if (entry.purpose != Purpose::kTrial && entry.purpose != Purpose::kReference) continue;
      TrialResult result{entry.trial_id, std::move(entry.candidate.trace),
                         std::move(entry.measurement)};
      results_.emplace(entry.trial_id, StoredResult{std::move(result), entry.recorded_ns});
    }
    // This process alone writes the study, so a short page is the last one.
    if (static_cast<int>(page.entries.size()) < kPageEntries) return absl::OkStatus();
    query.after_row_id = page.last_row_id;
  }
}

// Jobs are put before their round is logged, and removed after their result is stored or their drop
// is logged: what a crash left of these is completed here.
absl::Status StudyStorage::MendJobs() {
  std::set<std::string> logged, dropped;
  for (const StudyEvent& event : log_.events()) {
    if (event.kind == StudyEventKind::kRound) {
      logged.insert(event.trial_ids.begin(), event.trial_ids.end());
    } else if (event.kind == StudyEventKind::kDropped) {
      dropped.insert(event.trial_ids.begin(), event.trial_ids.end());
    }
  }
  ASSIGN_OR_RETURN(std::vector<OpenJob> jobs, studies_->OpenJobs(study_id_));
  // By number, as they were suggested: t0/9 before t0/10.
  std::sort(jobs.begin(), jobs.end(), [](const OpenJob& a, const OpenJob& b) {
    if (a.job_id.size() != b.job_id.size()) return a.job_id.size() < b.job_id.size();
    return a.job_id < b.job_id;
  });
  std::vector<std::string> finished;
  std::map<int, StudyEvent> rounds;  // By task.
  for (const OpenJob& job : jobs) {
    ASSIGN_OR_RETURN(JobPayload payload, DecodePayload(job));
    // The crash came between the second write of a step and this one: the result or the drop is
    // durable, the job is left over.
    if (results_.contains(job.trial_id) || dropped.contains(job.trial_id)) {
      finished.push_back(job.job_id);
      continue;
    }
    open_traces_[job.trial_id] = std::move(payload.trace);
    // The crash came between PutJobs and the log. The trials may be with the tracker already, since
    // nobody can tell: they become a round, so that their results count.
    if (logged.contains(job.trial_id)) continue;
    StudyEvent& round = rounds[job.task_index];
    round.kind = StudyEventKind::kRound;
    round.task_index = job.task_index;
    round.number = payload.asked;
    round.trial_ids.push_back(job.trial_id);
  }
  std::vector<StudyEvent> events;
  for (auto& [task_index, round] : rounds) events.push_back(std::move(round));
  // The log before the removal, as in Drop: a crash here leaves jobs that the next Open mends
  // again.
  RETURN_IF_ERROR(log_.Append(events));
  if (finished.empty()) return absl::OkStatus();
  return studies_->RemoveJobs(study_id_, finished);
}

const std::string* StudyStorage::TraceOf(const std::string& trial_id) const {
  // A trial with a result has no open job any more; the record holds its trace.
  if (const auto found = results_.find(trial_id); found != results_.end()) {
    return &found->second.result.trace;
  }
  const auto open = open_traces_.find(trial_id);
  return open == open_traces_.end() ? nullptr : &open->second;
}

absl::Duration StudyStorage::ElapsedBefore() const {
  // A run's end is not stored where it was killed: its last result stands for it.
  std::vector<int64_t> starts, ends;
  for (const StudyEvent& event : log_.events()) {
    if (event.kind == StudyEventKind::kSession) starts.push_back(event.number);
  }
  // A run without a result lasts nothing. Time between runs is not counted: a study that was
  // interrupted for a night has its time left.
  ends = starts;
  for (const auto& [trial_id, stored] : results_) {
    const auto after = std::upper_bound(starts.begin(), starts.end(), stored.recorded_ns);
    // The wall clock may have been set back; a result before the first start is in no run.
    if (after == starts.begin()) continue;
    int64_t& end = ends[after - starts.begin() - 1];
    end = std::max(end, stored.recorded_ns);
  }
  int64_t elapsed_ns = 0;
  for (size_t i = 0; i < starts.size(); ++i) elapsed_ns += ends[i] - starts[i];
  return absl::Nanoseconds(elapsed_ns);
}

absl::Status StudyStorage::SetState(StudyState state, absl::string_view detail, int64_t now_ns) {
  return studies_->SetState(study_id_, state, detail, now_ns);
}

absl::Status StudyStorage::Begin(int task_index, int asked, absl::Span<const Trial> trials) {
  StudyEvent round{.kind = StudyEventKind::kRound, .task_index = task_index, .number = asked};
  for (const Trial& trial : trials) {
    round.trial_ids.push_back(trial.trial_id);
    open_traces_[trial.trial_id] = trial.trace;
  }
  // Jobs first: an id in the log without its trace could not be submitted again, a job without its
  // round can be put into one.
  RETURN_IF_ERROR(PutTrials(*studies_, study_id_, task_index, asked, trials));
  return log_.Append({std::move(round)});
}

absl::Status StudyStorage::Record(absl::Span<const MeasurementEntry> entries) {
  ASSIGN_OR_RETURN(const std::vector<AppendOutcome> outcomes, records_->AppendBatch(entries));
  std::vector<std::string> job_ids;
  for (size_t i = 0; i < entries.size(); ++i) {
    const MeasurementEntry& entry = entries[i];
    // The batch is one transaction and this process is the study's only writer, so an entry that
    // was there means that a second tuner took the study over.
    if (outcomes[i] == AppendOutcome::kDuplicate) {
      return absl::FailedPreconditionError(absl::StrCat(
          "trial ", entry.trial_id, " has a result already: another tuner runs this study"));
    }
    results_.emplace(entry.trial_id,
                     StoredResult{{entry.trial_id, entry.candidate.trace, entry.measurement},
                                  entry.recorded_ns});
    open_traces_.erase(entry.trial_id);
    job_ids.push_back(entry.trial_id);
  }
  return studies_->RemoveJobs(study_id_, job_ids);
}

absl::Status StudyStorage::Drop(int task_index, const std::vector<std::string>& trial_ids) {
  RETURN_IF_ERROR(log_.Append(
      {{.kind = StudyEventKind::kDropped, .task_index = task_index, .trial_ids = trial_ids}}));
  return studies_->RemoveJobs(study_id_, trial_ids);
}

}  // namespace burnish
