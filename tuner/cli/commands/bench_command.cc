// tuner bench: how fast a bundle is, whole and operator by operator.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "compiler/runtime/benchmark.h"
#include "compiler/target/device_model.h"
#include "proto/calibrated.h"
#include "tuner/app/bundle_session.h"
#include "tuner/app/device_peak.h"
#include "tuner/app/error.h"
#include "tuner/app/output_file.h"
#include "tuner/app/target_text.h"
#include "tuner/app/throughput.h"
#include "tuner/app/turns.h"
#include "tuner/app/value_text.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/engine_peer.h"
#include "tuner/cli/format.h"
#include "tuner/cli/profile_html.h"
#include "tuner/cli/run_flags.h"
#include "tuner/cli/tensor_files.h"
#include "tuner/cli/turns_report.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kProfileRuns = 30;

// Of this machine, on the session's threads, by the type that is read: sums of bytes leave as i32,
// or as floats. With a load for each multiply-add, as kernels have them.
struct Peaks {
  double f32_flops = 0, f64_flops = 0, f16_flops = 0, bf16_flops = 0;
  double int8_flops = 0;  // Of i8 and u8.
  double read_bytes = 0;
  bool measured = false;  // Else by the microarchitecture's table.

  // 0: no unit multiplies it.
  double FlopsOf(ElementType type) const {
    switch (type) {
      case ElementType::kF32:
        return f32_flops;
      case ElementType::kF64:
        return f64_flops;
      case ElementType::kF16:
        return f16_flops;
      case ElementType::kBf16:
        return bf16_flops;
      case ElementType::kI8:
      case ElementType::kU8:
        return int8_flops;
      default:
        return 0;
    }
  }
};

// What step `i` reads what it works on as. Bundles that are all f32, or that were made before they
// said it, do not say.
ElementType TypeOfStep(const BundleManifest& manifest, size_t i) {
  const std::vector<ElementType>& types = manifest.notes.step_types;
  if (!types.empty()) return types[i];
  const std::vector<StepOutput>& outputs = manifest.steps[i].outputs;
  const bool is_float = !outputs.empty() && IsFloat(outputs.front().tensor.type);
  return is_float ? outputs.front().tensor.type : ElementType::kF32;
}

absl::StatusOr<Peaks> PeaksHere(Context& context, int threads) {
  ASSIGN_OR_RETURN(const Target host, ResolveTarget("host", 0));
  ASSIGN_OR_RETURN(const std::optional<CalibrationRow> row,
                   context.ResolveRow(host, /*tracker=*/""));
  const DeviceModel device = DeviceModelOf(host, row);
  const auto peak = [&](NumberType type) {
    return PeakFlopsReading(device, type, threads, /*loads_per_operation=*/1);
  };
  return Peaks{.f32_flops = peak(NumberType::kF32),
               .f64_flops = peak(NumberType::kF64),
               .f16_flops = peak(NumberType::kF16),
               .bf16_flops = peak(NumberType::kBf16),
               .int8_flops = peak(NumberType::kU8),
               .read_bytes = PeakReadBytes(device, threads),
               .measured = row.has_value()};
}

std::vector<ProfileRow> MakeRows(const BundleManifest& manifest,
                                 const std::vector<int64_t>& step_ns, const Peaks& peaks) {
  std::vector<ProfileRow> rows;
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    const auto& step = manifest.steps[i];
    const double ns = static_cast<double>(std::max<int64_t>(step_ns[i], 1));
    const ElementType type = TypeOfStep(manifest, i);
    const double flops = peaks.FlopsOf(type);
    const RooflineBound bound =
        Roofline(flops, peaks.read_bytes, step.flop_count, step.moved_bytes);
    ProfileRow row{.name = step.name,
                   .origin = step.schedule_origin,
                   .type = ElementTypeName(type),
                   .ns = ns,
                   .gflops = static_cast<double>(step.flop_count) / ns,
                   .moved_bytes = step.moved_bytes,
                   .bound_ns = bound.ns,
                   .bound_by_memory = bound.by_memory};
    if (flops > 0) row.peak_share = row.gflops * 1e9 / flops;
    rows.push_back(row);
  }
  return rows;
}

