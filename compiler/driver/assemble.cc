#include "compiler/driver/assemble.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "compiler/driver/control_layout.h"
#include "compiler/driver/memory_plan.h"
#include "compiler/driver/storage_layout.h"
#include "compiler/driver/trim_step.h"
#include "compiler/driver/weights.h"
#include "compiler/graph/demanded_axes.h"
#include "compiler/ir/contract.h"
#include "compiler/ir/join_parallel.h"
#include "compiler/ir/lower.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/host_call.h"
#include "compiler/runtime/refit.h"
#include "compiler/te/host_operator.h"

namespace burnish {
namespace {

// For people: names of a fused group may be pages long.
constexpr size_t kStepNameBytesMax = 120;

std::span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

absl::Status ToStatus(absl::string_view what, const RuntimeStatus& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.code()),
                      absl::StrCat(what, ": ", status.message()));
}

class Assembler {
 public:
  Assembler(const Graph& source, const PlannedModel& model, const std::vector<StepPlan>& steps,
            const CompileReply& reply, const Target& target, const AssembleOptions& options)
      : source_(source),
        model_(model),
        steps_(steps),
        reply_(reply),
        target_(target),
        options_(options),
        control_(model, StepFlags()) {}

  absl::StatusOr<AssembledModel> Run();

 private:
  const Graph& graph() const { return model_.graph; }
  const TaskCall& CallOf(const StepPlan& step) const { return model_.tasks.calls[step.group]; }
  bool IsHost(const StepPlan& step) const { return CallOf(step).host >= 0; }
  const CompiledKernel& KernelOf(const StepPlan& step) const {
    return std::get<CompiledKernel>(reply_.results[step.item].outcome);
  }
  const KernelManifest& ManifestOf(const StepPlan& step) const {
    return manifest_.kernels[KernelOf(step).kernel_index];
  }
  // The value that a parameter of the step's task stands for.
  ValueId ValueOf(const StepPlan& step, int32_t parameter) const {
    const TaskCall& call = CallOf(step);
    const auto arguments = static_cast<int32_t>(call.arguments.size());
    return parameter < arguments ? call.arguments[parameter] : call.results[parameter - arguments];
  }
  // Regions decide where whole allocations lie: a part of what a branch gives lies in the result.
  ValueId AllocationOf(ValueId value) const {
    return control_.Home(model_.storage.places[value].allocation);
  }
  std::vector<bool> StepFlags() const;

  absl::Status LoadLibraries();
  void AddModelTensors();
  void AddRunSizes();
  void AddTypes();
  // A kernel's program as it was compiled, and the loops that ask a table.
  struct LoweredKernel {
    Program program;  // Before loops were guarded.
    GuardedLoops guarded;
    int64_t flags = 0;
  };
  absl::StatusOr<const LoweredKernel*> LoweredOf(const StepPlan& step);
  absl::Status CollectTrims();
  void CollectStrides();
  void CollectLives();
  PlanBuffer* Touch(ValueId value, int step);
  void Keep(ValueId value, int first_step, int last_step);
  void CollectUses();
  absl::Status MakeControl();
  std::vector<InPlaceChoice> InPlaceChoices() const;
  bool MayShare(const StepPlan& step, ValueId output, ValueId input) const;
  void PlanArena();
  Place PlaceOf(ValueId value, int64_t shift_bytes) const;
  // The task's, with the storages that the kernel was compiled for.
  absl::StatusOr<Program> ProgramOf(const StepPlan& step) const;
  absl::StatusOr<std::vector<int64_t>> Pack(const StepPlan& step, const Program& program);
  // Where constant `argument` of the step lies among the weights.
  absl::StatusOr<int64_t> ConstantOffset(const StepPlan& step, size_t argument,
                                         const Buffer& parameter);
  absl::StatusOr<ModelStep> MakeStep(size_t number);
  ModelStep MakeHostStep(const StepPlan& step);
  void AddRefit();
  std::string StepName(const StepPlan& step) const;

