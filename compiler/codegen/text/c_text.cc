#include "compiler/codegen/text/c_text.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/codegen/kernel_layout.h"
#include "compiler/codegen/text/c_pieces.h"
#include "compiler/ir/expr_kinds.h"
#include "compiler/ir/simplify.h"

namespace burnish {
namespace {

// Of names outside of functions, beside the kernels'.
constexpr char kTablePrefix[] = "table_";

// `name` with signs that C's names do not have as underscores.
std::string Safe(absl::string_view name) {
  std::string safe(name);
  for (char& c : safe) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  // A leading underscore is the compiler's.
  if (safe.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(safe[0]))) safe = "x" + safe;
  return safe;
}

// How tightly C's operators bind, loosest first. Comparisons never stand side by side.
enum Level { kTernary, kOr, kAnd, kCompare, kSum, kProduct, kUnary, kPrimary };

// C text, and its outermost operator.
struct Term {
  std::string text;
  int level;
};

std::string InParens(const Term& term, int level) {
  return term.level < level ? absl::StrCat("(", term.text, ")") : term.text;
}

// What a loop variable is where an expression stands.
struct CVar {
  std::string name;  // Empty: not here.
  Range range;
  bool unrolled = false;  // A constant, once its loop is written out.
};

class FunctionPrinter {
 public:
  // `table_count`: of the whole text so far.
  FunctionPrinter(const Program& program, const KernelLayout& layout, int& table_count)
      : program_(program),
        layout_(layout),
        table_count_(table_count),
        vars_(program.vars.size()),
        buffers_(program.buffers.size()) {}

  absl::StatusOr<std::string> Print(const std::string& symbol, bool pack);

 private:
  void Line(const std::string& text) {
    absl::StrAppend(&text_, std::string(2 * static_cast<size_t>(depth_), ' '), text, "\n");
  }
  // Records an error, unless there is one already.
  void Fail(const std::string& message) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(message);
  }
  std::string NewName(absl::string_view name);

  void Bind(NodeId root, bool pack);
  void Phases(NodeId root);
  void Children(const Node& node) {
    ++depth_;
    for (const NodeId child : node.children) Visit(child);
    --depth_;
  }
  void Loop(const Node& loop, bool outermost);
  void If(const Node& node);
  void Store(const Node& node);
  void Visit(NodeId id);

  // Expressions. Integers wrap, errors go to the variable `error`. Both operands of && are
  // computed, of selects one: as the interpreter does it.
  std::string Value(const Expr& e) { return Print(e).text; }
  std::string At(const Expr& e, int level) { return InParens(Print(e), level); }
  Term Print(const Expr& e);
  Term Named(const Expr& e);
  Term Infix(const Expr& e);
  Term Select(const Expr& e);
  Term Call(const std::string& name, const Expr& e);
  static Term Convert(const Term& x, DType from, DType to);
  std::string Element(BufferId buffer, const std::vector<Expr>& indices);
  Term Table(const Expr& e);
  std::optional<Range> RangeHere(const Expr& e) const { return RangeOf(e, Ranges()); }
  VarRanges Ranges() const {
    return [this](VarId var) {
      return vars_[var].name.empty() ? std::nullopt : std::optional<Range>(vars_[var].range);
    };
  }

  const Program& program_;
  const KernelLayout& layout_;
  int& table_count_;
  std::vector<CVar> vars_;            // By VarId.
  std::vector<std::string> buffers_;  // Names by BufferId; empty: no address here.
  std::map<const ConstTable*, std::string> tables_;
  std::set<std::string> names_;
  std::string table_text_, text_;
  int depth_ = 0;
  absl::Status status_;  // The first error: INVALID_ARGUMENT.
};

std::string FunctionPrinter::NewName(absl::string_view name) {
  const std::string safe = Safe(name);
  std::string unique = safe;
  for (int i = 2; IsCWord(unique) || !names_.insert(unique).second; ++i) {
    unique = absl::StrCat(safe, "_", i);
  }
  return unique;
}

