#include "compiler/ir/printer.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/ir/expr_text.h"

namespace burnish {
namespace {

const char* RoleName(BufferRole role) {
  switch (role) {
    case BufferRole::kInput:
      return "input";
    case BufferRole::kConstant:
      return "const";
    case BufferRole::kOutput:
      return "output";
    case BufferRole::kPacked:
      return "packed";
    case BufferRole::kTemp:
      return "temp";
  }
  return "";
}

// Empty where the parser takes it for granted.
const char* ScopeName(const Buffer& buffer, bool lowered) {
  switch (buffer.scope) {
    case Scope::kAuto:
      return "";
    case Scope::kGlobal:
      return lowered || buffer.role != BufferRole::kTemp ? "" : " global";
    case Scope::kScratch:
      return " scratch";
    case Scope::kRegister:
      return " register";
    case Scope::kShared:
      return " shared";
    case Scope::kLocal:
      return " local";
    case Scope::kTile:
      return " tile";
  }
  return "";
}

const char* CombinerName(Combiner combiner) {
  switch (combiner) {
    case Combiner::kAssign:
      return "=";
    case Combiner::kSum:
      return "+=";
    case Combiner::kProd:
      return "*=";
    case Combiner::kMax:
      return "max=";
    case Combiner::kMin:
      return "min=";
  }
  return "";
}

class ProgramPrinter {
 public:
  explicit ProgramPrinter(const Program& program) : program_(program) {
    spelling_.var = [this](VarId id) { return NameOf(program_.vars, id); };
    spelling_.buffer = [this](BufferId id) { return NameOf(program_.buffers, id); };
  }

  std::string PrintProgram() {
    CollectTables();
    spelling_.table = [this](const std::shared_ptr<const ConstTable>& table) {
      return absl::StrCat("$", TableIndex(*table));
    };
    absl::StrAppend(&text_, "program/1 ", NameText(program_.name), "\n");
    const Numerics& numerics = program_.numerics;
    if (numerics.kind == NumericsClass::kReassociated) text_ += "numerics reassociated\n";
    if (numerics.kind == NumericsClass::kAlgorithm) {
      absl::StrAppend(&text_, "numerics ", numerics.algorithm, "(", numerics.parameter, ")\n");
    }
    if (program_.lowered) text_ += "lowered\n";
    text_ += "\n";
    for (const Buffer& buffer : program_.buffers) PrintBuffer(buffer);
    for (size_t i = 0; i < tables_.size(); ++i) {
      absl::StrAppend(&text_, "table $", i, ": ", TableText(*tables_[i]), "\n");
    }
    if (!program_.vars.empty()) text_ += "\n";
    for (const Var& var : program_.vars) PrintVar(var);
    for (const Block& block : program_.blocks) PrintBlock(block);
    PrintRoot("kernel", program_.root);
    PrintRoot("pack", program_.pack_root);
    return std::move(text_);
  }

  std::string Spell(const Expr& e) const { return ExprText(e, spelling_); }

 private:
  // Wrong programs print too: the verifier's messages quote them.
  template <typename T>
  static std::string NameOf(const std::vector<T>& all, int32_t id) {
    if (id < 0 || id >= static_cast<int32_t>(all.size())) return absl::StrCat("<", id, ">");
    return NameText(all[id].name);
  }

  std::string SpellList(const std::vector<Expr>& list) const {
    return absl::StrJoin(list, ", ",
                         [this](std::string* out, const Expr& e) { out->append(Spell(e)); });
  }
  std::string NameList(const std::vector<VarId>& vars) const {
    return absl::StrJoin(vars, ", ", [this](std::string* out, VarId var) {
      out->append(NameOf(program_.vars, var));
    });
  }

