#include "compiler/codegen/kernel_runner.h"

#include <barrier>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/tile_permission.h"
#include "compiler/runtime/float_mode.h"
#include "compiler/runtime/guarded_buffer.h"

namespace burnish {
namespace {

void WriteElement(DType type, double number, int64_t integer, uint8_t* at) {
  const auto put = [&](auto value) { std::memcpy(at, &value, sizeof(value)); };
  switch (type) {
    case DType::kF32:
      return put(static_cast<float>(number));
    case DType::kF64:
      return put(number);
    case DType::kBf16:
      return put(Bfloat16(static_cast<float>(number)));
    case DType::kF16:
      return put(Float16(static_cast<float>(number)));
    // Of both kinds: the low bits are the same.
    case DType::kI64:
    case DType::kU64:
      return put(integer);
    case DType::kI32:
    case DType::kU32:
      return put(static_cast<int32_t>(integer));
    case DType::kI16:
    case DType::kU16:
      return put(static_cast<int16_t>(integer));
    case DType::kI8:
    case DType::kU8:
      return put(static_cast<int8_t>(integer));
    case DType::kBool:
      return put(static_cast<uint8_t>(integer != 0));
  }
}

template <typename T>
T Get(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

void ReadElement(DType type, const uint8_t* at, TensorValue& tensor) {
  switch (type) {
    case DType::kF32:
      return tensor.floats.push_back(static_cast<double>(Get<float>(at)));
    case DType::kF64:
      return tensor.floats.push_back(Get<double>(at));
    case DType::kBf16:
      return tensor.floats.push_back(static_cast<double>(Get<Bfloat16>(at)));
    case DType::kF16:
      return tensor.floats.push_back(static_cast<double>(Get<Float16>(at)));
    case DType::kI64:
    case DType::kU64:  // Its bits.
      return tensor.integers.push_back(Get<int64_t>(at));
    case DType::kI32:
      return tensor.integers.push_back(Get<int32_t>(at));
    case DType::kU32:
      return tensor.integers.push_back(Get<uint32_t>(at));
    case DType::kI16:
      return tensor.integers.push_back(Get<int16_t>(at));
    case DType::kU16:
      return tensor.integers.push_back(Get<uint16_t>(at));
    case DType::kI8:
      return tensor.integers.push_back(Get<int8_t>(at));
    case DType::kU8:
    case DType::kBool:
      return tensor.integers.push_back(Get<uint8_t>(at));
  }
}

// Calls visit(position in row-major order, byte offset in the allocation) for each element.
void ForEachElement(const Buffer& buffer, const std::function<void(int64_t, int64_t)>& visit) {
  const int64_t count = ElementCount(buffer.shape);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, offset = buffer.storage.offset;
    for (int d = static_cast<int>(buffer.shape.size()) - 1; d >= 0; --d) {
      offset += rest % buffer.shape[d] * buffer.storage.strides[d];
      rest /= buffer.shape[d];
    }
    visit(i, offset * SizeBytes(buffer.dtype));
  }
}

absl::StatusOr<GuardedBuffer> Allocate(int64_t bytes, int64_t alignment) {
  auto buffer = GuardedBuffer::Allocate({.size_bytes = static_cast<uint64_t>(bytes),
                                         .alignment_bytes = static_cast<uint32_t>(alignment)});
  if (!buffer.ok()) return absl::InternalError("no memory for a buffer");
  return std::move(*buffer);
}

void Fill(const Buffer& buffer, const TensorValue& value, uint8_t* bytes) {
  const int64_t elements = StorageElementCount(buffer);
  if (!buffer.storage.border.empty()) {
    for (int64_t i = 0; i < elements; ++i) {
      WriteElement(buffer.dtype, buffer.storage.border_value,
                   static_cast<int64_t>(buffer.storage.border_value),
                   bytes + i * SizeBytes(buffer.dtype));
    }
  }
  ForEachElement(buffer, [&](int64_t i, int64_t offset) {
    WriteElement(buffer.dtype, IsFloat(buffer.dtype) ? value.floats[i] : 0,
                 IsFloat(buffer.dtype) ? 0 : value.integers[i], bytes + offset);
  });
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
      Fill(buffer, arguments[next++], bytes.bytes().data());
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
    TensorValue value{.dtype = buffer.dtype, .shape = buffer.shape};
    ForEachElement(buffer, [&](int64_t, int64_t offset) {
      ReadElement(buffer.dtype, bytes.bytes().data() + offset, value);
    });
    results.push_back(std::move(value));
  }
  return results;
}

}  // namespace burnish