absl::StatusOr<std::string> FunctionPrinter::Print(const std::string& symbol, bool pack) {
  if (!program_.lowered) return absl::InvalidArgumentError("the program is not lowered");
  const NodeId root = pack ? program_.pack_root : program_.root;
  if (root < 0 || program_.nodes[root].kind != NodeKind::kSeq) {
    return absl::InvalidArgumentError("the program has no root");
  }
  Line(absl::StrCat("// Program \"", absl::CEscape(program_.name), "\"."));
  Line(absl::StrCat("i32 ", symbol, "(const KernelContext* context, i32 worker, i32 workers) {"));
  ++depth_;
  Bind(root, pack);
  Line("i32 error = 0;");
  Phases(root);
  Line("return error;");
  --depth_;
  Line("}");
  RETURN_IF_ERROR(status_);
  return absl::StrCat(table_text_, text_);
}

// Names and addresses of the buffers that the function touches.
void FunctionPrinter::Bind(NodeId root, bool pack) {
  std::set<BufferId> used;
  const auto visit = [&](const ExprNode& node) {
    if (node.kind == ExprKind::kLoad) used.insert(node.id);
  };
  for (const NodeId id : Subtree(program_, root)) {
    const Node& node = program_.nodes[id];
    if (node.kind == NodeKind::kStore) used.insert(node.buffer);
    for (const Expr& index : node.indices) VisitExpr(index, visit);
    VisitExpr(node.value, visit);
    VisitExpr(node.cond, visit);
    if (node.kind == NodeKind::kLoop) VisitExpr(program_.vars[node.var].extent, visit);
  }
  const auto& parameters = pack ? layout_.pack_parameters : layout_.kernel_parameters;
  for (const BufferId id : used) {
    const Buffer& buffer = program_.buffers[id];
    std::string address;
    if (buffer.role != BufferRole::kTemp) {
      const auto parameter = std::find(parameters.begin(), parameters.end(), id);
      if (parameter == parameters.end()) continue;
      address = absl::StrCat("context->buffers[", parameter - parameters.begin(), "]");
    } else if (layout_.temp_offset[id] >= 0) {
      const char* const area =
          buffer.scope == Scope::kScratch
              ? "(context->scratch + worker * context->scratch_bytes_per_worker + "
              : "(context->shared_scratch + ";
      address = absl::StrCat(area, layout_.temp_offset[id], ")");
    }
    const std::string name = buffers_[id] = NewName(buffer.name), type = CTypeName(buffer.dtype);
    const std::string note = absl::StrCat(type, "[", absl::StrJoin(buffer.shape, ", "), "]");
    const bool written = buffer.role == BufferRole::kTemp || buffer.role == BufferRole::kOutput ||
                         (buffer.role == BufferRole::kPacked && pack);
    const std::string pointer = absl::StrCat(written ? "" : "const ", type, "*");
    if (address.empty()) {  // Registers, or a tile of them.
      Line(absl::StrCat(type, " ", name, "[", StorageElementCount(buffer), "];  // ", note));
    } else {
      Line(absl::StrCat(pointer, " const ", name, " = (", pointer, ")", address, ";  // ", note));
    }
  }
}

// A barrier between the root's children, unless worker 0 does both.
void FunctionPrinter::Phases(NodeId root) {
  bool previous_parallel = false;
  for (const NodeId id : program_.nodes[root].children) {
    const Node& child = program_.nodes[id];
    const bool parallel = child.kind == NodeKind::kLoop && child.loop_kind == LoopKind::kParallel;
    const bool first = id == program_.nodes[root].children[0];
    if (!first && (parallel || previous_parallel)) Line("context->barrier(context->barrier_arg);");
    previous_parallel = parallel;
    if (parallel) {
      Loop(child, true);
      continue;
    }
    Line("if (worker == 0) {");
    ++depth_;
    Visit(id);
    --depth_;
    Line("}");
  }
}

