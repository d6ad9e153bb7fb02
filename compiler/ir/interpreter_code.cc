#include "compiler/ir/interpreter_code.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/ir/expr_kinds.h"
#include "compiler/ir/interpreter_math.h"

namespace burnish::interpreter {

Cells::Cells(const Buffer& of, bool with_magnitudes) : buffer(&of) {
  const int rank = static_cast<int>(of.shape.size());
  int64_t count = 1;
  strides.resize(rank);
  sizes.resize(rank);
  low.resize(rank);
  for (int d = rank - 1; d >= 0; --d) {
    const auto border =
        of.storage.border.empty() ? std::pair<int64_t, int64_t>(0, 0) : of.storage.border[d];
    low[d] = border.first;
    sizes[d] = of.shape[d] + border.first + border.second;
    strides[d] = count;
    // Dense over shape and border, whatever the buffer's storage is: the interpreter says what is
    // computed, and strides are not part of that.
    count *= sizes[d];
  }
  values.resize(count);
  states.assign(count, CellState::kUnwritten);
  if (with_magnitudes) magnitudes.resize(count);
}

Machine::Machine(const Program& of, bool magnitudes)
    : program(of), with_magnitudes(magnitudes), vars(of.vars.size(), 0), slots(16) {
  cells.reserve(of.buffers.size());
  for (const Buffer& buffer : of.buffers) cells.emplace_back(buffer, magnitudes);
}

namespace {

// Emits code for one expression after another.
class Compiler {
 public:
  Compiler(Machine& machine, Code& code) : machine_(machine), code_(code) {}

  void Emit(const Expr& e, int32_t a) {
    // While compiling: running code takes the slots' address once and must not move them.
    if (machine_.slots.size() <= static_cast<size_t>(a) + 1) machine_.slots.resize(2 * a + 4);
    if (e->kind == ExprKind::kSelect) return EmitSelect(e, a);
    for (size_t k = 0; k < e->operands.size(); ++k) {
      Emit(e->operands[k], a + static_cast<int32_t>(k));
    }
    const Op op = OpOf(*e);
    Add(op, *e, a);
    if (!IsFloat(e->dtype) && (op == Op::kAddInt || op == Op::kSubInt || op == Op::kMulInt ||
                               op == Op::kIntUnary || op == Op::kIntBinary)) {
      // After each operation and not only at the store: an i8 sum that wraps and is then compared
      // must wrap before.
      if (e->dtype != DType::kI64) Add(Op::kWrap, *e, a);
    }
  }

  InterpreterInstruction& Add(Op op, const ExprNode& e, int32_t a) {
    InterpreterInstruction next{
        .op = op, .kind = e.kind, .dtype = e.dtype, .from = e.dtype, .a = a};
    next.id = e.id;
    next.table = e.table.get();
    if (e.kind == ExprKind::kFloatImm) next.constant.f = e.float_value;
    if (e.kind == ExprKind::kIntImm) next.constant.i = WrapInt(e.dtype, e.int_value);
    if (IsUnary(e.kind) || IsBinary(e.kind)) next.from = e.operands[0]->dtype;
    code_.instructions.push_back(next);
    return code_.instructions.back();
  }

 private:
  void EmitSelect(const Expr& e, int32_t a) {
    Emit(e->operands[0], a);
    const size_t to_else = code_.instructions.size();
    // The other branch is not run: it may read outside of its buffer, and select is there to
    // prevent it.
    Add(Op::kJumpIfZero, *e, a);
    Emit(e->operands[1], a);
    const size_t to_end = code_.instructions.size();
    Add(Op::kJump, *e, a);
    // Jumps forward only, so that code ends on every input.
    code_.instructions[to_else].id = static_cast<int32_t>(code_.instructions.size());
    Emit(e->operands[2], a);
    code_.instructions[to_end].id = static_cast<int32_t>(code_.instructions.size());
  }

