// Lines of a terminal that are drawn again and again in one place; elsewhere silent.
#ifndef TUNER_CLI_PROGRESS_LINE_H_
#define TUNER_CLI_PROGRESS_LINE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tuner/cli/context.h"

namespace burnish {

// What puts `lines` in the place of those drawn before, on a terminal of so many columns now: one
// that has become narrower shows an old line in several rows. `drawn`: characters of each line on
// the terminal, of this call afterwards; empty: none. Lines that are too long are cut.
std::string Redraw(absl::Span<const std::string> lines, int columns, std::vector<size_t>& drawn);

class ProgressLine {
 public:
  explicit ProgressLine(Context& context) : context_(context) {}
  // What fails leaves no line before its error.
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // One call at a time, from any thread.
  void Show(absl::string_view text);
  void Clear();

 private:
  Context& context_;
  std::vector<size_t> drawn_;
};

}  // namespace burnish

#endif  // TUNER_CLI_PROGRESS_LINE_H_