void FunctionPrinter::Loop(const Node& loop, bool outermost) {
  const Var& var = program_.vars[loop.var];
  const bool parallel = loop.loop_kind == LoopKind::kParallel;
  if (loop.loop_kind == LoopKind::kBound) {
    return Fail(absl::StrCat("loop ", var.name, " is bound to a GPU's threads"));
  }
  if (parallel && !outermost) {
    return Fail(absl::StrCat("loop ", var.name, " is parallel and not outermost"));
  }
  // In the order of LoopKind.
  constexpr const char* kNotes[] = {"", "  // parallel",  "  // vectorize ", "  // unroll",
                                    "", "  // tensorize "};
  std::string note = kNotes[static_cast<int>(loop.loop_kind)];
  if (loop.loop_kind == LoopKind::kVectorized) absl::StrAppend(&note, loop.lanes);
  if (loop.loop_kind == LoopKind::kTensorized) note += Safe(loop.intrinsic);
  const auto range = RangeHere(var.extent);
  // Half of all numbers: sums of two such bounds are numbers still.
  constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max() / 2;
  const int64_t last = range.has_value() ? std::max<int64_t>(range->max - 1, 0) : kUnknown;
  const std::string name = NewName(var.name), limit = NewName(name + "_end");
  const bool unrolled = (!parallel && loop.loop_kind != LoopKind::kSerial) || last == 0;
  vars_[loop.var] = {.name = name, .range = {0, last}, .unrolled = unrolled};
  // Worker w does the iterations from w * extent / workers on.
  const auto share = [&](const char* worker) {
    return absl::StrCat(worker, " * ", At(var.extent, kUnary), " / workers");
  };
  const std::string first = parallel ? share("(i64)worker") : "0";
  const std::string end = parallel ? share("((i64)worker + 1)") : Value(var.extent);
  // An extent that is no number is taken once, before the first iteration.
  const bool counted = !parallel && IsConstInt(var.extent);
  const std::string declared = counted ? "" : absl::StrCat(", ", limit, " = ", end);
  Line(absl::StrCat("for (i64 ", name, " = ", first, declared, "; ", name, " < ",
                    counted ? end : limit, "; ++", name, ") {", note));
  Children(loop);
  Line("}");
  vars_[loop.var] = {};
  names_.erase(name);
  names_.erase(limit);
}

void FunctionPrinter::If(const Node& node) {
  Line(absl::StrCat("if (", Value(node.cond), ") {"));
  for (size_t i = 0; i < node.children.size(); ++i) {
    if (i == 1) Line("} else {");
    Children(program_.nodes[node.children[i]]);
  }
  Line("}");
}

void FunctionPrinter::Store(const Node& node) {
  const Expr old = Load(node.buffer, program_.buffers[node.buffer].dtype, node.indices);
  const bool combines = node.combiner != Combiner::kAssign;
  const std::string value = Value(combines ? Combine(node.combiner, old, node.value) : node.value);
  Line(absl::StrCat(Element(node.buffer, node.indices), " = ", value, ";"));
}

void FunctionPrinter::Visit(NodeId id) {
  const Node& node = program_.nodes[id];
  switch (node.kind) {
    case NodeKind::kSeq:
      for (const NodeId child : node.children) Visit(child);
      return;
    case NodeKind::kLoop:
      return Loop(node, false);
    case NodeKind::kIf:
      return If(node);
    case NodeKind::kStore:
      return Store(node);
    case NodeKind::kPrefetch:  // Has no meaning.
      return;
    case NodeKind::kBarrier:
      return Fail("a barrier of a GPU's threads");
    default:
      return Fail("the program is not lowered: it has blocks or stages");
  }
}

// buffer[indices], bits of what lies there.
std::string FunctionPrinter::Element(BufferId buffer, const std::vector<Expr>& indices) {
  const Buffer& of = program_.buffers[buffer];
  if (buffers_[buffer].empty()) {
    Fail(absl::StrCat("buffer ", of.name, " is no memory of this function"));
  }
  Expr place = Int(of.storage.offset);
  for (size_t d = 0; d < indices.size(); ++d) place = place + indices[d] * of.storage.strides[d];
  place = Simplify(place, Ranges());
  for (const VarId var : FreeVars(place)) {
    if (of.scope != Scope::kRegister || vars_[var].unrolled) continue;
    Fail(absl::StrCat("register buffer ", of.name, " is indexed by loop ", program_.vars[var].name,
                      ", which is not unrolled"));
  }
  return absl::StrCat(buffers_[buffer], "[", Value(place), "]");
}

