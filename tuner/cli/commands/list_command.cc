// tuner list: all studies of a database.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/format.h"
#include "tuner/cli/open_studies.h"
#include "tuner/study/gain_text.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

class ListCommand : public Command {
 public:
  std::string name() const override { return "list"; }
  std::string summary() const override { return "lists studies, newest first"; }
  std::string example() const override { return "tuner list --state interrupted"; }
  void AddOptions(CommandOptions& options) override {
    options.Choice("--state", &state_,
                   {"queued", "running", "interrupted", "done", "failed", "cancelled", "parked"},
                   "only those in this state");
    options.Value("--limit", "N", &limit_, 1, 10000, "how many at most");
    options.Setting("server");
    options.Setting("db");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    ASSIGN_OR_RETURN(OpenedStudies studies, OpenedStudies::Open(context, DatabaseAccess::kRead));
    StudyQuery query{.limit = static_cast<int>(limit_)};
    for (int number = 1; number <= kStudyStateCount; ++number) {
      const auto state = static_cast<StudyState>(number);
      if (state_ == StudyStateName(state)) query.state = state;
    }
    ASSIGN_OR_RETURN(const std::vector<StudySummary> found, studies->List(query));
    Json json = {{"schema", 1}, {"studies", Json::array()}};
    TextTable table({{.title = "study", .is_id = true},
                     {"of"},
                     {"state"},
                     {"trials", TextTable::kRight},
                     {"best", TextTable::kRight},
                     {"gain", TextTable::kRight},
                     {"age", TextTable::kRight},
                     {"owner"},
                     {"", TextTable::kLeft, /*wraps=*/true}});
    const absl::Time now = context.clock().WallNow();
    for (const StudySummary& summary : found) {
      // One that cannot be read is listed with why, and hides no other.
      const absl::StatusOr<StudyView> view = studies->Get(summary.study.id);
      json["studies"].push_back(ToJson(summary, view));
      AddRow(summary, view, now, table);
    }
    context.out() << (context.json()
                          ? json.dump() + "\n"
                          : table.ToText(context.table_columns(), context.table_color()));
    return absl::OkStatus();
  }

 private:
  // What its tasks together take, and what tuning was worth, where they are known.
  struct Worth {
    std::optional<double> best_ns, gain;
  };
  static Worth WorthOf(const StudySummary& summary, const absl::StatusOr<StudyView>& view) {
    return {.best_ns = view.ok() ? view->model_ns() : std::nullopt,
            .gain = GainIn(summary.study.detail)};
  }

  static Json ToJson(const StudySummary& summary, const absl::StatusOr<StudyView>& view) {
    const auto [best_ns, gain] = WorthOf(summary, view);
    const Study& study = summary.study;
    return {{"study", study.id},
            {"title", study.title},
            {"state", std::string(StudyStateName(study.state))},
            {"detail", study.detail},
            {"target", study.target},
            {"tasks", summary.task_count},
            {"trials", view.ok() ? Json(view->counts.trial_count) : Json(nullptr)},
            {"best_ms", best_ns.has_value() ? Json(*best_ns * 1e-6) : Json(nullptr)},
            {"gain", gain.has_value() ? Json(*gain) : Json(nullptr)},
            {"owner", summary.lease.owner.empty() ? Json(nullptr) : Json(summary.lease.owner)},
            {"open_jobs", summary.open_job_count},
            {"created_ns", study.created_ns},
            {"updated_ns", study.updated_ns}};
  }

  static void AddRow(const StudySummary& summary, const absl::StatusOr<StudyView>& view,
                     absl::Time now, TextTable& table) {
    const auto [best_ns, gain] = WorthOf(summary, view);
    const Study& study = summary.study;
    table.AddRow({study.id, study.title, std::string(StudyStateName(study.state)),
                  view.ok() ? absl::StrCat(view->counts.trial_count) : "-",
                  best_ns.has_value() ? FormatNs(*best_ns) : "-",
                  gain.has_value() ? absl::StrFormat("%.2fx", *gain) : "-",
                  FormatAge(now - absl::FromUnixNanos(study.created_ns)),
                  summary.lease.owner.empty() ? "-" : summary.lease.owner,
                  view.ok() ? study.detail : std::string(view.status().message())});
    if (study.state == StudyState::kFailed || study.state == StudyState::kParked) {
      table.SetColor(2, TextTable::kBad);
    }
    if (gain.has_value()) table.SetColor(5, ColorOfGain(*gain));
  }

  std::string state_;
  int64_t limit_ = 100;
};

}  // namespace

std::unique_ptr<Command> MakeListCommand() { return std::make_unique<ListCommand>(); }

}  // namespace burnish
