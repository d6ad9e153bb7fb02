// tuner watch: a study's progress until it ends, from any process that can read its database
// or reach its daemon.
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "tuner/cli/commands/commands.h"
#include "tuner/cli/context.h"
#include "tuner/cli/format.h"
#include "tuner/cli/open_studies.h"
#include "tuner/cli/study_text.h"

namespace burnish {
namespace {

std::string Line(const StudyView& view) {
  std::string line =
      absl::StrCat(StudyStateName(view.summary.study.state), "  trials ", TrialsText(view));
  if (const std::optional<double> total = view.model_ns()) {
    absl::StrAppend(&line, "  sum ", FormatNs(*total));
  }
  return line;
}

class WatchCommand : public Command {
 public:
  std::string name() const override { return "watch"; }
  std::string summary() const override { return "follows a study until it ends"; }
  std::string example() const override { return "tuner watch STUDY"; }
  void AddOptions(CommandOptions& options) override {
    options.Positional("STUDY", &study_, true, "its id, or the beginning of it");
    options.Value("--interval", "S", &interval_seconds_, 0.1, 3600.0, "seconds between looks");
    options.Setting("server");
    options.Setting("db");
    options.Json();
  }

  absl::Status Run(Context& context) override {
    ASSIGN_OR_RETURN(OpenedStudies studies, OpenedStudies::Open(context, DatabaseAccess::kRead));
    std::string last;
    return studies->Watch(study_, absl::Seconds(interval_seconds_), [&](const StudyView& view) {
      // A line only when something has changed.
      const std::string line = context.json() ? StudyJson(view).dump() : Line(view);
      if (line != last) context.out() << line << "\n";
      last = line;
      return context.CheckOutput().ok();
    });
  }

 private:
  std::string study_;
  double interval_seconds_ = 2;
};

}  // namespace

std::unique_ptr<Command> MakeWatchCommand() { return std::make_unique<WatchCommand>(); }

}  // namespace burnish
