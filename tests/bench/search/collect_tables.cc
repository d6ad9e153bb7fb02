#include "tests/bench/search/collect_tables.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "proto/measurement.h"

namespace burnish {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(200);
constexpr absl::Duration kReportEvery = absl::Milliseconds(500);
constexpr size_t kCodeDigits = 8;

// The least of the repeats: what else the machine does only adds, and a table is to say how points
// compare, not what one trial would have seen.
int64_t LeastNs(const Latencies& latencies) {
  int64_t least = 0;
  for (const ProcessLatencies& process : latencies.processes) {
    for (const int64_t ns : process.latency_ns) {
      if (least == 0 || ns < least) least = ns;
    }
  }
  return least;
}

struct Open {
  size_t task = 0;
  int64_t index = 0;  // Of the draw.
};

class Collection {
 public:
  Collection(const CollectOptions& options, std::vector<CollectedTask>& tasks)
      : options_(options),
        tasks_(tasks),
        rows_(tasks.size()),
        next_(tasks.size(), 0),
        wishes_(tasks.size()),
        incumbent_ns_(tasks.size(), 0) {
    for (size_t t = 0; t < tasks.size(); ++t) {
      for (TableRow& row : tasks[t].table.rows) {
        NoteBest(t, row);
        rows_[t].emplace(row.index, std::move(row));
      }
      count_max_ += static_cast<int64_t>(tasks[t].draw.points.size());
    }
  }

  absl::Status Run() {
    const absl::Status done = Loop();
    const absl::Status saved = Save();
    return done.ok() ? saved : done;
  }

 private:
  absl::Status Loop() {
    begun_ = last_answer_ = saved_ = options_.clock->SteadyNow();
    options_.measurer->AllResubmitted();
    while (true) {
      if (!repeating_ && Elapsed() > (1 - options_.repeat_share) * options_.time_max) {
        StartRepeating();
      }
      const bool time_is_up = Elapsed() >= options_.time_max;
      if (!time_is_up) RETURN_IF_ERROR(Fill());
      if (open_.empty()) return absl::OkStatus();
      std::vector<MeasureResult> results = options_.measurer->Collect(kPoll);
      for (MeasureResult& result : results) Take(result);
      if (!Report()) return absl::OkStatus();
      if (options_.clock->SteadyNow() - saved_ >= options_.save_every) RETURN_IF_ERROR(Save());
      if (!results.empty()) last_answer_ = options_.clock->SteadyNow();
      if (time_is_up && Elapsed() > options_.time_max + kTailMax) return absl::OkStatus();
      if (options_.clock->SteadyNow() - last_answer_ > options_.silence_max) {
        return absl::UnavailableError(absl::StrCat(
            "no measurement came for ", absl::FormatDuration(options_.silence_max), ": ",
            options_.measurer->health().message(), "; run the same command again to go on"));
      }
    }
  }

  // What is in flight when the time is up is waited for so long.
  static constexpr absl::Duration kTailMax = absl::Seconds(10);

  absl::Status Save() {
    saved_ = options_.clock->SteadyNow();
    for (size_t t = 0; t < tasks_.size(); ++t) {
      std::vector<TableRow>& rows = tasks_[t].table.rows;
      rows.clear();
      for (const auto& [index, row] : rows_[t]) rows.push_back(row);
    }
    return options_.save == nullptr ? absl::OkStatus() : options_.save();
  }

  absl::Duration Elapsed() const { return options_.clock->SteadyNow() - begun_; }

  absl::Status Fill() {
    std::vector<MeasureRequest> requests;
    while (static_cast<int>(open_.size()) < options_.in_flight_max) {
      const std::optional<Open> next = Next();
      if (!next.has_value()) break;
      const CollectedTask& task = tasks_[next->task];
      const std::string id =
          absl::StrCat(options_.session, "/", next->task, "/", next->index, "/", attempt_count_++);
      open_.emplace(id, *next);
      requests.push_back({.trial_id = id,
                          .task = task.measure,
                          .trace = task.draw.points[next->index].proposal.trace,
                          .incumbent_ns = incumbent_ns_[next->task]});
    }
    return requests.empty() ? absl::OkStatus() : options_.measurer->Submit(std::move(requests));
  }

  std::optional<Open> Next() {
    for (size_t tried = 0; tried < tasks_.size(); ++tried) {
      const size_t t = turn_++ % tasks_.size();
      const std::optional<int64_t> index = repeating_ ? NextRepeated(t) : NextNew(t);
      if (index.has_value()) return Open{t, *index};
    }
    if (repeating_ || !open_.empty()) return std::nullopt;
    // Every row is there.
    StartRepeating();
    return Next();
  }

