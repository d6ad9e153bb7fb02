// tuner workers: the farm as its tracker sees it.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/app/error.h"
#include "tuner/app/farm_client.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/farm_text.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

class WorkersCommand : public Command {
 public:
  std::string name() const override { return "workers"; }
  std::string summary() const override { return "lists a farm's workers, or drains one"; }
  std::string example() const override {
    return "tuner workers --tracker farm:7171\n"
           "tuner workers drain node-3 --tracker farm:7171";
  }
  void AddOptions(CommandOptions& options) override {
    options.Positional("ACTION", &action_, false,
                       "list (if nothing is said), drain or undrain: a drained worker finishes "
                       "what it has and gets no more");
    options.Suggest("ACTION", {"list", "drain", "undrain"});
    options.Positional("WORKER", &id_, false, "the worker to drain");
    options.Setting("tracker");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    const std::string tracker = context.settings().Get("tracker");
    if (tracker.empty()) {
      return MakeError(ErrorCode::kUsage, "no tracker is named", "tuner workers",
                       "--tracker ADDR, or BURNISH_TRACKER; `submit` without one starts its own");
    }
    const FarmClient farm(tracker);
    if (action_.empty() || action_ == "list") return List(context, farm);
    if (action_ != "drain" && action_ != "undrain") {
      return MakeError(ErrorCode::kUsage, absl::StrCat("unknown action \"", action_, "\""),
                       "tuner workers", "list, drain or undrain");
    }
    if (id_.empty()) {
      return MakeError(ErrorCode::kUsage, absl::StrCat(action_, " needs a worker's id"),
                       "tuner workers", "tuner workers lists them");
    }
    RETURN_IF_ERROR(farm.Drain(id_, action_ == "undrain", context.FindDrainRight(id_)));
    if (context.json()) {
      context.out()
          << Json({{"schema", 1}, {"worker", id_}, {"drained", action_ == "drain"}}).dump() << "\n";
    }
    return absl::OkStatus();
  }

 private:
  absl::Status List(Context& context, const FarmClient& farm) {
    ASSIGN_OR_RETURN(const std::vector<FarmWorker> workers, farm.ListWorkers());
    if (!context.json()) {
      context.out() << WorkersText(workers, context.table_columns());
      return absl::OkStatus();
    }
    Json json = {{"schema", 1}, {"workers", Json::array()}};
    for (const FarmWorker& worker : workers) {
      json["workers"].push_back(WorkerJson(workers, worker));
    }
    context.out() << json.dump() << "\n";
    return absl::OkStatus();
  }

  std::string action_, id_;
};

}  // namespace

std::unique_ptr<Command> MakeWorkersCommand() { return std::make_unique<WorkersCommand>(); }

}  // namespace burnish
