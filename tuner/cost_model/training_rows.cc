#include "tuner/cost_model/training_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "db/record_summary.h"
#include "proto/record.h"
#include "tuner/cost_model/features.h"

namespace burnish {
namespace {

constexpr char kMagic[] = "burnish rows 1";
constexpr uint64_t kTasksMax = 1 << 20, kTaskBytesMax = 1 << 16;

// As records are ranked; 0: it failed.
int64_t RankLatencyNs(const Measurement& measurement) {
  Record record;
  Summarize({&measurement, 1}, record);
  return record.successful() ? std::max<int64_t>(record.rank_ns, 1) : 0;
}

// Little-endian, as on every host that this runs on.
template <typename T>
void Append(const T* values, size_t count, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

void AppendNumber(uint64_t number, std::string& bytes) { Append(&number, 1, bytes); }

class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}

  absl::Status Expect(absl::string_view text) {
    if (bytes_.substr(0, text.size()) != text) return Malformed("the start");
    bytes_.remove_prefix(text.size());
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> Number(uint64_t limit) {
    std::vector<uint64_t> value;
    RETURN_IF_ERROR(Values(1, value));
    if (value[0] > limit) return Malformed("a number over its limit");
    return value[0];
  }

  absl::StatusOr<std::string> Text() {
    ASSIGN_OR_RETURN(const uint64_t size, Number(kTaskBytesMax));
    if (size > bytes_.size()) return Malformed("a text beyond the end");
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }

  template <typename T>
  absl::Status Values(uint64_t count, std::vector<T>& values) {
    if (count > bytes_.size() / sizeof(T)) return Malformed("values beyond the end");
    values.resize(count);
    if (count == 0) return absl::OkStatus();  // Whose addresses may be null.
    std::memcpy(values.data(), bytes_.data(), count * sizeof(T));
    bytes_.remove_prefix(count * sizeof(T));
    return absl::OkStatus();
  }

  size_t left() const { return bytes_.size(); }

  static absl::Status Malformed(absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("got ", what, ", want saved training rows"));
  }

 private:
  absl::string_view bytes_;
};

}  // namespace

void TrainingRows::Add(absl::string_view task, const FeatureMatrix& features,
                       absl::Span<const Measurement> results) {
  CHECK_EQ(features.columns(), features_.columns());
  CHECK_EQ(static_cast<size_t>(features.rows()), results.size());
  if (results.empty()) return;
  auto it = std::find(tasks_.begin(), tasks_.end(), task);
  if (it == tasks_.end()) it = tasks_.insert(it, std::string(task));
  for (int i = 0; i < features.rows(); ++i) {
    task_of_.push_back(static_cast<int32_t>(it - tasks_.begin()));
    latency_ns_.push_back(RankLatencyNs(results[i]));
    features_.AddRow(features.row(i));
  }
}

std::vector<double> TrainingRows::LogSlowdowns() const {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<double> best(tasks_.size(), kNone), slowest(tasks_.size(), 0);
  for (int i = 0; i < count(); ++i) {
    if (latency_ns_[i] == 0) continue;
    const double log_ns = std::log(static_cast<double>(latency_ns_[i]));
    double& least = best[task_of_[i]];
    least = std::min(least, log_ns);
  }
  std::vector<double> slowdowns(count(), 0);
  for (int i = 0; i < count(); ++i) {
    if (latency_ns_[i] == 0) continue;
    slowdowns[i] = std::min(std::log(static_cast<double>(latency_ns_[i])) - best[task_of_[i]],
                            std::log(kWorst));
    double& most = slowest[task_of_[i]];
    most = std::max(most, slowdowns[i]);
  }
  for (int i = 0; i < count(); ++i) {
    if (latency_ns_[i] == 0) slowdowns[i] = slowest[task_of_[i]] + std::log(kFailure);
  }
  return slowdowns;
}

std::vector<double> TrainingRows::RelativeToTask(const std::vector<double>& values) const {
  CHECK_EQ(values.size(), static_cast<size_t>(count()));
  std::vector<double> least(tasks_.size(), std::numeric_limits<double>::infinity());
  for (int i = 0; i < count(); ++i) least[task_of_[i]] = std::min(least[task_of_[i]], values[i]);
  std::vector<double> relative(values);
  for (int i = 0; i < count(); ++i) relative[i] -= least[task_of_[i]];
  return relative;
}

std::string TrainingRows::Save() const {
  std::string bytes = kMagic;
  AppendNumber(kFeatureVersion, bytes);
  AppendNumber(static_cast<uint64_t>(features_.columns()), bytes);
  AppendNumber(tasks_.size(), bytes);
  for (const std::string& task : tasks_) {
    AppendNumber(task.size(), bytes);
    bytes += task;
  }
  AppendNumber(static_cast<uint64_t>(count()), bytes);
  Append(task_of_.data(), task_of_.size(), bytes);
  Append(latency_ns_.data(), latency_ns_.size(), bytes);
  Append(features_.values().data(), features_.values().size(), bytes);
  return bytes;
}

absl::StatusOr<TrainingRows> TrainingRows::Load(absl::string_view bytes, int columns) {
  Reader reader(bytes);
  RETURN_IF_ERROR(reader.Expect(kMagic));
  ASSIGN_OR_RETURN(const uint64_t version, reader.Number(kFeatureVersion));
  if (version != kFeatureVersion) return Reader::Malformed("rows of older features");
  ASSIGN_OR_RETURN(const uint64_t width, reader.Number(static_cast<uint64_t>(columns)));
  if (width != static_cast<uint64_t>(columns)) return Reader::Malformed("other columns");
  TrainingRows rows(columns);
  ASSIGN_OR_RETURN(const uint64_t task_count, reader.Number(kTasksMax));
  for (uint64_t i = 0; i < task_count; ++i) {
    ASSIGN_OR_RETURN(rows.tasks_.emplace_back(), reader.Text());
  }
  ASSIGN_OR_RETURN(const uint64_t count, reader.Number(bytes.size()));
  RETURN_IF_ERROR(reader.Values(count, rows.task_of_));
  RETURN_IF_ERROR(reader.Values(count, rows.latency_ns_));
  std::vector<float> values;
  RETURN_IF_ERROR(reader.Values(count * width, values));
  if (reader.left() != 0) return Reader::Malformed("bytes after the end");
  for (uint64_t i = 0; i < count; ++i) {
    if (rows.task_of_[i] < 0 || static_cast<uint64_t>(rows.task_of_[i]) >= task_count ||
        rows.latency_ns_[i] < 0) {
      return Reader::Malformed("a row of no task, or a negative latency");
    }
    rows.features_.AddRow(absl::MakeConstSpan(values).subspan(i * width, width));
  }
  return rows;
}

}  // namespace burnish