  const Graph& source_;
  const PlannedModel& model_;
  const std::vector<StepPlan>& steps_;
  const CompileReply& reply_;
  const Target& target_;
  const AssembleOptions& options_;

  UnwrittenBundle bundle_;
  BundleManifest& manifest_ = bundle_.manifest;
  std::unique_ptr<Artifact> packs_;
  std::unique_ptr<WeightsWriter> weights_;
  std::map<ValueId, uint32_t> inputs_, outputs_;  // Numbers of the model's inputs and outputs.
  std::vector<PlanBuffer> buffers_;               // Of the arena.
  std::map<ValueId, int> buffer_of_;              // By allocation.
  std::map<ValueId, std::set<ValueId>> members_;  // Values in use, by allocation.
  // By item: those that ask otherwise may be one kernel.
  std::map<size_t, LoweredKernel> lowered_;
  std::map<size_t, size_t> table_of_;  // Of manifest_.live, by step.
  // Places of manifest_.live and manifest_.input_strides, and their buffers of the arena.
  std::vector<std::pair<Place*, int>> tables_;
  MemoryPlan plan_;
  ControlLayout control_;
  std::set<ValueId> used_;  // Homes that a step or a loop reads, and outputs.
};

std::vector<bool> Assembler::StepFlags() const {
  std::vector<bool> flags(model_.fusion.groups.size(), false);
  for (const StepPlan& step : steps_) flags[step.group] = true;
  return flags;
}

absl::Status Assembler::LoadLibraries() {
  RuntimeOr<ArtifactManifest> library = ReadArtifactManifest(BytesOf(reply_.library));
  if (!library.ok()) return ToStatus("kernels", library.status());
  manifest_.kernels = std::move(library->kernels);
  manifest_.features = std::move(library->features);
  RuntimeOr<std::vector<uint8_t>> elf = ReadArtifactElf(BytesOf(reply_.library));
  if (!elf.ok()) return ToStatus("kernels", elf.status());
  bundle_.elf = std::move(*elf);
  if (!reply_.pack_library.empty()) {
    RuntimeOr<SealedArtifact> sealed = Artifact::Read(BytesOf(reply_.pack_library));
    if (!sealed.ok()) return ToStatus("pack functions", sealed.status());
    RuntimeOr<std::unique_ptr<Artifact>> packs =
        Artifact::Map(*std::move(sealed), CodeOrigin::kOwn);
    if (!packs.ok()) return ToStatus("pack functions", packs.status());
    packs_ = std::move(*packs);
  }
  weights_ = std::make_unique<WeightsWriter>(graph(), packs_.get(), options_.pool, bundle_);
  return absl::OkStatus();
}

void Assembler::AddModelTensors() {
  const auto add = [&](const std::vector<ValueId>& values, std::map<ValueId, uint32_t>& numbers,
                       std::vector<ModelTensor>& tensors) {
    for (const ValueId value : values) {
      numbers.emplace(value, static_cast<uint32_t>(tensors.size()));
      const TensorType& type = graph().value(value).type;
      TensorInfo tensor =
          DenseTensor(graph().value(value).name, ElementTypeOf(type.dtype), type.shape);
      const uint64_t storage_bytes = tensor.dense_bytes();
      tensors.push_back({.tensor = std::move(tensor), .storage_bytes = storage_bytes});
    }
  };
  std::vector<ValueId> given = graph().inputs;
  given.resize(graph().shown_inputs());
  add(given, inputs_, manifest_.inputs);
  for (const GraphInputDefault& value : graph().input_defaults) {
    const auto bytes = value.data->bytes();
    manifest_.input_defaults.push_back(
        {.input = static_cast<uint32_t>(value.input), .dense = {bytes.begin(), bytes.end()}});
  }
  std::vector<ValueId> shown = graph().outputs;
  shown.resize(graph().shown_outputs());
  add(shown, outputs_, manifest_.outputs);
}

