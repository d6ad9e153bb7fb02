#include "compiler/ir/interpreter.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "compiler/ir/interpreter_code.h"
#include "compiler/ir/launch.h"
#include "compiler/ir/owner_dims.h"

namespace burnish {
namespace {

using interpreter::Cells;
using interpreter::CellState;
using interpreter::Code;
using interpreter::CombineSlots;
using interpreter::Machine;
using interpreter::Slot;

// A variable whose value may lie beyond its extent.
struct Guard {
  VarId var = -1;
  Code extent;
};

// A block, compiled for the loops that are around it.
struct BlockCode {
  Code defs;  // Values of the axes from the loop variables.
  std::vector<Guard> spatial_guards;
  std::vector<Guard> reduction_guards;
  std::vector<VarId> reduction_loops;  // Loop variables that feed reduction axes.
  bool reduces = false;
  Code indices;
  Code init;
  Code step;
  Code finish;  // Empty: Self.
};

struct NodeCode {
  std::unique_ptr<BlockCode> block;
  Code extent;   // kLoop
  Code cond;     // kIf
  Code indices;  // kStore
  Code value;    // kStore
};

class Interpreter {
 public:
  Interpreter(const Program& program, const InterpretOptions& options)
      : program_(program), options_(options), machine_(program, options.magnitudes) {
    nodes_.resize(program.nodes.size());
    extents_.assign(program.vars.size(), 1);
    owners_.resize(program.buffers.size());
  }

  absl::StatusOr<std::vector<TensorValue>> Run(const std::vector<TensorValue>& arguments) {
    RETURN_IF_ERROR(Check(arguments));
    if (program_.lowered && HasBoundLoops(program_)) {
      ASSIGN_OR_RETURN(owners_, FindOwners(program_));
    }
    for (size_t b = 0; b < program_.buffers.size(); ++b) FillBorder(machine_.cells[b]);
    if (program_.pack_root >= 0) {
      // Inputs stay unwritten meanwhile: the pack function may read constants only.
      Fill(arguments, BufferRole::kConstant);
      RETURN_IF_ERROR(RunRoot(program_.pack_root));
      for (Cells& cells : machine_.cells) {
        // What the pack function left in temporaries is gone when the kernel runs.
        if (cells.buffer->role == BufferRole::kTemp) cells.Forget();
      }
    }
    Fill(arguments, BufferRole::kConstant);
    Fill(arguments, BufferRole::kInput);
    RETURN_IF_ERROR(RunRoot(program_.root));
    return Outputs();
  }

 private:
  static bool IsArgument(const Buffer& buffer) {
    return buffer.role == BufferRole::kInput || buffer.role == BufferRole::kConstant;
  }

