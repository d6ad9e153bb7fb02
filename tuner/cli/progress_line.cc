#include "tuner/cli/progress_line.h"

namespace burnish {
namespace {

// To the line's start, and clear what follows (ECMA-48, EL).
constexpr char kClearLine[] = "\r\x1b[K";

}  // namespace

void ProgressLine::Show(absl::string_view text) {
  if (!context_.err_is_terminal() || context_.quiet()) return;
  context_.err() << kClearLine << text << std::flush;
  drawn_ = true;
}

void ProgressLine::Clear() {
  if (drawn_) context_.err() << kClearLine << std::flush;
  drawn_ = false;
}

}  // namespace burnish
