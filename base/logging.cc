#include "base/logging.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/ansicolor_sink.h"
#include "spdlog/spdlog.h"

namespace burnish {
namespace {

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

std::shared_ptr<spdlog::logger> MakeLogger(const LoggingOptions& options) {
  auto sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>(
      options.color ? spdlog::color_mode::always : spdlog::color_mode::never);
  auto logger = std::make_shared<spdlog::logger>(options.program, std::move(sink));
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%L%$ %n[%P] %v");
  logger->set_level(SpdlogLevel(options.level));
  logger->flush_on(spdlog::level::trace);
  return logger;
}

std::shared_ptr<spdlog::logger>& Logger() {
  // Leaked, because threads may still log while static objects are destroyed.
  static auto& logger = *new std::shared_ptr<spdlog::logger>(
      MakeLogger({.level = LogLevel::kWarning, .program = "burnish"}));
  return logger;
}

}  // namespace

absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "info") return LogLevel::kInfo;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "error") return LogLevel::kError;
  if (name == "off") return LogLevel::kOff;
  return absl::InvalidArgumentError(absl::StrCat(
      "got log level \"", name, "\", want \"debug\", \"info\", \"warning\", \"error\" or \"off\""));
}

void SetUpLogging(const LoggingOptions& options) { Logger() = MakeLogger(options); }

bool StderrTakesColor(const char* no_color) {
  return isatty(STDERR_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
}

void AppendPrintable(char c, bool ascii_only, std::string& line) {
  constexpr unsigned char kFirstPrintable = 0x20, kDelete = 0x7f;
  const auto byte = static_cast<unsigned char>(c);
  if (byte < kFirstPrintable || byte == kDelete || (ascii_only && byte > kDelete)) {
    absl::StrAppend(&line, "\\x", absl::Hex(byte, absl::kZeroPad2));
  } else {
    line.push_back(c);
  }
}

void Log(LogLevel level, absl::string_view text) {
  if (!LogEnabled(level)) return;
  const absl::string_view trimmed = absl::StripSuffix(text, "\n");
  std::string line;
  for (const char c : trimmed) {
    if (c == '\n') {
      line += " | ";
    } else {
      AppendPrintable(c, /*ascii_only=*/false, line);
    }
  }
  Logger()->log(SpdlogLevel(level), "{}", line);
}

bool LogEnabled(LogLevel level) {
  return level != LogLevel::kOff && Logger()->should_log(SpdlogLevel(level));
}

}  // namespace burnish
