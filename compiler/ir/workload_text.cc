// Workload text v2. Stored and hashed: the golden files under testdata/ hold it for ever, and a
// change of one byte is a new version. (Version 1 numbered buffers in the order of their lines, so
// that an operand of a finish moved the names of all blocks.)
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/ir/expr_text.h"
#include "compiler/ir/printer.h"

namespace burnish {
namespace {

const char* CombinerText(Combiner combiner) {
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

bool IsParameter(const Buffer& buffer) {
  return buffer.role == BufferRole::kInput || buffer.role == BufferRole::kConstant ||
         buffer.role == BufferRole::kOutput;
}

// Names everything by its place in the computation. Parameters keep their call order, which is part
// of what a task promises. Blocks come in the order of a depth-first walk from the outputs, each
// after the blocks that it reads, in the order of its first reads: the walk sees the computation
// only, never the order in which a program was put together. What no output needs is left out.
//
// Buffers of the anchor are numbered first, then what only a finish needs: blocks and operands have
// the same names whatever their outputs' finish does, and so a trace that names them applies to
// every workload of the anchor.
class WorkloadPrinter {
 public:
  WorkloadPrinter(const Program& program, bool empty_finish)
      : program_(program), empty_finish_(empty_finish) {
    buffer_number_.resize(program.buffers.size(), -1);
    spelling_.buffer = [this](BufferId id) { return absl::StrCat("b", buffer_number_[id]); };
    spelling_.var = [this](VarId id) { return absl::StrCat("i", AxisNumber(id)); };
    spelling_.table = [this](const std::shared_ptr<const ConstTable>& table) {
      return absl::StrCat("$", TableNumber(table));
    };
    spelling_.always_hex = true;
  }

  std::string PrintAll() {
    Walk(/*with_finish=*/false);
    NumberBuffers();
    if (!empty_finish_) {
      Walk(/*with_finish=*/true);
      NumberBuffers();
      ListBuffers();
    }
    std::string blocks;
    for (const int id : order_) {
      block_ = &program_.blocks[id];
      PrintBlock(blocks);
    }
    std::string text = "workload/2\n";
    for (const BufferId id : buffers_) PrintBuffer(text, id);
    for (size_t i = 0; i < tables_.size(); ++i) {
      absl::StrAppend(&text, "table $", i, ": ", TableText(*tables_[i], /*always_hex=*/true), "\n");
    }
    return text + blocks;
  }

 private:
  // Fills order_ and is_read_ anew.
  void Walk(bool with_finish) {
    order_.clear();
    block_done_.assign(program_.blocks.size(), false);
    is_read_.assign(program_.buffers.size(), false);
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      if (program_.buffers[i].role == BufferRole::kOutput) {
        Visit(static_cast<BufferId>(i), with_finish);
      }
    }
  }

  // Appends the writer of `buffer` to the order, after the blocks that it reads.
  void Visit(BufferId buffer, bool with_finish) {
    const BlockId id = WriterOf(program_, buffer);
    if (id < 0 || block_done_[id]) return;
    block_done_[id] = true;
    const Block& block = program_.blocks[id];
    const auto visit_reads = [this, with_finish](const Expr& e) {
      VisitExpr(e, [this, with_finish](const ExprNode& node) {
        if (node.kind != ExprKind::kLoad) return;
        is_read_[node.id] = true;
        Visit(node.id, with_finish);
      });
    };
    for (const Expr& index : block.output_indices) visit_reads(index);
    visit_reads(block.init);
    visit_reads(block.step);
    if (with_finish) visit_reads(block.finish);
    order_.push_back(id);
  }

  // Numbers after those that have one: parameters that are outputs or read, then temporaries.
  void NumberBuffers() {
    const auto add = [this](BufferId id) {
      if (buffer_number_[id] >= 0) return;
      buffer_number_[id] = static_cast<int>(buffers_.size());
      buffers_.push_back(id);
    };
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      const Buffer& buffer = program_.buffers[i];
      // An anchor has no parameter that only a finish reads.
      const bool needed = buffer.role == BufferRole::kOutput || is_read_[i];
      if (IsParameter(buffer) && needed) add(static_cast<BufferId>(i));
    }
    for (const int id : order_) add(program_.blocks[id].output);
  }

