#include "compiler/runtime/bundle_manifest.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "compiler/runtime/check_control.h"

namespace burnish {
namespace {

constexpr uint32_t kThreadCountMax = 1024;

// Bytes of a region, or the reason why there is no such region.
RuntimeOr<uint64_t> RegionBytes(const BundleManifest& manifest, const Place& place) {
  switch (place.region) {
    case Region::kArena:
      if (place.index == 0) return manifest.arena_bytes;
      break;
    case Region::kWeights:
      if (place.index == 0) return manifest.weights_bytes;
      break;
    case Region::kInput:
      if (place.index < manifest.inputs.size()) return manifest.inputs[place.index].storage_bytes;
      break;
    case Region::kOutput:
      if (place.index < manifest.outputs.size()) return manifest.outputs[place.index].storage_bytes;
      break;
    case Region::kWalker:
      if (place.index < manifest.control.walkers.size()) {
        return manifest.control.walkers[place.index].size_bytes;
      }
      break;
  }
  return RuntimeStatus(RuntimeCode::kInvalidArgument,
                       "got region " + std::to_string(static_cast<int>(place.region)) + " number " +
                           std::to_string(place.index) + ", which does not exist");
}

}  // namespace

RuntimeStatus CheckPlace(const BundleManifest& manifest, const Place& place, uint64_t size_bytes) {
  RUNTIME_ASSIGN_OR_RETURN(const uint64_t region_bytes, RegionBytes(manifest, place));
  // By subtraction: the sum of two hostile numbers may wrap.
  if (place.offset_bytes > region_bytes || size_bytes > region_bytes - place.offset_bytes) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument,
                         "got " + std::to_string(size_bytes) + " bytes at offset " +
                             std::to_string(place.offset_bytes) + " of a region of " +
                             std::to_string(region_bytes));
  }
  return RuntimeStatus();
}

namespace {

RuntimeStatus CheckStepBuffer(const BundleManifest& manifest, const BufferInfo& buffer,
                              const Place& place, uint32_t block) {
  RUNTIME_RETURN_IF_ERROR(CheckPlace(manifest, place, buffer.size_bytes));
  if (!IsInScope(manifest.control, place, block)) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "got a walker of no loop around it");
  }
  if (place.region == Region::kWalker &&
      manifest.control.walkers[place.index].alignment_bytes < buffer.alignment_bytes) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "got a walker with less alignment than " +
                                                            std::to_string(buffer.alignment_bytes));
  }
  if (place.offset_bytes % buffer.alignment_bytes != 0) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument,
                         "got offset " + std::to_string(place.offset_bytes) +
                             ", want a multiple of " + std::to_string(buffer.alignment_bytes));
  }
  // Weights are shared by all sessions of a model, inputs may be the caller's own memory.
  if (buffer.role == ArgumentRole::kOutput && !IsWritable(manifest, place)) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "it would write weights or a model input");
  }
  return RuntimeStatus();
}

// `block`: the innermost around it.
RuntimeStatus CheckStep(const BundleManifest& manifest, const ModelStep& step, uint32_t block) {
  const auto in_step = [&step](const RuntimeStatus& status) {
    return RuntimeStatus(status.code(), "step \"" + step.name + "\": " + status.message());
  };
  if (step.kernel >= manifest.kernels.size()) {
    return in_step(RuntimeStatus(RuntimeCode::kInvalidArgument,
                                 "got kernel " + std::to_string(step.kernel) + " of " +
                                     std::to_string(manifest.kernels.size())));
  }
  const std::vector<BufferInfo>& buffers = manifest.kernels[step.kernel].compute.buffers;
  if (step.buffers.size() != buffers.size()) {
    return in_step(RuntimeStatus(RuntimeCode::kInvalidArgument,
                                 "got " + std::to_string(step.buffers.size()) + " buffers, want " +
                                     std::to_string(buffers.size())));
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (RuntimeStatus status = CheckStepBuffer(manifest, buffers[i], step.buffers[i], block);
        !status.ok()) {
      return in_step(
          RuntimeStatus(status.code(), "buffer " + std::to_string(i) + ": " + status.message()));
    }
  }
  for (const StepOutput& output : step.outputs) {
    if (output.buffer >= buffers.size()) {
      return in_step(RuntimeStatus(RuntimeCode::kInvalidArgument, "got an output without buffer"));
    }
    if (RuntimeStatus status = CheckTensor(output.tensor, buffers[output.buffer].size_bytes);
        !status.ok()) {
      return in_step(status);
    }
  }
  return RuntimeStatus();
}

