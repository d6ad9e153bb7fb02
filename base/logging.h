// Log lines on stderr, one a line: "2025-01-31 12:00:00.123 W worker[4711] text". A thin layer over
// spdlog, which only this folder sees. For events of a daemon; results go to stdout.
#ifndef BASE_LOGGING_H_
#define BASE_LOGGING_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace burnish {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// "debug", "info", "warning", "error" or "off"; otherwise INVALID_ARGUMENT.
absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view name);

struct LoggingOptions {
  LogLevel level = LogLevel::kInfo;  // What is below it is dropped.
  bool color = false;
  std::string program = {};  // Shown in each line.
};

// Once, from main, before other threads start. Without it nothing below kWarning is shown.
void SetUpLogging(const LoggingOptions& options);

// Whether a person is likely to see colours: stderr is a terminal and `no_color`, the value of
// NO_COLOR (no-color.org), is null or empty. For `LoggingOptions::color`.
bool StderrTakesColor(const char* no_color);

// Thread-safe; a line is written in one piece. Line breaks in `text` become " | ".
void Log(LogLevel level, absl::string_view text);

// Adds a byte as it may reach a terminal: a control character as "\x1b", with `ascii_only` also all
// beyond ASCII.
void AppendPrintable(char c, bool ascii_only, std::string& line);

inline void LogDebug(absl::string_view text) { Log(LogLevel::kDebug, text); }
inline void LogInfo(absl::string_view text) { Log(LogLevel::kInfo, text); }
inline void LogWarning(absl::string_view text) { Log(LogLevel::kWarning, text); }
inline void LogError(absl::string_view text) { Log(LogLevel::kError, text); }

// Whether such a line would be shown: guards text that is dear to build.
bool LogEnabled(LogLevel level);

}  // namespace burnish

#endif  // BASE_LOGGING_H_
