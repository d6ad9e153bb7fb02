#include "base/event_log.h"

#include "absl/strings/str_cat.h"

namespace burnish {

std::string LogPiece(absl::string_view text, size_t characters) {
  std::string piece;
  for (const char c : text.substr(0, characters)) AppendPrintable(c, /*ascii_only=*/true, piece);
  if (text.size() > characters) piece += "...";
  return piece;
}

EventLog::~EventLog() {
  for (auto& [kind, second] : kinds_) TellLeftOut(kind, second);
}

void EventLog::Add(absl::Time now, LogLevel level, absl::string_view kind, absl::string_view text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string name(kind);
  Second& second = kinds_[name];
  if (now - second.began >= absl::Seconds(1)) {
    TellLeftOut(name, second);
    second = {.began = now};
  }
  if (second.lines == kLinesPerSecond) {
    ++second.left_out;
    return;
  }
  ++second.lines;
  sink_(level, text);
}

void EventLog::Tick(absl::Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [kind, second] : kinds_) {
    if (now - second.began >= absl::Seconds(1)) TellLeftOut(kind, second);
  }
}

void EventLog::TellLeftOut(const std::string& kind, Second& second) {
  if (second.left_out == 0) return;
  sink_(LogLevel::kWarning, absl::StrCat(kind, ": ", second.left_out, " more were left out"));
  second.left_out = 0;
}

}  // namespace burnish
