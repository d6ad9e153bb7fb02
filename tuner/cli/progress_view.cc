#include "tuner/cli/progress_view.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tuner/cli/format.h"
#include "tuner/cli/progress_line.h"

namespace burnish {
namespace {

constexpr absl::Duration kDrawInterval = absl::Milliseconds(200);
constexpr absl::Duration kLineInterval = absl::Seconds(5);
constexpr int kBarColumns = 24;
constexpr size_t kTasksShown = 8;

// For the model: weight times latency, 0 where nothing was measured.
double CostNs(const TaskStatus& task) {
  const int64_t ns = task.best.latency_ns > 0 ? task.best.latency_ns : task.default_ns;
  return task.weight * static_cast<double>(ns);
}

std::string Gflops(int64_t flop_count, int64_t ns) {
  if (ns <= 0 || flop_count <= 0) return "-";
  return absl::StrFormat("%.1f", static_cast<double>(flop_count) / static_cast<double>(ns));
}

std::string Latency(int64_t ns) { return ns > 0 ? FormatNs(static_cast<double>(ns)) : "-"; }

// Of a task: only what was measured in turn. Times of different processes are no gain.
std::string Gain(const RefineProgress& refine, size_t task) {
  if (task >= refine.task_gains.size() || refine.task_gains[task] <= 0) return "-";
  return absl::StrFormat("%.2fx", refine.task_gains[task]);
}

std::string Bar(double share, int columns) {
  const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * columns);
  return absl::StrCat("[", std::string(full, '#'), std::string(columns - full, '.'), "] ");
}

const char* OriginName(BestOrigin origin) {
  switch (origin) {
    case BestOrigin::kNone:
      return "-";
    case BestOrigin::kDefault:
      return "default";
    case BestOrigin::kHistory:
      return "history";
    case BestOrigin::kTrial:
      return "trial";
  }
  return "?";
}

}  // namespace

std::string ProgressText(const StudyProgress& progress, double trials_per_second, int bar_columns) {
  std::string line;
  const bool bounded = progress.trials_max > 0;
  const int64_t left = std::max<int64_t>(0, progress.trials_max - progress.trial_count);
  if (bounded && bar_columns > 0) {
    line = Bar(static_cast<double>(progress.trial_count) / static_cast<double>(progress.trials_max),
               bar_columns);
  }
  absl::StrAppend(&line, progress.trial_count,
                  bounded ? absl::StrCat("/", progress.trials_max) : "", " trials");
  if (trials_per_second > 0) absl::StrAppend(&line, absl::StrFormat(", %.1f/s", trials_per_second));
  double model_ns = 0;
  size_t known = 0;
  for (const TaskStatus& task : progress.tasks) {
    model_ns += CostNs(task);
    known += CostNs(task) > 0 ? 1 : 0;
  }
  // A sum over a part of the model would mislead.
  if (known == progress.tasks.size()) {
    absl::StrAppend(&line, ", sum ", FormatNs(model_ns));
  } else {
    absl::StrAppend(&line, ", default schedules measured: ", known, " of ", progress.tasks.size());
  }
  std::vector<std::string> failures;
  for (const auto& [kind, count] : progress.failure_counts) {
    failures.push_back(absl::StrCat(count, " ", FailureKindName(kind)));
  }
  if (!failures.empty()) absl::StrAppend(&line, ", failed: ", absl::StrJoin(failures, ", "));
  if (progress.refine.process_count_max > 0) {
    // The process that runs, not those that have.
    const int process =
        std::min(progress.refine.process_count + 1, progress.refine.process_count_max);
    absl::StrAppend(&line, ", refine ", process, "/", progress.refine.process_count_max);
  }
  if (bounded && trials_per_second > 0 && left > 0) {
    absl::StrAppend(&line, ", ETA ",
                    FormatPeriod(absl::Seconds(static_cast<double>(left) / trials_per_second)));
  }
  for (const PausedWorker& worker : progress.paused) {
    absl::StrAppend(&line, ", paused: ", worker.worker_id);
  }
  if (!progress.health.ok()) {
    absl::StrAppend(&line, ", waiting: ", std::string(progress.health.message()));
  }
  return line;
}

std::vector<std::string> ProgressTasks(const StudyProgress& progress,
                                       const std::vector<int64_t>& flop_counts, size_t limit,
                                       int columns) {
  std::vector<size_t> order(progress.tasks.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const double cost_a = CostNs(progress.tasks[a]), cost_b = CostNs(progress.tasks[b]);
    return cost_a != cost_b ? cost_a > cost_b : a < b;
  });
  order.resize(std::min(order.size(), limit));
  // Of the numbers behind a name, below; and a name that is shorter than this says too little.
  constexpr int kNumbersColumns = 67, kNameColumnsMin = 36;
  size_t name_columns = 0;
  for (const size_t i : order) name_columns = std::max(name_columns, progress.tasks[i].name.size());
  name_columns =
      std::min<size_t>(name_columns, std::max(kNameColumnsMin, columns - 1 - kNumbersColumns));
  std::vector<std::string> lines;
  for (const size_t i : order) {
    const TaskStatus& task = progress.tasks[i];
    lines.push_back(absl::StrFormat(
        "  %-*s x%-3g %10s %8s GFLOP/s  default %10s  %d trials", static_cast<int>(name_columns),
        task.name.substr(0, name_columns), task.weight, Latency(task.best.latency_ns),
        Gflops(flop_counts[i], task.best.latency_ns), Latency(task.default_ns), task.trial_count));
  }
  return lines;
}