void Assembler::AddRunSizes() {
  RunSizes& sizes = manifest_.run_sizes;
  for (size_t i = 0; i < graph().sizes.size(); ++i) {
    const GraphSize& size = graph().sizes[i];
    sizes.sizes.push_back({.name = size.name,
                           .place = PlaceOf(graph().inputs[graph().shown_inputs() + i], 0),
                           .least = size.least,
                           .greatest = size.greatest});
  }
  for (const GraphInputAxis& axis : graph().input_axes) {
    InputAxis& input =
        sizes.inputs.emplace_back(InputAxis{.input = static_cast<uint32_t>(axis.input),
                                            .axis = static_cast<uint32_t>(axis.axis),
                                            .constant = axis.constant,
                                            .parts = {}});
    for (const GraphInputAxis::Part& part : axis.parts) {
      input.parts.push_back({.size = static_cast<uint32_t>(part.size), .factor = part.factor});
    }
  }
  for (size_t i = graph().shown_outputs(); i < graph().outputs.size(); ++i) {
    sizes.sizes.push_back({.name = graph().value(graph().outputs[i]).name,
                           .place = PlaceOf(graph().outputs[i], 0),
                           .least = 0,
                           .greatest = std::numeric_limits<int64_t>::max()});
  }
  for (const GraphBoundedAxis& axis : graph().bounded_axes) {
    // Behind those that inputs give.
    const auto size =
        static_cast<uint32_t>(axis.extent - graph().shown_outputs() + graph().sizes.size());
    RunSize& found = sizes.sizes[size];
    const TensorType& type = graph().value(graph().outputs[axis.output]).type;
    found.greatest = std::min(found.greatest, type.shape[axis.axis]);
    sizes.axes.push_back({.region = Region::kOutput,
                          .tensor = static_cast<uint32_t>(axis.output),
                          .axis = static_cast<uint32_t>(axis.axis),
                          .size = size});
  }
}

// A model that is all f32 says nothing of it.
void Assembler::AddTypes() {
  std::vector<ElementType>& types = manifest_.notes.step_types;
  for (const StepPlan& step : steps_) {
    types.push_back(ElementTypeOf(WorksIn(model_, step.group)));
  }
  const auto is_f32 = [](ElementType type) { return type == ElementType::kF32; };
  if (std::all_of(types.begin(), types.end(), is_f32)) types.clear();
}

absl::StatusOr<const Assembler::LoweredKernel*> Assembler::LoweredOf(const StepPlan& step) {
  const CompiledKernel& kernel = KernelOf(step);
  const auto [known, is_new] = lowered_.try_emplace(step.item);
  if (is_new) {
    Program scheduled = model_.chosen[CallOf(step).task].scheduled;
    RETURN_IF_ERROR(ApplyContract(kernel.contract, scheduled));
    // As the builder does: what loops ask is found again, and not carried along.
    if (!step.guards.request.axes.empty()) JoinParallel(scheduled);
    ASSIGN_OR_RETURN(known->second.program, Lower(scheduled));
    Program guarded = known->second.program;
    known->second.guarded = GuardLoops(step.guards.request, guarded);
    if (known->second.guarded.live >= 0) {
      known->second.flags = guarded.buffers[known->second.guarded.live].shape[0];
    }
  }
  return &known->second;
}

