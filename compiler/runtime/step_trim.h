// Iterations of a step's parallel loop that a run may leave out, since nothing reads what they
// write (docs/adr/0013-bounded-axes.md).
#ifndef COMPILER_RUNTIME_STEP_TRIM_H_
#define COMPILER_RUNTIME_STEP_TRIM_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/place.h"
#include "compiler/runtime/runtime_status.h"

namespace burnish {

// factor * product of the sizes.
struct TrimProduct {
  int64_t factor = 1;
  std::vector<uint32_t> sizes;  // Into RunSizes::sizes.

  friend bool operator==(const TrimProduct&, const TrimProduct&) = default;
};
// Part of an axis: the sum of the products is how much of `bound` is read.
struct TrimPart {
  std::vector<TrimProduct> holds;
  int64_t bound = 1;

  friend bool operator==(const TrimPart&, const TrimPart&) = default;
};
// An axis of what the step writes. Iteration p writes indices from starts[p / inner % starts] on,
// `span` of them at most.
struct TrimAxis {
  std::vector<TrimPart> parts;  // Row-major.
  uint32_t inner = 1;
  int64_t span = 1;
  std::vector<int64_t> starts;

  friend bool operator==(const TrimAxis&, const TrimAxis&) = default;
};
// The step's kernel has one parallel loop and nothing beside it: called as worker p of `iterations`
// it does iteration p, which may be several of the loop's (kernel_abi.h says how they are shared
// out).
struct StepTrim {
  uint32_t step = 0;
  uint32_t iterations = 0;
  std::vector<TrimAxis> axes;

  friend bool operator==(const StepTrim&, const StepTrim&) = default;
};

// Flags that loops inside of kernels ask (compiler/ir/guard_loops.h): `count` from `first` on, each
// of what a combination of loop variables writes, as an iteration above.
struct LoopFlags {
  uint32_t first = 0;
  uint32_t count = 0;
  std::vector<TrimAxis> axes;

  friend bool operator==(const LoopFlags&, const LoopFlags&) = default;
};
// A byte a flag, in the arena, where no step writes. The session sets them when sizes change.
struct LiveTable {
  Place place;
  uint32_t size_bytes = 0;
  std::vector<LoopFlags> loops;

  friend bool operator==(const LiveTable&, const LiveTable&) = default;
};

inline constexpr uint32_t kTrimIterationsMax = 1 << 16;

std::string EncodeTrims(const std::vector<StepTrim>& trims);
// kDataLoss: not such bytes. Checks no meaning.
RuntimeOr<std::vector<StepTrim>> DecodeTrims(std::span<const uint8_t> bytes);
// kInvalidArgument unless each names another step, sizes that there are, and numbers that fit.
// `given`: by size, whether an input gives it.
RuntimeStatus CheckTrims(const std::vector<StepTrim>& trims, size_t step_count,
                         const std::vector<bool>& given);

std::string EncodeLiveTables(const std::vector<LiveTable>& tables);
// As those of trims. Places are checked by CheckManifest.
RuntimeOr<std::vector<LiveTable>> DecodeLiveTables(std::span<const uint8_t> bytes);
RuntimeStatus CheckLiveTables(const std::vector<LiveTable>& tables, const std::vector<bool>& given);

// All that is asked by a loop, where the sizes are these: 1 where a result is read, else 0.
void FillLiveTable(const LiveTable& table, std::span<const int64_t> sizes,
                   std::span<uint8_t> flags);

// Iterations whose results are read where the sizes are these, ascending.
std::vector<uint32_t> NeededIterations(const StepTrim& trim, std::span<const int64_t> sizes);

// A call of a kernel that does the first `count` of some iterations.
struct TrimCall {
  uint32_t worker = 0, workers = 1;
  size_t count = 0;
};
// `needed`: not empty, ascending, each below `iterations`. Worker w of half as many workers does
// what two of them do (kernel_abi.h: shares end at floor(w * loop / workers)), so that iterations
// in a row are few calls.
TrimCall FirstCall(std::span<const uint32_t> needed, uint32_t iterations);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_STEP_TRIM_H_
