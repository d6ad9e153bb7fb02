#include "worker/runner/sample_oracle.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

// kInProgress finds cycles: a hostile workload may define an element by itself, and the recursion
// would not end.
enum class CellState : uint8_t { kUnknown, kInProgress, kKnown };

bool IsArgument(const Buffer& buffer) {
  return buffer.role == BufferRole::kInput || buffer.role == BufferRole::kConstant;
}

ExprValue FromBytes(DType type, const uint8_t* bytes) {
  ExprValue value = {.i = 0};
  switch (type) {
    case DType::kF32: {
      float f = 0;
      std::memcpy(&f, bytes, sizeof(f));
      value.f = f;
      break;
    }
    case DType::kF64:
      std::memcpy(&value.f, bytes, sizeof(value.f));
      break;
    case DType::kBf16: {
      Bfloat16 stored;
      std::memcpy(&stored, bytes, sizeof(stored));
      value.f = stored;
      break;
    }
    case DType::kF16: {
      Float16 stored;
      std::memcpy(&stored, bytes, sizeof(stored));
      value.f = stored;
      break;
    }
    default:
      std::memcpy(&value.i, bytes, SizeBytes(type));
      value.i = WrapToType(type, value.i);
  }
  return value;
}

}  // namespace

struct SampleOracle::Cells {
  std::vector<ExprValue> values;
  std::vector<CellState> states;
  BlockId writer = -1;
};

struct SampleOracle::Writer {
  // An output index that is an axis plus a constant, or a constant alone (axis -1).
  struct Index {
    VarId axis = -1;
    int64_t constant = 0;
  };

  const Block* block = nullptr;
  std::vector<Index> indices;
  // Where the indices are anything else: the spatial point of each element, row-major over the
  // axes; -1 where this block writes nothing.
  std::vector<int64_t> inverse;
  bool running = false;
};

namespace {

// UNIMPLEMENTED where `e` holds an operation that nobody taught this oracle: a refused job, where
// evaluating it would end the process.
absl::Status CheckKinds(const Expr& e) {
  absl::Status status;
  VisitExpr(e, [&](const ExprNode& node) {
    const bool unary = IsUnary(node.kind) && node.kind != ExprKind::kCast;
    if (!unary && !IsBinary(node.kind)) return;
    const DType type = node.operands[0]->dtype;
    if (unary ? IsKnownUnary(node.kind, type) : IsKnownBinary(node.kind, type)) return;
    status = absl::UnimplementedError(absl::StrCat("no reference for expression kind ",
                                                   static_cast<int>(node.kind), " of type ",
                                                   DTypeName(type)));
  });
  return status;
}

}  // namespace

SampleOracle::SampleOracle(Program program) : program_(std::move(program)) {}
SampleOracle::~SampleOracle() = default;

absl::StatusOr<std::unique_ptr<SampleOracle>> SampleOracle::Create(
    Program program, const std::vector<std::vector<uint8_t>>& arguments) {
  std::unique_ptr<SampleOracle> oracle(new SampleOracle(std::move(program)));
  RETURN_IF_ERROR(oracle->Prepare(arguments));
  return oracle;
}

absl::Status SampleOracle::Prepare(const std::vector<std::vector<uint8_t>>& arguments) {
  vars_.assign(program_.vars.size(), 0);
  cells_.resize(program_.buffers.size());
  size_t argument = 0;
  for (size_t b = 0; b < program_.buffers.size(); ++b) {
    const Buffer& buffer = program_.buffers[b];
    const int64_t count = ElementCount(buffer.shape);
    // Before anything is allocated: 2^28 elements are 2 GiB of values here.
    if (count > kElementsMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("got ", count, " elements of ", buffer.name, ", want <= ", kElementsMax));
    }
    cells_[b].values.resize(count);
    cells_[b].states.assign(count, IsArgument(buffer) ? CellState::kKnown : CellState::kUnknown);
    if (!IsArgument(buffer)) continue;
    const int64_t size = SizeBytes(buffer.dtype);
    if (argument == arguments.size() ||
        static_cast<int64_t>(arguments[argument].size()) != count * size) {
      return absl::InvalidArgumentError(absl::StrCat("argument for ", buffer.name, ": wrong size"));
    }
    const uint8_t* bytes = arguments[argument++].data();
    for (int64_t i = 0; i < count; ++i) {
      cells_[b].values[i] = FromBytes(buffer.dtype, bytes + i * size);
    }
  }
  if (argument != arguments.size()) return absl::InvalidArgumentError("got too many arguments");
  writers_.resize(program_.blocks.size());
  for (size_t b = 0; b < program_.blocks.size(); ++b) {
    RETURN_IF_ERROR(PrepareWriter(program_.blocks[b], writers_[b]));
    cells_[program_.blocks[b].output].writer = static_cast<BlockId>(b);
  }
  return absl::OkStatus();
}

