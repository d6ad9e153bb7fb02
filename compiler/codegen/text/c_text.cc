#include "compiler/codegen/text/c_text.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/codegen/kernel_layout.h"
#include "compiler/codegen/text/c_helpers.h"
#include "compiler/codegen/text/c_pieces.h"
#include "compiler/codegen/text/c_printer.h"
#include "compiler/ir/simplify.h"

namespace burnish {
namespace {

class FunctionPrinter : private CPrinter {
 public:
  // `table_count`: of the whole text so far.
  FunctionPrinter(const Program& program, const KernelLayout& layout, int& table_count)
      : CPrinter(program, table_count), layout_(layout) {}

  absl::StatusOr<std::string> Print(const std::string& symbol, bool pack);

 private:
  void Bind(NodeId root, bool pack);
  void Phases(NodeId root);
  void Shared(const Node& loop);
  void Loop(const Node& loop) override;
  void Barrier() override { Fail("a barrier of a GPU's threads"); }

  const KernelLayout& layout_;
};

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
      Shared(child);
      continue;
    }
    Line("if (worker == 0) {");
    ++depth_;
    Visit(id);
    --depth_;
    Line("}");
  }
}

// Worker w does the iterations from w * extent / workers on.
void FunctionPrinter::Shared(const Node& loop) {
  const std::string extent = At(program_.vars[loop.var].extent, kUnary);
  CountedLoop(loop, "  // parallel", absl::StrCat("(i64)worker * ", extent, " / workers"),
              absl::StrCat("((i64)worker + 1) * ", extent, " / workers"));
}

void FunctionPrinter::Loop(const Node& loop) {
  const Var& var = program_.vars[loop.var];
  if (loop.loop_kind == LoopKind::kBound) {
    return Fail(absl::StrCat("loop ", var.name, " is bound to a GPU's threads"));
  }
  if (loop.loop_kind == LoopKind::kParallel) {
    return Fail(absl::StrCat("loop ", var.name, " is parallel and not outermost"));
  }
  CountedLoop(loop, NoteOf(loop));
}

}  // namespace

absl::StatusOr<CText> PrintC(absl::Span<const KernelSource> sources) {
  CText printed;
  int table_count = 0;
  std::set<std::string> symbols;
  std::string functions;
  const auto print = [&](const KernelSource& source) -> absl::Status {
    const Program& program = *source.program;
    RETURN_IF_ERROR(CheckSymbol(source.symbol));
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
  printed.text = absl::StrCat(
      CPiecesFor(functions, absl::StrCat(kCTypes, kCDialect, "\n", kCContext)), functions);
  return printed;
}

}  // namespace burnish
