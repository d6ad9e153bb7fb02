// What `tuner compile` says and is told of the passes over a model's graph.
#ifndef TUNER_CLI_PASS_FLAGS_H_
#define TUNER_CLI_PASS_FLAGS_H_

#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "compiler/graph/prepare.h"
#include "tuner/cli/command.h"

namespace burnish {

class PassFlags {
 public:
  void Add(CommandOptions& options);

  bool given() const { return !text_.empty() || !dump_after_.empty(); }
  bool lists() const { return text_ == "list"; }
  const std::string& dump_after() const { return dump_after_; }
  // Every row: for people, and for programs.
  static std::string ListText(int columns);
  static nlohmann::ordered_json ListJson();

  // The observer writes here. B0101: no such pass, one that no build does without, or one that is
  // dumped and does not run.
  absl::StatusOr<PassOptions> Parse(int opt_level);
  // Over all graphs that were built, bounds of a range among them: by pass, in their order.
  nlohmann::ordered_json TimesJson() const;

 private:
  std::string text_, dump_after_;
  mutable std::mutex mutex_;
  std::map<absl::string_view, absl::Duration> times_;
};

}  // namespace burnish

#endif  // TUNER_CLI_PASS_FLAGS_H_