std::string NoGainText(const StudyProgress& progress) {
  const std::vector<double>& gains = progress.refine.task_gains;
  const bool is_known =
      gains.size() == progress.tasks.size() &&
      std::all_of(gains.begin(), gains.end(), [](double gain) { return gain > 0; });
  if (is_known || !progress.refine.error.empty()) return "";
  return "gain -: not measured in turn with the default schedule: that fails, --no-default or "
         "--refine off leave it out, or the study had no trial or no time for it";
}

std::string RefineText(const RefineProgress& refine) {
  if (!refine.error.empty()) {
    return absl::StrCat(
        refine.gains_only ? "the gain was not measured: " : "not refined, the best alone stand: ",
        refine.error);
  }
  // Of the set of default schedules there is nothing to say but what the whole took.
  if (refine.process_count == 0 || refine.defaults_taken || refine.gains_only) return "";
  if (refine.changed_count == 0) {
    return "refine: inside the model nobody is faster than the best alone";
  }
  return absl::StrFormat("refine: %d tasks have another best inside the model, %.1f %% of it",
                         refine.changed_count, 100 * refine.gain);
}

std::string TimesText(const StudyTimes& times) {
  const auto s = [](absl::Duration time) {
    return absl::StrFormat("%.1f s", absl::ToDoubleSeconds(time));
  };
  return absl::StrCat("time: search ", s(times.search), ", waiting for results ", s(times.wait),
                      ", inside the model ", s(times.refine), "\nworkers, side by side: build ",
                      s(times.build), ", check ", s(times.check), ", run ", s(times.run),
                      ", waiting for the CPUs ", s(times.queue));
}

std::string ResultTable(const StudyProgress& progress, const std::vector<int64_t>& flop_counts,
                        int columns, bool color) {
  TextTable table({{"task"},
                   {"weight", TextTable::kRight},
                   {"default", TextTable::kRight},
                   {"best", TextTable::kRight},
                   {"gain", TextTable::kRight},
                   {"GFLOP/s", TextTable::kRight},
                   {"trials", TextTable::kRight},
                   {"from"}});
  constexpr size_t kGainColumn = 4;
  double default_sum = 0, best_sum = 0;
  bool complete = true;
  for (size_t i = 0; i < progress.tasks.size(); ++i) {
    const TaskStatus& task = progress.tasks[i];
    complete = complete && task.default_ns > 0 && task.best.latency_ns > 0;
    default_sum += task.weight * static_cast<double>(task.default_ns);
    best_sum += task.weight * static_cast<double>(task.best.latency_ns);
    table.AddRow(
        {task.name, absl::StrFormat("%g", task.weight), Latency(task.default_ns),
         Latency(task.best.latency_ns), Gain(progress.refine, i),
         Gflops(flop_counts[i], task.best.latency_ns), absl::StrCat(task.trial_count),
         absl::StrCat(OriginName(task.best.origin), task.best.refined ? ", refined" : "")});
    if (i < progress.refine.task_gains.size() && progress.refine.task_gains[i] > 0) {
      table.SetColor(kGainColumn, ColorOfGain(progress.refine.task_gains[i]));
    }
  }
  if (complete) {
    const double ratio = progress.refine.network_ratio;
    table.AddRow({"sum", "", FormatNs(default_sum), FormatNs(best_sum),
                  ratio > 0 ? absl::StrFormat("%.2fx", 1 / ratio) : "-", "",
                  absl::StrCat(progress.trial_count), ""});
    if (ratio > 0) table.SetColor(kGainColumn, ColorOfGain(1 / ratio));
  }
  return table.ToText(columns, color);
}

void ProgressView::Update(const StudyProgress& progress) {
  if (context_.quiet()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const absl::Time now = context_.clock().SteadyNow();
  if (started_ == absl::InfinitePast()) {
    started_ = now;
    trials_before_ = progress.trial_count;
  }
  if (now - last_ < (context_.err_is_terminal() ? kDrawInterval : kLineInterval)) return;
  last_ = now;
  const double seconds = absl::ToDoubleSeconds(now - started_);
  const double rate =
      seconds > 1 ? static_cast<double>(progress.trial_count - trials_before_) / seconds : 0;
  if (context_.err_is_terminal()) {
    Draw(progress, rate);
  } else {
    context_.err() << ProgressText(progress, rate, /*bar_columns=*/0) << "\n" << std::flush;
  }
}

void ProgressView::Draw(const StudyProgress& progress, double rate) {
  lines_ = {ProgressText(progress, rate, kBarColumns)};
  for (std::string& line : ProgressTasks(progress, flop_counts_, kTasksShown, context_.columns())) {
    lines_.push_back(std::move(line));
  }
  context_.err() << Redraw(lines_, context_.columns(), drawn_) << std::flush;
}

void ProgressView::Say(absl::string_view text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!lines_.empty()) context_.err() << Redraw({}, context_.columns(), drawn_);
  context_.Note(text);
  if (!lines_.empty()) context_.err() << Redraw(lines_, context_.columns(), drawn_) << std::flush;
}

void ProgressView::Finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  lines_.clear();
  drawn_.clear();
}

}  // namespace burnish