absl::Status SampleOracle::PrepareWriter(const Block& block, Writer& writer) {
  writer.block = &block;
  for (const Expr& e : {block.init, block.step, block.finish}) RETURN_IF_ERROR(CheckKinds(e));
  for (const Expr& e : block.output_indices) RETURN_IF_ERROR(CheckKinds(e));
  for (const std::vector<VarId>* axes : {&block.spatial, &block.reduction}) {
    for (const VarId axis : *axes) {
      // A scheduled program has axes that are computed of others. The oracle must be of the
      // definition, or it would repeat the schedule's mistakes.
      if (program_.vars[axis].def != nullptr || !IsConstInt(program_.vars[axis].extent)) {
        return absl::UnimplementedError(absl::StrCat(block.name, " is not as it was defined"));
      }
    }
  }
  size_t covered = 0;
  for (const Expr& e : block.output_indices) {
    Writer::Index index;
    if (IsConstInt(e)) {
      index.constant = e->int_value;
    } else if (e->kind == ExprKind::kVar) {
      index.axis = e->id;
      // The forms that nearly all operators have: their inverse is a subtraction, and needs no
      // table.
    } else if (e->kind == ExprKind::kAdd && e->operands[0]->kind == ExprKind::kVar &&
               IsConstInt(e->operands[1])) {
      index = {.axis = e->operands[0]->id, .constant = e->operands[1]->int_value};
    } else {
      return PrepareInverse(writer);
    }
    covered += index.axis >= 0;
    writer.indices.push_back(index);
  }
  // Axes that no index names (of extent 1, say) are found by the table.
  return covered == block.spatial.size() ? absl::OkStatus() : PrepareInverse(writer);
}

// Goes through the spatial domain once.
absl::Status SampleOracle::PrepareInverse(Writer& writer) {
  const Block& block = *writer.block;
  const Buffer& buffer = program_.buffers[block.output];
  writer.indices.clear();
  writer.inverse.assign(ElementCount(buffer.shape), -1);
  __int128 count = 1;
  for (const VarId axis : block.spatial) {
    count *= program_.vars[axis].extent->int_value;
    if (count > kElementsMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the domain of ", block.name, " is too large"));
    }
  }
  for (int64_t point = 0; point < static_cast<int64_t>(count); ++point) {
    int64_t rest = point;
    for (size_t k = block.spatial.size(); k-- > 0;) {
      const int64_t extent = program_.vars[block.spatial[k]].extent->int_value;
      vars_[block.spatial[k]] = rest % extent;
      rest /= extent;
    }
    int64_t offset = 0;
    for (size_t d = 0; d < block.output_indices.size(); ++d) {
      const int64_t at = Eval(*block.output_indices[d], {.i = 0}).i;
      if (!status_.ok()) return status_;
      if (at < 0 || at >= buffer.shape[d]) {
        return absl::InternalError(absl::StrCat("write outside of buffer ", buffer.name));
      }
      offset = offset * buffer.shape[d] + at;
    }
    writer.inverse[offset] = point;
  }
  return absl::OkStatus();
}

absl::StatusOr<ExprValue> SampleOracle::Value(BufferId buffer, int64_t offset) {
  steps_ = 0;
  status_ = absl::OkStatus();
  const ExprValue value = Get(buffer, offset);
  RETURN_IF_ERROR(status_);
  return value;
}

ExprValue SampleOracle::Get(BufferId buffer, int64_t offset) {
  Cells& cells = cells_[buffer];
  // Each element once: 400 samples of a softmax share their rows' sums.
  if (cells.states[offset] == CellState::kKnown) return cells.values[offset];
  // After the first failure everything returns at once: the recursion may be deep and its results
  // are of no use.
  if (!status_.ok()) return {.i = 0};
  if (cells.states[offset] == CellState::kInProgress) {
    Fail(absl::InternalError(
        absl::StrCat("an element of ", program_.buffers[buffer].name, " depends on itself")));
    return {.i = 0};
  }
  // Before the computation, which may ask for the same element.
  cells.states[offset] = CellState::kInProgress;
  const ExprValue value = Compute(buffer, offset);
  cells.values[offset] = value;
  // Not known after a failure, so that a later call reports its own reason.
  cells.states[offset] = status_.ok() ? CellState::kKnown : CellState::kUnknown;
  return value;
}