// What steps and the loops inside of them need not compute in a run of less than the greatest
// sizes. Before the arena is planned: tables lie there.
absl::Status Assembler::CollectTrims() {
  for (size_t s = 0; s < steps_.size(); ++s) {
    const StepPlan& step = steps_[s];
    if (step.guards.request == GuardRequest()) continue;
    ASSIGN_OR_RETURN(const LoweredKernel* const lowered, LoweredOf(step));
    // Who walks loops and branches does whole steps.
    std::optional<StepTrim> trim =
        model_.regions.empty() ? TrimOf(lowered->program, step.guards.demand) : std::nullopt;
    if (trim.has_value()) {
      trim->step = static_cast<uint32_t>(s);
      manifest_.trims.push_back(*std::move(trim));
    }
    if (lowered->guarded.live < 0) continue;
    LiveTable table{.place = {},
                    .size_bytes = static_cast<uint32_t>(lowered->flags),
                    .loops = LoopFlagsOf(lowered->guarded, step.guards, lowered->program)};
    // Steps of the same shape that are read as far ask the same.
    const auto same = std::find(manifest_.live.begin(), manifest_.live.end(), table);
    table_of_[s] = static_cast<size_t>(same - manifest_.live.begin());
    if (same == manifest_.live.end()) manifest_.live.push_back(std::move(table));
  }
  return absl::OkStatus();
}

// Inputs that some step reads by a table, and whether all do. Before the arena is planned.
void Assembler::CollectStrides() {
  std::set<uint32_t> by_table, otherwise;  // Read so by some step.
  for (const StepPlan& step : steps_) {
    std::set<ValueId> strided;
    if (!IsHost(step)) {
      for (const CallBuffer& buffer : KernelOf(step).buffers) {
        if (buffer.kind == CallBuffer::Kind::kStrides) strided.insert(ValueOf(step, buffer.index));
      }
    }
    for (const ValueId value : CallOf(step).arguments) {
      const auto input = inputs_.find(AllocationOf(value));
      if (input == inputs_.end()) continue;
      (strided.count(value) > 0 ? by_table : otherwise).insert(input->second);
    }
  }
  for (const uint32_t input : by_table) {
    manifest_.input_strides.push_back(
        {.input = input, .place = {}, .in_place = otherwise.count(input) == 0});
  }
}

// Constants lie among the weights, inputs and outputs in the caller's memory, and what an iteration
// hands on where a walker is.
// Null: the value lies elsewhere than in the arena.
PlanBuffer* Assembler::Touch(ValueId value, int step) {
  const ValueId allocation = AllocationOf(value);
  if (graph().IsConstant(value) || inputs_.count(allocation) > 0 ||
      outputs_.count(allocation) > 0 || control_.WalkerOf(allocation) >= 0) {
    return nullptr;
  }
  members_[allocation].insert(value);
  const auto [found, is_new] =
      buffer_of_.try_emplace(allocation, static_cast<int>(buffers_.size()));
  if (is_new) {
    const TensorType& type = graph().value(allocation).type;
    const Storage& storage = model_.storage.places[allocation].storage;
    buffers_.push_back({.size_bytes = StorageBytesOf(type.dtype, type.shape, storage),
                        .first_step = step,
                        .last_step = step});
    if (!storage.border.empty()) {
      buffers_.back().keeper = absl::StrCat(DTypeName(type.dtype), " ", StorageText(storage));
    }
  }
  PlanBuffer& buffer = buffers_[found->second];
  buffer.first_step = std::min(buffer.first_step, step);
  buffer.last_step = std::max(buffer.last_step, step);
  return &buffer;
}

// From the first step until the last one is done.
void Assembler::Keep(ValueId value, int first_step, int last_step) {
  Touch(value, first_step);
  if (PlanBuffer* buffer = Touch(value, last_step); buffer != nullptr) {
    buffer->kept_through = std::max(buffer->kept_through, last_step);
  }
}

void Assembler::CollectUses() {
  for (const StepPlan& step : steps_) {
    for (const ValueId value : CallOf(step).arguments) used_.insert(control_.Home(value));
  }
  for (const ValueId output : graph().outputs) used_.insert(output);
  for (const ControlRegion& region : model_.regions) {
    used_.insert({region.count_input, region.condition, region.next_condition});
    for (const ControlRegion::State& state : region.states) {
      used_.insert({state.initial, state.output});
    }
    for (const ControlRegion::Slice& slice : region.slices) used_.insert(slice.whole);
    for (const ControlRegion::Slice& stack : region.stacks) used_.insert(stack.part);
    // Both bodies write there, whoever reads it.
    for (const ControlRegion::Choice& choice : region.choices) used_.insert(choice.result);
  }
}

