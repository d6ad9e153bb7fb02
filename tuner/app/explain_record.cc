#include "tuner/app/explain_record.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "compiler/codegen/codegen_epoch.h"
#include "compiler/ir/parser.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "compiler/te/operator.h"
#include "db/stored_trace.h"
#include "proto/calibrated.h"
#include "proto/compile.h"
#include "tuner/app/bundle_session.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"
#include "tuner/app/query_records.h"
#include "tuner/app/study_view.h"
#include "tuner/app/workload_facts.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

// Of one task, for what its records say of its decisions: each is parsed and recognized, some
// tenths of a millisecond.
constexpr int kRecordsMax = 4096;
constexpr int kPageRecords = 1000;
constexpr size_t kTasksNamed = 8;
constexpr size_t kIdDigits = 64;

absl::Status NoRecord(absl::string_view message, const std::string& where) {
  return MakeError(ErrorCode::kNoRecord, message, where,
                   "tuner query lists what is on record, with trials and hashes");
}

bool IsId(const std::string& text) {
  return text.size() == kIdDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// All records that `take` has use for, by row id.
template <typename Take>
absl::Status ForEachRecord(const Database& database, RecordQuery query, const Take& take) {
  query.limit = kPageRecords;
  for (int looked = 0; looked < kRecordsMax; looked += kPageRecords) {
    const absl::StatusOr<std::vector<Record>> page = database.records->Scan(query);
    RETURN_IF_ERROR(DatabaseError(page.status(), database.url));
    for (const Record& record : *page) take(record);
    if (static_cast<int>(page->size()) < kPageRecords) break;
    query.after_row_id = page->back().row_id;
  }
  return absl::OkStatus();
}

// "STUDY/t0/17"
absl::StatusOr<Record> RecordOfTrial(const Database& database, const std::string& trial) {
  const std::vector<std::string> parts = absl::StrSplit(trial, '/');
  int64_t index = -1;
  if (parts.size() != 3 || parts[1].empty() || parts[1][0] != 't' ||
      !absl::SimpleAtoi(parts[1].substr(1), &index)) {
    return NoRecord("got no name of a trial, want STUDY/t0/17", trial);
  }
  ASSIGN_OR_RETURN(const std::string id, ResolveStudyId(database, parts[0]));
  const absl::StatusOr<std::vector<StudyTask>> tasks = database.studies->Tasks(id);
  RETURN_IF_ERROR(DatabaseError(tasks.status(), database.url));
  if (index < 0 || index >= static_cast<int64_t>(tasks->size())) {
    return NoRecord(absl::StrCat("the study has ", tasks->size(), " tasks"), trial);
  }
  const std::string name = absl::StrCat(id, "/", parts[1], "/", parts[2]);
  std::optional<Record> found;
  RETURN_IF_ERROR(ForEachRecord(database, {.workload_id = (*tasks)[index].workload_id},
                                [&](const Record& record) {
                                  if (record.first_trial_id == name) found = record;
                                }));
  if (found.has_value()) return *std::move(found);
  return NoRecord("no record has come of it first", trial);
}

absl::StatusOr<Record> BestOf(const Database& database, const std::string& workload_id,
                              const std::string& target_text, const std::string& what) {
  BestQuery query{.workload_id = workload_id, .target = target_text};
  if (const absl::StatusOr<Target> target = ParseTarget(target_text); target.ok()) {
    query.isa_key = target->IsaKey();
  }
  const absl::StatusOr<BestAnswer> best = database.records->Best(query);
  RETURN_IF_ERROR(DatabaseError(best.status(), database.url));
  if (best->records.empty()) return NoRecord("nothing was measured for it", what);
  return best->records[0];
}

absl::StatusOr<Record> RecordOfStep(const Database& database, const ExplainQuestion& question) {
  ASSIGN_OR_RETURN(const BundleManifest manifest, ReadBundleManifest(question.what));
  std::vector<const ModelStep*> matching;
  int64_t number = -1;
  const bool is_number = absl::SimpleAtoi(question.step, &number);
  std::vector<std::string> names;
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    const ModelStep& step = manifest.steps[i];
    if (step.workload_id.empty()) continue;
    names.push_back(absl::StrCat(i, " ", step.name));
    const bool is_meant = question.step.empty() || step.name == question.step ||
                          (is_number && number == static_cast<int64_t>(i));
    if (is_meant) matching.push_back(&step);
  }
  // Steps of one name are layers of one shape, or else the first would be a guess.
  for (const ModelStep* step : matching) {
    if (step->workload_id == matching[0]->workload_id) continue;
    matching.clear();
  }
  if (matching.empty()) {
    const size_t shown = std::min(names.size(), kTasksNamed);
    return MakeError(
        ErrorCode::kUsage,
        absl::StrCat("got `step` ", question.step, ", want one of ", names.size(),
                     " steps: ", absl::StrJoin(names.begin(), names.begin() + shown, ", "),
                     names.size() > shown ? ", .." : ""),
        question.what, "`step` NUMBER or `step` NAME; a profile lists names");
  }
  return BestOf(database, absl::HexStringToBytes(matching[0]->workload_id), manifest.target,
                absl::StrCat(question.what, ", step ", matching[0]->name));
}

