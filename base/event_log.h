// Log lines of what others do to a daemon: one for each event, while there are few of them.
#ifndef BASE_EVENT_LOG_H_
#define BASE_EVENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/logging.h"

namespace burnish {

// Text of a stranger, as it may stand in a log and reach a terminal: at most `characters` of it,
// all but printable ASCII as "\x1b", "..." where it was longer.
std::string LogPiece(absl::string_view text, size_t characters = 200);

// Thread-safe. A client that causes events without an end fills no disk: of each kind at most
// `kLinesPerSecond` are written, and then one line says how many were left out.
class EventLog {
 public:
  using Sink = std::function<void(LogLevel, absl::string_view)>;

  // More in a second than anybody reads; a farm of ten workers that starts is seen whole.
  static constexpr int kLinesPerSecond = 10;

  explicit EventLog(Sink sink = Log) : sink_(std::move(sink)) {}
  // Says what was left out until now.
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // `kind`: one of few names, such as "worker joined". `now` never goes back.
  void Add(absl::Time now, LogLevel level, absl::string_view kind, absl::string_view text);
  // Says what was left out in seconds that are over. To be called now and then.
  void Tick(absl::Time now);

 private:
  struct Second {
    absl::Time began = absl::InfinitePast();
    int lines = 0;
    int64_t left_out = 0;
  };

  // With the lock held.
  void TellLeftOut(const std::string& kind, Second& second);

  const Sink sink_;
  std::mutex mutex_;
  std::map<std::string, Second> kinds_;
};

}  // namespace burnish

#endif  // BASE_EVENT_LOG_H_
