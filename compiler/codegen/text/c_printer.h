// Expressions and statements of lowered programs as C: what printers of functions and of launches
// have in common.
#ifndef COMPILER_CODEGEN_TEXT_C_PRINTER_H_
#define COMPILER_CODEGEN_TEXT_C_PRINTER_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/owner_dims.h"
#include "compiler/ir/program.h"
#include "compiler/ir/simplify.h"

namespace burnish {

// Of names outside of functions, beside the kernels'.
inline constexpr char kTablePrefix[] = "table_";

// `name` with signs that C's names do not have as underscores.
std::string SafeCName(absl::string_view name);

// INVALID_ARGUMENT where the name is none that a kernel may have in C.
absl::Status CheckSymbol(const std::string& symbol);

// How tightly C's operators bind, loosest first. Comparisons never stand side by side.
enum Level { kTernary, kOr, kAnd, kCompare, kSum, kProduct, kUnary, kPrimary };

// C text, and its outermost operator.
struct Term {
  std::string text;
  int level;
};

// What a loop variable is where an expression stands.
struct CVar {
  std::string name;  // Empty: not here.
  Range range;
  bool unrolled = false;  // A constant, once its loop is written out.
};

// What the loop is to other backends, as a comment behind it; empty for a serial one.
std::string NoteOf(const Node& loop);

class CPrinter {
 public:
  virtual ~CPrinter() = default;

 protected:
  // `table_count`: of the whole text so far.
  CPrinter(const Program& program, int& table_count)
      : program_(program),
        table_count_(table_count),
        vars_(program.vars.size()),
        buffers_(program.buffers.size()) {}

  // Records an error, unless there is one already.
  void Fail(const std::string& message) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(message);
  }
  std::string NewName(absl::string_view name);

  void Line(const std::string& text);
  // Statements. What a loop that is not serial is, and a barrier, is the printer's own.
  virtual void Visit(NodeId id);
  virtual void Loop(const Node& loop) = 0;
  virtual void Barrier() = 0;
  void Children(const Node& node);
  void If(const Node& node);
  void Store(const Node& node);
  // A loop by one thread. `first` and `end`: of other iterations than all; empty: all.
  void CountedLoop(const Node& loop, const std::string& note, const std::string& first = "",
                   const std::string& end = "");
  // The greatest value of a loop's variable.
  int64_t LastOf(const Node& loop) const;

  // Expressions. Integers wrap, errors go to the variable `error`. Both operands of && are
  // computed, of selects one: as the interpreter does it.
  std::string Value(const Expr& e) { return Print(e).text; }
  std::string At(const Expr& e, int level);
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
  int& table_count_;
  std::vector<CVar> vars_;            // By VarId.
  std::vector<std::string> buffers_;  // Names by BufferId; empty: no address here.
  std::map<const ConstTable*, std::string> tables_;
  std::set<std::string> names_;
  std::vector<WindowOwners> owners_;  // By BufferId; empty where there are no threads.
  std::string prefix_;                // Of all names.
  std::string table_text_, text_;
  int depth_ = 0;
  absl::Status status_;  // The first error: INVALID_ARGUMENT.
};

}  // namespace burnish

#endif  // COMPILER_CODEGEN_TEXT_C_PRINTER_H_