ExprValue SampleOracle::Compute(BufferId buffer, int64_t offset) {
  const BlockId block = cells_[buffer].writer;
  // The axes of a block are global state (vars_), so that a block cannot be evaluated inside of
  // itself. Definitions do not need it.
  if (block >= 0 && writers_[block].running) {
    Fail(absl::UnimplementedError(
        absl::StrCat(program_.blocks[block].name, " reads what it writes")));
    return {.i = 0};
  }
  if (block < 0 || !Locate(writers_[block], offset)) {
    Fail(absl::InternalError(
        absl::StrCat("nothing writes element ", offset, " of ", program_.buffers[buffer].name)));
    return {.i = 0};
  }
  writers_[block].running = true;
  const ExprValue value = RunBlock(writers_[block]);
  writers_[block].running = false;
  return value;
}

// Sets the block's spatial axes for the element; false: it does not write it.
bool SampleOracle::Locate(const Writer& writer, int64_t offset) {
  const Block& block = *writer.block;
  if (!writer.inverse.empty()) {
    int64_t rest = writer.inverse[offset];
    if (rest < 0) return false;
    for (size_t k = block.spatial.size(); k-- > 0;) {
      const int64_t extent = program_.vars[block.spatial[k]].extent->int_value;
      vars_[block.spatial[k]] = rest % extent;
      rest /= extent;
    }
    return true;
  }
  const std::vector<int64_t>& shape = program_.buffers[block.output].shape;
  // To tell an axis that is not set yet: two indices may name the same axis and must then agree.
  for (const VarId axis : block.spatial) vars_[axis] = -1;
  for (size_t d = shape.size(); d-- > 0;) {
    const int64_t at = offset % shape[d] - writer.indices[d].constant;
    offset /= shape[d];
    const VarId axis = writer.indices[d].axis;
    if (axis < 0) {
      if (at != 0) return false;
      continue;
    }
    if (at < 0 || at >= program_.vars[axis].extent->int_value) return false;
    if (vars_[axis] >= 0 && vars_[axis] != at) return false;
    vars_[axis] = at;
  }
  return true;
}

ExprValue SampleOracle::RunBlock(Writer& writer) {
  const Block& block = *writer.block;
  // Of the sums; the value that is stored at last may be narrower.
  const DType type = block.step->dtype;
  // Integers wrap when they are stored, as in memory. Floats stay in double: the oracle is what the
  // kernel's rounding is measured against.
  const auto held = [](DType type, ExprValue value) {
    if (!IsFloat(type)) value.i = WrapToType(type, value.i);
    return value;
  };
  ExprValue self = {.i = 0};
  if (block.reduction.empty()) {
    self = Eval(*block.step, self);
  } else {
    const Expr init = block.init != nullptr ? block.init : Identity(block.combiner, type);
    self = held(type, Eval(*init, self));
    const ExprKind combine = block.combiner == Combiner::kSum    ? ExprKind::kAdd
                             : block.combiner == Combiner::kProd ? ExprKind::kMul
                             : block.combiner == Combiner::kMax  ? ExprKind::kMax
                                                                 : ExprKind::kMin;
    ValueError error = ValueError::kNone;
    bool is_empty = false;
    for (const VarId axis : block.reduction) {
      vars_[axis] = 0;
      is_empty = is_empty || program_.vars[axis].extent->int_value == 0;
    }
    // The reduction's axes as an odometer, the last one fastest.
    while (!is_empty && status_.ok()) {
      // Of one Value call. A sum over sums may take any number of steps, which a hostile workload
      // would use.
      if (++steps_ > kStepsMax) {
        Fail(absl::ResourceExhaustedError(absl::StrCat(block.name, ": too many steps")));
        break;
      }
      self = held(type, BinaryValue(combine, type, self, Eval(*block.step, self), &error));
      size_t k = block.reduction.size();
      while (k > 0) {
        const VarId axis = block.reduction[k - 1];
        if (++vars_[axis] < program_.vars[axis].extent->int_value) break;
        vars_[axis] = 0;
        --k;
      }
      is_empty = k == 0;
    }
    FailOn(error);
  }
  if (block.finish != nullptr) self = Eval(*block.finish, self);
  return held(program_.buffers[block.output].dtype, self);
}