  static Op OpOf(const ExprNode& e) {
    const bool is_float = !e.operands.empty() && IsFloat(e.operands[0]->dtype);
    switch (e.kind) {
      case ExprKind::kIntImm:
      case ExprKind::kFloatImm:
        return Op::kConst;
      case ExprKind::kVar:
        return Op::kVar;
      case ExprKind::kSelf:
        return Op::kSelf;
      case ExprKind::kLoad:
        return Op::kLoad;
      case ExprKind::kTable:
        return Op::kTable;
      case ExprKind::kBoundsCheck:
        return Op::kBoundsCheck;
      case ExprKind::kCast:
        return Op::kCast;
      case ExprKind::kAdd:
        return is_float ? Op::kAddFloat : Op::kAddInt;
      case ExprKind::kSub:
        return is_float ? Op::kSubFloat : Op::kSubInt;
      case ExprKind::kMul:
        return is_float ? Op::kMulFloat : Op::kMulInt;
      default:
        break;
    }
    if (e.operands.size() == 1) return is_float ? Op::kFloatUnary : Op::kIntUnary;
    CHECK_EQ(e.operands.size(), 2u) << "expression kind " << static_cast<int>(e.kind);
    if (!is_float) return Op::kIntBinary;
    return IsFloat(e.dtype) ? Op::kFloatBinary : Op::kFloatCompare;
  }

