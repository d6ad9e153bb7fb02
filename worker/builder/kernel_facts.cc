#include "worker/builder/kernel_facts.h"

#include <map>

#include "base/check.h"
#include "base/sha256.h"
#include "compiler/ir/contract.h"
#include "compiler/ir/verifier.h"

namespace burnish {
namespace {

ArgumentRole RoleOf(BufferRole role) {
  switch (role) {
    case BufferRole::kConstant:
      return ArgumentRole::kConstant;
    case BufferRole::kOutput:
      return ArgumentRole::kOutput;
    default:
      return ArgumentRole::kInput;
  }
}

}  // namespace

std::string RawSha256(absl::string_view bytes) {
  const Sha256Digest digest = Sha256Of(bytes.data(), bytes.size());
  return std::string(digest.begin(), digest.end());
}

FunctionInfo ManifestOf(const Program& program, const KernelInfo& kernel,
                        const Program* scheduled) {
  FunctionInfo info{.scratch_bytes_per_worker = static_cast<uint64_t>(kernel.scratch_bytes),
                    .shared_scratch_bytes = static_cast<uint64_t>(kernel.shared_scratch_bytes)};
  std::map<std::string, uint32_t> position;
  for (size_t i = 0; i < kernel.buffer_names.size(); ++i) {
    const BufferId id = FindBuffer(program, kernel.buffer_names[i]);
    CHECK_GE(id, 0) << kernel.buffer_names[i];
    const Buffer& buffer = program.buffers[id];
    position[buffer.name] = static_cast<uint32_t>(i);
    info.buffers.push_back(
        {.role = RoleOf(buffer.role),
         .alignment_bytes = static_cast<uint32_t>(buffer.storage.alignment_bytes),
         .size_bytes = static_cast<uint64_t>(kernel.buffer_bytes[i])});
  }
  if (scheduled == nullptr) return info;
  for (size_t i = 0; i < scheduled->buffers.size(); ++i) {
    const Buffer& output = scheduled->buffers[i];
    if (output.role != BufferRole::kOutput) continue;
    for (const BufferId input : InPlaceInputs(*scheduled, static_cast<BufferId>(i))) {
      info.in_place.push_back({.output = position.at(output.name),
                               .input = position.at(scheduled->buffers[input].name)});
    }
  }
  return info;
}

std::vector<CallBuffer> CallBuffersOf(const Program& program, const KernelInfo& kernel,
                                      const Program& definition, BufferRole packed_role,
                                      const std::map<std::string, CallBuffer>& tables) {
  std::map<std::string, int32_t> parameter;
  for (const BufferId id : ParametersOf(definition)) {
    const auto number = static_cast<int32_t>(parameter.size());
    parameter[definition.buffers[id].name] = number;
  }
  std::vector<CallBuffer> buffers;
  int32_t packed = 0;
  for (const std::string& name : kernel.buffer_names) {
    if (program.buffers[FindBuffer(program, name)].role == packed_role) {
      buffers.push_back({.kind = CallBuffer::Kind::kPacked, .index = packed++});
    } else if (const auto table = tables.find(name); table != tables.end()) {
      buffers.push_back(table->second);
    } else {
      buffers.push_back({.kind = CallBuffer::Kind::kParameter, .index = parameter.at(name)});
    }
  }
  return buffers;
}

int64_t PackedBytes(const Program& pack) {
  int64_t bytes = 0;
  for (const Buffer& buffer : pack.buffers) {
    if (buffer.role == BufferRole::kOutput) {
      bytes += StorageElementCount(buffer) * SizeBytes(buffer.dtype);
    }
  }
  return bytes;
}

}  // namespace burnish