RuntimeStatus CheckFill(const BundleManifest& manifest, const Fill& fill) {
  const auto invalid = [](const std::string& text) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "fill: " + text);
  };
  if (fill.element_bytes != 1 && fill.element_bytes != 2 && fill.element_bytes != 4 &&
      fill.element_bytes != 8) {
    return invalid("got elements of " + std::to_string(fill.element_bytes) + " bytes");
  }
  if (fill.place.region == Region::kWeights) return invalid("it would write weights");
  if (fill.place.region == Region::kWalker) return invalid("no loop runs when a session starts");
  uint64_t whole_bytes = 0;
  if (fill.size_bytes % fill.element_bytes != 0 || fill.repeat_count == 0 ||
      fill.repeat_count > kMemoryBytesMax ||
      __builtin_mul_overflow(fill.repeat_count - 1, fill.repeat_stride_bytes, &whole_bytes) ||
      __builtin_add_overflow(whole_bytes, fill.size_bytes, &whole_bytes)) {
    return invalid("got a size or count that does not fit");
  }
  // Runs that overlap would let a short manifest ask for endless work.
  if (fill.repeat_count > 1 && fill.repeat_stride_bytes < std::max<uint64_t>(fill.size_bytes, 1)) {
    return invalid("its runs overlap");
  }
  return CheckPlace(manifest, fill.place, whole_bytes);
}

// So that no sum of sizes is beyond an input's axis, whatever a caller gives.
RuntimeStatus CheckInputAxes(const BundleManifest& manifest) {
  const RunSizes& given = manifest.run_sizes;
  std::set<std::pair<uint32_t, uint32_t>> seen;
  const auto fits = [&](const InputAxis& axis) {
    if (axis.input >= manifest.inputs.size() || axis.parts.empty() || axis.constant < 0) {
      return false;
    }
    const std::vector<int64_t>& shape = manifest.inputs[axis.input].tensor.shape;
    if (axis.axis >= shape.size() || !seen.insert({axis.input, axis.axis}).second) return false;
    int64_t greatest = axis.constant;
    for (const InputAxis::Part& part : axis.parts) {
      int64_t product = 0;
      if (part.size >= given.sizes.size() || part.factor < 1 ||
          __builtin_mul_overflow(given.sizes[part.size].greatest, part.factor, &product) ||
          __builtin_add_overflow(greatest, product, &greatest)) {
        return false;
      }
    }
    return greatest <= shape[axis.axis];
  };
  for (const InputAxis& axis : given.inputs) {
    if (!fits(axis)) {
      return RuntimeStatus(RuntimeCode::kInvalidArgument,
                           "sizes of a run: axis " + std::to_string(axis.axis) + " of input " +
                               std::to_string(axis.input) + " does not fit");
    }
  }
  const std::vector<bool> is_given = given.GivenSizes();
  for (const InputAxis& axis : given.inputs) {
    for (const InputAxis::Part& part : axis.parts) {
      if (is_given[part.size]) continue;
      return RuntimeStatus(RuntimeCode::kInvalidArgument, "sizes of a run: no input gives \"" +
                                                              given.sizes[part.size].name + "\"");
    }
  }
  return RuntimeStatus();
}

RuntimeStatus CheckStepTrims(const BundleManifest& manifest) {
  if (manifest.trims.empty()) return RuntimeStatus();
  if (!manifest.control.empty()) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "steps of a loop leave out nothing");
  }
  RUNTIME_RETURN_IF_ERROR(
      CheckTrims(manifest.trims, manifest.steps.size(), manifest.run_sizes.GivenSizes()));
  for (const StepTrim& trim : manifest.trims) {
    // Its scratch is no memory.
    for (const HostCall& call : manifest.host_calls) {
      if (call.kernel != manifest.steps[trim.step].kernel) continue;
      return RuntimeStatus(RuntimeCode::kInvalidArgument, "host kernels leave out nothing");
    }
  }
  return RuntimeStatus();
}

RuntimeStatus CheckLive(const BundleManifest& manifest) {
  if (manifest.live.empty()) return RuntimeStatus();
  RUNTIME_RETURN_IF_ERROR(CheckLiveTables(manifest.live, manifest.run_sizes.GivenSizes()));
  for (const LiveTable& table : manifest.live) {
    if (table.place.region != Region::kArena) {
      return RuntimeStatus(RuntimeCode::kInvalidArgument,
                           "what loops may leave out is no memory of the arena");
    }
    RUNTIME_RETURN_IF_ERROR(CheckPlace(manifest, table.place, table.size_bytes));
  }
  return RuntimeStatus();
}

RuntimeStatus CheckInputStrides(const BundleManifest& manifest) {
  std::set<uint32_t> seen;
  for (const InputStrides& table : manifest.input_strides) {
    if (table.input >= manifest.inputs.size() || !seen.insert(table.input).second ||
        table.place.region != Region::kArena || table.place.offset_bytes % sizeof(int64_t) != 0) {
      return RuntimeStatus(RuntimeCode::kInvalidArgument, "strides of an input do not fit");
    }
    const uint64_t numbers = 1 + manifest.inputs[table.input].tensor.shape.size();
    RUNTIME_RETURN_IF_ERROR(CheckPlace(manifest, table.place, numbers * sizeof(int64_t)));
  }
  return RuntimeStatus();
}

RuntimeStatus CheckInputDefaults(const BundleManifest& manifest) {
  std::set<uint32_t> seen;
  for (const InputDefault& value : manifest.input_defaults) {
    bool fits = value.input < manifest.inputs.size() && seen.insert(value.input).second &&
                value.dense.size() == manifest.inputs[value.input].tensor.dense_bytes();
    for (const InputAxis& axis : manifest.run_sizes.inputs) {
      fits = fits && axis.input != value.input;
    }
    if (!fits) {
      return RuntimeStatus(RuntimeCode::kInvalidArgument, "a default of an input does not fit");
    }
  }
  return RuntimeStatus();
}