std::string ProfileText(const std::vector<ProfileRow>& rows, int columns) {
  double total_ns = 0;
  for (const ProfileRow& row : rows) total_ns += row.ns;
  TextTable table({{"step"},
                   {"reads"},
                   {"time", TextTable::kRight},
                   {"share", TextTable::kRight},
                   {"GFLOP/s", TextTable::kRight},
                   {"of peak", TextTable::kRight},
                   {"moved", TextTable::kRight},
                   {"of bound", TextTable::kRight},
                   {"bound by"},
                   {"schedule"}});
  for (const ProfileRow& row : rows) {
    table.AddRow({row.name, row.type, FormatNs(row.ns),
                  absl::StrFormat("%.1f %%", 100 * row.ns / total_ns),
                  absl::StrFormat("%.1f", row.gflops),
                  row.peak_share > 0 ? absl::StrFormat("%.0f %%", 100 * row.peak_share) : "-",
                  FormatBytes(static_cast<double>(row.moved_bytes)),
                  row.bound_ns > 0 ? absl::StrFormat("%.0f %%", 100 * row.bound_ns / row.ns) : "-",
                  row.bound_ns == 0     ? "-"
                  : row.bound_by_memory ? "memory"
                                        : "compute",
                  row.origin});
  }
  return table.ToText(columns);
}

Json ProfileJson(const std::vector<ProfileRow>& rows) {
  Json steps = Json::array();
  for (const ProfileRow& row : rows) {
    steps.push_back({{"name", row.name},
                     {"schedule", row.origin},
                     {"type", row.type},
                     {"time_us", row.ns * 1e-3},
                     {"gflops", row.gflops},
                     {"peak_share", row.peak_share},
                     {"moved_bytes", row.moved_bytes},
                     {"bound_us", row.bound_ns * 1e-3},
                     {"bound_by", row.bound_by_memory ? "memory" : "compute"}});
  }
  return steps;
}

class BenchCommand : public Command {
 public:
  std::string name() const override { return "bench"; }
  std::string summary() const override { return "times a bundle on this machine"; }
  std::string example() const override {
    return "tuner bench resnet50.bundle --seconds 5 --profile\n"
           "tuner bench mine.bundle --against onnxruntime --model mine.onnx\n"
           "tuner bench mine.bundle --sessions 4 --threads 1";
  }
  void AddOptions(CommandOptions& options) override {
    options.Positional("FILE", &file_, true, "the bundle");
    options.Group("How to run");
    flags_.Add(options);
    options.Value("--sessions", "N", &sessions_, 1, 1024,
                  "runs of so many at the same time, each on threads of its own");
    options.Value("--seconds", "S", &seconds_, 0.01, 3600.0, "how long to run it");
    options.Group("Output");
    options.Flag("--profile", &profile_, "each operator's time, share of peak and bound");
    options.Value("--profile-html", "FILE", &html_, "write the profile as a page");
    options.Group("Inputs");
    options.Values("--input", "NAME=FILE", &inputs_, "an input's values; else random ones");
    options.Values("--value", "NAME=16000", &values_,
                   "an input's values; of --against, also one that the bundle has fixed");
    AddSizeFlag(options, &sizes_);
    options.Group("In turn with another");
    options.Choice("--against", &against_, {"onnxruntime", "openvino", "torch"},
                   "time it in turn with");
    options.Value("--model", "FILE", &model_,
                  "of --against: what the bundle was made of: an ONNX file, of torch a .pt2");
    options.Value("--rounds", "N", &rounds_, 1, 1000, "of --against: turns of each");
    options.Setting("python");
    options.Group("Output");
    options.Setting("calibration");
    options.OnlyWith("--rounds", {"--against"});
    options.OnlyWith("--python", {"--against"});
    options.OnlyWith("--calibration", {"--profile", "--profile-html"});
    options.Json();
  }

