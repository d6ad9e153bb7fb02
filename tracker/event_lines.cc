#include "tracker/event_lines.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/logging.h"

namespace burnish {
namespace {

constexpr size_t kIdCharacters = 128;  // As long as one may be.
constexpr size_t kTextCharacters = 400;

struct KindFacts {
  LogLevel level;
  absl::string_view noun;
  absl::string_view kind;
};

KindFacts FactsOf(TrackerEvent::Kind kind) {
  using Kind = TrackerEvent::Kind;
  switch (kind) {
    case Kind::kJoined:
      return {LogLevel::kInfo, "worker", "worker joined"};
    case Kind::kRestarted:
      return {LogLevel::kInfo, "worker", "worker restarted"};
    case Kind::kReturned:
      return {LogLevel::kInfo, "worker", "worker returned"};
    case Kind::kSilent:
      return {LogLevel::kWarning, "worker", "worker silent"};
    case Kind::kSpoke:
      return {LogLevel::kInfo, "worker", "worker speaks again"};
    case Kind::kLeaving:
      return {LogLevel::kInfo, "worker", "worker leaves"};
    case Kind::kLeft:
      return {LogLevel::kInfo, "worker", "worker left"};
    case Kind::kLost:
      return {LogLevel::kWarning, "worker", "worker lost"};
    case Kind::kDrained:
      return {LogLevel::kInfo, "worker", "worker drained"};
    case Kind::kUndrained:
      return {LogLevel::kInfo, "worker", "worker undrained"};
    case Kind::kPaused:
      return {LogLevel::kWarning, "worker", "worker paused"};
    case Kind::kTurnedAway:
      return {LogLevel::kWarning, "worker", "worker turned away"};
    case Kind::kGivenUp:
      return {LogLevel::kWarning, "job", "job given up"};
    case Kind::kMet:
      return {LogLevel::kInfo, "tuner", "tuner met"};
    case Kind::kForgotten:
      return {LogLevel::kInfo, "tuner", "tuner forgotten"};
    case Kind::kMore:
      return {LogLevel::kWarning, "tracker", "more events"};
  }
  return {LogLevel::kWarning, "", ""};
}

}  // namespace

void WriteEvent(absl::Time now, const TrackerEvent& event, EventLog& log) {
  const KindFacts facts = FactsOf(event.kind);
  log.Add(now, facts.level, facts.kind,
          absl::StrCat(facts.noun, " ", LogPiece(event.who, kIdCharacters), " ",
                       LogPiece(event.text, kTextCharacters)));
}

}  // namespace burnish
