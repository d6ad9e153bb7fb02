#include "tuner/explain/schedule_report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/verifier.h"
#include "compiler/schedule/trace.h"
#include "tuner/cost_model/cache_traffic.h"
#include "tuner/cost_model/features.h"
#include "tuner/cost_model/nest_walk.h"
#include "tuner/cost_model/store_sums.h"

namespace burnish {
namespace {

// A loss under this share of the expected time is not worth a line.
constexpr double kFindingMin = 0.03;

// Where the sums of a nest lie in TimeUse.
static_assert(int{kArithmeticTime} + int{kLoopPart} == int{kLoopTime});
static_assert(kL1FillTime + kCacheLevelCount - 1 == kL3FillTime);

class Reporter {
 public:
  Reporter(const Program& lowered, const DeviceModel& device, int threads)
      : lowered_(lowered), device_(device) {
    report_.threads = threads;
  }

  ScheduleReport Run() {
    std::vector<NestCycles> cycles;
    const std::vector<WalkNest> nests = WalkNests(lowered_, device_.core, report_.threads);
    const auto traffic = TrafficOf(lowered_, nests, device_.core);
    for (size_t n = 0; n < nests.size(); ++n) {
      cycles.push_back(AnalyticNestCycles(nests[n], traffic[n], device_));
      AddTimes(nests[n], traffic[n], cycles.back());
      AddNest(nests[n], cycles.back());
    }
    report_.expected_ns = 1e9 * AnalyticSeconds(cycles, device_, report_.threads);
    // Of nests that do nothing the ends alone are left.
    const std::vector<NestCycles> nothing(cycles.size());
    report_.time_ns[kBarrierTime] =
        report_.threads > 1 ? 1e9 * AnalyticSeconds(nothing, device_, report_.threads) : 0;
    const auto& times = report_.time_ns;
    report_.bound =
        static_cast<TimeUse>(std::max_element(times.begin(), times.end()) - times.begin());
    double all = 0;
    for (const NestReport& nest : report_.nests) all += nest.share;
    for (NestReport& nest : report_.nests) nest.share /= std::max(all, 1.0);
    AddFindings();
    return std::move(report_);
  }

 private:
  double Ns(double cycles) const { return 1e9 * cycles / device_.cycles_per_second; }

  void AddTimes(const WalkNest& nest, const std::vector<BufferTraffic>& traffic,
                const NestCycles& cycles) {
    const auto parts = AnalyticComputeParts(nest, device_);
    for (int i = 0; i < kComputeLimitCount; ++i) {
      report_.time_ns[kArithmeticTime + i] += Ns(parts[i]);
    }
    for (int c = 0; c < kCacheLevelCount; ++c) {
      report_.time_ns[kL1FillTime + c] += Ns(cycles.fill[c]);
      for (const BufferTraffic& buffer : traffic) report_.fill_bytes[c] += buffer.bytes_in[c];
    }
    report_.time_ns[kWaitTime] += Ns(cycles.exposed);
  }

  void AddNest(const WalkNest& nest, const NestCycles& cycles) {
    const WalkStore* heaviest = nullptr;
    double most = -1;
    for (const WalkStore& store : nest.stores) {
      const StoreSums sums = SumsOf(lowered_, nest, store);
      report_.operations += sums.operations;
      report_.instructions += sums.instructions;
      report_.loads += sums.loads;
      report_.stores += sums.stores;
      report_.accessed_bytes += sums.accessed_bytes;
      if (sums.instructions <= most) continue;
      most = sums.instructions;
      heaviest = &store;
    }
    if (heaviest == nullptr) return;
    NestReport& one = report_.nests.emplace_back();
    one.output = lowered_.buffers[heaviest->buffer].name;
    one.workers = nest.parallel ? nest.workers : 1;
    one.lanes = heaviest->lanes;
    one.window = heaviest->to_register ? heaviest->window : 0;
    one.intrinsic = heaviest->intrinsic;
    one.share = cycles.compute + cycles.memory + cycles.exposed;
    for (const WalkLoop& loop : heaviest->loops) {
      const std::string& name = lowered_.vars[loop.var].name;
      // Digits of a fused loop are one loop to those who read.
      if (!one.loops.empty() && one.loops.back().name == name) {
        one.loops.back().extent *= loop.extent;
        one.loops.back().trips *= loop.trips;
        continue;
      }
      one.loops.push_back({lowered_.vars[loop.var].name, loop.kind, loop.extent, loop.trips});
    }
  }