ExprValue SampleOracle::Eval(const ExprNode& e, const ExprValue& self) {
  switch (e.kind) {
    case ExprKind::kIntImm:
      return {.i = WrapToType(e.dtype, e.int_value)};
    case ExprKind::kFloatImm:
      return {.f = e.float_value};
    case ExprKind::kVar:
      return {.i = vars_[e.id]};
    case ExprKind::kSelf:
      return self;
    case ExprKind::kSelect:
      // Only the chosen operand: the other may read outside of its buffer, which is what a select
      // for padding is there to prevent.
      return Eval(Eval(*e.operands[0], self).i != 0 ? *e.operands[1] : *e.operands[2], self);
    case ExprKind::kLoad:
      return EvalLoad(e, self);
    case ExprKind::kTable:
      return EvalTable(e, self);
    case ExprKind::kBoundsCheck:
      return EvalBoundsCheck(e, self);
    case ExprKind::kCast:
      return CastValue(e.operands[0]->dtype, e.dtype, Eval(*e.operands[0], self));
    default:
      if (e.operands.size() == 2) return EvalBinary(e, self);
      return EvalUnary(e, self);
  }
}

void SampleOracle::FailOn(ValueError error) {
  if (error == ValueError::kDivisionByZero) {
    Fail(absl::InvalidArgumentError("integer division by zero"));
  } else if (error == ValueError::kUnknownOperation) {
    Fail(absl::UnimplementedError("no reference for an operation"));
  }
}

ExprValue SampleOracle::EvalUnary(const ExprNode& e, const ExprValue& self) {
  ValueError error = ValueError::kNone;
  const ExprValue value =
      UnaryValue(e.kind, e.operands[0]->dtype, Eval(*e.operands[0], self), &error);
  FailOn(error);
  return value;
}

ExprValue SampleOracle::EvalBinary(const ExprNode& e, const ExprValue& self) {
  const ExprValue a = Eval(*e.operands[0], self);
  // What decides already spares the other operand.
  if (e.kind == ExprKind::kAnd && a.i == 0) return {.i = 0};
  if (e.kind == ExprKind::kOr && a.i != 0) return {.i = 1};
  ValueError error = ValueError::kNone;
  const ExprValue value =
      BinaryValue(e.kind, e.operands[0]->dtype, a, Eval(*e.operands[1], self), &error);
  FailOn(error);
  return value;
}

ExprValue SampleOracle::EvalLoad(const ExprNode& e, const ExprValue& self) {
  const std::vector<int64_t>& shape = program_.buffers[e.id].shape;
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t at = Eval(*e.operands[d], self).i;
    // Each dimension by itself: an offset that is right in sum may still be of another row.
    if (at < 0 || at >= shape[d]) {
      Fail(absl::InternalError(
          absl::StrCat("read outside of buffer ", program_.buffers[e.id].name)));
      return {.i = 0};
    }
    offset = offset * shape[d] + at;
  }
  return Get(e.id, offset);
}

ExprValue SampleOracle::EvalTable(const ExprNode& e, const ExprValue& self) {
  int64_t offset = 0;
  for (size_t d = 0; d < e.table->shape.size(); ++d) {
    const int64_t at = Eval(*e.operands[d], self).i;
    if (at < 0 || at >= e.table->shape[d]) {
      Fail(absl::InternalError("read outside of a table"));
      return {.i = 0};
    }
    offset = offset * e.table->shape[d] + at;
  }
  const double value = e.table->values[offset];
  if (IsFloat(e.table->dtype)) return {.f = value};
  return {.i = static_cast<int64_t>(value)};
}

ExprValue SampleOracle::EvalBoundsCheck(const ExprNode& e, const ExprValue& self) {
  const int64_t index = Eval(*e.operands[0], self).i;
  const int64_t extent = Eval(*e.operands[1], self).i;
  if (index < -extent || index >= extent) {
    Fail(absl::OutOfRangeError(absl::StrCat("got index ", index, ", want one of ", extent)));
    return {.i = 0};
  }
  return {.i = index < 0 ? index + extent : index};
}

}  // namespace burnish
