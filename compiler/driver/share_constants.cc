#include "compiler/driver/share_constants.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "compiler/driver/packed_form.h"
#include "compiler/ir/contract.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"

namespace burnish {
namespace {

// Below this a constant is stored twice. A task of its own for the second reader is one more kernel
// (a few KB, and some 100 ms to compile); tables up to here stay in a level-2 cache, where the
// rows of the plain form are read without a miss. A vocabulary's table is 20 to 1,000 MB.
constexpr int64_t kSharedBytesMin = int64_t{4} << 20;
// What one element costs a reader that jumps over the packed form: a cache line each.
constexpr int64_t kLineBytes = 64;

// An argument of a call.
struct Use {
  size_t group = 0;
  size_t argument = 0;
};

int64_t BytesOf(const TensorType& type) { return ElementCount(type.shape) * SizeBytes(type.dtype); }

// Elements of `constant` that one run of the definition reads, those that it reads again included.
int64_t ElementsRead(const Program& definition, BufferId constant) {
  int64_t read = 0;
  for (const Block& block : definition.blocks) {
    int64_t instances = 1;
    for (const std::vector<VarId>* axes : {&block.spatial, &block.reduction}) {
      for (const VarId axis : *axes) instances *= MaxExtent(definition, axis);
    }
    for (const Expr& e : {block.init, block.step, block.finish}) {
      if (e == nullptr) continue;
      VisitExpr(e, [&](const ExprNode& node) {
        if (node.kind == ExprKind::kLoad && node.id == constant) read += instances;
      });
    }
  }
  return read;
}

class Sharer {
 public:
  explicit Sharer(PlannedModel& model) : model_(model) {}

  absl::Status Run(
      const std::function<absl::StatusOr<std::vector<ChosenSchedule>>(const TaskList&)>& choose);

 private:
  const TaskCall& CallOf(const Use& use) const { return model_.tasks.calls[use.group]; }
  const Program& DefinitionOf(const Use& use) const {
    return model_.tasks.tasks[CallOf(use).task].program;
  }
  BufferId ParameterOf(const Program& program, const Use& use) const {
    return ParametersOf(program)[use.argument];
  }
  std::map<ValueId, std::vector<Use>> UsesOfBigConstants() const;
  std::optional<PackedForm> FormOf(const Use& use) const;
  bool ReadsLittle(const Use& use) const;
  // The task of `use` over the packed form; nullopt where it has none.
  std::optional<ExtractedTask> TaskOver(const PackedForm& form, const Use& use) const;
  void Share(const std::vector<Use>& uses);

  // A reader that shall take the packed form, and the one that it is packed for.
  struct Wish {
    Use reader, owner;
    int ordinal = 0;
    size_t task = 0;  // Of tasks_.
  };

