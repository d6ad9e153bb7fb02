// How many jobs a second the tracker hands out and takes back, with many simulated workers over
// loopback: tracker, workers and tuner are three processes.
#include <sysexits.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/self_path.h"
#include "tracker/tracker_client.h"

namespace burnish {
namespace {

constexpr absl::Duration kLong = absl::Minutes(2);

std::unique_ptr<Child> Start(const std::string& label, const std::vector<std::string>& args) {
  absl::StatusOr<std::string> program = FindProgram(label);
  CHECK_OK(program);
  absl::StatusOr<std::unique_ptr<Child>> child = Child::Start({.program = *program, .args = args});
  CHECK_OK(child);
  return *std::move(child);
}

// Jobs a second, from the first submission to the last result.
double RunOnce(TrackerClient& client, int round, int job_count) {
  std::vector<JobSpec> jobs;
  for (int i = 0; i < job_count; ++i) {
    jobs.push_back({.id = absl::StrCat("round", round, "/", i),
                    .kind = JobKind::kRun,
                    .device_key = "cpu-sim",
                    .study = absl::StrCat("study", i % 4),
                    .payload = std::string(2000, 'x')});
  }
  const absl::Time start = Clock::Real().SteadyNow();
  CHECK_OK(client.Submit(std::move(jobs)));
  for (int done = 0; done < job_count;) {
    const std::vector<ResultEntry> results = client.Collect(kLong);
    CHECK(!results.empty()) << done << " of " << job_count;
    std::vector<std::string> ids;
    for (const ResultEntry& result : results) ids.push_back(result.job_id);
    client.Acknowledge(ids);
    done += static_cast<int>(results.size());
  }
  return job_count / absl::ToDoubleSeconds(Clock::Real().SteadyNow() - start);
}

int Main(int argc, char** argv) {
  int workers = 100, jobs = 5000, rounds = 5;
  CLI::App app("Jobs a second through the tracker.", "dispatch_benchmark");
  app.add_option("--workers", workers, "simulated workers, one slot each")->capture_default_str();
  app.add_option("--jobs", jobs, "per round")->capture_default_str();
  app.add_option("--rounds", rounds, "after one that does not count")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const std::unique_ptr<Child> tracker =
      Start("tracker/tracker", {"--listen", "localhost:0", "--log-level", "warning"});
  const absl::StatusOr<std::string> address = tracker->ReadLine(kLong);
  CHECK_OK(address);
  const std::unique_ptr<Child> farm =
      Start("worker/agent/sim_worker",
            {"--tracker", *address, "--workers", absl::StrCat(workers), "--execution-ms", "0"});
  TrackerClient client({.tracker = *address, .tuner_id = "benchmark"});
  RunOnce(client, /*round=*/0, jobs);  // Until all are connected.
  std::vector<double> rates;
  for (int round = 1; round <= rounds; ++round) rates.push_back(RunOnce(client, round, jobs));
  std::sort(rates.begin(), rates.end());
  std::printf("%d workers, %d rounds of %d jobs: %.0f jobs/s (median; %.0f to %.0f)\n", workers,
              rounds, jobs, rates[rates.size() / 2], rates.front(), rates.back());
  return EX_OK;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
