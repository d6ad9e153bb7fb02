// The first thing that went wrong in a run, by the name of the promise that was broken.
#ifndef TESTS_SIM_VERDICT_H_
#define TESTS_SIM_VERDICT_H_

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tests/sim/event_loop.h"

namespace burnish::sim {

class Verdict {
 public:
  explicit Verdict(const EventLoop& loop) : loop_(loop) {}

  void Fail(absl::string_view promise, absl::string_view detail) {
    if (!ok()) return;  // What follows from it says nothing new.
    promise_ = std::string(promise);
    detail_ = absl::StrCat(detail, " (after ",
                           absl::FormatDuration(loop_.now() - EventLoop::kStart), ")");
  }
  bool ok() const { return promise_.empty(); }
  const std::string& promise() const { return promise_; }
  const std::string& detail() const { return detail_; }

 private:
  const EventLoop& loop_;
  std::string promise_;  // Empty: all were kept.
  std::string detail_;
};

}  // namespace burnish::sim

#endif  // TESTS_SIM_VERDICT_H_