  absl::Status Check(const std::vector<TensorValue>& arguments) const {
    size_t count = 0;
    for (const Buffer& buffer : program_.buffers) {
      if (!IsArgument(buffer)) continue;
      if (count == arguments.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("got ", arguments.size(), " arguments, want one for ", buffer.name));
      }
      const TensorValue& value = arguments[count++];
      if (value.dtype != buffer.dtype || value.shape != buffer.shape) {
        return absl::InvalidArgumentError(
            absl::StrCat("got ", DTypeName(value.dtype), "[", absl::StrJoin(value.shape, ","),
                         "], want ", DTypeName(buffer.dtype), "[", absl::StrJoin(buffer.shape, ","),
                         "], for ", buffer.name));
      }
      const size_t size = IsFloat(value.dtype) ? value.floats.size() : value.integers.size();
      if (static_cast<int64_t>(size) != ElementCount(value.shape)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "got ", size, " values, want ", ElementCount(value.shape), ", for ", buffer.name));
      }
    }
    if (count != arguments.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("got ", arguments.size(), " arguments, want ", count));
    }
    if (options_.workers < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("got workers=", options_.workers, ", want >= 1"));
    }
    return absl::OkStatus();
  }

  // A partial sum has the type of its block's step, which may be wider than the buffer's.
  void Put(Cells& cells, int64_t offset, const Slot& slot, CellState state) {
    Put(cells, cells.buffer->dtype, offset, slot, state);
  }
  void Put(Cells& cells, DType dtype, int64_t offset, const Slot& slot, CellState state) {
    if (IsFloat(dtype)) {
      cells.values[offset] = slot.value;
      if (options_.magnitudes) cells.magnitudes[offset] = slot.magnitude;
    } else {
      cells.values[offset].i = WrapInt(dtype, slot.value.i);
      if (options_.magnitudes) {
        cells.magnitudes[offset] = std::abs(static_cast<double>(cells.values[offset].i));
      }
    }
    cells.states[offset] = state;
  }

  // Every element of a parameter begins as border; the arguments then overwrite the inside.
  void FillBorder(Cells& cells) {
    const Buffer& buffer = *cells.buffer;
    if (buffer.role == BufferRole::kTemp || buffer.storage.border.empty()) return;
    const double value = buffer.storage.border_value;
    Slot slot;
    slot.magnitude = std::abs(value);
    if (IsFloat(buffer.dtype)) {
      slot.value.f = value;
    } else {
      slot.value.i = static_cast<int64_t>(value);
    }
    for (size_t k = 0; k < cells.values.size(); ++k) {
      Put(cells, static_cast<int64_t>(k), slot, CellState::kWritten);
    }
    cells.ForEachElement([&](int64_t offset) { cells.states[offset] = CellState::kUnwritten; });
  }

  void Fill(const std::vector<TensorValue>& arguments, BufferRole role) {
    size_t argument = 0;
    for (size_t b = 0; b < program_.buffers.size(); ++b) {
      if (!IsArgument(program_.buffers[b])) continue;
      const TensorValue& value = arguments[argument++];
      if (program_.buffers[b].role != role) continue;
      Cells& cells = machine_.cells[b];
      size_t k = 0;
      cells.ForEachElement([&](int64_t offset) {
        Slot slot;
        if (IsFloat(value.dtype)) {
          slot.value.f = RoundToStorage(value.dtype, value.floats[k]);
          slot.magnitude = std::abs(slot.value.f);
        } else {
          slot.value.i = value.integers[k];
        }
        ++k;
        Put(cells, offset, slot, CellState::kWritten);
      });
    }
  }

  absl::StatusOr<std::vector<TensorValue>> Outputs() const {
    std::vector<TensorValue> outputs;
    for (const Cells& cells : machine_.cells) {
      const Buffer& buffer = *cells.buffer;
      if (buffer.role != BufferRole::kOutput) continue;
      TensorValue value{.dtype = buffer.dtype, .shape = buffer.shape};
      bool complete = true;
      cells.ForEachElement([&](int64_t offset) {
        complete = complete && cells.states[offset] == CellState::kWritten;
        if (IsFloat(buffer.dtype)) {
          value.floats.push_back(cells.values[offset].f);
        } else {
          value.integers.push_back(cells.values[offset].i);
        }
        if (options_.magnitudes) value.magnitudes.push_back(cells.magnitudes[offset]);
      });
      if (!complete) {
        return absl::InternalError(
            absl::StrCat("output ", buffer.name, " has elements that nothing wrote"));
      }
      outputs.push_back(std::move(value));
    }
    return outputs;
  }

  // ---- Compiling.

  Code CompileOne(const Expr& e) {
    Code code;
    interpreter::Compile(machine_, {&e, 1}, code);
    return code;
  }

  // Adds loop variables among `order` to `loops` and guarded ones to `guards`.
  void Classify(const std::vector<VarId>& order, std::vector<VarId>* loops,
                std::vector<Guard>* guards) {
    for (const VarId id : order) {
      const Var& var = program_.vars[id];
      if (var.def == nullptr) {
        if (loops != nullptr) loops->push_back(id);
      } else if (var.guarded) {
        guards->push_back({id, CompileOne(ExpandDefs(program_, var.extent))});
      }
    }
  }

  absl::Status CompileBlock(const Block& block, BlockCode& code) {
    RETURN_IF_ERROR(CheckWritable(block.output));
    std::vector<VarId> order;
    std::vector<VarId> axes = block.spatial;
    axes.insert(axes.end(), block.reduction.begin(), block.reduction.end());
    // Expressions may also mention variables that no axis is made of.
    for (const Expr& e : {block.init, block.step, block.finish}) {
      const std::vector<VarId> free = FreeVars(e);
      axes.insert(axes.end(), free.begin(), free.end());
    }
    for (const Expr& e : block.output_indices) {
      const std::vector<VarId> free = FreeVars(e);
      axes.insert(axes.end(), free.begin(), free.end());
    }
    code.defs = interpreter::CompileDefs(machine_, axes, &order);
    order.clear();
    interpreter::CompileDefs(machine_, block.spatial, &order);
    Classify(order, nullptr, &code.spatial_guards);
    order.clear();
    interpreter::CompileDefs(machine_, block.reduction, &order);
    Classify(order, &code.reduction_loops, &code.reduction_guards);
    code.reduces = !block.reduction.empty();
    interpreter::Compile(machine_, block.output_indices, code.indices);
    const DType dtype = block.step->dtype;
    if (code.reduces) {
      code.init = CompileOne(block.init != nullptr ? block.init : Identity(block.combiner, dtype));
    }
    code.step = CompileOne(block.step);
    if (block.finish != nullptr) code.finish = CompileOne(block.finish);
    return absl::OkStatus();
  }

  absl::Status CheckWritable(BufferId buffer) const {
    if (!IsArgument(program_.buffers[buffer])) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("the program writes its argument ", program_.buffers[buffer].name));
  }

  absl::Status CompileTree(NodeId id) {
    const Node& node = program_.nodes[id];
    NodeCode& code = nodes_[id];
    if (node.kind == NodeKind::kLoop) {
      // Expanded: an extent may mention variables whose maps are evaluated only inside of the loop.
      code.extent = CompileOne(ExpandDefs(program_, program_.vars[node.var].extent));
    }
    if (node.kind == NodeKind::kIf) code.cond = CompileOne(node.cond);
    if (node.kind == NodeKind::kStore) {
      RETURN_IF_ERROR(CheckWritable(node.buffer));
      interpreter::Compile(machine_, node.indices, code.indices);
      code.value = CompileOne(node.value);
    }
    if (node.kind == NodeKind::kBlock) {
      code.block = std::make_unique<BlockCode>();
      RETURN_IF_ERROR(CompileBlock(program_.blocks[node.block], *code.block));
    }
    for (const NodeId child : node.children) RETURN_IF_ERROR(CompileTree(child));
    return absl::OkStatus();
  }

  // ---- Running. Each function returns false when machine_.status says what went wrong.

  absl::Status RunRoot(NodeId root) {
    RETURN_IF_ERROR(CompileTree(root));
    for (const NodeId child : program_.nodes[root].children) {
      if (!RunPhase(child)) return machine_.status;
    }
    return absl::OkStatus();
  }

  // Buffers of which each worker has its own copy. Workers run one after the other here, so one
  // copy that is emptied between them stands for all.
  void ForgetPrivate() {
    for (Cells& cells : machine_.cells) {
      const Scope scope = cells.buffer->scope;
      if (cells.buffer->role == BufferRole::kTemp && scope != Scope::kGlobal &&
          scope != Scope::kAuto) {
        cells.Forget();
      }
    }
  }

  // Blocks and threads run one after the other, too: each begins without what another left in its
  // memory, and in registers that are each iteration's own. Threads share the memory of their
  // block, so that all of a loop over threads runs before what comes after, as with a barrier in
  // between.
  void ForgetBound(NodeId loop) {
    const bool block = !IsThreadLoop(program_.nodes[loop]);
    for (size_t b = 0; b < machine_.cells.size(); ++b) {
      Cells& cells = machine_.cells[b];
      const Scope scope = cells.buffer->scope;
      const bool own = std::find(owners_[b].loops.begin(), owners_[b].loops.end(), loop) !=
                       owners_[b].loops.end();
      if (own || scope == Scope::kLocal || (block && scope == Scope::kShared)) cells.Forget();
    }
  }

  bool RunPhase(NodeId id) {
    const Node& node = program_.nodes[id];
    ForgetPrivate();
    if (node.kind != NodeKind::kLoop || node.loop_kind != LoopKind::kParallel) return RunNode(id);
    if (!SetExtent(id)) return false;
    const int64_t extent = extents_[node.var];
    const int64_t workers = options_.workers;
    // The last worker first: an iteration that needs an earlier one's result is then found out.
    for (int64_t worker = workers - 1; worker >= 0; --worker) {
      ForgetPrivate();
      const int64_t end = (worker + 1) * extent / workers;
      for (int64_t i = worker * extent / workers; i < end; ++i) {
        machine_.vars[node.var] = i;
        if (!RunChildren(node)) return false;
      }
    }
    return true;
  }

  bool RunChildren(const Node& node) {
    for (const NodeId child : node.children) {
      if (!RunNode(child)) return false;
    }
    return true;
  }

  bool SetExtent(NodeId id) {
    if (!interpreter::Run(nodes_[id].extent, machine_)) return false;
    extents_[program_.nodes[id].var] = machine_.slots[0].value.i;
    return true;
  }

  bool RunNode(NodeId id) {
    const Node& node = program_.nodes[id];
    switch (node.kind) {
      case NodeKind::kSeq:
      case NodeKind::kStage:  // Where a window is kept does not change what is computed.
        return RunChildren(node);
      case NodeKind::kLoop: {
        if (!SetExtent(id)) return false;
        const int64_t extent = extents_[node.var];
        for (int64_t i = 0; i < extent; ++i) {
          machine_.vars[node.var] = i;
          if (node.loop_kind == LoopKind::kBound) ForgetBound(id);
          if (!RunChildren(node)) return false;
        }
        return true;
      }
      case NodeKind::kBlock:
        return RunBlock(program_.blocks[node.block], *nodes_[id].block);
      case NodeKind::kIf:
        if (!interpreter::Run(nodes_[id].cond, machine_)) return false;
        if (machine_.slots[0].value.i != 0) return RunNode(node.children[0]);
        return node.children.size() < 2 || RunNode(node.children[1]);
      case NodeKind::kStore:
        return RunStore(node, nodes_[id]);
      case NodeKind::kBarrier:
      case NodeKind::kPrefetch:
        return true;
    }
    return true;
  }

  // Offset of the element that `indices` names; -1 where it failed.
  int64_t RunIndices(const Code& indices, const Cells& cells) {
    if (!interpreter::Run(indices, machine_)) return -1;
    const int64_t offset = cells.Offset(machine_.slots.data());
    if (offset < 0) {
      machine_.status =
          absl::InternalError(absl::StrCat("write outside of buffer ", cells.buffer->name));
    }
    return offset;
  }

  bool RunStore(const Node& node, const NodeCode& code) {
    Cells& cells = machine_.cells[node.buffer];
    const int64_t offset = RunIndices(code.indices, cells);
    if (offset < 0 || !interpreter::Run(code.value, machine_)) return false;
    if (node.combiner == Combiner::kAssign) {
      Put(cells, offset, machine_.slots[0], CellState::kWritten);
      return true;
    }
    if (cells.states[offset] != CellState::kWritten) {
      machine_.status = absl::InternalError(
          absl::StrCat("combines into an unwritten element of ", cells.buffer->name));
      return false;
    }
    Put(cells, offset,
        CombineSlots(node.combiner, cells.buffer->dtype, Get(cells, offset), machine_.slots[0]),
        CellState::kWritten);
    return true;
  }

  Slot Get(const Cells& cells, int64_t offset) const {
    return {cells.values[offset], options_.magnitudes ? cells.magnitudes[offset] : 0};
  }

  // Whether a guarded variable is beyond its extent; *ok is false when its extent failed.
  bool Beyond(const std::vector<Guard>& guards, bool* ok) {
    for (const Guard& guard : guards) {
      if (!interpreter::Run(guard.extent, machine_)) {
        *ok = false;
        return true;
      }
      if (machine_.vars[guard.var] >= machine_.slots[0].value.i) return true;
    }
    return false;
  }

  bool RunBlock(const Block& block, const BlockCode& code) {
    if (!interpreter::Run(code.defs, machine_)) return false;
    bool ok = true;
    if (!code.spatial_guards.empty() && Beyond(code.spatial_guards, &ok)) return ok;
    Cells& cells = machine_.cells[block.output];
    const int64_t offset = RunIndices(code.indices, cells);
    if (offset < 0) return false;
    if (!code.reduces) {
      if (!interpreter::Run(code.step, machine_)) return false;
      return Finish(code, machine_.slots[0], cells, offset);
    }
    bool first = true;
    bool last = true;
    for (const VarId var : code.reduction_loops) {
      first = first && machine_.vars[var] == 0;
      last = last && machine_.vars[var] == extents_[var] - 1;
    }
    if (first) {
      if (!interpreter::Run(code.init, machine_)) return false;
      Put(cells, block.step->dtype, offset, machine_.slots[0], CellState::kPartial);
      // kPartial marks a sum between init and finish. A schedule that breaks a reduction apart is
      // found at the first step.
    } else if (cells.states[offset] != CellState::kPartial) {
      machine_.status = absl::InternalError(absl::StrCat(
          "a step of block ", block.name, " comes before its init or after its finish"));
      return false;
    }
    // A skipped step still counts as first or last: init and finish belong to the iterations, not
    // to the terms.
    const bool skip = !code.reduction_guards.empty() && Beyond(code.reduction_guards, &ok);
    if (!ok) return false;
    if (!skip) {
      if (!interpreter::Run(code.step, machine_)) return false;
      const DType dtype = block.step->dtype;
      Put(cells, dtype, offset,
          CombineSlots(block.combiner, dtype, Get(cells, offset), machine_.slots[0]),
          CellState::kPartial);
    }
    return !last || Finish(code, Get(cells, offset), cells, offset);
  }

  bool Finish(const BlockCode& code, Slot self, Cells& cells, int64_t offset) {
    if (!code.finish.empty()) {
      machine_.self = self;
      if (!interpreter::Run(code.finish, machine_)) return false;
      self = machine_.slots[0];
    }
    Put(cells, offset, self, CellState::kWritten);
    return true;
  }

  const Program& program_;
  const InterpretOptions options_;
  Machine machine_;
  std::vector<NodeCode> nodes_;
  std::vector<WindowOwners> owners_;  // By BufferId.
  std::vector<int64_t> extents_;      // Current extents of loop variables, by VarId.
};

}  // namespace

absl::StatusOr<std::vector<TensorValue>> Interpret(const Program& program,
                                                   const std::vector<TensorValue>& arguments,
                                                   const InterpretOptions& options) {
  return Interpreter(program, options).Run(arguments);
}

}  // namespace burnish