// Of a constant before the function, which is declared when it is mentioned for the first time.
Term FunctionPrinter::Table(const Expr& e) {
  const ConstTable& table = *e->table;
  std::string& name = tables_[&table];
  if (name.empty()) {
    name = NewName(absl::StrCat(kTablePrefix, table_count_++));
    const auto add = [&](std::string* out, double value) {
      absl::StrAppend(out, IsFloat(table.dtype)
                               ? CFloat(value, table.dtype)
                               : CInteger(static_cast<int64_t>(value), table.dtype));
    };
    absl::StrAppend(&table_text_, "CONSTANT ", CTypeName(table.dtype), " ", name, "[] = {",
                    absl::StrJoin(table.values, ", ", add), "};\n");
  }
  Expr place = Int(0);
  for (size_t d = 0; d < e->operands.size(); ++d) place = place * table.shape[d] + e->operands[d];
  return {absl::StrCat(name, "[", Value(Simplify(place, Ranges())), "]"), kPrimary};
}

Term FunctionPrinter::Convert(const Term& x, DType from, DType to) {
  const auto call = [&](const char* what, DType type, const Term& of) -> Term {
    return {absl::StrCat(what, CTypeName(type), "(", of.text, ")"), kPrimary};
  };
  if (from == to) return x;
  if (IsStorageFloat(from)) return Convert(call("widen_", from, x), DType::kF32, to);
  if (IsStorageFloat(to)) return call("narrow_", to, Convert(x, from, DType::kF32));
  if (to == DType::kBool) return {absl::StrCat(InParens(x, kSum), " != 0"), kCompare};
  if (IsFloat(from) && !IsFloat(to)) return call("cast_", to, x);
  return {absl::StrCat("(", CTypeName(to), ")", InParens(x, kUnary)), kUnary};
}

// name_type(operands), and the place for errors where there may be one.
Term FunctionPrinter::Call(const std::string& name, const Expr& e) {
  std::vector<std::string> arguments;
  for (const Expr& operand : e->operands) arguments.push_back(Value(operand));
  const bool divides = !IsFloat(e->dtype) && DividesIntegers(e->kind);
  if (divides || e->kind == ExprKind::kBoundsCheck) arguments.emplace_back("&error");
  return {absl::StrCat(name, "(", absl::StrJoin(arguments, ", "), ")"), kPrimary};
}

Term FunctionPrinter::Infix(const Expr& e) {
  const Expr &x = e->operands[0], &y = e->operands[1];
  const std::string type = CTypeName(e->dtype);
  const int level = InfoOf(e->kind).infix_level;
  std::string sign = InfoOf(e->kind).infix;
  // "//" is C's "/" where that is right at all. Of "&&" and "||" no jump: the other operand may
  // meet a data error, too.
  if (sign == "//" || level <= kAnd) sign.resize(1);
  // Where no step leaves 64 bits, and no quotient is below 0, C's own arithmetic will do.
  const bool is_float = IsFloat(e->dtype), divides = DividesIntegers(e->kind);
  const auto range = RangeHere(x), divisor = RangeHere(y);
  const bool natural =
      range.has_value() && range->min >= 0 && divisor.has_value() && divisor->min > 0;
  const bool index = e->dtype == DType::kI64 && RangeHere(e).has_value() && (!divides || natural);
  if (is_float && e->kind == ExprKind::kMod) {
    return Convert(Call("fmod_f64", e), DType::kF64, e->dtype);
  }
  if (level <= kCompare || is_float || index) {
    // Two numbers alone would be of C's int.
    const char* const typed = index && IsConstInt(x) && IsConstInt(y) ? "(i64)" : "";
    const int left = level == kCompare ? kSum : level;
    return {absl::StrCat(typed, At(x, left), " ", sign, " ", At(y, level + 1)), level};
  }
  if (divides) {
    const char* const name = e->kind == ExprKind::kDiv   ? "div_"
                             : e->kind == ExprKind::kMod ? "mod_"
                                                         : "floordiv_";
    return Call(name + type, e);
  }
  const std::string wide = absl::StrCat("(", CWrapType(e->dtype), ")");
  return {
      absl::StrCat("(", type, ")(", wide, At(x, kUnary), " ", sign, " ", wide, At(y, kUnary), ")"),
      kUnary};
}

