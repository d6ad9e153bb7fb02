// One run: a farm that a seed makes, and what goes wrong in it.
#ifndef TESTS_SIM_SIMULATION_H_
#define TESTS_SIM_SIMULATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/fault_plan.h"
#include "tests/sim/planted_bug.h"

namespace burnish::sim {

struct SimulationResult {
  std::string promise = "";  // That was broken; empty: none.
  std::string detail = "";
  int64_t event_count = 0;
  int64_t grant_count = 0;  // Of leases.
  uint64_t digest = 0;      // Of what happened: two runs of the same seed and plan have the same.

  bool ok() const { return promise.empty(); }
};

// The faults that the seed brings.
std::vector<Fault> PlanOf(uint64_t seed);

SimulationResult Simulate(uint64_t seed, const std::vector<Fault>& plan, Bug bug);

// The fewest of these faults with which the same promise is still broken, by delta debugging: no
// single one of them can be left out.
// Source: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002.
std::vector<Fault> Minimise(uint64_t seed, const std::vector<Fault>& plan, Bug bug,
                            const std::string& promise);

// What a failing seed prints: what is broken, and the fewest events that do it.
std::string Explain(uint64_t seed, Bug bug, const SimulationResult& result);

}  // namespace burnish::sim

#endif  // TESTS_SIM_SIMULATION_H_
