// A model that is run a single time: the program that makes a bundle's weights of new parameters.
#ifndef COMPILER_RUNTIME_RUN_ONCE_H_
#define COMPILER_RUNTIME_RUN_ONCE_H_

#include <memory>
#include <vector>

#include "compiler/runtime/aligned_bytes.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/runtime_status.h"

namespace burnish {

// Dense inputs to dense outputs, in the model's order, on one thread; an empty input is zeros. What
// is aligned is read where it lies. Errors: of Session.
RuntimeOr<std::vector<AlignedBytes>> RunOnce(const std::shared_ptr<const Model>& model,
                                             const ByteViews& inputs);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_RUN_ONCE_H_
