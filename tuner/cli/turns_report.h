// Two that were timed in turn and whose outputs were compared, as text and JSON.
#ifndef TUNER_CLI_TURNS_REPORT_H_
#define TUNER_CLI_TURNS_REPORT_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "compiler/runtime/session.h"
#include "tuner/app/npy.h"
#include "tuner/app/turns.h"

namespace burnish {

// Enough for quartiles that one disturbed round does not move.
inline constexpr int64_t kRoundsDefault = 9;

// What a bundle is compared with.
struct Opponent {
  std::string name;  // For people.
  std::function<absl::StatusOr<double>(absl::Duration)> turn;
  std::vector<NpyArray> outputs;  // In the order of the bundle's.
};

struct TurnsReport {
  TurnTimes times;
  nlohmann::ordered_json json;  // With "schema".
  std::string text;
  std::string warning;  // Empty: none.
};

// `session`, whose inputs are set, in turn with `other`; both measure for about `seconds` in all.
// `name`: of the session, for people. Error B0404: outputs of other types or shapes.
absl::StatusOr<TurnsReport> ReportTurns(Session& session, const std::string& name,
                                        const Opponent& other, double seconds, int rounds);

}  // namespace burnish

#endif  // TUNER_CLI_TURNS_REPORT_H_