absl::StatusOr<Record> BestOfTask(const Database& database, const ExplainQuestion& question) {
  ASSIGN_OR_RETURN(const RecordsAnswer answer,
                   QueryRecords(database, {.task = question.what, .target = question.target}));
  if (answer.tasks.empty()) return NoRecord("nothing was measured for it", question.what);
  if (answer.tasks.size() == 1) return answer.tasks[0].records[0];
  std::vector<std::string> names;
  for (const RecordedTask& task : answer.tasks) {
    if (names.size() == kTasksNamed) break;
    names.push_back(absl::StrCat(absl::BytesToHexString(task.records[0].workload_id).substr(0, 12),
                                 " ", task.name));
  }
  return MakeError(ErrorCode::kUsage,
                   absl::StrCat(question.what, " is ", answer.tasks.size(),
                                " tasks: ", absl::StrJoin(names, ", "),
                                names.size() < answer.tasks.size() ? ", .." : ""),
                   question.what, "the hash of one of them, or `target` where they are several");
}

absl::StatusOr<Record> RecordMeant(const Database& database, const ExplainQuestion& question) {
  std::error_code error;
  if (!question.step.empty() || std::filesystem::is_regular_file(question.what, error)) {
    return RecordOfStep(database, question);
  }
  if (absl::StrContains(question.what, '/')) return RecordOfTrial(database, question.what);
  if (IsId(question.what)) {
    const absl::StatusOr<std::vector<Record>> records =
        database.records->FindCandidate(absl::HexStringToBytes(question.what));
    RETURN_IF_ERROR(DatabaseError(records.status(), database.url));
    // The latest method of measuring.
    if (!records->empty()) return records->back();
  }
  return BestOfTask(database, question);
}

absl::Status AddStudy(const Database& database, FoundRecord& found) {
  const std::string id =
      found.record.first_trial_id.substr(0, found.record.first_trial_id.find('/'));
  const absl::StatusOr<StudySummary> summary = database.studies->Get(id);
  // Records outlive studies, and may come from another database.
  if (absl::IsNotFound(summary.status())) return absl::OkStatus();
  RETURN_IF_ERROR(DatabaseError(summary.status(), database.url));
  ASSIGN_OR_RETURN(const StudySpec spec, ParseStudySpec(summary->study));
  found.has_study = true;
  found.study_row = spec.calibration;
  const absl::StatusOr<std::vector<StudyTask>> tasks = database.studies->Tasks(id);
  RETURN_IF_ERROR(DatabaseError(tasks.status(), database.url));
  for (const StudyTask& task : *tasks) {
    if (task.workload_id == found.record.workload_id) found.title = task.name;
  }
  return absl::OkStatus();
}

int64_t LeastBytes(const Program& workload) {
  int64_t bytes = 0;
  for (const Buffer& buffer : workload.buffers) {
    if (buffer.role != BufferRole::kTemp) {
      bytes += ElementCount(buffer.shape) * SizeBytes(buffer.dtype);
    }
  }
  return bytes;
}

// By the unit that the schedule computes with; else by the type of the output.
double PeakOf(const Program& workload, const ScheduleReport& report, const DeviceModel& device) {
  const NestReport* heaviest = nullptr;
  for (const NestReport& nest : report.nests) {
    if (heaviest == nullptr || nest.share > heaviest->share) heaviest = &nest;
  }
  const ComputeUnit* unit = nullptr;
  if (heaviest != nullptr && !heaviest->intrinsic.empty()) {
    unit = device.FindUnit(heaviest->intrinsic);
  }
  for (const Buffer& buffer : workload.buffers) {
    if (unit != nullptr || buffer.role != BufferRole::kOutput) continue;
    if (buffer.dtype == DType::kF64) unit = device.FindUnit(NumberType::kF64, NumberType::kF64);
    // What is stored in 16 bits is computed in f32.
    if (buffer.dtype == DType::kF32 || buffer.dtype == DType::kBf16 ||
        buffer.dtype == DType::kF16) {
      unit = device.FindUnit(NumberType::kF32, NumberType::kF32);
    }
  }
  return unit == nullptr ? 0 : PeakFlops(device, *unit, report.threads, /*loads_per_operation=*/1);
}