Term FunctionPrinter::Select(const Expr& e) {
  const Expr &x = e->operands[1], &y = e->operands[2];
  const bool bare = IsConstInt(x) && IsConstInt(y);  // As in Infix.
  const std::string first = At(x, bare ? kUnary : kOr);
  return {absl::StrCat(At(e->operands[0], kOr), " ? ",
                       bare ? absl::StrCat("(", CTypeName(e->dtype), ")", first) : first, " : ",
                       At(y, kTernary)),
          kTernary};
}

// A function of the pieces. Those of floats but the first few are computed in f64.
Term FunctionPrinter::Named(const Expr& e) {
  const DType type = e->operands[0]->dtype;
  const std::string name = absl::StrCat(InfoOf(e->kind).call, "_");
  switch (e->kind) {
    case ExprKind::kIsNan:
    case ExprKind::kAbs:
    case ExprKind::kSign:
    case ExprKind::kSqrt:
    case ExprKind::kMin:
    case ExprKind::kMax:
      return Call(name + CTypeName(type), e);
    default:
      if (IsFloat(type)) return Convert(Call(name + "f64", e), DType::kF64, type);
      if (e->kind == ExprKind::kPow) return Call(name + CTypeName(type), e);
      return Print(e->operands[0]);  // Rounded already.
  }
}

Term FunctionPrinter::Print(const Expr& e) {
  switch (e->kind) {
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm: {
      const std::string text =
          IsFloat(e->dtype) ? CFloat(e->float_value, e->dtype) : CInteger(e->int_value, e->dtype);
      return {text, absl::ascii_isdigit(static_cast<unsigned char>(text[0])) ? kPrimary : kUnary};
    }
    case ExprKind::kVar:
      if (vars_[e->id].name.empty()) {
        Fail(absl::StrCat("variable ", program_.vars[e->id].name, " outside its loop"));
      }
      return {vars_[e->id].name, kPrimary};
    case ExprKind::kSelf:
      Fail("a lowered program has no finish expressions");
      return {};
    case ExprKind::kLoad:
      if (e->dtype != DType::kBool) return {Element(e->id, e->operands), kPrimary};
      return {absl::StrCat(Element(e->id, e->operands), " != 0"), kCompare};
    case ExprKind::kTable:
      return Table(e);
    case ExprKind::kSelect:
      return Select(e);
    case ExprKind::kCast:
      return Convert(Print(e->operands[0]), e->operands[0]->dtype, e->dtype);
    case ExprKind::kNot:
      return {absl::StrCat("!", At(e->operands[0], kUnary)), kUnary};
    case ExprKind::kNeg:
      if (IsFloat(e->dtype)) return {absl::StrCat("-(", Value(e->operands[0]), ")"), kUnary};
      return Print(Int(0, e->dtype) - e->operands[0]);
    case ExprKind::kBoundsCheck:
      return Call("bounds_check", e);
    default:
      return InfoOf(e->kind).infix != nullptr ? Infix(e) : Named(e);
  }
}

}  // namespace

absl::StatusOr<CText> PrintC(absl::Span<const KernelSource> sources) {
  CText printed;
  int table_count = 0;
  std::set<std::string> symbols;
  std::string functions;
  const auto print = [&](const KernelSource& source) -> absl::Status {
    const Program& program = *source.program;
    if (source.symbol != Safe(source.symbol) || IsCWord(source.symbol) ||
        absl::StartsWith(source.symbol, kTablePrefix)) {
      return absl::InvalidArgumentError("the name is none of a function in C");
    }
    ASSIGN_OR_RETURN(const KernelLayout layout, PlanLayout(program));
    printed.kernels.push_back(InfoOf(source, layout));
    for (const bool pack : {false, true}) {
      if (pack && !printed.kernels.back().has_pack) continue;
      const std::string symbol = pack ? PackSymbol(source.symbol) : source.symbol;
      if (!symbols.insert(symbol).second) {
        return absl::InvalidArgumentError(absl::StrCat("two functions are called ", symbol));
      }
      ASSIGN_OR_RETURN(const std::string function,
                       FunctionPrinter(program, layout, table_count).Print(symbol, pack));
      absl::StrAppend(&functions, "\n", function);
    }
    return absl::OkStatus();
  };
  for (const KernelSource& source : sources) {
    const absl::Status status = print(source);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(source.symbol, ": ", status.message()));
    }
  }
  printed.text = absl::StrCat(CPiecesFor(functions), functions);
  return printed;
}

}  // namespace burnish
