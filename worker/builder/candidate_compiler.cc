#include "worker/builder/candidate_compiler.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/parallel_for.h"
#include "base/status_macros.h"
#include "base/usable_cpus.h"
#include "compiler/codegen/codegen_epoch.h"
#include "compiler/codegen/text/c_text.h"
#include "compiler/ir/contract.h"
#include "compiler/ir/printer.h"
#include "compiler/runtime/artifact.h"
#include "worker/builder/candidate.h"
#include "worker/builder/kernel_facts.h"
#include "worker/builder/split_pack.h"

namespace burnish {
namespace {

absl::string_view View(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string KernelSymbol(size_t index) { return absl::StrCat(BURNISH_KERNEL_PREFIX, index); }

// What is known of a candidate before the backend has seen it.
CompiledKernel FactsOf(const PreparedCandidate& candidate, const SplitProgram& split) {
  CompiledKernel kernel{.numerics = candidate.scheduled.numerics,
                        .contract = ContractOf(candidate.scheduled)};
  kernel.build.codegen_epoch = kCodegenEpoch;
  kernel.build.lowered_sha256 = RawSha256(Print(candidate.lowered));
  if (split.pack.has_value()) kernel.build.packed_bytes = PackedBytes(*split.pack);
  return kernel;
}

void AddBackendFacts(const KernelInfo& info, CompiledKernel& kernel) {
  kernel.build.spill_count = static_cast<int32_t>(info.innermost_spill_count);
  kernel.build.code_bytes = info.code_bytes;
  kernel.build.scratch_bytes = info.scratch_bytes;
}

void AddBuffers(const PreparedCandidate& candidate, const SplitProgram& split,
                const KernelInfo& info, const KernelInfo* pack_info, CompiledKernel& kernel) {
  std::map<std::string, CallBuffer> tables;
  const auto add = [&](BufferId table, const CallBuffer& buffer) {
    tables[candidate.lowered.buffers[table].name] = buffer;
  };
  if (candidate.live >= 0) add(candidate.live, {.kind = CallBuffer::Kind::kLive});
  for (const StridedParameter& of : candidate.strided) {
    add(of.table, {.kind = CallBuffer::Kind::kStrides, .index = of.parameter});
  }
  kernel.buffers =
      CallBuffersOf(split.compute, info, candidate.definition,
                    pack_info == nullptr ? BufferRole::kTemp : BufferRole::kConstant, tables);
  if (pack_info != nullptr) {
    kernel.pack_buffers =
        CallBuffersOf(*split.pack, *pack_info, candidate.definition, BufferRole::kOutput);
  }
}

ArtifactManifest ManifestFor(const Target& target) {
  return {.target = target.ToText(), .features = target.features};
}

// Programs of a library; equal ones once.
class DistinctPrograms {
 public:
  // `kept_by_caller` lives as long as this.
  int32_t Add(const Program& kept_by_caller) {
    // By text: layers of one shape and schedule are one kernel in a bundle.
    const auto [found, is_new] =
        by_text_.emplace(Print(kept_by_caller), static_cast<int32_t>(programs_.size()));
    if (is_new) programs_.push_back(&kept_by_caller);
    return found->second;
  }

  std::vector<KernelSource> Sources() const {
    std::vector<KernelSource> sources;
    for (const Program* program : programs_) {
      sources.push_back({.symbol = KernelSymbol(sources.size()), .program = program});
    }
    return sources;
  }

  size_t size() const { return programs_.size(); }

 private:
  std::vector<const Program*> programs_;
  std::map<std::string, int32_t> by_text_;
};

struct LibraryItem {
  PreparedCandidate candidate;
  SplitProgram split;
  CompiledKernel kernel;
};

}  // namespace

CodegenTarget ToCodegenTarget(const Target& target) {
  return {.tune_cpu = target.arch, .features = target.features};
}

absl::StatusOr<CompiledKernel> CandidateCompiler::CompileArtifact(const CompileItem& item,
                                                                  const Target& target) {
  const absl::Time start = Clock::Real().SteadyNow();
  ASSIGN_OR_RETURN(const PreparedCandidate candidate, PrepareCandidate(item));
  const SplitProgram split = SplitPack(candidate.lowered);
  CompiledKernel kernel = FactsOf(candidate, split);
  std::vector<KernelSource> sources = {{.symbol = KernelSymbol(0), .program = &split.compute}};
  if (split.pack.has_value()) {
    sources.push_back({.symbol = absl::StrCat(BURNISH_PACK_PREFIX, 0), .program = &*split.pack});
  }
  ASSIGN_OR_RETURN(const CompiledModule module, backend_.Compile(ToCodegenTarget(target), sources));
  const KernelInfo& info = module.kernels[0];
  const KernelInfo* const pack_info = split.pack.has_value() ? &module.kernels[1] : nullptr;
  AddBackendFacts(info, kernel);
  AddBuffers(candidate, split, info, pack_info, kernel);

  ArtifactManifest manifest = ManifestFor(target);
  // Not the item's id: twins shall be equal byte for byte.
  KernelManifest& entry = manifest.kernels.emplace_back();
  entry.name = candidate.definition.name;
  entry.compute = ManifestOf(split.compute, info, &candidate.scheduled);
  if (pack_info != nullptr) entry.pack = ManifestOf(*split.pack, *pack_info, nullptr);
  kernel.artifact = WriteArtifact(manifest, module.elf);
  kernel.build.llvm_version = compiler_version_;
  // Two hashes: of the artifact as it travels, and of the code alone. Twins have the second in
  // common where manifests differ.
  kernel.build.artifact_sha256 = RawSha256(kernel.artifact);
  kernel.build.code_sha256 = RawSha256(View(module.elf));
  kernel.build.build_ns = absl::ToInt64Nanoseconds(Clock::Real().SteadyNow() - start);
  return kernel;
}

absl::StatusOr<std::string> CandidateCompiler::Emit(const CompileItem& item, const Target& target,
                                                    absl::string_view form) {
  ASSIGN_OR_RETURN(const PreparedCandidate candidate, PrepareCandidate(item));
  if (form == "ir") return Print(candidate.definition);
  if (form == "schedule") return Print(candidate.scheduled);
  if (form == "lowered") return Print(candidate.lowered);
  const SplitProgram split = SplitPack(candidate.lowered);
  const KernelSource source = {.symbol = KernelSymbol(0), .program = &split.compute};
  if (form == "c") {
    ASSIGN_OR_RETURN(CText printed, PrintC({&source, 1}));
    return std::move(printed.text);
  }
  return backend_.Emit(ToCodegenTarget(target), source, form);
}

absl::StatusOr<CompileReply> CandidateCompiler::CompileLibrary(absl::Span<const CompileItem> items,
                                                               const Target& target,
                                                               const Target& pack_target) {
  CompileReply reply;
  reply.results.resize(items.size());
  std::vector<std::optional<LibraryItem>> prepared(items.size());
  ParallelFor(items.size(), UsableCpuCount(), [&](size_t i) {
    reply.results[i].id = items[i].id;
    absl::StatusOr<PreparedCandidate> candidate = PrepareCandidate(items[i]);
    if (!candidate.ok()) {
      reply.results[i].outcome = Failure{.kind = FailureKind::kBuildError,
                                         .message = std::string(candidate.status().message())};
      return;
    }
    LibraryItem& item = prepared[i].emplace();
    item.split = SplitPack(candidate->lowered);
    item.kernel = FactsOf(*candidate, item.split);
    item.candidate = *std::move(candidate);
  });
  // All items are prepared first, so that one call names every item that fails, and the backend
  // runs for none.
  const auto failed = [](const std::optional<LibraryItem>& item) { return !item.has_value(); };
  if (std::any_of(prepared.begin(), prepared.end(), failed)) return reply;

  DistinctPrograms kernels, packs;
  for (std::optional<LibraryItem>& item : prepared) {
    item->kernel.kernel_index = kernels.Add(item->split.compute);
    if (!item->split.pack.has_value()) continue;
    item->kernel.pack_index = packs.Add(*item->split.pack);
    item->kernel.pack_sha256 = RawSha256(Print(*item->split.pack));
  }
  objects_.BeginLibrary();
  ASSIGN_OR_RETURN(const CompiledModule module,
                   objects_.Compile(backend_, ToCodegenTarget(target), kernels.Sources()));
  CompiledModule pack_module;
  if (packs.size() > 0) {
    // For another target: packing runs where the bundle is built, compute code where the model
    // runs.
    ASSIGN_OR_RETURN(pack_module,
                     objects_.Compile(backend_, ToCodegenTarget(pack_target), packs.Sources()));
  }
  ArtifactManifest manifest = ManifestFor(target);
  ArtifactManifest pack_manifest = ManifestFor(pack_target);
  manifest.kernels.resize(kernels.size());
  pack_manifest.kernels.resize(packs.size());
  for (size_t i = 0; i < items.size(); ++i) {
    LibraryItem& item = *prepared[i];
    const KernelInfo& info = module.kernels[item.kernel.kernel_index];
    const bool has_pack = item.split.pack.has_value();
    const KernelInfo* const pack_info =
        has_pack ? &pack_module.kernels[item.kernel.pack_index] : nullptr;
    AddBackendFacts(info, item.kernel);
    item.kernel.build.llvm_version = compiler_version_;
    AddBuffers(item.candidate, item.split, info, pack_info, item.kernel);
    KernelManifest& entry = manifest.kernels[item.kernel.kernel_index];
    // The first item gives the name of a kernel that several share.
    if (entry.name.empty()) {
      entry.name = items[i].id;
      entry.compute = ManifestOf(item.split.compute, info, &item.candidate.scheduled);
    }
    if (has_pack) {
      KernelManifest& pack_entry = pack_manifest.kernels[item.kernel.pack_index];
      if (pack_entry.name.empty()) {
        pack_entry.name = items[i].id;
        pack_entry.compute = ManifestOf(*item.split.pack, *pack_info, nullptr);
      }
    }
    reply.results[i].outcome = std::move(item.kernel);
  }
  reply.library = WriteArtifact(manifest, module.elf);
  if (packs.size() > 0) reply.pack_library = WriteArtifact(pack_manifest, pack_module.elf);
  return reply;
}

}  // namespace burnish
