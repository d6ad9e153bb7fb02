// The daemon's side of a study's process: starts it, hears what it says, and tells a crash from an
// end. proto/study_process.proto has the messages.
#ifndef TUNER_SERVE_STUDY_PROCESS_H_
#define TUNER_SERVE_STUDY_PROCESS_H_

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/child.h"
#include "proto/study.h"
#include "tuner/serve/tuner_messages.h"
#include "tuner/study/study_types.h"

namespace burnish {

namespace v1 {
class StudyReport;
}  // namespace v1

// The program that is such a process (study_process_main.h).
struct StudyProgram {
  std::string path = {};
  std::vector<std::string> args = {};
  std::string cache = {};  // Folder of the compile cache that it uses; empty: none.
};

struct StudyProcessEnd {
  StudyEnding ending = {};
  std::optional<StudyProgress> progress = std::nullopt;  // The last.
  // How the process crashed; empty: it did not, and `ending` is the study's.
  std::string crash = {};
};

struct StudyProcessWatch {
  std::function<void()> on_prepared = nullptr;  // Also where nothing came of it. Once.
  std::function<void(const StudyProgress&)> on_progress = nullptr;
};

// One process, at most once. Its methods but Interrupt belong to one thread, with which the process
// ends.
class StudyProcess {
 public:
  StudyProcess(StudyProgram program, std::string database)
      : program_(std::move(program)), database_(std::move(database)) {}

  // Prepares and stores a study; returns its id. Errors: the study's; B0901: the process crashed.
  absl::StatusOr<std::string> Create(const StudySpec& spec, const std::string& title);
  // Runs a study that is stored. Errors: B0801: the program cannot be started.
  absl::StatusOr<StudyProcessEnd> Run(const std::string& id, const std::string& tracker,
                                      const StudyProcessWatch& watch);

  // From any thread, at any time: Run returns soon, with the study resumable; a process that does
  // not end by itself is killed.
  void Interrupt();

 private:
  absl::Status Start(const std::string& order);
  // Calls `hear` with each report until the process has ended; empty: it ended well, else how it
  // crashed.
  std::string Listen(const std::string& name,
                     const std::function<void(const v1::StudyReport&)>& hear);
  // What the process has said on stderr since.
  void PassOn(const std::string& name);

  const StudyProgram program_;
  const std::string database_;
  std::mutex mutex_;  // For the two below.
  std::unique_ptr<Child> child_;
  bool interrupted_ = false;
  std::string told_;  // Of stderr, passed on already.
};

}  // namespace burnish

#endif  // TUNER_SERVE_STUDY_PROCESS_H_