  std::optional<int64_t> NextNew(size_t t) {
    const auto count = static_cast<int64_t>(tasks_[t].draw.points.size());
    while (next_[t] < count && rows_[t].contains(next_[t])) ++next_[t];
    if (next_[t] == count) return std::nullopt;
    return next_[t]++;
  }

  std::optional<int64_t> NextRepeated(size_t t) {
    if (wishes_[t].empty()) return std::nullopt;
    const int64_t index = wishes_[t].back();
    wishes_[t].pop_back();
    return index;
  }

  void StartRepeating() {
    repeating_ = true;
    for (size_t t = 0; t < tasks_.size(); ++t) {
      std::vector<std::pair<int64_t, int64_t>> fastest;  // Latency, index.
      for (const auto& [index, row] : rows_[t]) {
        if (row.rank_ns() > 0) fastest.emplace_back(row.rank_ns(), index);
      }
      std::sort(fastest.begin(), fastest.end());
      fastest.resize(std::min<size_t>(fastest.size(), options_.repeated_rows));
      // In passes over all of them: what the machine does meanwhile meets each of them alike.
      for (int pass = 1; pass < options_.measurements; ++pass) {
        for (const auto& [ns, index] : fastest) {
          const auto measured = static_cast<int>(rows_[t].at(index).latency_ns.size());
          if (measured + pass <= options_.measurements) wishes_[t].push_back(index);
        }
      }
    }
  }

  void Take(const MeasureResult& result) {
    const auto open = open_.find(result.trial_id);
    if (open == open_.end()) return;
    const auto [t, index] = open->second;
    open_.erase(open);
    options_.measurer->Acknowledge({&result.trial_id, 1});
    const Measurement& measurement = result.measurement;
    const Failure* failure = measurement.failure();
    // Nothing of it is the candidate's doing. A later run measures it.
    if (failure != nullptr && !CountsAsTrial(failure->kind)) return;
    ++measured_count_;
    const auto known = rows_[t].find(index);
    if (known != rows_[t].end()) {
      ++repeated_count_;
      // One that failed once and ran before keeps what it had: the row says what a trial would see.
      if (failure == nullptr) known->second.latency_ns.push_back(LeastNs(*measurement.latencies()));
      return;
    }
    const DrawnPoint& drawn = tasks_[t].draw.points[index];
    TableRow row{
        .index = index,
        .uniform = drawn.uniform,
        .sketch = drawn.proposal.sketch_index,
        .point = drawn.proposal.point,
        .estimate_ns = static_cast<int64_t>(drawn.estimate_seconds * 1e9),
        .code = absl::BytesToHexString(measurement.build.code_sha256).substr(0, kCodeDigits)};
    if (failure != nullptr) {
      row.failure = failure->kind;
    } else {
      row.latency_ns.push_back(LeastNs(*measurement.latencies()));
    }
    NoteBest(t, row);
    rows_[t].emplace(index, std::move(row));
  }

  void NoteBest(size_t t, const TableRow& row) {
    const int64_t ns = row.rank_ns();
    if (ns > 0 && (incumbent_ns_[t] == 0 || ns < incumbent_ns_[t])) incumbent_ns_[t] = ns;
  }

  bool Report() {
    const absl::Time now = options_.clock->SteadyNow();
    if (options_.on_progress == nullptr || now - reported_ < kReportEvery) return true;
    reported_ = now;
    CollectProgress progress{.row_count_max = count_max_,
                             .measured_count = measured_count_,
                             .repeated_count = repeated_count_,
                             .elapsed = Elapsed()};
    for (const auto& rows : rows_) progress.row_count += static_cast<int64_t>(rows.size());
    return options_.on_progress(progress);
  }

  const CollectOptions& options_;
  std::vector<CollectedTask>& tasks_;
  std::vector<std::map<int64_t, TableRow>> rows_;  // By task and index.
  std::vector<int64_t> next_;                      // Of each task: indices below were asked for.
  std::vector<std::vector<int64_t>> wishes_;       // Indices to measure again, the last one first.
  std::vector<int64_t> incumbent_ns_;
  std::map<std::string, Open> open_;  // By trial.
  size_t turn_ = 0;
  int64_t attempt_count_ = 0, measured_count_ = 0, repeated_count_ = 0, count_max_ = 0;
  bool repeating_ = false;
  absl::Time begun_, last_answer_, saved_, reported_ = absl::InfinitePast();
};

}  // namespace

absl::Status CollectTables(const CollectOptions& options, std::vector<CollectedTask>& tasks) {
  CHECK(options.measurer != nullptr && options.clock != nullptr);
  return Collection(options, tasks).Run();
}

}  // namespace burnish
