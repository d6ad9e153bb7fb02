#include "worker/builder/kernel_objects.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/parallel_for.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/usable_cpus.h"
#include "compiler/ir/printer.h"

namespace burnish {
namespace {

std::string KeyOf(const CodegenTarget& target, const KernelSource& source) {
  return Sha256Hex(absl::StrCat(target.triple, "\n", target.tune_cpu, "\n",
                                absl::StrJoin(target.features, ","), "\n", source.symbol, "\n",
                                Print(*source.program)));
}

}  // namespace

void KernelObjects::BeginLibrary() { before_ = std::exchange(now_, {}); }

absl::StatusOr<CompiledModule> KernelObjects::Compile(Backend& backend, const CodegenTarget& target,
                                                      absl::Span<const KernelSource> sources) {
  // A model's steps may all be functions of the runtime; the linker wants an object all the same.
  if (sources.empty()) return backend.Compile(target, sources);
  std::vector<std::string> keys;
  std::vector<absl::StatusOr<CompiledObject>> objects(sources.size());
  std::vector<size_t> missing;
  for (size_t i = 0; i < sources.size(); ++i) {
    keys.push_back(KeyOf(target, sources[i]));
    if (const auto found = before_.find(keys[i]); found != before_.end()) {
      objects[i] = found->second;
    } else {
      missing.push_back(i);
    }
  }
  ParallelFor(missing.size(), UsableCpuCount(), [&](size_t i) {
    objects[missing[i]] = backend.CompileObject(target, {&sources[missing[i]], 1});
  });
  CompiledModule module;
  std::vector<std::string> bytes;
  for (size_t i = 0; i < sources.size(); ++i) {
    RETURN_IF_ERROR(objects[i].status());
    bytes.push_back(objects[i]->elf);
    module.kernels.push_back(objects[i]->kernels[0]);
    now_.emplace(std::move(keys[i]), *std::move(objects[i]));
  }
  ASSIGN_OR_RETURN(module.elf, backend.Link(bytes));
  return module;
}

}  // namespace burnish
