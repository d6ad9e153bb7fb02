// The process of one study under `tuner serve`: what prepares or searches here may crash, and takes
// nothing else along. proto/study_process.proto has the messages.
#ifndef TUNER_SERVE_STUDY_PROCESS_MAIN_H_
#define TUNER_SERVE_STUDY_PROCESS_MAIN_H_

#include <functional>

#include "proto/study.h"

namespace burnish {

// The argument with which `tuner` is such a process.
inline constexpr char kStudyProcessArgument[] = "study-process";

struct StudyProcessHooks {
  // Before anything is made of the specification, and before the search begins. For tests; null.
  std::function<void(const StudySpec&)> before_preparing = nullptr;
  std::function<void(const StudySpec&)> before_running = nullptr;
};

// Reads the order from stdin, reports on stdout, ends with exit code 0 when it has said how it
// ended. SIGTERM and SIGINT interrupt a run, with the study resumable. To be called before any
// thread is started.
int StudyProcessMain(const StudyProcessHooks& hooks);

}  // namespace burnish

#endif  // TUNER_SERVE_STUDY_PROCESS_MAIN_H_
