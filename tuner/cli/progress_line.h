// One line of a terminal that is drawn again and again; elsewhere silent.
#ifndef TUNER_CLI_PROGRESS_LINE_H_
#define TUNER_CLI_PROGRESS_LINE_H_

#include "absl/strings/string_view.h"
#include "tuner/cli/context.h"

namespace burnish {

class ProgressLine {
 public:
  explicit ProgressLine(Context& context) : context_(context) {}
  // What fails leaves no half line before its error.
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // One call at a time, from any thread.
  void Show(absl::string_view text);
  void Clear();

 private:
  Context& context_;
  bool drawn_ = false;
};

}  // namespace burnish

#endif  // TUNER_CLI_PROGRESS_LINE_H_