// Which allocations lie in the arena, and from which step to which.
void Assembler::CollectLives() {
  for (size_t s = 0; s < steps_.size(); ++s) {
    const TaskCall& call = CallOf(steps_[s]);
    for (const ValueId value : call.arguments) Touch(value, static_cast<int>(s));
    for (const ValueId value : call.results) Touch(value, static_cast<int>(s));
  }
  const int last = static_cast<int>(steps_.size()) - 1;
  // The session writes sizes before the first step, and reads others when all steps are done.
  for (size_t i = graph().shown_inputs(); i < graph().inputs.size(); ++i) {
    Keep(graph().inputs[i], 0, last);
  }
  for (size_t i = graph().shown_outputs(); i < graph().outputs.size(); ++i) {
    Keep(graph().outputs[i], last, last);
  }
  // The session writes tables when sizes change, and no run may overwrite them.
  const auto add_table = [&](Place& place, uint64_t size_bytes) {
    tables_.push_back({&place, static_cast<int>(buffers_.size())});
    buffers_.push_back({.size_bytes = static_cast<int64_t>(size_bytes),
                        .first_step = 0,
                        .last_step = last,
                        .kept_through = last});
  };
  for (LiveTable& table : manifest_.live) add_table(table.place, table.size_bytes);
  for (InputStrides& table : manifest_.input_strides) {
    const size_t rank = manifest_.inputs[table.input].tensor.shape.size();
    add_table(table.place, (1 + rank) * sizeof(int64_t));
  }
  CollectUses();
  control_.AddLives([&](ValueId value, int from, int to) { Keep(value, from, to); },
                    [&](ValueId value) { return used_.count(control_.Home(value)) > 0; }, buffers_);
  control_.ExtendLives(buffers_);
}

absl::Status Assembler::MakeControl() {
  const auto place_of = [&](ValueId value) {
    if (!graph().IsConstant(value)) return PlaceOf(value, 0);
    const Storage dense = DenseStorage(graph().value(value).type.shape);
    return Place{.region = Region::kWeights,
                 .offset_bytes = static_cast<uint64_t>(weights_->AddConstant(value, dense))};
  };
  manifest_.control = control_.Program(
      place_of, [&](ValueId value) { return used_.count(control_.Home(value)) > 0; },
      plan_.offset_bytes);
  for (const ControlBlock& block : manifest_.control.blocks) {
    if (!block.IsLoop() || block.first_step < block.end_step) continue;
    return absl::InternalError(absl::StrCat("loop '", block.name, "' has no steps"));
  }
  return absl::OkStatus();
}

// Both alone in their memory, and all that this step reads of the input's memory is what the kernel
// may overwrite.
bool Assembler::MayShare(const StepPlan& step, ValueId output, ValueId input) const {
  const auto from = members_.find(AllocationOf(input));
  const auto to = members_.find(AllocationOf(output));
  // A view of the same memory may be read later, by a step that the kernel's own rule of in-place
  // knows nothing of.
  if (from == members_.end() || to == members_.end() || from->second.size() != 1 ||
      to->second.size() != 1) {
    return false;
  }
  const TaskCall& call = CallOf(step);
  return std::count(call.arguments.begin(), call.arguments.end(), input) == 1;
}

