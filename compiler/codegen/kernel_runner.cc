#include "compiler/codegen/kernel_runner.h"

#include <barrier>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/tile_permission.h"
#include "compiler/codegen/tensor_bytes.h"
#include "compiler/runtime/float_mode.h"
#include "compiler/runtime/guarded_buffer.h"

namespace burnish {
namespace {

absl::StatusOr<GuardedBuffer> Allocate(int64_t bytes, int64_t alignment) {
  auto buffer = GuardedBuffer::Allocate({.size_bytes = static_cast<uint64_t>(bytes),
                                         .alignment_bytes = static_cast<uint32_t>(alignment)});
  if (!buffer.ok()) return absl::InternalError("no memory for a buffer");
  return std::move(*buffer);
}

void WaitAtBarrier(void* argument) { static_cast<std::barrier<>*>(argument)->arrive_and_wait(); }

// The first return code that is not 0.
int32_t Call(BurnishKernel kernel, const std::vector<void*>& buffers, const KernelInfo& info,
             uint8_t* scratch, uint8_t* shared, int workers) {
  std::barrier<> barrier(workers);
  const BurnishKernelContext context = {
      .abi_version = BURNISH_KERNEL_ABI_VERSION,
      .buffer_count = static_cast<uint32_t>(buffers.size()),
      .buffers = buffers.data(),
      .scratch = scratch,
      .scratch_bytes_per_worker = static_cast<uint64_t>(info.scratch_bytes),
      .shared_scratch = shared,
      .barrier = &WaitAtBarrier,
      .barrier_arg = &barrier};
  std::vector<int32_t> codes(workers, 0);
  const auto work = [&](int worker) {
    // In each thread, whose own the mode is.
    const ScopedKernelFloatMode mode;
    codes[worker] = kernel(&context, worker, workers);
  };
  std::vector<std::thread> threads;
  for (int worker = 1; worker < workers; ++worker) threads.emplace_back(work, worker);
  work(0);
  for (std::thread& thread : threads) thread.join();
  for (int32_t code : codes) {
    if (code != 0) return code;
  }
  return 0;
}

}  // namespace

absl::StatusOr<KernelRunner> KernelRunner::Load(CompiledModule module) {
  // Code with tiles runs here by the processor's, or else by a test's own (tile_emulator.h).
  AllowTiles();
  auto library = SharedObject::Load(module.elf);
  if (!library.ok()) {
    return absl::InternalError(absl::StrCat("cannot load: ", library.status().message()));
  }
  return KernelRunner(std::move(module), std::move(*library));
}

absl::StatusOr<std::vector<TensorValue>> KernelRunner::Run(
    const Program& program, const std::vector<TensorValue>& arguments, int workers,
    int kernel) const {
  const KernelInfo& info = module_.kernels[kernel];
  std::map<std::string, std::unique_ptr<GuardedBuffer>> memory;
  size_t next = 0;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role == BufferRole::kTemp) continue;
    ASSIGN_OR_RETURN(GuardedBuffer bytes,
                     Allocate(StorageElementCount(buffer) * SizeBytes(buffer.dtype),
                              buffer.storage.alignment_bytes));
    if (buffer.role == BufferRole::kInput || buffer.role == BufferRole::kConstant) {
      CHECK_LT(next, arguments.size());
      FillTensor(buffer, arguments[next++], bytes.bytes().data());
    }
    memory[buffer.name] = std::make_unique<GuardedBuffer>(std::move(bytes));
  }
  // One byte more, so that there is an allocation where a kernel needs none.
  ASSIGN_OR_RETURN(const GuardedBuffer scratch, Allocate(info.scratch_bytes * workers + 1, 64));
  ASSIGN_OR_RETURN(const GuardedBuffer shared, Allocate(info.shared_scratch_bytes + 1, 64));

  const auto call = [&](const std::string& symbol, bool pack) -> absl::Status {
    auto function = library_.Kernel(symbol);
    if (!function.ok()) return absl::InternalError(absl::StrCat("no symbol ", symbol));
    std::vector<void*> pointers;
    for (const std::string& name : info.buffer_names) {
      const BufferRole role = program.buffers[FindBuffer(program, name)].role;
      // The pack function has the kernel's order without inputs and outputs.
      if (pack && role != BufferRole::kConstant && role != BufferRole::kPacked) continue;
      pointers.push_back(memory[name]->bytes().data());
    }
    const int32_t code =
        Call(*function, pointers, info, scratch.bytes().data(), shared.bytes().data(), workers);
    if (code == 0) return absl::OkStatus();
    return absl::OutOfRangeError(absl::StrCat(symbol, " returned ", code));
  };
  if (info.has_pack) RETURN_IF_ERROR(call(PackSymbol(info.symbol), true));
  RETURN_IF_ERROR(call(info.symbol, false));

  std::vector<TensorValue> results;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role == BufferRole::kTemp) continue;
    const GuardedBuffer& bytes = *memory[buffer.name];
    if (!bytes.CanariesIntact()) {
      return absl::InternalError(absl::StrCat("a write next to buffer ", buffer.name));
    }
    if (buffer.role != BufferRole::kOutput) continue;
    results.push_back(ReadTensor(buffer, bytes.bytes().data()));
  }
  return results;
}

}  // namespace burnish