  PlannedModel& model_;
  TaskList tasks_;  // Over packed forms, each once.
  std::vector<Wish> wishes_;
};

std::map<ValueId, std::vector<Use>> Sharer::UsesOfBigConstants() const {
  std::map<ValueId, std::vector<Use>> uses;
  for (size_t g = 0; g < model_.tasks.calls.size(); ++g) {
    const TaskCall& call = model_.tasks.calls[g];
    if (call.task < 0) continue;
    for (size_t a = 0; a < call.arguments.size(); ++a) {
      const ValueId value = call.arguments[a];
      if (model_.graph.IsConstant(value) &&
          BytesOf(model_.graph.value(value).type) >= kSharedBytesMin) {
        uses[value].push_back({.group = g, .argument = a});
      }
    }
  }
  return uses;
}

std::optional<PackedForm> Sharer::FormOf(const Use& use) const {
  const Program& scheduled = model_.chosen[CallOf(use).task].scheduled;
  return FindPackedForm(scheduled, ParameterOf(scheduled, use));
}

// The packed form may cost a line for each element; together that shall not be more than the one
// pass over the table that the owner makes anyway.
bool Sharer::ReadsLittle(const Use& use) const {
  const Program& definition = DefinitionOf(use);
  const BufferId parameter = ParameterOf(definition, use);
  const Buffer& buffer = definition.buffers[parameter];
  return ElementsRead(definition, parameter) <=
         ElementCount(buffer.shape) * SizeBytes(buffer.dtype) / kLineBytes;
}

std::optional<ExtractedTask> Sharer::TaskOver(const PackedForm& form, const Use& use) const {
  ExtractedTask task = model_.tasks.tasks[CallOf(use).task];
  ReadPackedForm(form, ParameterOf(task.program, use), task.program);
  if (!Verify(task.program).ok()) return std::nullopt;
  task.workload = PrintWorkload(task.program);
  task.weight = 0;
  return task;
}

void Sharer::Share(const std::vector<Use>& uses) {
  std::optional<PackedForm> form;
  Use owner;
  std::vector<Use> readers;
  for (const Use& use : uses) {
    std::optional<PackedForm> of_use = FormOf(use);
    if (of_use.has_value()) {
      if (!form.has_value()) {
        form = std::move(of_use);
        owner = use;
      }
    } else if (ReadsLittle(use)) {
      readers.push_back(use);
    } else {
      return;  // The plain form must be there for this one, so it serves the readers, too.
    }
  }
  if (!form.has_value()) return;
  for (const Use& reader : readers) {
    std::optional<ExtractedTask> task = TaskOver(*form, reader);
    if (!task.has_value()) return;
    const auto same =
        std::find_if(tasks_.tasks.begin(), tasks_.tasks.end(),
                     [&](const ExtractedTask& known) { return known.workload == task->workload; });
    wishes_.push_back({.reader = reader,
                       .owner = owner,
                       .ordinal = form->ordinal,
                       .task = static_cast<size_t>(same - tasks_.tasks.begin())});
    if (same == tasks_.tasks.end()) tasks_.tasks.push_back(*std::move(task));
  }
}

absl::Status Sharer::Run(
    const std::function<absl::StatusOr<std::vector<ChosenSchedule>>(const TaskList&)>& choose) {
  for (const auto& [value, uses] : UsesOfBigConstants()) {
    if (uses.size() > 1) Share(uses);
  }
  if (wishes_.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::vector<ChosenSchedule> chosen, choose(tasks_));
  std::vector<int> index(tasks_.tasks.size(), -1);  // In the model.
  for (const Wish& wish : wishes_) {
    const Program& scheduled = chosen[wish.task].scheduled;
    const bool asks_for_more =
        // Whatever such a kernel reads comes out of its own pack function.
        scheduled.pack_root >= 0 ||
        // Storage is assigned.
        std::any_of(scheduled.buffers.begin(), scheduled.buffers.end(), [](const Buffer& buffer) {
          return buffer.role == BufferRole::kInput && !buffer.storage.border.empty();
        });
    if (asks_for_more) continue;
    if (index[wish.task] < 0) {
      index[wish.task] = static_cast<int>(model_.tasks.tasks.size());
      model_.tasks.tasks.push_back(tasks_.tasks[wish.task]);
      model_.chosen.push_back(chosen[wish.task]);
    }
    TaskCall& call = model_.tasks.calls[wish.reader.group];
    const int64_t repeat = model_.fusion.groups[wish.reader.group].repeat;
    model_.tasks.tasks[call.task].weight -= repeat;
    call.task = index[wish.task];
    model_.tasks.tasks[call.task].weight += repeat;
    model_.packed_arguments[{wish.reader.group, wish.reader.argument}] = {.group = wish.owner.group,
                                                                          .ordinal = wish.ordinal};
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ShareConstants(
    PlannedModel& model,
    const std::function<absl::StatusOr<std::vector<ChosenSchedule>>(const TaskList&)>& choose) {
  return Sharer(model).Run(choose);
}

}  // namespace burnish