  Machine& machine_;
  Code& code_;
};

bool Fail(Machine& machine, absl::Status status) {
  machine.status = std::move(status);
  return false;
}

std::string IndexText(const Slot* indices, size_t count) {
  std::string text = "[";
  for (size_t d = 0; d < count; ++d) {
    absl::StrAppend(&text, d == 0 ? "" : ",", indices[d].value.i);
  }
  return text + "]";
}

bool RunLoad(const InterpreterInstruction& in, Machine& machine, Slot* slot) {
  const Cells& cells = machine.cells[in.id];
  const int64_t offset = cells.Offset(slot);
  if (offset < 0) {
    return Fail(machine,
                absl::InternalError(absl::StrCat("read outside of buffer ", cells.buffer->name,
                                                 " at ", IndexText(slot, cells.sizes.size()))));
  }
  // A schedule that reads too early gives some number on a machine; here it is an error with the
  // element's name.
  if (cells.states[offset] != CellState::kWritten) {
    return Fail(machine, absl::InternalError(absl::StrCat(
                             "read of an ",
                             cells.states[offset] == CellState::kPartial ? "unfinished reduction"
                                                                         : "unwritten element",
                             ": ", cells.buffer->name, IndexText(slot, cells.sizes.size()))));
  }
  slot->value = cells.values[offset];
  if (machine.with_magnitudes) slot->magnitude = cells.magnitudes[offset];
  return true;
}

bool RunTable(const InterpreterInstruction& in, Machine& machine, Slot* slot) {
  const ConstTable& table = *in.table;
  int64_t offset = 0;
  for (size_t d = 0; d < table.shape.size(); ++d) {
    const int64_t index = slot[d].value.i;
    if (index < 0 || index >= table.shape[d]) {
      return Fail(machine, absl::InternalError(absl::StrCat("index outside of a table at ",
                                                            IndexText(slot, table.shape.size()))));
    }
    offset = offset * table.shape[d] + index;
  }
  const double value = table.values[offset];
  if (IsFloat(table.dtype)) {
    slot->value.f = value;
  } else {
    slot->value.i = static_cast<int64_t>(value);
  }
  slot->magnitude = std::abs(value);
  return true;
}

bool RunBoundsCheck(Machine& machine, Slot* slot) {
  const int64_t index = slot[0].value.i;
  const int64_t extent = slot[1].value.i;
  // Negative indices count from the end, as in ONNX's Gather.
  if (index < -extent || index >= extent) {
    return Fail(machine, absl::OutOfRangeError(absl::StrCat("got index ", index, ", want ", -extent,
                                                            " to ", extent - 1)));
  }
  if (index < 0) slot->value.i = index + extent;
  return true;
}

template <bool kMagnitudes>
bool RunCode(const Code& code, Machine& machine) {
  const InterpreterInstruction* const begin = code.instructions.data();
  const InterpreterInstruction* const end = begin + code.instructions.size();
  Slot* const slots = machine.slots.data();
  for (const InterpreterInstruction* in = begin; in != end; ++in) {
    Slot* const slot = slots + in->a;
    switch (in->op) {
      case Op::kConst:
        slot->value = in->constant;
        if (kMagnitudes) {
          slot->magnitude =
              std::abs(IsFloat(in->dtype) ? in->constant.f : static_cast<double>(in->constant.i));
        }
        break;
      case Op::kVar:
        slot->value.i = machine.vars[in->id];
        break;
      case Op::kSetVar:
        machine.vars[in->id] = slot->value.i;
        break;
      case Op::kSelf:
        *slot = machine.self;
        break;
      case Op::kJumpIfZero:
        if (slot->value.i != 0) break;
        [[fallthrough]];
      case Op::kJump:
        // One before the target: the loop steps on.
        in = begin + in->id - 1;
        break;
      case Op::kLoad:
        if (!RunLoad(*in, machine, slot)) return false;
        break;
      case Op::kTable:
        if (!RunTable(*in, machine, slot)) return false;
        break;
      case Op::kBoundsCheck:
        if (!RunBoundsCheck(machine, slot)) return false;
        break;
      case Op::kWrap:
        slot->value.i = WrapInt(in->dtype, slot->value.i);
        break;
      // Unsigned: signed overflow wraps here as it does in the compiled code.
      case Op::kAddInt:
        slot->value.i = static_cast<int64_t>(static_cast<uint64_t>(slot[0].value.i) +
                                             static_cast<uint64_t>(slot[1].value.i));
        break;
      case Op::kSubInt:
        slot->value.i = static_cast<int64_t>(static_cast<uint64_t>(slot[0].value.i) -
                                             static_cast<uint64_t>(slot[1].value.i));
        break;
      case Op::kMulInt:
        slot->value.i = static_cast<int64_t>(static_cast<uint64_t>(slot[0].value.i) *
                                             static_cast<uint64_t>(slot[1].value.i));
        break;
      // Magnitudes: the same computation on absolute values, so that a sum gives sum |a * b|, which
      // the tests' bound of rounding is a multiple of (docs/contracts.md, Numbers). A difference
      // adds as well: cancellation is what makes an error large.
      case Op::kAddFloat:
        if (kMagnitudes) slot->magnitude = slot[0].magnitude + slot[1].magnitude;
        slot->value.f = slot[0].value.f + slot[1].value.f;
        break;
      case Op::kSubFloat:
        if (kMagnitudes) slot->magnitude = slot[0].magnitude + slot[1].magnitude;
        slot->value.f = slot[0].value.f - slot[1].value.f;
        break;
      case Op::kMulFloat:
        if (kMagnitudes) slot->magnitude = slot[0].magnitude * slot[1].magnitude;
        slot->value.f = slot[0].value.f * slot[1].value.f;
        break;
      case Op::kCast:
        CastSlot(in->from, in->dtype, slot);
        break;
      case Op::kIntUnary:
        slot->value.i = IntUnaryOf(in->kind, in->from, slot->value.i);
        break;
      case Op::kIntBinary:
        if ((in->kind == ExprKind::kDiv || in->kind == ExprKind::kFloorDiv ||
             in->kind == ExprKind::kMod) &&
            slot[1].value.i == 0) {
          return Fail(machine, absl::OutOfRangeError("integer division by zero"));
        }
        slot->value.i = IntBinaryOf(in->kind, in->from, slot[0].value.i, slot[1].value.i);
        break;
      case Op::kFloatUnary:
        FloatUnary(in->kind, in->from, kMagnitudes, slot);
        break;
      case Op::kFloatBinary:
        FloatBinary(in->kind, kMagnitudes, slot);
        break;
      case Op::kFloatCompare:
        slot->value.i = FloatCompare(in->kind, slot[0].value.f, slot[1].value.f);
        break;
    }
  }
  return true;
}

}  // namespace

void Compile(Machine& machine, absl::Span<const Expr> exprs, Code& code) {
  Compiler compiler(machine, code);
  int32_t slot = 0;
  for (const Expr& e : exprs) compiler.Emit(e, slot++);
}

Code CompileDefs(Machine& machine, absl::Span<const VarId> vars, std::vector<VarId>* order) {
  Code code;
  std::vector<bool> done(machine.program.vars.size(), false);
  const std::function<void(VarId)> visit = [&](VarId var) {
    if (done[var]) return;
    done[var] = true;
    order->push_back(var);
    const Expr& def = machine.program.vars[var].def;
    if (def == nullptr) return;
    // Operands first: code runs from front to back.
    VisitExpr(def, [&](const ExprNode& node) {
      if (node.kind == ExprKind::kVar) visit(node.id);
    });
    Compiler compiler(machine, code);
    compiler.Emit(def, 0);
    compiler.Add(Op::kSetVar, *def, 0).id = var;
  };
  for (const VarId var : vars) visit(var);
  return code;
}

bool Run(const Code& code, Machine& machine) {
  return machine.with_magnitudes ? RunCode<true>(code, machine) : RunCode<false>(code, machine);
}

}  // namespace burnish::interpreter
