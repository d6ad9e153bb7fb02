#include "compiler/codegen/text/launch_runner.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/tensor_bytes.h"

namespace burnish {

absl::StatusOr<std::vector<TensorValue>> RunLaunches(const Program& program, const LaunchText& text,
                                                     const std::vector<TensorValue>& arguments,
                                                     LaunchDevice& device) {
  std::vector<std::vector<uint8_t>> memory;  // By BufferId.
  size_t next = 0;
  for (const Buffer& buffer : program.buffers) {
    const int64_t bytes = StorageElementCount(buffer) * SizeBytes(buffer.dtype);
    // All bits set: NaN in every type of floats.
    memory.emplace_back(static_cast<size_t>(bytes), uint8_t{0xff});
    if (buffer.role != BufferRole::kInput && buffer.role != BufferRole::kConstant) continue;
    if (next == arguments.size()) return absl::InvalidArgumentError("too few arguments");
    FillTensor(buffer, arguments[next++], memory.back().data());
  }
  for (const std::vector<TextLaunch>* const launches : {&text.pack, &text.kernel}) {
    for (const TextLaunch& launch : *launches) {
      int32_t error = 0;
      std::vector<LaunchArgument> of_launch;
      for (const BufferId id : launch.buffers) of_launch.emplace_back(absl::MakeSpan(memory[id]));
      of_launch.emplace_back(reinterpret_cast<uint8_t*>(&error), sizeof(error));
      RETURN_IF_ERROR(device.Run(launch, of_launch));
      if (error != 0) {
        return absl::OutOfRangeError(absl::StrCat(launch.symbol, " returned ", error));
      }
    }
  }
  std::vector<TensorValue> results;
  for (size_t id = 0; id < program.buffers.size(); ++id) {
    const Buffer& buffer = program.buffers[id];
    if (buffer.role == BufferRole::kOutput)
      results.push_back(ReadTensor(buffer, memory[id].data()));
  }
  return results;
}

}  // namespace burnish
