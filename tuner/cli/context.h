// What a command has at hand: where to write, what was set, what time it is.
#ifndef TUNER_CLI_CONTEXT_H_
#define TUNER_CLI_CONTEXT_H_

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "compiler/target/target.h"
#include "db/open.h"
#include "proto/calibration_row.h"
#include "tuner/app/farm_client.h"
#include "tuner/app/machine_row.h"
#include "tuner/cli/fd_stream.h"
#include "tuner/cli/settings.h"

namespace burnish {

// The process around the commands; tests make their own.
struct CliEnvironment {
  FdStream* out = nullptr;      // Data.
  std::ostream* err = nullptr;  // Talk: errors, progress.
  bool err_is_terminal = false;
  bool color = false;  // Of `err`.
  // Of the terminal at `err`, now: people resize it.
  std::function<int()> columns = [] { return 80; };
  int table_columns = 0;  // Of tables at `out`; 0: no limit, as for a file or another program.
  bool table_color = false;
  std::function<const char*(const char*)> getenv = {};
  std::string system_config = "/etc/burnish/config.toml";
  const Clock* clock = &Clock::Real();
};

// Writes what `out` holds. Error B0204 or B0907: not all that was printed arrived.
absl::Status OutputStatus(FdStream& out);

// What every command may be asked.
struct CommonFlags {
  bool json = false;
  bool quiet = false;
};

class Context {
 public:
  Context(const CliEnvironment& environment, const CommonFlags& flags, Settings settings)
      : environment_(environment), flags_(flags), settings_(std::move(settings)) {}

  std::ostream& out() { return *environment_.out; }
  std::ostream& err() { return *environment_.err; }
  bool json() const { return flags_.json; }
  bool quiet() const { return flags_.quiet; }
  bool err_is_terminal() const { return environment_.err_is_terminal; }
  bool color() const { return environment_.color; }
  int columns() const { return environment_.columns(); }
  int table_columns() const { return environment_.table_columns; }
  bool table_color() const { return environment_.table_color; }
  const Clock& clock() const { return *environment_.clock; }
  const Settings& settings() const { return settings_; }

  // See ClientSecret.
  absl::StatusOr<std::string> FindClientSecret() const;
  // Of this user, over a worker: as whose it is, and as whose the tracker is.
  DrainRight FindDrainRight(const std::string& worker_id) const;

  // A remark on stderr, unless --quiet.
  void Note(absl::string_view text);

  // Sends what was printed on its way. An error where it cannot be written: whoever waits for the
  // output must not take its beginning for the whole. A command that goes on for long, or that is
  // useless without its output, asks; at the end of every command RunCli does.
  absl::Status CheckOutput();

  // The database that is set. Errors carry their B05xx, B0510: there is none, and none is made.
  absl::StatusOr<Database> OpenDatabase(DatabaseAccess access);

  // The calibration row that holds for what measures `target`: a farm's at `tracker`, or, where
  // that is empty, this machine's. Where there is none, a remark says why. Error B0102: a file that
  // is set and holds no row.
  absl::StatusOr<std::optional<CalibrationRow>> ResolveRow(const Target& target,
                                                           const std::string& tracker);
  MachineRowOptions RowOptions(const std::string& tracker) const;

  // Where what was compiled is kept; empty: nowhere.
  std::string CacheFolder() const;

  // The target that is set; `threads` > 0 overrides its number of threads.
  absl::StatusOr<Target> ResolveTarget(int threads = 0) const;

 private:
  const CliEnvironment& environment_;
  CommonFlags flags_;
  Settings settings_;
};

}  // namespace burnish

#endif  // TUNER_CLI_CONTEXT_H_