  // The lines of a whole workload: all parameters in call order, read or not, then temporaries.
  void ListBuffers() {
    std::vector<BufferId> lines;
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      if (!IsParameter(program_.buffers[i])) continue;
      lines.push_back(static_cast<BufferId>(i));
      if (buffer_number_[i] >= 0) continue;
      buffer_number_[i] = static_cast<int>(buffers_.size());
      buffers_.push_back(lines.back());
    }
    for (const int id : order_) {
      if (!IsParameter(program_.buffers[program_.blocks[id].output])) {
        lines.push_back(program_.blocks[id].output);
      }
    }
    buffers_ = std::move(lines);
  }

  void PrintBuffer(std::string& text, BufferId id) {
    const Buffer& buffer = program_.buffers[id];
    const char* role = buffer.role == BufferRole::kInput      ? "input"
                       : buffer.role == BufferRole::kConstant ? "const"
                       : buffer.role == BufferRole::kOutput   ? "output"
                                                              : "temp";
    absl::StrAppend(&text, role, " b", buffer_number_[id], ": ", DTypeName(buffer.dtype), "[",
                    absl::StrJoin(buffer.shape, ", "), "]\n");
  }

  void PrintBlock(std::string& text) {
    const Block& block = *block_;
    const auto axis = [this](std::string* out, VarId var) {
      absl::StrAppend(out, "i", AxisNumber(var), " in ",
                      ExprText(program_.vars[var].extent, spelling_));
    };
    absl::StrAppend(&text, "block b", buffer_number_[block.output], "(",
                    absl::StrJoin(block.spatial, ", ", axis));
    if (!block.reduction.empty()) {
      absl::StrAppend(&text, "; ", absl::StrJoin(block.reduction, ", ", axis));
    }
    text += ") {\n";
    if (block.init != nullptr) {
      absl::StrAppend(&text, "  init ", ExprText(block.init, spelling_), "\n");
    }
    const auto index = [this](std::string* out, const Expr& e) {
      out->append(ExprText(e, spelling_));
    };
    absl::StrAppend(&text, "  step b", buffer_number_[block.output], "[",
                    absl::StrJoin(block.output_indices, ", ", index), "] ",
                    CombinerText(block.combiner), " ", ExprText(block.step, spelling_), "\n");
    if (block.finish != nullptr && !empty_finish_) {
      absl::StrAppend(&text, "  finish ", ExprText(block.finish, spelling_), "\n");
    }
    text += "}\n";
  }

  int AxisNumber(VarId var) const {
    int number = 0;
    for (const std::vector<VarId>* axes : {&block_->spatial, &block_->reduction}) {
      for (const VarId axis : *axes) {
        if (axis == var) return number;
        ++number;
      }
    }
    return -1;  // No axis of this block: the program is wrong, and so is the text.
  }

  // By first use in the order of printing.
  int TableNumber(const std::shared_ptr<const ConstTable>& table) {
    for (size_t i = 0; i < tables_.size(); ++i) {
      const ConstTable& other = *tables_[i];
      if (other.dtype == table->dtype && other.shape == table->shape &&
          other.values == table->values) {
        return static_cast<int>(i);
      }
    }
    tables_.push_back(table);
    return static_cast<int>(tables_.size()) - 1;
  }

  const Program& program_;
  const bool empty_finish_;
  ExprSpelling spelling_;
  const Block* block_ = nullptr;  // Whose axes `spelling_` names.
  std::vector<bool> block_done_;
  std::vector<bool> is_read_;
  std::vector<int> order_;          // Blocks, as printed.
  std::vector<BufferId> buffers_;   // By number; at the end, in the order of their lines.
  std::vector<int> buffer_number_;  // Of a BufferId; -1: not in the text.
  std::vector<std::shared_ptr<const ConstTable>> tables_;
};

}  // namespace

std::string PrintWorkload(const Program& program, bool empty_finish) {
  return WorkloadPrinter(program, empty_finish).PrintAll();
}

}  // namespace burnish