absl::StatusOr<CompiledKernel> Build(Builder& builder, const FoundRecord& found,
                                     CompileOutput output) {
  const CompileRequest request{.items = {{.workload = found.workload.text,
                                          .contract = found.record.contract,
                                          .trace = found.record.trace}},
                               .target = found.record.target,
                               .codegen_epoch = kCodegenEpoch,
                               .output = output,
                               .form = output == CompileOutput::kText ? "asm" : ""};
  ASSIGN_OR_RETURN(CompileReply reply, builder.Build(request));
  if (reply.results.size() != 1) return absl::InternalError("the builder sent no result");
  if (const auto* failure = std::get_if<Failure>(&reply.results[0].outcome)) {
    return absl::InvalidArgumentError(failure->message);
  }
  return std::get<CompiledKernel>(std::move(reply.results[0].outcome));
}

absl::StatusOr<CodeReport> ReportCode(Builder& builder, const FoundRecord& found) {
  ASSIGN_OR_RETURN(const CompiledKernel kernel,
                   Build(builder, found, CompileOutput::kArtifactEach));
  ASSIGN_OR_RETURN(const CompiledKernel text, Build(builder, found, CompileOutput::kText));
  return CodeReport{.code_bytes = kernel.build.code_bytes,
                    .scratch_bytes = kernel.build.scratch_bytes,
                    .packed_bytes = kernel.build.packed_bytes,
                    .spill_count = kernel.build.spill_count,
                    .hot_loop = FindHotLoop(text.text)};
}

absl::Status Unreadable(const absl::Status& status, const FoundRecord& found) {
  return WithError(status, ErrorCode::kDamagedDatabase, found.record.first_trial_id);
}

}  // namespace

absl::StatusOr<FoundRecord> FindRecord(const Database& database, const ExplainQuestion& question) {
  FoundRecord found;
  ASSIGN_OR_RETURN(found.record, RecordMeant(database, question));
  if (!found.record.successful()) {
    const std::string why = found.record.failure.has_value()
                                ? absl::StrCat(FailureKindName(found.record.failure->kind), ": ",
                                               found.record.failure->message)
                                : "no latency";
    return NoRecord(absl::StrCat("it has failed: ", why), question.what);
  }
  const absl::StatusOr<std::optional<Workload>> workload =
      database.records->FindWorkload(found.record.workload_id);
  RETURN_IF_ERROR(DatabaseError(workload.status(), database.url));
  if (!workload->has_value()) return NoRecord("its workload is not in the database", question.what);
  found.workload = **workload;
  RETURN_IF_ERROR(AddStudy(database, found));
  if (found.title.empty()) found.title = WorkloadTitle("task", found.workload.text);
  RETURN_IF_ERROR(ForEachRecord(database,
                                {.workload_id = found.record.workload_id,
                                 .target = found.record.target,
                                 .with_failures = false},
                                [&](const Record& other) {
                                  if (other.contract == found.record.contract &&
                                      other.codegen_epoch == found.record.codegen_epoch &&
                                      other.method_version == found.record.method_version) {
                                    found.others.push_back(other);
                                  }
                                }));
  return found;
}

absl::StatusOr<Explanation> Explain(FoundRecord found, const ExplainOptions& options) {
  const absl::StatusOr<Program> workload = ParseProgram(found.workload.text);
  if (!workload.ok()) return Unreadable(workload.status(), found);
  const absl::StatusOr<Target> target = ParseTarget(found.record.target);
  if (!target.ok()) return Unreadable(target.status(), found);
  const absl::StatusOr<Trace> trace = ParseStoredTrace(found.record.trace);
  if (!trace.ok()) return Unreadable(trace.status(), found);
  const DeviceModel device = DeviceModelOf(*target, options.row);
  absl::StatusOr<ScheduleReport> report =
      ReportSchedule(*workload, *trace, device, target->threads);
  if (!report.ok()) return Unreadable(report.status(), found);
  Explanation explanation{.threads = target->threads,
                          .device = device.name,
                          .peaks_measured = options.row.has_value(),
                          .measured_ns = static_cast<double>(found.record.isolated_rank_ns()),
                          .flop_count = CountFlops(*workload),
                          .least_bytes = LeastBytes(*workload),
                          .peak_read_bytes = PeakReadBytes(device, target->threads),
                          .report = *std::move(report)};
  explanation.peak_flops = PeakOf(*workload, explanation.report, device);
  explanation.roofline = Roofline(explanation.peak_flops, explanation.peak_read_bytes,
                                  static_cast<uint64_t>(explanation.flop_count),
                                  static_cast<uint64_t>(explanation.least_bytes));
  // Every rule there is: a record may come of any preset.
  const std::vector<Sketch> sketches =
      GenerateSketches(*workload, device, {.algorithms = true, .spaces = kTemplates | kGenerator});
  explanation.comparison =
      CompareRecords(sketches, found.record, found.others, options.runner_up_max);
  if (options.builder != nullptr) {
    absl::StatusOr<CodeReport> code = ReportCode(*options.builder, found);
    if (code.ok()) {
      explanation.code = *std::move(code);
    } else {
      explanation.code_trouble = std::string(code.status().message());
    }
  }
  explanation.found = std::move(found);
  return explanation;
}

}  // namespace burnish
