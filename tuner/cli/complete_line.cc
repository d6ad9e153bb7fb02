#include "tuner/cli/complete_line.h"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/logging.h"
#include "tuner/app/farm_client.h"
#include "tuner/cli/open_studies.h"
#include "tuner/cli/settings.h"

namespace burnish {
namespace {

// Whatever the studies wait for: nothing was printed yet, and nobody is told.
void EndInASecond() {
  std::signal(SIGALRM, [](int) { _exit(0); });
  const itimerval second = {.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 900'000}};
  setitimer(ITIMER_REAL, &second, nullptr);
}

std::vector<std::string> StudyIds(Context& context) {
  absl::StatusOr<OpenedStudies> studies = OpenedStudies::Open(context, DatabaseAccess::kRead);
  if (!studies.ok()) return {};
  const absl::StatusOr<std::vector<StudySummary>> found = (*studies)->List({});
  if (!found.ok()) return {};
  std::vector<std::string> ids;
  for (const StudySummary& summary : *found) ids.push_back(summary.study.id);
  return ids;
}

std::vector<std::string> WorkerIds(const Context& context) {
  const std::string& tracker = context.settings().Get("tracker");
  if (tracker.empty()) return {};
  // Studies that were found are to be printed before the second is over.
  const auto found = FarmClient(tracker, absl::Milliseconds(500)).ListWorkers();
  if (!found.ok()) return {};
  std::vector<std::string> ids;
  for (const FarmWorker& worker : *found) ids.push_back(worker.id);
  return ids;
}

std::vector<std::string> Ids(const CompletionArgument& argument,
                             const std::vector<std::string>& words,
                             const CliEnvironment& environment) {
  EndInASecond();
  SettingSources sources{.getenv = environment.getenv, .system_config = environment.system_config};
  const std::map<std::string, std::string> given = GivenValues(words);
  for (const char* key : {"db", "server", "tracker"}) {
    if (const auto found = given.find(key); found != given.end()) {
      sources.flags[key] = found->second;
    }
  }
  absl::StatusOr<Settings> settings = Settings::Load(sources);
  if (!settings.ok()) return {};
  Context context(environment, {.json = false, .quiet = true}, *std::move(settings));
  std::vector<std::string> ids;
  if (argument.is_study) ids = StudyIds(context);
  if (argument.is_worker) {
    for (std::string& id : WorkerIds(context)) ids.push_back(std::move(id));
  }
  return ids;
}

}  // namespace

void CompleteLine(const std::vector<CompletionCommand>& commands,
                  const std::vector<std::string>& words, const CliEnvironment& environment) {
  SetUpLogging({.level = LogLevel::kOff, .program = "tuner"});
  for (const std::string& candidate : Complete(
           commands, words,
           [&](const CompletionArgument& argument) { return Ids(argument, words, environment); })) {
    *environment.out << candidate << "\n";
  }
}

}  // namespace burnish