std::vector<InPlaceChoice> Assembler::InPlaceChoices() const {
  std::vector<InPlaceChoice> choices;
  for (const StepPlan& step : steps_) {
    if (IsHost(step)) continue;
    const std::vector<CallBuffer>& buffers = KernelOf(step).buffers;
    for (const InPlacePair& pair : ManifestOf(step).compute.in_place) {
      const ValueId output = ValueOf(step, buffers[pair.output].index);
      const ValueId input = ValueOf(step, buffers[pair.input].index);
      if (!MayShare(step, output, input)) continue;
      choices.push_back({.output = buffer_of_.at(AllocationOf(output)),
                         .input = buffer_of_.at(AllocationOf(input))});
    }
  }
  return choices;
}

void Assembler::PlanArena() {
  plan_ = PlanMemory(buffers_, InPlaceChoices());
  manifest_.arena_bytes = static_cast<uint64_t>(plan_.arena_bytes);
  for (const auto& [place, buffer] : tables_) {
    *place = {.region = Region::kArena,
              .offset_bytes = static_cast<uint64_t>(plan_.offset_bytes[buffer])};
  }
  std::set<int64_t> filled;
  for (const auto& [allocation, buffer] : buffer_of_) {
    const int64_t offset = plan_.offset_bytes[buffer];
    // Buffers of one keeper share memory and border: one fill does for all.
    if (buffers_[buffer].keeper.empty() || !filled.insert(offset).second) continue;
    manifest_.fills.push_back(
        FillOf({.region = Region::kArena, .offset_bytes = static_cast<uint64_t>(offset)},
               buffers_[buffer].size_bytes, graph().value(allocation).type.dtype,
               model_.storage.places[allocation].storage.border_value));
  }
}

Place Assembler::PlaceOf(ValueId value, int64_t shift_bytes) const {
  const ValueId allocation = AllocationOf(value);
  Place place{.offset_bytes = static_cast<uint64_t>(shift_bytes)};
  if (const int walker = control_.WalkerOf(allocation); walker >= 0) {
    place.region = Region::kWalker;
    place.index = static_cast<uint32_t>(walker);
    return place;
  }
  if (const auto input = inputs_.find(allocation); input != inputs_.end()) {
    place.region = Region::kInput;
    place.index = input->second;
  } else if (const auto output = outputs_.find(allocation); output != outputs_.end()) {
    place.region = Region::kOutput;
    place.index = output->second;
  } else {
    place.offset_bytes += static_cast<uint64_t>(plan_.offset_bytes[buffer_of_.at(allocation)]);
  }
  return place;
}

absl::StatusOr<std::vector<int64_t>> Assembler::Pack(const StepPlan& step, const Program& program) {
  const CompiledKernel& kernel = KernelOf(step);
  if (kernel.pack_buffers.empty()) return std::vector<int64_t>();
  const std::vector<BufferId> parameters = ParametersOf(program);
  std::vector<WeightsWriter::PackInput> inputs;
  for (const CallBuffer& buffer : kernel.pack_buffers) {
    if (buffer.kind == CallBuffer::Kind::kPacked) continue;
    inputs.push_back({.value = ValueOf(step, buffer.index),
                      .storage = program.buffers[parameters[buffer.index]].storage});
  }
  return weights_->AddPacked(kernel.pack_index, kernel.pack_sha256, inputs);
}

absl::StatusOr<int64_t> Assembler::ConstantOffset(const StepPlan& step, size_t argument,
                                                  const Buffer& parameter) {
  const auto shared = model_.packed_arguments.find({step.group, argument});
  if (shared == model_.packed_arguments.end()) {
    return weights_->AddConstant(CallOf(step).arguments[argument], parameter.storage);
  }
  const auto owner = std::find_if(steps_.begin(), steps_.end(), [&](const StepPlan& other) {
    return other.group == shared->second.group;
  });
  ASSIGN_OR_RETURN(const Program program, ProgramOf(*owner));
  ASSIGN_OR_RETURN(const std::vector<int64_t> packed, Pack(*owner, program));
  const auto ordinal = static_cast<size_t>(shared->second.ordinal);
  if (ordinal >= packed.size()) return absl::InternalError("a shared constant is not packed");
  return packed[ordinal];
}

