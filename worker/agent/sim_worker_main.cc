// Many workers in one process whose slots only wait: for load tests of a tracker.
#include <sysexits.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/entropy.h"
#include "base/stop_signals.h"
#include "worker/agent/agent_client.h"
#include "worker/agent/fake_executor.h"

namespace burnish {
namespace {

struct Flags {
  std::string tracker;
  std::string id_prefix = "sim";
  std::string device_key = "cpu-sim";
  int workers = 1;
  int slots = 1;
  double execution_ms = 0;
  uint64_t seed = 1;
};

int Run(const Flags& flags) {
  const StopSignals signals;  // Before there are other threads.
  FakeLab lab(absl::Milliseconds(flags.execution_ms), &EchoOutcome);
  std::vector<std::unique_ptr<AgentClient>> workers;
  for (int i = 0; i < flags.workers; ++i) {
    std::vector<AgentSlot> slots;
    for (int k = 0; k < flags.slots; ++k) {
      slots.push_back({.info = {.kind = JobKind::kRun, .device_keys = {flags.device_key}},
                       .executor = lab.MakeExecutor()});
    }
    const AgentIdentity identity{.worker_id = absl::StrCat(flags.id_prefix, "-", i),
                                 .host = "simulated",
                                 .incarnation = EntropyNumber()};
    workers.push_back(std::make_unique<AgentClient>(
        AgentOptions{.tracker = flags.tracker, .identity = identity, .seed = flags.seed + i},
        std::move(slots)));
  }
  signals.Wait(absl::InfiniteDuration());
  return EX_OK;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Simulated workers for load tests.", "sim_worker");
  app.add_option("--tracker", flags.tracker, "its address")->required();
  app.add_option("--id-prefix", flags.id_prefix, "of the worker ids");
  app.add_option("--device-key", flags.device_key, "of the run slots");
  app.add_option("--workers", flags.workers, "how many");
  app.add_option("--slots", flags.slots, "of each");
  app.add_option("--execution-ms", flags.execution_ms, "how long an execution takes");
  app.add_option("--seed", flags.seed, "of the jitter");
  CLI11_PARSE(app, argc, argv);
  return Run(flags);
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
