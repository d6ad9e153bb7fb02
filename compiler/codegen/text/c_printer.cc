#include "compiler/codegen/text/c_printer.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/codegen/text/c_pieces.h"
#include "compiler/ir/expr_kinds.h"

namespace burnish {
namespace {

std::string InParens(const Term& term, int level) {
  return term.level < level ? absl::StrCat("(", term.text, ")") : term.text;
}

}  // namespace

std::string SafeCName(absl::string_view name) {
  std::string safe(name);
  for (char& c : safe) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  // A leading underscore is the compiler's.
  if (safe.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(safe[0]))) safe = "x" + safe;
  return safe;
}

absl::Status CheckSymbol(const std::string& symbol) {
  if (symbol == SafeCName(symbol) && !IsCWord(symbol) && !absl::StartsWith(symbol, kTablePrefix)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("the name is none of a function in C");
}

std::string NoteOf(const Node& loop) {
  // In the order of LoopKind.
  constexpr const char* kNotes[] = {"", "  // parallel",  "  // vectorize ", "  // unroll",
                                    "", "  // tensorize "};
  std::string note = kNotes[static_cast<int>(loop.loop_kind)];
  if (loop.loop_kind == LoopKind::kVectorized) absl::StrAppend(&note, loop.lanes);
  if (loop.loop_kind == LoopKind::kTensorized) note += SafeCName(loop.intrinsic);
  return note;
}

void CPrinter::Line(const std::string& text) {
  absl::StrAppend(&text_, std::string(2 * static_cast<size_t>(depth_), ' '), text, "\n");
}

void CPrinter::Children(const Node& node) {
  ++depth_;
  for (const NodeId child : node.children) Visit(child);
  --depth_;
}

int64_t CPrinter::LastOf(const Node& loop) const {
  const auto range = RangeHere(program_.vars[loop.var].extent);
  // Half of all numbers: sums of two such bounds are numbers still.
  constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max() / 2;
  return range.has_value() ? std::max<int64_t>(range->max - 1, 0) : kUnknown;
}

void CPrinter::CountedLoop(const Node& loop, const std::string& note, const std::string& first,
                           const std::string& end) {
  const Var& var = program_.vars[loop.var];
  const int64_t last = LastOf(loop);
  const std::string last_value = end.empty() ? Value(var.extent) : end;
  const std::string name = NewName(var.name), limit = NewName(name + "_end");
  const bool unrolled = (first.empty() && loop.loop_kind != LoopKind::kSerial) || last == 0;
  vars_[loop.var] = {.name = name, .range = {0, last}, .unrolled = unrolled};
  // An extent that is no number is taken once, before the first iteration.
  const bool counted = first.empty() && IsConstInt(var.extent);
  const std::string declared = counted ? "" : absl::StrCat(", ", limit, " = ", last_value);
  Line(absl::StrCat("for (i64 ", name, " = ", first.empty() ? "0" : first, declared, "; ", name,
                    " < ", counted ? last_value : limit, "; ++", name, ") {", note));
  Children(loop);
  Line("}");
  vars_[loop.var] = {};
  names_.erase(name);
  names_.erase(limit);
}

void CPrinter::If(const Node& node) {
  Line(absl::StrCat("if (", Value(node.cond), ") {"));
  for (size_t i = 0; i < node.children.size(); ++i) {
    if (i == 1) Line("} else {");
    Children(program_.nodes[node.children[i]]);
  }
  Line("}");
}

void CPrinter::Store(const Node& node) {
  const Expr old = Load(node.buffer, program_.buffers[node.buffer].dtype, node.indices);
  const bool combines = node.combiner != Combiner::kAssign;
  const std::string value = Value(combines ? Combine(node.combiner, old, node.value) : node.value);
  Line(absl::StrCat(Element(node.buffer, node.indices), " = ", value, ";"));
}

void CPrinter::Visit(NodeId id) {
  const Node& node = program_.nodes[id];
  switch (node.kind) {
    case NodeKind::kSeq:
      for (const NodeId child : node.children) Visit(child);
      return;
    case NodeKind::kLoop:
      return Loop(node);
    case NodeKind::kIf:
      return If(node);
    case NodeKind::kStore:
      return Store(node);
    case NodeKind::kPrefetch:  // Has no meaning.
      return;
    case NodeKind::kBarrier:
      return Barrier();
    default:
      return Fail("the program is not lowered: it has blocks or stages");
  }
}

std::string CPrinter::At(const Expr& e, int level) { return InParens(Print(e), level); }

std::string CPrinter::NewName(absl::string_view name) {
  const std::string safe = absl::StrCat(prefix_, SafeCName(name));
  std::string unique = safe;
  for (int i = 2; IsCWord(unique) || !names_.insert(unique).second; ++i) {
    unique = absl::StrCat(safe, "_", i);
  }
  return unique;
}

// buffer[indices], bits of what lies there.
std::string CPrinter::Element(BufferId buffer, const std::vector<Expr>& indices) {
  const Buffer& of = program_.buffers[buffer];
  if (buffers_[buffer].empty()) {
    Fail(absl::StrCat("buffer ", of.name, " is no memory of this function"));
  }
  Expr place = Int(of.storage.offset);
  int64_t owned = 1;  // Places of the dimensions so far that threads tell apart: not in the array.
  for (size_t d = indices.size(); d-- > 0;) {
    const bool own =
        !owners_.empty() && !owners_[buffer].tags.empty() && owners_[buffer].tags[d] >= 0;
    if (own) {
      owned *= of.shape[d];
    } else {
      place = place + indices[d] * (of.storage.strides[d] / owned);
    }
  }
  place = Simplify(place, Ranges());
  for (const VarId var : FreeVars(place)) {
    if (of.scope != Scope::kRegister || vars_[var].unrolled) continue;
    Fail(absl::StrCat("register buffer ", of.name, " is indexed by loop ", program_.vars[var].name,
                      ", which is not unrolled"));
  }
  return absl::StrCat(buffers_[buffer], "[", Value(place), "]");
}

// Of a constant before the function, which is declared when it is mentioned for the first time.
Term CPrinter::Table(const Expr& e) {
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

Term CPrinter::Convert(const Term& x, DType from, DType to) {
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
Term CPrinter::Call(const std::string& name, const Expr& e) {
  std::vector<std::string> arguments;
  for (const Expr& operand : e->operands) arguments.push_back(Value(operand));
  const bool divides = !IsFloat(e->dtype) && DividesIntegers(e->kind);
  if (divides || e->kind == ExprKind::kBoundsCheck) arguments.emplace_back("&error");
  return {absl::StrCat(name, "(", absl::StrJoin(arguments, ", "), ")"), kPrimary};
}

Term CPrinter::Infix(const Expr& e) {
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

Term CPrinter::Select(const Expr& e) {
  const Expr &x = e->operands[1], &y = e->operands[2];
  const bool bare = IsConstInt(x) && IsConstInt(y);  // As in Infix.
  const std::string first = At(x, bare ? kUnary : kOr);
  return {absl::StrCat(At(e->operands[0], kOr), " ? ",
                       bare ? absl::StrCat("(", CTypeName(e->dtype), ")", first) : first, " : ",
                       At(y, kTernary)),
          kTernary};
}

// A function of the pieces. Those of floats but the first few are computed in f64.
Term CPrinter::Named(const Expr& e) {
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

Term CPrinter::Print(const Expr& e) {
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

}  // namespace burnish
