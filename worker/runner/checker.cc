#include "worker/runner/checker.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/contract.h"
#include "compiler/ir/parser.h"
#include "worker/runner/parameter_plan.h"
#include "worker/runner/sample_oracle.h"
#include "worker/runner/tensor_data.h"

namespace burnish {
namespace {

// Values are computed and kept densely: a workload beyond this is not one that anybody tunes.
constexpr uint64_t kTensorBytesMax = uint64_t{2} << 30;

absl::StatusOr<Program> ParseWithContract(const std::string& workload,
                                          const std::string& contract) {
  ASSIGN_OR_RETURN(Program program, ParseProgram(workload));
  RETURN_IF_ERROR(ApplyContract(contract, program));
  return program;
}

absl::Status CheckSizes(const std::vector<TensorSpec>& parameters) {
  for (const TensorSpec& spec : parameters) {
    const RuntimeStatus status = CheckTensorSpec(spec, kTensorBytesMax);
    if (!status.ok()) return absl::InvalidArgumentError(status.message());
  }
  return absl::OkStatus();
}

std::vector<TensorSpec> OutputsOf(const std::vector<TensorSpec>& parameters) {
  std::vector<TensorSpec> outputs;
  for (const TensorSpec& spec : parameters) {
    if (spec.role == ArgumentRole::kOutput) outputs.push_back(spec);
  }
  return outputs;
}

CheckerReply Wrong(size_t output, absl::string_view what, double error) {
  return {.verdict = CheckerVerdict::kWrong,
          .message = absl::StrCat("output ", output, ", ", what),
          .error = error};
}

}  // namespace

CheckerReply Checker::Answer(const CheckerRequest& request) {
  absl::StatusOr<CheckerReply> reply = CheckerReply{.verdict = CheckerVerdict::kOk};
  if (request.call == CheckerCall::kPlan) {
    const absl::StatusOr<Program> program = ParseWithContract(request.workload, request.contract);
    if (program.ok()) {
      reply->parameters = PlanParameters(*program);
      if (const absl::Status status = CheckSizes(reply->parameters); !status.ok()) reply = status;
    } else {
      reply = program.status();
    }
  } else {
    reply = Check(request);
  }
  if (reply.ok()) return *std::move(reply);
  return {.verdict = CheckerVerdict::kRefused, .message = std::string(reply.status().message())};
}

absl::StatusOr<CheckerReply> Checker::Check(const CheckerRequest& request) {
  ASSIGN_OR_RETURN(const Program program, ParseWithContract(request.workload, request.contract));
  const std::vector<TensorSpec> parameters = PlanParameters(program);
  RETURN_IF_ERROR(CheckSizes(parameters));
  const std::vector<TensorSpec> outputs = OutputsOf(parameters);
  ASSIGN_OR_RETURN(Task* const task, FindTask(request));
  const bool wants_reference = !request.reference_id.empty() && !request.is_reference;
  // Asked for before the outputs are read: the runner that makes candidate 0's outputs writes to
  // the same file.
  if (wants_reference && task->reference_id != request.reference_id) {
    return CheckerReply{.verdict = CheckerVerdict::kNeedReference};
  }
  ASSIGN_OR_RETURN(std::vector<std::vector<uint8_t>> got,
                   ReadOutputs(outputs, request.output_bases));
  double error = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const CheckResult sampled =
        CompareSamples(outputs[i].type, got[i], task->samples[i], request.bound);
    error = std::max(error, sampled.error);
    if (!sampled.what_is_wrong.empty()) return Wrong(i, sampled.what_is_wrong, error);
    if (!wants_reference) continue;
    // Samples against the definition say that candidate 0 and this one compute the right thing; the
    // comparison in full says that no other element differs.
    const CheckResult full = CompareAll(outputs[i].type, got[i], task->reference[i], request.bound);
    if (!full.what_is_wrong.empty()) {
      return Wrong(i, absl::StrCat("against candidate 0, ", full.what_is_wrong), full.error);
    }
  }
  if (request.is_reference) {
    // Only after it has passed: a wrong candidate 0 must not become the measure.
    task->reference_id = request.reference_id;
    task->reference = std::move(got);
    ForgetOld();
  }
  return CheckerReply{.verdict = CheckerVerdict::kOk, .error = error};
}

absl::StatusOr<Checker::Task*> Checker::FindTask(const CheckerRequest& request) {
  const auto found = std::find_if(tasks_.begin(), tasks_.end(), [&](const Task& task) {
    // By the text itself, not by a hash that the requester names.
    return task.seed == request.seed && task.workload == request.workload;
  });
  if (found != tasks_.end()) {
    tasks_.splice(tasks_.begin(), tasks_, found);
    return &tasks_.front();
  }
  Task task{.workload = request.workload, .seed = request.seed};
  RETURN_IF_ERROR(ComputeSamples(task));
  tasks_.push_front(std::move(task));
  ForgetOld();
  return &tasks_.front();
}

size_t Checker::Task::ByteCount() const {
  size_t bytes = sizeof(Task) + workload.size();
  for (const std::vector<Sample>& output : samples) bytes += output.size() * sizeof(Sample);
  for (const std::vector<uint8_t>& output : reference) bytes += output.size();
  return bytes;
}

void Checker::ForgetOld() {
  size_t bytes = 0;
  for (auto task = tasks_.begin(); task != tasks_.end(); ++task) {
    bytes += task->ByteCount();
    if (task == tasks_.begin() || bytes <= kept_bytes_max_) continue;
    tasks_.erase(task, tasks_.end());
    return;
  }
}

absl::Status Checker::ComputeSamples(Task& task) const {
  // Without the contract: where tensors lie in memory changes no value, and the samples serve all
  // contracts of a workload.
  ASSIGN_OR_RETURN(Program program, ParseProgram(task.workload));
  const std::vector<TensorSpec> parameters = PlanParameters(program);
  RETURN_IF_ERROR(CheckSizes(parameters));
  const std::vector<BufferId> ids = ParametersOf(program);
  std::vector<std::vector<uint8_t>> arguments;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].role == ArgumentRole::kOutput) continue;
    arguments.push_back(RandomTensor(parameters[i], task.seed, static_cast<int>(i)));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<SampleOracle> oracle,
                   SampleOracle::Create(std::move(program), arguments));
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].role != ArgumentRole::kOutput) continue;
    const auto output = static_cast<int>(task.samples.size());
    std::vector<Sample>& samples = task.samples.emplace_back();
    for (const int64_t offset :
         SampleOffsets(parameters[i].shape, kSampleCount, task.seed, output)) {
      ASSIGN_OR_RETURN(const ExprValue want, oracle->Value(ids[i], offset));
      samples.push_back({.offset = offset, .want = want});
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<uint8_t>>> Checker::ReadOutputs(
    const std::vector<TensorSpec>& outputs, const std::vector<uint64_t>& bases) const {
  if (bases.size() != outputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", bases.size(), " outputs, want ", outputs.size()));
  }
  std::vector<std::vector<uint8_t>> dense;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::vector<uint8_t> storage(StorageBytes(outputs[i]));
    for (size_t at = 0; at < storage.size();) {
      // Read and not mapped: the runner holds the file too, and may cut it short at any time.
      const ssize_t count = pread(outputs_descriptor_, storage.data() + at, storage.size() - at,
                                  static_cast<off_t>(bases[i] + at));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        return absl::InvalidArgumentError(absl::StrCat("output ", i, " is not all there"));
      }
      at += count;
    }
    dense.push_back(CopyFromStorage(outputs[i], storage));
  }
  return dense;
}

}  // namespace burnish