  absl::Status Run(Context& context) override {
    ASSIGN_OR_RETURN(const SessionOptions session_options, flags_.Take());
    if (sessions_ > 1) return RunSessions(context, session_options);
    ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, OpenBundle(file_, session_options));
    const bool is_against = !against_.empty() || !model_.empty();
    ASSIGN_OR_RETURN(const GivenValues values,
                     ParseValues(values_, session->manifest(), /*may_be_others=*/is_against));
    ASSIGN_OR_RETURN(std::vector<NpyArray> inputs,
                     GivenOrRandomInputs(session->manifest(),
                                         {.files = inputs_, .sizes = sizes_, .values = values}));
    RETURN_IF_ERROR(SetInputs(*session, inputs));
    if (is_against) return RunAgainst(context, *session, std::move(inputs), values);
    const RuntimeOr<LatencySummary> summary = Benchmark(*session, seconds_);
    RETURN_IF_ERROR(RunError(ToStatus(summary.status()), file_));
    const BundleManifest& manifest = session->manifest();
    Json json = {{"schema", 1},
                 {"model", manifest.model_name},
                 {"threads", session->pool()->thread_count()},
                 {"runs", summary->run_count},
                 {"min_ms", summary->min_ns * 1e-6},
                 {"median_ms", summary->median_ns * 1e-6},
                 {"p90_ms", summary->p90_ns * 1e-6},
                 {"p99_ms", summary->p99_ns * 1e-6},
                 {"mean_ms", summary->mean_ns * 1e-6}};
    std::string text =
        absl::StrFormat("%s, %d threads, %d runs\nmin %s  median %s  p90 %s  p99 %s  mean %s\n",
                        manifest.model_name, session->pool()->thread_count(), summary->run_count,
                        FormatNs(static_cast<double>(summary->min_ns)),
                        FormatNs(static_cast<double>(summary->median_ns)),
                        FormatNs(static_cast<double>(summary->p90_ns)),
                        FormatNs(static_cast<double>(summary->p99_ns)), FormatNs(summary->mean_ns));
    if (profile_ || !html_.empty()) {
      ASSIGN_OR_RETURN(const Peaks peaks, PeaksHere(context, session->pool()->thread_count()));
      const RuntimeOr<std::vector<int64_t>> step_ns = ProfileSteps(*session, kProfileRuns);
      RETURN_IF_ERROR(WithError(ToStatus(step_ns.status()), ErrorCode::kRunFailed, file_));
      const std::vector<ProfileRow> rows = MakeRows(manifest, *step_ns, peaks);
      json["peak_gflops"] = peaks.f32_flops * 1e-9;
      json["peak_gflops_f64"] = peaks.f64_flops * 1e-9;
      json["peak_gflops_bf16"] = peaks.bf16_flops * 1e-9;
      json["peak_gflops_int8"] = peaks.int8_flops * 1e-9;
      json["read_gb_per_s"] = peaks.read_bytes * 1e-9;
      json["peaks_measured"] = peaks.measured;
      json["steps"] = ProfileJson(rows);
      absl::StrAppendFormat(
          &text,
          "peak %.0f GFLOP/s of f32, %.0f of f64, %.0f of bf16, %.0f of int8; memory %.0f GB/s\n"
          "by %s\n\n%s",
          peaks.f32_flops * 1e-9, peaks.f64_flops * 1e-9, peaks.bf16_flops * 1e-9,
          peaks.int8_flops * 1e-9, peaks.read_bytes * 1e-9,
          peaks.measured ? "this machine's calibration row" : "the microarchitecture's table",
          ProfileText(rows, context.table_columns()));
      if (!html_.empty()) {
        RETURN_IF_ERROR(WriteOutput(html_, ProfileHtml(manifest.model_name, rows)));
      }
    }
    context.out() << (context.json() ? json.dump() + "\n" : text);
    return absl::OkStatus();
  }

 private:
  absl::Status RunSessions(Context& context, const SessionOptions& options) {
    if (!against_.empty() || !model_.empty() || profile_ || !html_.empty()) {
      return MakeError(ErrorCode::kUsage, "--sessions is for a bundle's own throughput",
                       "tuner bench", "leave out --sessions, or --against and --profile");
    }
    ASSIGN_OR_RETURN(const std::vector<std::unique_ptr<Session>> sessions,
                     OpenSideBySide(file_, static_cast<int>(sessions_), options));
    const BundleManifest& manifest = sessions.front()->manifest();
    ASSIGN_OR_RETURN(const GivenValues values,
                     ParseValues(values_, manifest, /*may_be_others=*/false));
    ASSIGN_OR_RETURN(
        const std::vector<NpyArray> inputs,
        GivenOrRandomInputs(manifest, {.files = inputs_, .sizes = sizes_, .values = values}));
    for (const auto& session : sessions) RETURN_IF_ERROR(SetInputs(*session, inputs));
    const absl::StatusOr<Throughput> measured =
        MeasureThroughput(sessions, absl::Seconds(seconds_));
    RETURN_IF_ERROR(RunError(measured.status(), file_));
    const LatencySummary& latency = measured->latency;
    const int threads = sessions.front()->pool()->thread_count();
    const Json json = {{"schema", 1},
                       {"model", manifest.model_name},
                       {"sessions", sessions_},
                       {"threads", threads},
                       {"runs", latency.run_count},
                       {"runs_per_second", measured->runs_per_second},
                       {"min_ms", latency.min_ns * 1e-6},
                       {"median_ms", latency.median_ns * 1e-6},
                       {"p90_ms", latency.p90_ns * 1e-6},
                       {"p99_ms", latency.p99_ns * 1e-6},
                       {"mean_ms", latency.mean_ns * 1e-6}};
    TextTable table({{"sessions", TextTable::kRight},
                     {"threads each", TextTable::kRight},
                     {"runs/s", TextTable::kRight},
                     {"min", TextTable::kRight},
                     {"median", TextTable::kRight},
                     {"p90", TextTable::kRight},
                     {"p99", TextTable::kRight}});
    const auto time = [](int64_t ns) { return FormatNs(static_cast<double>(ns)); };
    table.AddRow({absl::StrCat(sessions_), absl::StrCat(threads),
                  absl::StrFormat("%.1f", measured->runs_per_second), time(latency.min_ns),
                  time(latency.median_ns), time(latency.p90_ns), time(latency.p99_ns)});
    context.out() << (context.json() ? json.dump() + "\n"
                                     : absl::StrFormat("%s, %d runs, at the same time\n%s",
                                                       manifest.model_name, latency.run_count,
                                                       table.ToText(context.table_columns())));
    return absl::OkStatus();
  }

  // Both with the same inputs, number of threads and CPUs, each as its users call it.
  absl::Status RunAgainst(Context& context, Session& session, std::vector<NpyArray> inputs,
                          const GivenValues& values) {
    if (against_.empty() || model_.empty() || profile_ || !html_.empty()) {
      return MakeError(ErrorCode::kUsage, "--against wants --model, and no --profile",
                       "tuner bench", "tuner bench FILE --against onnxruntime --model FILE.onnx");
    }
    if (access(model_.c_str(), R_OK) != 0) {
      return WithError(absl::ErrnoToStatus(errno, "cannot read the model"),
                       errno == ENOENT ? ErrorCode::kNoInputFile : ErrorCode::kInputPermission,
                       model_);
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<EnginePeer> peer,
                     EnginePeer::Start({.engine = against_,
                                        .python = context.settings().Get("python"),
                                        .model = model_,
                                        .threads = session.pool()->thread_count(),
                                        .fixed = values.others},
                                       session.manifest(), std::move(inputs)));
    ASSIGN_OR_RETURN(const TurnsReport report,
                     ReportTurns(session, file_,
                                 {.name = absl::StrCat(peer->name(), " ", peer->version()),
                                  .turn = [&](absl::Duration d) { return peer->Turn(d); },
                                  .outputs = peer->outputs()},
                                 seconds_, static_cast<int>(rounds_)));
    Json json = report.json;
    json["against"] = {{"engine", against_},
                       {"version", peer->version()},
                       {"model", model_},
                       {"median_ms", report.times.second_ns * 1e-6}};
    context.out() << (context.json() ? json.dump() + "\n" : report.text);
    if (!report.warning.empty()) context.Note(report.warning);
    return absl::OkStatus();
  }

  std::string file_, html_, against_, model_;
  std::vector<std::string> inputs_, values_, sizes_;
  RunFlags flags_;
  int64_t sessions_ = 1;
  int64_t rounds_ = kRoundsDefault;
  double seconds_ = 2;
  bool profile_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeBenchCommand() { return std::make_unique<BenchCommand>(); }

}  // namespace burnish
