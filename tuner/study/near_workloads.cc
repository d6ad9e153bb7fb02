#include "tuner/study/near_workloads.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

// Takes the text apart into names, hexadecimal floats, whole numbers and single characters.
class Tokens {
 public:
  explicit Tokens(absl::string_view text) : left_(text) {}

  // Empty: the end.
  absl::string_view Next() {
    if (left_.empty()) return left_;
    size_t length = 1;
    if (IsWord(left_[0])) {
      while (length < left_.size() && (IsWord(left_[length]) || IsExponentSign(length))) ++length;
    }
    const absl::string_view token = left_.substr(0, length);
    left_.remove_prefix(length);
    return token;
  }

 private:
  static bool IsWord(char c) { return absl::ascii_isalnum(c) || c == '.' || c == '$' || c == '_'; }
  // 0x1.8p+3
  bool IsExponentSign(size_t at) const {
    return left_.substr(0, 2) == "0x" && left_[at - 1] == 'p' &&
           (left_[at] == '+' || left_[at] == '-');
  }

  absl::string_view left_;
};

// As a double: texts are no longer than what fits, and ratios need no more.
std::optional<double> WholeNumber(absl::string_view token) {
  double value = 0;
  for (const char c : token) {
    if (!absl::ascii_isdigit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

double ShapeDistance(absl::string_view a, absl::string_view b) {
  Tokens of_a(a), of_b(b);
  double distance = 0;
  while (true) {
    const absl::string_view x = of_a.Next(), y = of_b.Next();
    if (x.empty() || y.empty()) return x.empty() && y.empty() ? distance : -1;
    if (x == y) continue;
    const std::optional<double> m = WholeNumber(x), n = WholeNumber(y);
    if (!m.has_value() || !n.has_value()) return -1;
    // One more of each, so that an offset of zero has a ratio.
    distance += std::abs(std::log2((*m + 1) / (*n + 1)));
  }
}

absl::StatusOr<std::vector<std::string>> NearWorkloads(const RecordStore& records,
                                                       const Workload& workload,
                                                       const Target& target) {
  std::vector<std::pair<double, std::string>> near;
  ASSIGN_OR_RETURN(const std::vector<TaskKey> tasks, records.ListTasks());
  for (const TaskKey& task : tasks) {
    if (task.target != target.ToText() || task.workload_id == workload.id) continue;
    ASSIGN_OR_RETURN(const std::optional<Workload> other, records.FindWorkload(task.workload_id));
    if (!other.has_value()) continue;
    const double distance = ShapeDistance(workload.text, other->text);
    if (distance >= 0) near.emplace_back(distance, task.workload_id);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> ids;
  for (auto& [distance, id] : near) ids.push_back(std::move(id));
  return ids;
}

}  // namespace burnish