  // ---- Tables, numbered by first use in the order of printing; equal ones once.
  void CollectTables() {
    const auto visit = [this](const Expr& e) {
      VisitExpr(e, [this](const ExprNode& node) {
        // By content: tables that two operators made alike would otherwise give equal programs
        // different texts.
        if (node.table != nullptr && TableIndex(*node.table) < 0) tables_.push_back(node.table);
      });
    };
    for (const Var& var : program_.vars) {
      visit(var.extent);
      visit(var.def);
    }
    for (const Block& block : program_.blocks) {
      for (const Expr& index : block.output_indices) visit(index);
      visit(block.init);
      visit(block.step);
      visit(block.finish);
    }
    for (const NodeId root : {program_.root, program_.pack_root}) {
      if (root < 0 || root >= static_cast<NodeId>(program_.nodes.size())) continue;
      for (const NodeId id : Subtree(program_, root)) {
        const Node& node = program_.nodes[id];
        for (const Expr& index : node.indices) visit(index);
        visit(node.value);
        visit(node.cond);
      }
    }
  }
  int TableIndex(const ConstTable& table) const {
    for (size_t i = 0; i < tables_.size(); ++i) {
      const ConstTable& other = *tables_[i];
      if (&other == &table || (other.dtype == table.dtype && other.shape == table.shape &&
                               other.values == table.values)) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }

  // ---- Declarations.
  void PrintBuffer(const Buffer& buffer) {
    absl::StrAppend(&text_, RoleName(buffer.role), " ", NameText(buffer.name), ": ",
                    DTypeName(buffer.dtype), "[", absl::StrJoin(buffer.shape, ", "), "]",
                    ScopeName(buffer, program_.lowered));
    const Storage& storage = buffer.storage;
    const bool border_fits = storage.border.empty() || storage.border.size() == buffer.shape.size();
    // Only what differs from dense is printed, so that the common text is short and has one form.
    const Storage dense = border_fits ? DenseStorage(buffer.shape, storage.border) : Storage();
    if (!storage.border.empty()) {
      const auto pair = [](std::string* out, const std::pair<int64_t, int64_t>& sides) {
        absl::StrAppend(out, "(", sides.first, ", ", sides.second, ")");
      };
      absl::StrAppend(&text_, " border [", absl::StrJoin(storage.border, ", ", pair), "] ",
                      FloatText(storage.border_value, DType::kF64));
    }
    if (storage.strides != dense.strides) {
      absl::StrAppend(&text_, " strides [", absl::StrJoin(storage.strides, ", "), "]");
    }
    if (storage.offset != dense.offset) absl::StrAppend(&text_, " offset ", storage.offset);
    if (storage.alignment_bytes != dense.alignment_bytes) {
      absl::StrAppend(&text_, " align ", storage.alignment_bytes);
    }
    if (buffer.streamed) text_ += " streamed";
    text_ += "\n";
  }

  void PrintVar(const Var& var) {
    absl::StrAppend(&text_, "var ", NameText(var.name), " in ", Spell(var.extent),
                    var.reduce ? " reduce" : "", var.guarded ? " guarded" : "",
                    var.repeats ? " repeats" : "");
    if (var.def != nullptr) absl::StrAppend(&text_, " = ", Spell(var.def));
    text_ += "\n";
  }

  void PrintBlock(const Block& block) {
    absl::StrAppend(&text_, "\nblock ", NameText(block.name), "(", NameList(block.spatial));
    if (!block.reduction.empty()) absl::StrAppend(&text_, "; ", NameList(block.reduction));
    text_ += ") {\n";
    if (block.init != nullptr) absl::StrAppend(&text_, "  init ", Spell(block.init), "\n");
    absl::StrAppend(&text_, "  step ", NameOf(program_.buffers, block.output), "[",
                    SpellList(block.output_indices), "] ", CombinerName(block.combiner), " ",
                    Spell(block.step), "\n");
    if (block.finish != nullptr) absl::StrAppend(&text_, "  finish ", Spell(block.finish), "\n");
    text_ += "}\n";
  }

  // ---- The tree.
  void PrintRoot(const char* name, NodeId root) {
    if (root < 0 || root >= static_cast<NodeId>(program_.nodes.size())) return;
    absl::StrAppend(&text_, "\n", name, " {\n");
    PrintChildren(root, 1);
    text_ += "}\n";
  }

  void PrintChildren(NodeId parent, int depth) {
    for (const NodeId child : program_.nodes[parent].children) PrintNode(child, depth);
  }

  void PrintNode(NodeId id, int depth) {
    text_.append(2 * depth, ' ');
    const Node& node = program_.nodes[id];
    switch (node.kind) {
      case NodeKind::kSeq:
        text_ += "seq";
        return PrintBody(id, depth, "\n");
      case NodeKind::kLoop:
        PrintLoopHead(node);
        return PrintBody(id, depth, "\n");
      case NodeKind::kBlock:
        absl::StrAppend(&text_, "run ", NameOf(program_.blocks, node.block), "\n");
        return;
      case NodeKind::kStage:
        absl::StrAppend(&text_, "stage ", NameOf(program_.blocks, node.block), " in ",
                        NameOf(program_.buffers, node.buffer));
        return PrintBody(id, depth, "\n");
      case NodeKind::kIf:
        absl::StrAppend(&text_, "if ", Spell(node.cond));
        for (size_t i = 0; i < node.children.size(); ++i) {
          const bool last = i + 1 == node.children.size();
          PrintBody(node.children[i], depth, last ? "\n" : " else");
        }
        return;
      case NodeKind::kStore:
        absl::StrAppend(&text_, NameOf(program_.buffers, node.buffer), "[", SpellList(node.indices),
                        "] ", CombinerName(node.combiner), " ", Spell(node.value), "\n");
        return;
      case NodeKind::kBarrier:
        text_ += "barrier\n";
        return;
      case NodeKind::kPrefetch:
        absl::StrAppend(&text_, "prefetch(", node.cache_level, ") ",
                        NameOf(program_.buffers, node.buffer), "[", SpellList(node.indices), "]");
        if (node.cond != nullptr) absl::StrAppend(&text_, " when ", Spell(node.cond));
        text_ += "\n";
        return;
    }
  }

  void PrintBody(NodeId id, int depth, const char* after) {
    text_ += " {\n";
    PrintChildren(id, depth + 1);
    text_.append(2 * depth, ' ');
    absl::StrAppend(&text_, "}", after);
  }

  void PrintLoopHead(const Node& node) {
    switch (node.loop_kind) {
      case LoopKind::kSerial:
        text_ += "for ";
        break;
      case LoopKind::kParallel:
        text_ += "parallel ";
        break;
      case LoopKind::kVectorized:
        absl::StrAppend(&text_, "vectorize(", node.lanes, ") ");
        break;
      case LoopKind::kUnrolled:
        text_ += "unroll ";
        break;
      case LoopKind::kBound:
        absl::StrAppend(&text_, "bind(", NameText(node.thread_tag), ") ");
        break;
      case LoopKind::kTensorized:
        absl::StrAppend(&text_, "tensorize(", NameText(node.intrinsic), ") ");
        break;
    }
    const bool known = node.var >= 0 && node.var < static_cast<VarId>(program_.vars.size());
    absl::StrAppend(&text_, NameOf(program_.vars, node.var), " in ",
                    known ? Spell(program_.vars[node.var].extent) : "<null>");
  }

  const Program& program_;
  ExprSpelling spelling_;
  std::vector<std::shared_ptr<const ConstTable>> tables_;
  std::string text_;
};

}  // namespace

std::string Print(const Program& program) { return ProgramPrinter(program).PrintProgram(); }

std::string PrintExpr(const Program& program, const Expr& e) {
  return ProgramPrinter(program).Spell(e);
}

}  // namespace burnish
