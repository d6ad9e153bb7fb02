#include "tuner/app/compile_cache.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/build_id.h"
#include "base/self_path.h"
#include "base/status_macros.h"
#include "compiler/ir/printer.h"
#include "compiler/target/device_model.h"
#include "db/stored_trace.h"
#include "proto/calibrated.h"
#include "proto/compile.h"
#include "proto/default_schedules.pb.h"
#include "proto/measurement.h"

namespace burnish {
namespace {

// A model's kernels take some hundred KiB, a workload's schedules a few: room for some thousand
// models. A choice.
constexpr int64_t kBytesMax = int64_t{1} << 30;

std::string Encode(const std::vector<DefaultChoice>& choices) {
  v1::DefaultSchedules message;
  for (const DefaultChoice& choice : choices) {
    v1::DefaultSchedule* const schedule = message.add_schedules();
    schedule->set_trace(PrintTrace(choice.trace));
    schedule->set_seconds(choice.seconds);
    *schedule->mutable_numerics() = ToProto(choice.numerics);
  }
  return message.SerializeAsString();
}

// Empty: not what Encode writes.
std::vector<DefaultChoice> Decode(const std::string& bytes) {
  v1::DefaultSchedules message;
  std::vector<DefaultChoice> choices;
  if (!message.ParseFromString(bytes)) return choices;
  for (const v1::DefaultSchedule& schedule : message.schedules()) {
    absl::StatusOr<Trace> trace = ParseStoredTrace(schedule.trace());
    if (!trace.ok()) return {};
    choices.push_back({.trace = *std::move(trace),
                       .seconds = schedule.seconds(),
                       .numerics = FromProto(schedule.numerics())});
  }
  return choices;
}

// What the model of the machine takes from the row, and nothing of when and where it was measured.
std::string RatesText(const std::optional<CalibrationRow>& row) {
  if (!row.has_value()) return "table";
  CalibrationRow rates = *row;
  rates.machine = rates.boot_id = "";
  rates.measured_at_ns = 0;
  return ToText(rates);
}

class CachedBuilder : public Builder {
 public:
  // Without files it only passes on.
  CachedBuilder(Builder& builder, const FileCache* files, std::string versions)
      : builder_(builder), files_(files), versions_(std::move(versions)) {}

  absl::StatusOr<CompileReply> Build(const CompileRequest& request) override {
    if (files_ == nullptr || request.output != CompileOutput::kLibrary) {
      return builder_.Build(request);
    }
    const std::string key = absl::StrCat("library\n", versions_, burnish::Encode(request));
    if (const std::optional<std::string> bytes = files_->Get(key); bytes.has_value()) {
      absl::StatusOr<CompileReply> reply = DecodeCompileReply(*bytes);
      if (reply.ok() && reply->results.size() == request.items.size()) return reply;
    }
    absl::StatusOr<CompileReply> reply = builder_.Build(request);
    // A failure may be the machine's, such as too little memory: it is tried again.
    const bool is_whole =
        reply.ok() &&
        std::all_of(reply->results.begin(), reply->results.end(), [](const CompileResult& result) {
          return std::holds_alternative<CompiledKernel>(result.outcome);
        });
    if (is_whole) files_->Put(key, burnish::Encode(reply));
    return reply;
  }

  void Cancel() override { builder_.Cancel(); }

 private:
  Builder& builder_;
  const FileCache* const files_;
  const std::string versions_;
};

}  // namespace

CompileCache::CompileCache(const std::string& folder) {
  if (folder.empty()) return;
  const absl::StatusOr<std::string> builder = FindProgram("worker/builder/builder");
  if (!builder.ok()) return;
  const std::string own_id = BuildIdOf("/proc/self/exe"), builder_id = BuildIdOf(*builder);
  if (own_id.empty() || builder_id.empty()) return;
  versions_ = absl::StrCat(own_id, "\n", builder_id, "\n");
  files_.emplace(folder, kBytesMax);
}

std::vector<DefaultChoice> CompileCache::Defaults(const Program& workload, const Target& target,
                                                  const std::optional<CalibrationRow>& calibration,
                                                  const SketchOptions& sketches,
                                                  const DefaultNeeds& needs) const {
  const auto make = [&] {
    return DefaultSchedules(workload, DeviceModelOf(target, calibration), sketches, needs);
  };
  if (!files_.has_value()) return make();
  const std::string key =
      absl::StrCat("defaults\n", versions_, target.ToText(), "\n", RatesText(calibration), "\n",
                   sketches.algorithms, sketches.prefetch, needs.by_form, "\n", needs.call_parts,
                   "\n", Print(workload));
  if (const std::optional<std::string> bytes = files_->Get(key); bytes.has_value()) {
    std::vector<DefaultChoice> choices = Decode(*bytes);
    if (!choices.empty()) return choices;
  }
  std::vector<DefaultChoice> choices = make();
  files_->Put(key, Encode(choices));
  return choices;
}

std::unique_ptr<Builder> CompileCache::Over(Builder& builder) const {
  return std::make_unique<CachedBuilder>(builder, files_.has_value() ? &*files_ : nullptr,
                                         versions_);
}

}  // namespace burnish
