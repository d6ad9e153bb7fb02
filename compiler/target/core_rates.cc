#include "compiler/target/core_rates.h"

namespace burnish {
namespace {

// Two cores of an AMD EPYC (Zen 4, family 25, model 17) in a virtual machine with 32 MiB of L3, 21
// November 2026. The analytic model was fitted to 220 schedules of 11 convolutions there; with
// these rates and its own shares the model has its fitted constants. The fit took the clock for 3.2
// GHz; under multiply-adds the cores run at 3.69. Exchange between the cores is the mean of that
// machine's two states: its CPUs share an L3, or do not.
constexpr CoreRates kZen4Server = {
    .cycles_per_second = 3.2e9,
    .loop_cycles = 0.5,
    .l2_bytes = 32,
    .l3_bytes = 25,
    .memory_bytes = 8,
    .memory_bytes_shared = 12,
    .l1_latency = 4,
    .l2_latency = 17,
    .l3_latency = 54,
    .memory_latency = 590,
    .barrier = 150,
    .peer_latency = 128,
    .peer_bytes = 12,
};
// Two cores of an AMD EPYC (Zen 5, family 26, model 2) in a virtual machine, 23 November 2026: of
// 4,800 pairs of schedules with whole register tiles of ten products and convolutions, those that
// write out 2, 4 and 8 steps take 1.00, 1.00 and 1.02 of the time of those that write out one
// (geometric means; tests/bench/search/zen5). Eight instructions a cycle leave room for a loop's
// two. What memory does is its calibration's to say.
//
// Prefetches: a Winograd layer (7x7, 512 channels) on one thread there, 29 November 2026: 865 us
// without; with prefetcht1 880 us where weights begin at a multiple of 128 bytes, 590 us where they
// begin 64 bytes further; with prefetcht0 590 us of both. Why was not found out (no counters
// there). On a Granite Rapids models take 0.95 to 1.03 of their time with prefetcht0, 1.00 in the
// mean; others were not looked at.
constexpr CoreRates Zen5Server() {
  CoreRates rates = kZen4Server;
  rates.loop_cycles = 0;
  rates.prefetches_through_l1 = true;
  return rates;
}
constexpr CoreRates kZen5Server = Zen5Server();
// Two cores of an Intel Xeon (Granite Rapids by its features) in a virtual machine with 480 MiB of
// L3, 27 November 2026, as `tuner doctor --calibrate` says. Its clock under multiply-adds is 3.1 to
// 3.8 GHz, by what its neighbours do. Of 2,534 schedules of ResNet-50's convolutions there the
// analytic model says for 0.846 what they take within 0.8 to 1.25 with one cycle a step of a loop,
// for 0.825 with the half that a Zen 4's take. 109 giga-operations a second and core of bfloat16 at
// 3.1 GHz, where FMA reaches 217: a Zen 4 has as many as FMAs, and a Zen 5 did 1.85 times the
// multiply-adds of FMA.
constexpr CoreRates kAmxServer = {
    .cycles_per_second = 3.8e9,
    .loop_cycles = 1,
    .l2_bytes = 55,
    .l3_bytes = 8,
    .memory_bytes = 5,
    .memory_bytes_shared = 9.5,
    .l1_latency = 4.6,
    .l2_latency = 22,
    .l3_latency = 140,
    .memory_latency = 840,
    .barrier = 680,
    .peer_latency = 190,
    .peer_bytes = 7.6,
    .bf16_dots_per_fma = 0.25,
};

struct Row {
  absl::string_view arch;
  const CoreRates& rates;
};
constexpr Row kRows[] = {
    {"znver4", kZen4Server},       {"znver5", kZen5Server},       {"sapphirerapids", kAmxServer},
    {"emeraldrapids", kAmxServer}, {"graniterapids", kAmxServer}, {"graniterapids-d", kAmxServer},
};

}  // namespace

const CoreRates& CoreRatesOf(absl::string_view arch) {
  for (const Row& row : kRows) {
    if (row.arch == arch) return row.rates;
  }
  // Until its machines are calibrated: the equations were fitted with these rates, whatever the
  // target.
  return kZen4Server;
}

}  // namespace burnish
