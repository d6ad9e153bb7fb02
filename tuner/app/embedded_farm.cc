#include "tuner/app/embedded_farm.h"

#include <sys/un.h>

#include <csignal>
#include <future>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/self_path.h"
#include "base/status_macros.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

// Some crashes are a candidate's doing and must not end a study; a program that crashes by itself
// does so within seconds. Six in a minute are taken for the second. Numbers are choices.
constexpr int kRestartsMax = 5;
constexpr absl::Duration kRestartWindow = absl::Minutes(1);
// For a loaded machine with cold pages; it usually takes a fraction of a second.
constexpr absl::Duration kStartTimeout = absl::Seconds(20);
constexpr absl::Duration kPollInterval = absl::Milliseconds(50);  // A wait on a member's end.
constexpr char kSocketName[] = "/tracker.sock";
// Nothing of a worker's state is needed. After this a member is killed with its group.
constexpr absl::Duration kEndTimeout = absl::Seconds(2);

}  // namespace

EmbeddedFarm::EmbeddedFarm(const EmbeddedFarmOptions& options, TempDir folder)
    : options_(options),
      folder_(std::move(folder)),
      tracker_(absl::StrCat("unix:", folder_.path(), kSocketName)) {}

absl::Status EmbeddedFarm::FindMembers() {
  const auto add = [&](std::string name, const std::string& program,
                       std::vector<std::string> args) {
    args.push_back("--log-level");
    args.push_back(options_.log_level);
    members_.push_back({.name = std::move(name),
                        .options = {.program = program,
                                    .args = std::move(args),
                                    // What was set for a farm is not meant for this one. Whatever
                                    // files a member that is killed leaves go with the folder.
                                    .extra_env = {absl::StrCat("BURNISH_TRACKER=", tracker_),
                                                  absl::StrCat("TMPDIR=", folder_.path())}},
                        .limit = RestartLimit(kRestartsMax, kRestartWindow)});
  };
  ASSIGN_OR_RETURN(const std::string tracker, FindProgram("tracker/tracker"));
  ASSIGN_OR_RETURN(const std::string worker, FindProgram("worker/worker"));
  add("tracker", tracker, {"--listen", tracker_});
  add("builder worker", worker,
      {"--tracker", tracker_, "--build", absl::StrCat(options_.build_slots), "--id",
       "embedded/builder"});
  std::vector<std::string> runner = {"--tracker",     tracker_,         "--run",
                                     options_.device, "--calibration",  options_.calibration,
                                     "--id",          "embedded/runner"};
  if (!options_.target.empty()) runner.insert(runner.end(), {"--target", options_.target});
  add("runner worker", worker, std::move(runner));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<EmbeddedFarm>> EmbeddedFarm::Start(
    const EmbeddedFarmOptions& options) {
  // Locked, so that folders which a killed tuner left can be told from those in use.
  ASSIGN_OR_RETURN(TempDir folder, TempDir::CreateLocked("burnish-farm"));
  // A path that is too long for a socket's address (sockaddr_un) is no reason to give up.
  if (folder.path().size() + std::size(kSocketName) > sizeof(sockaddr_un::sun_path)) {
    ASSIGN_OR_RETURN(folder, TempDir::CreateLocked("burnish-farm", "/tmp"));
  }
  std::unique_ptr<EmbeddedFarm> farm(new EmbeddedFarm(options, std::move(folder)));
  RETURN_IF_ERROR(WithError(farm->FindMembers(), ErrorCode::kProgramMissing));
  // Children die with the thread that started them (PR_SET_PDEATHSIG is of threads), so the
  // supervisor starts them and lives as long as the farm.
  std::promise<absl::Status> started;
  farm->supervisor_ = std::thread([&farm_now = *farm, &started] {
    farm_now.Supervise([&](absl::Status status) { started.set_value(std::move(status)); });
  });
  RETURN_IF_ERROR(WithError(started.get_future().get(), ErrorCode::kCrashLoop));
  return farm;
}

EmbeddedFarm::~EmbeddedFarm() {
  stop_ = true;
  if (supervisor_.joinable()) supervisor_.join();
}

absl::Status EmbeddedFarm::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

absl::Status EmbeddedFarm::StartMember(Member& member) {
  ASSIGN_OR_RETURN(member.child, Child::Start(member.options));
  // Workers are not waited for: they find the tracker by themselves, again and again.
  if (member.name != "tracker") return absl::OkStatus();
  // It says its address once it listens.
  const absl::StatusOr<std::string> line = member.child->ReadLine(kStartTimeout);
  if (line.ok()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the tracker does not start: ", std::string(line.status().message()), " ",
                   member.child->stderr_bytes()));
}

void EmbeddedFarm::GiveUp(const absl::Status& status) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    status_ = WithError(status, ErrorCode::kCrashLoop);
  }
  if (options_.on_failure != nullptr) options_.on_failure();
}

void EmbeddedFarm::Restart(Member& member, const ExitInfo& exit) {
  const std::string what = absl::StrCat("the ", member.name, " ended: ", Describe(exit));
  if (!member.limit.Allow(Clock::Real().SteadyNow())) {
    GiveUp(absl::UnavailableError(
        absl::StrCat(what, "; it did so more than ", kRestartsMax, " times in a minute")));
    return;
  }
  if (options_.on_restart != nullptr) {
    options_.on_restart(absl::StrCat(what, "; it is started again"));
  }
  member.child.reset();
  const absl::Status status = StartMember(member);
  // A start that failed is met again as a child that ended.
  if (!status.ok() && member.child == nullptr) GiveUp(status);
}

void EmbeddedFarm::Supervise(std::function<void(absl::Status)> started) {
  absl::Status status;
  for (Member& member : members_) {
    if (status.ok()) status = StartMember(member);
  }
  started(status);
  while (status.ok() && !stop_) {
    for (Member& member : members_) {
      // Draining stderr is part of waiting: a member that logs much would block on a full pipe.
      const absl::StatusOr<ExitInfo> exit = member.child->Wait(kPollInterval);
      if (!exit.ok() || stop_) continue;
      Restart(member, *exit);
      if (!this->status().ok()) {
        status = this->status();
        break;
      }
    }
  }
  // Workers first, so that none complains about its tracker. What a worker was at is not needed.
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    if (member->child == nullptr) continue;
    // Twice: a worker finishes what runs after the first, and ends after the second.
    member->child->Kill(SIGTERM);
    member->child->Kill(SIGTERM);
    (void)member->child->Wait(kEndTimeout);
    member->child.reset();
  }
}

}  // namespace burnish