RuntimeStatus CheckRunSizes(const BundleManifest& manifest) {
  const auto invalid = [](const std::string& text) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "sizes of a run: " + text);
  };
  const RunSizes& given = manifest.run_sizes;
  for (const RunSize& size : given.sizes) {
    if (size.place.region != Region::kArena || size.place.offset_bytes % sizeof(int64_t) != 0) {
      return invalid("\"" + size.name + "\" is no number in the arena");
    }
    RUNTIME_RETURN_IF_ERROR(CheckPlace(manifest, size.place, sizeof(int64_t)));
    if (size.least < 0 || size.least > size.greatest) {
      return invalid("\"" + size.name + "\" has no range");
    }
  }
  RUNTIME_RETURN_IF_ERROR(CheckInputAxes(manifest));
  RUNTIME_RETURN_IF_ERROR(CheckStepTrims(manifest));
  RUNTIME_RETURN_IF_ERROR(CheckLive(manifest));
  RUNTIME_RETURN_IF_ERROR(CheckInputStrides(manifest));
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (const BoundedAxis& axis : given.axes) {
    if (axis.region != Region::kOutput || axis.tensor >= manifest.outputs.size()) {
      return invalid("got no such output");
    }
    const std::vector<int64_t>& shape = manifest.outputs[axis.tensor].tensor.shape;
    if (axis.axis >= shape.size() || axis.size >= given.sizes.size() ||
        given.sizes[axis.size].greatest > shape[axis.axis] ||
        !seen.insert({axis.tensor, axis.axis}).second) {
      return invalid("axis " + std::to_string(axis.axis) + " of output " +
                     std::to_string(axis.tensor) + " does not fit");
    }
  }
  return RuntimeStatus();
}

}  // namespace

RuntimeStatus CheckManifest(const BundleManifest& manifest) {
  if (manifest.thread_count < 1 || manifest.thread_count > kThreadCountMax) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument,
                         "got " + std::to_string(manifest.thread_count) + " threads");
  }
  if (manifest.arena_bytes > kMemoryBytesMax || manifest.weights_bytes > kMemoryBytesMax) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "got an arena above 1 TiB");
  }
  for (const std::vector<ModelTensor>* tensors : {&manifest.inputs, &manifest.outputs}) {
    for (const ModelTensor& tensor : *tensors) {
      if (tensor.storage_bytes > kMemoryBytesMax) {
        return RuntimeStatus(RuntimeCode::kInvalidArgument, "got a storage above 1 TiB");
      }
      RUNTIME_RETURN_IF_ERROR(CheckTensor(tensor.tensor, tensor.storage_bytes));
    }
  }
  for (const ConstantInfo& constant : manifest.constants) {
    RUNTIME_RETURN_IF_ERROR(
        CheckPlace(manifest, {Region::kWeights, 0, constant.offset_bytes}, constant.size_bytes));
  }
  for (const KernelManifest& kernel : manifest.kernels)
    RUNTIME_RETURN_IF_ERROR(CheckKernel(kernel));
  RUNTIME_RETURN_IF_ERROR(CheckHostCalls(manifest.host_calls, manifest.kernels));
  // Before the steps, whose places are checked against walkers.
  RUNTIME_RETURN_IF_ERROR(CheckControl(manifest));
  const std::vector<uint32_t> blocks = BlocksOfSteps(manifest);
  for (size_t i = 0; i < manifest.steps.size(); ++i) {
    RUNTIME_RETURN_IF_ERROR(CheckStep(manifest, manifest.steps[i], blocks[i]));
  }
  for (const Fill& fill : manifest.fills) RUNTIME_RETURN_IF_ERROR(CheckFill(manifest, fill));
  RUNTIME_RETURN_IF_ERROR(CheckRunSizes(manifest));
  RUNTIME_RETURN_IF_ERROR(CheckInputDefaults(manifest));
  return CheckNumberNotes(manifest.notes, manifest.steps.size());
}

uint32_t RegionAlignment(const BundleManifest& manifest, Region region, uint32_t index) {
  uint32_t alignment_bytes = 1;
  for (const ModelStep& step : manifest.steps) {
    const std::vector<BufferInfo>& buffers = manifest.kernels[step.kernel].compute.buffers;
    for (size_t i = 0; i < step.buffers.size(); ++i) {
      if (step.buffers[i].region == region && step.buffers[i].index == index) {
        alignment_bytes = std::max(alignment_bytes, buffers[i].alignment_bytes);
      }
    }
  }
  for (const Walker& walker : manifest.control.walkers) {
    for (const Place* start : {&walker.base, &walker.first}) {
      if (start->region == region && start->index == index) {
        alignment_bytes = std::max(alignment_bytes, walker.alignment_bytes);
      }
    }
  }
  return alignment_bytes;
}

}  // namespace burnish