absl::StatusOr<Program> Assembler::ProgramOf(const StepPlan& step) const {
  Program program = model_.tasks.tasks[CallOf(step).task].program;
  RETURN_IF_ERROR(ApplyContract(KernelOf(step).contract, program));
  return program;
}

std::string Assembler::StepName(const StepPlan& step) const {
  const FusedGroup& group = model_.fusion.groups[step.group];
  std::string name = absl::StrJoin(group.nodes, " + ", [&](std::string* out, GraphNodeId node) {
    absl::StrAppend(out, graph().nodes[node].name);
  });
  if (name.size() > kStepNameBytesMax) name = name.substr(0, kStepNameBytesMax - 3) + "...";
  return name;
}

absl::StatusOr<ModelStep> Assembler::MakeStep(size_t number) {
  const StepPlan& planned = steps_[number];
  const TaskCall& call = CallOf(planned);
  const ExtractedTask& task = model_.tasks.tasks[call.task];
  const CompiledKernel& kernel = KernelOf(planned);
  ASSIGN_OR_RETURN(const Program program, ProgramOf(planned));
  const std::vector<BufferId> parameters = ParametersOf(program);
  // Profiles add up the iterations of a loop.
  const int64_t repeat = model_.fusion.groups[planned.group].repeat;
  ASSIGN_OR_RETURN(const std::vector<int64_t> packed, Pack(planned, program));
  ModelStep step{
      .name = StepName(planned),
      .kernel = static_cast<uint32_t>(kernel.kernel_index),
      .flop_count = static_cast<uint64_t>(task.flop_count * repeat),
      .workload_id = Sha256Hex(task.workload),
      .schedule_origin = std::string(ScheduleOriginName(model_.chosen[call.task].schedule.origin))};
  const auto in_weights = [](int64_t offset) {
    return Place{.region = Region::kWeights, .offset_bytes = static_cast<uint64_t>(offset)};
  };
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const CallBuffer& buffer = kernel.buffers[i];
    if (buffer.kind == CallBuffer::Kind::kPacked) {
      step.buffers.push_back(in_weights(packed[buffer.index]));
      continue;
    }
    if (buffer.kind == CallBuffer::Kind::kLive) {
      step.buffers.push_back(manifest_.live[table_of_.at(number)].place);
      continue;
    }
    const ValueId value = ValueOf(planned, buffer.index);
    if (buffer.kind == CallBuffer::Kind::kStrides) {
      const uint32_t input = inputs_.at(AllocationOf(value));
      step.buffers.push_back(
          std::find_if(manifest_.input_strides.begin(), manifest_.input_strides.end(),
                       [&](const InputStrides& table) { return table.input == input; })
              ->place);
      continue;
    }
    const Buffer& parameter = program.buffers[parameters[buffer.index]];
    if (graph().IsConstant(value)) {
      ASSIGN_OR_RETURN(const int64_t offset,
                       ConstantOffset(planned, static_cast<size_t>(buffer.index), parameter));
      step.buffers.push_back(in_weights(offset));
      continue;
    }
    step.buffers.push_back(PlaceOf(value, planned.layout.shift_bytes[buffer.index]));
    if (parameter.role == BufferRole::kOutput) {
      step.outputs.push_back({.buffer = static_cast<uint32_t>(i),
                              .tensor = TensorInfoOf(graph().value(value).name, parameter.dtype,
                                                     parameter.shape, parameter.storage)});
    }
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Buffer& parameter = program.buffers[parameters[i]];
    // What the step must move at least, border and padding not counted: the denominator of a
    // bandwidth that is honest.
    const bool is_constant = parameter.role == BufferRole::kConstant;
    step.moved_bytes += ElementCount(parameter.shape) * SizeBytes(parameter.dtype) *
                        (is_constant ? std::min<int64_t>(repeat, 1) : repeat);
  }
  return step;
}

