// tuner describe: all that is known of a study or a worker.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/app/error.h"
#include "tuner/app/farm_client.h"
#include "tuner/app/study_failures.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/failures_text.h"
#include "tuner/cli/farm_text.h"
#include "tuner/cli/open_studies.h"
#include "tuner/cli/study_text.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

class DescribeCommand : public Command {
 public:
  std::string name() const override { return "describe"; }
  std::string summary() const override { return "shows all that is known of a study or a worker"; }
  std::string example() const override {
    return "tuner describe STUDY\n"
           "tuner describe node-3 --tracker farm:7171";
  }
  void AddOptions(CommandOptions& options) override {
    options.Positional("STUDY|WORKER", &what_, true, "its id or the beginning of it");
    options.Setting("server");
    options.Setting("db");
    options.Setting("tracker");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    if (what_.empty()) {
      return MakeError(ErrorCode::kUsage, "got an empty id", "tuner describe",
                       "tuner list and tuner workers have them");
    }
    const absl::StatusOr<StudyView> view = FindStudy(context);
    if (view.ok()) return DescribeStudy(context, *view);
    const ErrorCode code = ErrorCodeOf(view.status());
    if (code != ErrorCode::kNoStudy && code != ErrorCode::kNoDatabase) return view.status();
    const std::string& tracker = context.settings().Get("tracker");
    if (tracker.empty()) {
      return WithHint(view.status(), "tuner list has the ids; a worker is found with --tracker");
    }
    return DescribeWorker(context, tracker);
  }

 private:
  absl::StatusOr<StudyView> FindStudy(Context& context) const {
    ASSIGN_OR_RETURN(OpenedStudies studies, OpenedStudies::Open(context, DatabaseAccess::kRead));
    return studies->Get(what_);
  }

  static absl::Status DescribeStudy(Context& context, const StudyView& view) {
    // A daemon does not tell them.
    std::optional<StudyFailures> failures;
    if (context.settings().Get("server").empty()) {
      ASSIGN_OR_RETURN(const Database database, context.OpenDatabase(DatabaseAccess::kRead));
      ASSIGN_OR_RETURN(failures, LoadFailures(database, view.summary.study.id));
    }
    if (context.json()) {
      Json json = StudyJson(view);
      json["kind"] = "study";
      json["run"] = StudyRunJson(view);
      json["specification"] = SpecificationJson(view.spec);
      json["groups"] = failures.has_value() ? FailureGroupsJson(*failures) : Json(nullptr);
      context.out() << json.dump() << "\n";
      return absl::OkStatus();
    }
    const int columns = context.table_columns();
    context.out() << "Study\n"
                  << StudyText(view, columns) << "\nRun\n"
                  << StudyRunText(view, context.clock().WallNow(), columns) << "\nSpecification\n"
                  << SpecificationText(view.spec, columns) << "\nFailures\n"
                  << (failures.has_value() ? FailuresText(*failures, columns, context.table_color())
                                           : "not told by a daemon: ask its database, with --db\n");
    return absl::OkStatus();
  }

  absl::Status DescribeWorker(Context& context, const std::string& tracker) const {
    ASSIGN_OR_RETURN(const std::vector<FarmWorker> workers, FarmClient(tracker).ListWorkers());
    std::vector<const FarmWorker*> found;
    for (const FarmWorker& worker : workers) {
      if (worker.id == what_) {
        found = {&worker};
        break;
      }
      if (absl::StartsWith(worker.id, what_)) found.push_back(&worker);
    }
    if (found.size() != 1) {
      return MakeError(ErrorCode::kNoWorker,
                       found.empty() ? absl::StrCat("no study and no worker ", what_)
                                     : absl::StrCat(found.size(), " workers begin with ", what_),
                       tracker, "tuner list and tuner workers have the ids");
    }
    if (context.json()) {
      Json json = {{"schema", 1}, {"kind", "worker"}};
      json.update(WorkerJson(workers, *found.front()));
      context.out() << json.dump() << "\n";
    } else {
      context.out() << WorkerText(workers, *found.front(), context.table_columns());
    }
    return absl::OkStatus();
  }

  std::string what_;
};

}  // namespace

std::unique_ptr<Command> MakeDescribeCommand() { return std::make_unique<DescribeCommand>(); }

}  // namespace burnish