  void Find(const std::string& name, double share, std::string text) {
    if (share >= kFindingMin) report_.findings.push_back({name, share, std::move(text)});
  }

  void AddFindings() {
    const std::vector<float> row = ExtractFeatures(lowered_, device_, report_.threads);
    const auto share = [&](TimeUse use) { return report_.time_ns[use] / report_.expected_ns; };
    double compute = 0;
    for (int use = kArithmeticTime; use <= kLoopTime; ++use) {
      compute += share(static_cast<TimeUse>(use));
    }
    const double fill = std::max({share(kL1FillTime), share(kL2FillTime), share(kL3FillTime)});
    const int registers = device_.core.vector_register_count;
    Find("imbalance", row[kImbalance] * compute,
         absl::StrFormat("workers wait for the slowest of %d: tiles do not divide evenly, %.0f %% "
                         "of the cycles of parallel loops",
                         report_.threads, 100 * row[kImbalance]));
    Find("serial", report_.threads > 1 ? row[kSerialShare] * compute : 0,
         absl::StrFormat("%.0f %% of the cycles are in nests of one worker",
                         100 * row[kSerialShare]));
    Find("tail", row[kTailWaste] * compute,
         absl::StrFormat("%.0f %% of the lanes of vector instructions have no element",
                         100 * row[kTailWaste]));
    Find("chain", share(kChainTime),
         "sums wait for the one before: more of them side by side, in a larger register tile, "
         "would not");
    Find("loads", share(kLoadTime),
         absl::StrFormat("loads take longer than arithmetic: %.2f of them an instruction",
                         report_.instructions > 0 ? report_.loads / report_.instructions : 0));
    Find("stores", share(kStoreTime), "stores take longer than arithmetic");
    Find("spills", share(kSpillTime),
         absl::StrFormat("the fullest body wants %.0f vectors or more addresses than there are "
                         "registers (%d vectors)",
                         row[kWindowMax] + 2, registers));
    Find("loops", share(kLoopTime),
         "steps and conditions of loops: longer bodies have fewer of them");
    Find("waiting", share(kWaitTime),
         "data that nothing asks for ahead: weights from memory, or what another worker wrote");
    Find("barriers", share(kBarrierTime),
         absl::StrFormat("%d nests, each with a barrier at its end",
                         static_cast<int>(report_.nests.size())));
    // Both run at once; this is where the lesser shows.
    Find("memory", fill > compute ? fill - compute : 0,
         "the caches are filled more slowly than the data is computed with");
    std::sort(report_.findings.begin(), report_.findings.end(),
              [](const Finding& a, const Finding& b) {
                return a.share != b.share ? a.share > b.share : a.name < b.name;
              });
  }

  const Program& lowered_;
  const DeviceModel& device_;
  ScheduleReport report_;
};

}  // namespace

const char* TimeUseName(TimeUse use) {
  static constexpr const char* kNames[] = {"arithmetic", "loads",   "stores",  "sums in a chain",
                                           "spills",     "loops",   "into L1", "into L2",
                                           "into L3",    "waiting", "barriers"};
  static_assert(std::size(kNames) == kTimeUseCount);
  return kNames[use];
}

absl::StatusOr<ScheduleReport> ReportSchedule(const Program& workload, const Trace& trace,
                                              const DeviceModel& device, int threads) {
  ASSIGN_OR_RETURN(const Program scheduled, ApplyTrace(trace, workload));
  RETURN_IF_ERROR(Verify(scheduled));
  ASSIGN_OR_RETURN(const Program lowered, Lower(scheduled, {.for_estimate = true}));
  return Reporter(lowered, device, threads).Run();
}

}  // namespace burnish
