// What the learned model sees of a candidate: one row of numbers from its lowered program, each
// documented here with its unit.
// Sources: Zheng et al., "Ansor", OSDI 2020, section 5.2 and appendix B (per innermost store:
// arithmetic, loops, buffer accesses, intensity curve, allocation, outer loops); Adams et al.,
// "Learning to optimize Halide with tree search and random programs", SIGGRAPH 2019, section 4.
#ifndef TUNER_COST_MODEL_FEATURES_H_
#define TUNER_COST_MODEL_FEATURES_H_

#include <vector>

#include "compiler/ir/program.h"
#include "compiler/target/device_model.h"

namespace burnish {

// Units: "log2 n" is log2(1 + n), of a count or of bytes. Counts and bytes are of one worker's
// share of one call unless said. "Body": unrolled and vectorized loops with what is under them. The
// heaviest store is the one with the most arithmetic, as executed.

// Estimates of the analytic model, from kLogAnalyticSeconds on: what is withheld with it.
inline constexpr int kAnalyticFeatureCount = 5;

// Of the whole program, without its pack function.
enum ProgramFeature : int {
  kLogAnalyticSeconds = 0,  // ln s: AnalyticSeconds, the prior of the learned model
  kComputeCycles,           // log2 cycles: arithmetic, issue and dependence, all nests
  kMemoryCycles,            // log2 cycles: at the rates of the caches
  kExposedCycles,           // log2 cycles: waiting for weights that nothing prefetches
  kMemoryShare,             // memory / (memory + compute) cycles
  kNests,                   // nests; each is a barrier
  kSerialShare,             // of compute cycles, those in nests that one worker runs
  kImbalance,               // of cycles in parallel nests, those that wait for the slowest worker
  kStores,                  // stores in the text: bodies times sizes of ragged tiles
  kBodyInstructions,        // log2 vector instructions in the text, unrolled: code size
  kOperations,              // log2 arithmetic operations on elements
  kLoads,                   // log2 load instructions
  kStoreInstructions,       // log2 store instructions
  kL1BytesIn,               // log2 bytes into L1 from L2
  kL2BytesIn,               // log2 bytes into L2 from L3
  kL3BytesIn,               // log2 bytes into L3 from memory
  kScratchBytes,            // log2 bytes of temporaries of one worker
  kSharedTempBytes,         // log2 bytes of temporaries that cross nests, of all workers
  kPackedBytes,             // log2 bytes of weights that the pack function wrote, of all workers
  kUnpackedBytes,           // log2 bytes of constants read as they are, of all workers
  kPrefetches,              // log2 executions of prefetches
  kTailWaste,               // of lanes of all vector instructions, those without an element
  kWindowMax,               // vectors of the largest register window
  kSpilledMax,              // vectors that the fullest body cannot keep in registers
  kSlowShare,               // of operations, divisions, roots, transcendentals and powers
  kAlgorithmKey,            // which one and with which parameter, as a number; 0: none
  kProgramFeatureCount,
};

// Of one store. The heaviest has all of them, the others of its program are summed up below.
enum StoreFeature : int {
  kStoreAdd = 0,         // log2 additions and subtractions
  kStoreMultiply,        // log2 multiplications that are not part of a multiply-add
  kStoreFused,           // log2 multiply-adds
  kStoreMinMax,          // log2 minima and maxima
  kStoreSelect,          // log2 selects
  kStoreConvert,         // log2 casts, negations and absolute values
  kStoreDivide,          // log2 divisions and square roots
  kStoreTranscendental,  // log2 exp, log, tanh, erf, sin, cos
  kStorePower,           // log2 powers
  kStoreCompare,         // log2 comparisons and logic
  kStoreInteger,         // log2 integer operations that index simplification left
  kStoreVectorExtent,    // log2 elements of the vectorized loop; 0: scalar
  kStoreTailWaste,       // of its lanes, those without an element
  kStoreUnrolled,        // log2 iterations of the unrolled loops of its body
  kStoreParallelExtent,  // log2 iterations of the parallel loop; 0: none
  kStoreIterationsEach,  // log2 iterations of it that the busiest worker has
  kStoreOuterProduct,    // log2 executions of its body
  kStoreInnermostTrips,  // log2 iterations of the innermost loop that is not of the body
  kStoreLoops,           // loops around it
  kStoreReduced,         // log2 values combined into one register, an execution
  kStoreWindow,          // vectors of the register window that it writes
  kStoreRegisterShare,   // (window + 2) / vector registers
  kStorePortFill,        // window / accumulators that the FMA ports need to be busy
  kStoreLoadsPerOp,      // load instructions / arithmetic instructions of its body
  kStorePointers,        // addresses that its body must keep apart
  kStoreElements,        // log2 elements that it writes or combines
  kStoreIntensity0,      // log2 operations / byte touched, in the whole nest; then at four equal
  kStoreIntensity1,      // .. steps inward through its loops
  kStoreIntensity2,      // ..
  kStoreIntensity3,      // ..
  kStoreIntensity4,      // .. in one iteration of the innermost loop
  kStoreFeatureCount,
};

// Of one buffer that the heaviest store touches.
enum BufferFeature : int {
  kBufferBytes = 0,      // log2 bytes touched, once an execution of the body
  kBufferUnique,         // log2 bytes that are different
  kBufferLines,          // log2 cache lines an execution of the body
  kBufferStride,         // log2 bytes from one iteration to the next of the innermost loop that
                         // moves it; -1: no multiple (a table, a padding test)
  kBufferLanes,          // 0: one value for all lanes, 1: lanes side by side, 2: lanes apart
  kBufferReuseCount,     // log2 iterations of the innermost loop outside the body that uses the
                         // same elements again; 0: none does
  kBufferReuseDistance,  // log2 bytes touched by everything in between
  kBufferReuseLevel,     // the cache that holds so many: 1, 2, 3; 4: none; 0: no reuse
  kBufferL1In,           // log2 bytes of it into L1
  kBufferL2In,           // log2 bytes of it into L2
  kBufferL3In,           // log2 bytes of it into L3
  kBufferIsStored,       // 1: written, 0: read only
  kBufferIsCold,         // 1: weights, in no cache when the call starts
  kBufferIsPrefetched,   // 1: the program asks for it ahead
  kBufferFeatureCount,
};

// Of all stores but the heaviest.
enum RestFeature : int {
  kRestStores = 0,     // their number
  kRestOperations,     // log2 operations
  kRestElements,       // log2 elements written or combined
  kRestExecutions,     // log2 executions of the most frequent body
  kRestSlow,           // log2 divisions, roots, transcendentals and powers
  kRestInteger,        // log2 integer operations
  kRestAccessedBytes,  // log2 bytes touched
  kRestFeatureCount,
};

// Buffers of the heaviest store with columns, most bytes touched first; NaN where it has fewer.
inline constexpr int kFeatureBufferCount = 4;

// Columns of a row: program, heaviest store, its buffers one after the other, the other stores.
inline constexpr int kStoreFeatureBegin = kProgramFeatureCount;
inline constexpr int kBufferFeatureBegin = kStoreFeatureBegin + kStoreFeatureCount;
inline constexpr int kRestFeatureBegin =
    kBufferFeatureBegin + kFeatureBufferCount * kBufferFeatureCount;
inline constexpr int kFeatureCount = kRestFeatureBegin + kRestFeatureCount;

// Part of every stored model: raised when a column changes its place or meaning.
inline constexpr int kFeatureVersion = 4;

// kFeatureCount values, all finite but where NaN was said. A pure function. `device` is a CPU.
std::vector<float> ExtractFeatures(const Program& lowered, const DeviceModel& device, int threads);

}  // namespace burnish

#endif  // TUNER_COST_MODEL_FEATURES_H_
