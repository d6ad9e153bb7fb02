// Values of a workload's parameters, from a seed and in their storage. Runner and checker both make
// them, each for itself, so inputs never travel. Free of Abseil.
#ifndef WORKER_RUNNER_TENSOR_DATA_H_
#define WORKER_RUNNER_TENSOR_DATA_H_

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/runtime/runtime_status.h"
#include "worker/runner/runner_wire.h"

namespace burnish {

// kInvalidArgument unless ranks agree, integers have a range, sizes are at most kMemoryBytesMax,
// and every element, border included, lies inside of `storage_bytes`.
RuntimeStatus CheckTensorSpec(const TensorSpec& spec, uint64_t storage_bytes);

int64_t ElementCount(const TensorSpec& spec);
uint64_t DenseBytes(const TensorSpec& spec);
// From the start of the buffer to the end of its last element, border included. `spec` is sound.
uint64_t StorageBytes(const TensorSpec& spec);

// Dense row-major bytes. Floats are random-normal: drawn from a table of some thousand normal
// values, which is ten times as fast as computing each; no denormals, no zeros. A pure function of
// `spec`'s type, shape and range, `seed` and `parameter`, the position among the workload's
// parameters.
std::vector<uint8_t> RandomTensor(const TensorSpec& spec, uint64_t seed, int parameter);

// The same elements into `storage` as CopyIntoStorage would: where they lie densely there, without
// a copy, which for weights of 10 MB takes as long as drawing them. `spec` was checked.
void RandomIntoStorage(const TensorSpec& spec, uint64_t seed, int parameter,
                       std::span<uint8_t> storage);

// Writes the border's value and the elements; touches nothing else. `spec` was checked.
void CopyIntoStorage(const TensorSpec& spec, std::span<const uint8_t> dense,
                     std::span<uint8_t> storage);
// The elements of `storage`, dense.
std::vector<uint8_t> CopyFromStorage(const TensorSpec& spec, std::span<const uint8_t> storage);

}  // namespace burnish

#endif  // WORKER_RUNNER_TENSOR_DATA_H_