// Tensors lie where others want them: the call knows strides.
ModelStep Assembler::MakeHostStep(const StepPlan& planned) {
  const TaskCall& call = CallOf(planned);
  const GraphNode& node = graph().nodes[call.host];
  ModelStep step{.name = StepName(planned),
                 .kernel = static_cast<uint32_t>(manifest_.kernels.size()),
                 .schedule_origin = "host"};
  HostCall host{.kernel = step.kernel,
                .signature = HostSignatureOf(OperatorOf(node.op), node.attributes,
                                             InputTypes(graph(), node))};
  const auto add = [&](ValueId id) {
    const GraphValue& value = graph().value(id);
    const bool is_constant = graph().IsConstant(id);
    const Storage storage =
        is_constant ? DenseStorage(value.type.shape) : model_.storage.places[id].storage;
    step.buffers.push_back(is_constant ? Place{.region = Region::kWeights,
                                               .offset_bytes = static_cast<uint64_t>(
                                                   weights_->AddConstant(id, storage))}
                                       : PlaceOf(id, 0));
    host.tensors.push_back(TensorInfoOf(value.name, value.type.dtype, value.type.shape, storage));
    step.moved_bytes += host.tensors.back().dense_bytes();
  };
  for (const ValueId argument : call.arguments) add(argument);
  for (const ValueId result : call.results) {
    add(result);
    step.outputs.push_back(
        {.buffer = static_cast<uint32_t>(step.buffers.size() - 1), .tensor = host.tensors.back()});
  }
  manifest_.kernels.push_back(
      {.name = std::string(OpName(node.op)), .compute = FunctionOf(host), .pack = {}});
  manifest_.host_calls.push_back(std::move(host));
  return step;
}

absl::StatusOr<AssembledModel> Assembler::Run() {
  // The order: kernels say what may be in place; lives and in-place pairs give the plan; steps name
  // places in it; weights are complete when all steps have asked for theirs.
  RETURN_IF_ERROR(LoadLibraries());
  manifest_.model_name = graph().name;
  manifest_.target = target_.ToText();
  manifest_.thread_count = static_cast<uint32_t>(target_.threads);
  AddModelTensors();
  RETURN_IF_ERROR(CollectTrims());
  CollectStrides();
  CollectLives();
  PlanArena();
  RETURN_IF_ERROR(MakeControl());
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (IsHost(steps_[s])) {
      manifest_.steps.push_back(MakeHostStep(steps_[s]));
      continue;
    }
    ASSIGN_OR_RETURN(manifest_.steps.emplace_back(), MakeStep(s));
  }
  AddRunSizes();
  AddTypes();
  if (!options_.is_variant) AddRefit();
  const auto kernel_count = static_cast<int>(manifest_.kernels.size());
  return AssembledModel{
      .bundle = std::move(bundle_), .arena_bytes = plan_.arena_bytes, .kernel_count = kernel_count};
}

void Assembler::AddRefit() {
  const RefitProgram* const program = options_.refit;
  const RefitInfo refit =
      program == nullptr ? weights_->RecognisedRefit(source_) : weights_->ProgramRefit(*program);
  if (refit.parameters.empty()) return;
  bundle_.packs = reply_.pack_library;
  if (program == nullptr) {
    bundle_.refit = EncodeRefit(refit);
    return;
  }
  bundle_.plan = EncodeRefitPlan(refit);
  bundle_.program = program->bundle;
}

}  // namespace

absl::StatusOr<AssembledModel> AssembleBundle(const Graph& source, const PlannedModel& model,
                                              const std::vector<StepPlan>& steps,
                                              const CompileReply& reply, const Target& target,
                                              const AssembleOptions& options) {
  return Assembler(source, model, steps, reply, target, options).Run();
}

}  // namespace burnish
