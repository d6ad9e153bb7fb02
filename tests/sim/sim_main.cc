// ./dev sim: many seeds, on all cores, and what each that fails needs to fail.
#include <atomic>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "tests/sim/planted_bug.h"
#include "tests/sim/simulation.h"

namespace burnish::sim {
namespace {

int Main(int argc, char** argv) {
  uint64_t first = 0;
  int64_t count = 1000;
  int thread_count = static_cast<int>(std::thread::hardware_concurrency());
  int64_t failures_max = 5;
  std::string bug_name;
  bool is_brief = false;
  CLI::App app("Simulates the farm, one run a seed. Exit code 1: a promise was broken.");
  app.add_option("--seed", first, "the first seed");
  app.add_option("--seeds", count, "how many, one after the other");
  app.add_option("--threads", thread_count, "runs side by side");
  app.add_option("--failures", failures_max, "stops after so many");
  app.add_flag("--brief", is_brief, "only the seed and the promise of what fails");
  app.add_option("--bug", bug_name, "plants a bug: see planted_bug.cc for the names");
  CLI11_PARSE(app, argc, argv);
  Bug bug = Bug::kNone;
  for (const BugInfo& info : AllBugs()) {
    if (bug_name == info.name) bug = info.bug;
  }
  if (!bug_name.empty() && bug == Bug::kNone) {
    std::cerr << "sim: no bug is called " << bug_name << "\n";
    return 64;
  }
  std::atomic<int64_t> next = 0, failure_count = 0, event_count = 0, done_count = 0;
  std::atomic<uint64_t> digest = 0;
  std::mutex output;
  const auto run = [&] {
    while (failure_count < failures_max) {
      const int64_t index = next++;
      if (index >= count) return;
      const uint64_t seed = first + static_cast<uint64_t>(index);
      const SimulationResult result = Simulate(seed, PlanOf(seed), bug);
      event_count += result.event_count;
      digest += result.digest;
      const int64_t done = ++done_count;
      if (!result.ok()) {
        ++failure_count;
        const std::string text = is_brief ? absl::StrCat("seed ", seed, ": ", result.promise, "\n")
                                          : Explain(seed, bug, result);
        const std::lock_guard lock(output);
        std::cout << text << std::flush;
      }
      if (done % 10000 == 0) {
        const std::lock_guard lock(output);
        std::cout << done << " seeds, " << failure_count << " failed" << std::endl;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) threads.emplace_back(run);
  for (std::thread& thread : threads) thread.join();
  std::cout << done_count << " seeds from " << first << ", " << event_count << " events, "
            << failure_count << " failed; digest " << std::hex << digest << std::endl;
  return failure_count == 0 ? 0 : 1;
}

}  // namespace
}  // namespace burnish::sim

int main(int argc, char** argv) { return burnish::sim::Main(argc, argv); }
