#include "compiler/codegen/text/launch_text.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "compiler/codegen/text/c_helpers.h"
#include "compiler/codegen/text/c_pieces.h"
#include "compiler/codegen/text/c_printer.h"
#include "compiler/codegen/text/dialects.h"
#include "compiler/ir/lowered.h"
#include "compiler/ir/owner_dims.h"

namespace burnish {
namespace {

// Every shared array begins at a multiple of so many bytes.
constexpr int64_t kSharedAlignment = 64;

class LaunchPrinter : private CPrinter {
 public:
  LaunchPrinter(const Program& program, std::vector<WindowOwners> owners, int& table_count)
      : CPrinter(program, table_count) {
    owners_ = std::move(owners);
    // So that no name is a word of any dialect.
    prefix_ = "v_";
  }

  absl::StatusOr<std::string> Print(NodeId nest, TextLaunch& launch);

 private:
  absl::Status Declare(NodeId nest, TextLaunch& launch);
  std::string Private(BufferId id);
  void Visit(NodeId id) override;
  void Loop(const Node& loop) override;
  void Barrier() override { Line("BARRIER;"); }

  // "THREAD_X" of "thread.x".
  static std::string Word(size_t tag) {
    return absl::StrReplaceAll(absl::AsciiStrToUpper(kThreadTags[tag]), {{".", "_"}});
  }

  Launch launch_;
  NodeId nest_ = -1;
  std::vector<bool> around_ = std::vector<bool>(kThreadTags.size());  // By tag: a loop is.
  bool alone_ = false;  // Inside of what the first threads do.
};

absl::StatusOr<std::string> LaunchPrinter::Print(NodeId nest, TextLaunch& launch) {
  launch_ = launch.launch;
  nest_ = nest;
  RETURN_IF_ERROR(Declare(nest, launch));
  Line("i32 error = 0;");
  Visit(nest);
  Line("if (error != 0) *flag = error;");
  --depth_;
  Line("}");
  RETURN_IF_ERROR(status_);
  return absl::StrCat(table_text_, text_);
}

// The head of the kernel, and its memory.
absl::Status LaunchPrinter::Declare(NodeId nest, TextLaunch& launch) {
  std::set<BufferId> stored, loaded;
  bool bound = false;
  for (const NodeId id : Subtree(program_, nest)) {
    const Node& node = program_.nodes[id];
    bound = bound || TagOf(node) >= 0;
    if (node.kind == NodeKind::kStore) stored.insert(node.buffer);
    VisitLoads(node, [&](const ExprNode& load) { loaded.insert(load.id); });
    if (node.kind == NodeKind::kLoop) {
      VisitExpr(program_.vars[node.var].extent, [&](const ExprNode& e) {
        if (e.kind == ExprKind::kLoad) loaded.insert(e.id);
      });
    }
  }
  std::set<BufferId> used = stored;
  used.insert(loaded.begin(), loaded.end());
  std::vector<std::string> parameters, memory;
  int64_t shared = 0;
  for (const BufferId id : used) {
    const Buffer& buffer = program_.buffers[id];
    const std::string type = CTypeName(buffer.dtype), name = buffers_[id] = NewName(buffer.name);
    const bool is_temp = buffer.role == BufferRole::kTemp;
    if (is_temp && buffer.scope == Scope::kShared) {
      const int64_t count = StorageElementCount(buffer);
      memory.push_back(absl::StrCat("SHARED(", type, ", ", name, ", ", count, ", ", shared, ");"));
      const int64_t bytes = count * SizeBytes(buffer.dtype) + kSharedAlignment - 1;
      shared += bytes / kSharedAlignment * kSharedAlignment;
    } else if (is_temp && buffer.scope != Scope::kGlobal && buffer.scope != Scope::kScratch) {
      memory.push_back(Private(id));
    } else {
      const bool written = stored.count(id) > 0;
      // Barriers are for shared memory.
      if (bound && written && loaded.count(id) > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("threads of one launch would see each other's elements of ", buffer.name));
      }
      parameters.push_back(absl::StrCat("GLOBAL ", written ? "" : "const ", type, "* ", name));
      launch.buffers.push_back(id);
    }
  }
  launch.launch.shared_bytes = shared;
  parameters.push_back("GLOBAL i32* flag PLACES");
  const auto extents = absl::MakeConstSpan(launch.launch.extents);
  Line(absl::StrCat("// A launch of \"", absl::CEscape(program_.name),
                    "\": ", absl::StrJoin(extents.first(3), " x "), " blocks of ",
                    absl::StrJoin(extents.subspan(3), " x "), " threads."));
  Line(absl::StrCat("KERNEL(", launch.symbol, ", ", absl::StrJoin(extents.subspan(3), ", "), ")(",
                    absl::StrJoin(parameters, ", "), ") {"));
  ++depth_;
  for (const std::string& line : memory) Line(line);
  return absl::OkStatus();
}

// A thread's own array.
std::string LaunchPrinter::Private(BufferId id) {
  const Buffer& buffer = program_.buffers[id];
  int64_t count = StorageElementCount(buffer);
  for (size_t d = 0; d < owners_[id].tags.size(); ++d) {
    if (owners_[id].tags[d] >= 0) count /= buffer.shape[d];
  }
  return absl::StrCat(CTypeName(buffer.dtype), " ", buffers_[id], "[", count, "];");
}

void LaunchPrinter::Visit(NodeId id) {
  const std::vector<NodeId> under = Subtree(program_, id);
  const bool splits = std::any_of(under.begin(), under.end(), [&](NodeId each) {
    const Node& node = program_.nodes[each];
    return TagOf(node) >= 0 || node.kind == NodeKind::kBarrier;
  });
  std::vector<std::string> first;
  for (size_t tag = 0; tag < kThreadTags.size(); ++tag) {
    if (!around_[tag] && launch_.extents[tag] > 1)
      first.push_back(absl::StrCat(Word(tag), " == 0"));
  }
  if (alone_ || splits || first.empty()) return CPrinter::Visit(id);
  Line(absl::StrCat("if (", absl::StrJoin(first, " && "), ") {"));
  ++depth_;
  alone_ = true;
  CPrinter::Visit(id);
  alone_ = false;
  --depth_;
  Line("}");
}

void LaunchPrinter::Loop(const Node& loop) {
  const int found = TagOf(loop);
  if (found < 0) {
    // The one thread that runs such a program does all workers' iterations.
    if (loop.loop_kind == LoopKind::kParallel && &loop != &program_.nodes[nest_]) {
      return Fail(
          absl::StrCat("loop ", program_.vars[loop.var].name, " is parallel and not outermost"));
    }
    if (loop.loop_kind != LoopKind::kSerial && loop.loop_kind != LoopKind::kParallel) {
      Line("UNROLL");
    }
    return CountedLoop(loop, NoteOf(loop));
  }
  const auto tag = static_cast<size_t>(found);
  const Var& var = program_.vars[loop.var];
  const std::string extent = Value(var.extent);
  const bool all = IsConstInt(var.extent) && var.extent->int_value == launch_.extents[tag];
  const std::string name = NewName(var.name);
  Line("{");
  ++depth_;
  Line(absl::StrCat("const i64 ", name, " = ", Word(tag), ";"));
  if (!all) Line(absl::StrCat("if (", name, " < ", extent, ") {"));
  vars_[loop.var] = {.name = name, .range = {0, LastOf(loop)}, .unrolled = LastOf(loop) == 0};
  around_[tag] = true;
  depth_ -= all ? 1 : 0;
  Children(loop);
  depth_ += all ? 1 : 0;
  around_[tag] = false;
  vars_[loop.var] = {};
  names_.erase(name);
  if (!all) Line("}");
  --depth_;
  Line("}");
}

// C cannot call a function of any number of parameters: one that takes them as an array.
std::string Caller(const TextLaunch& launch) {
  std::vector<std::string> arguments;
  for (size_t i = 0; i <= launch.buffers.size(); ++i) {
    arguments.push_back(absl::StrCat("buffers[", i, "]"));
  }
  return absl::StrCat("void ", launch.symbol,
                      "_call(void* const* buffers, const Emulation* here) {\n  ", launch.symbol,
                      "(", absl::StrJoin(arguments, ", "), ", here);\n}\n");
}

std::string HeadOf(TextDialect dialect) {
  switch (dialect) {
    case TextDialect::kOpenCl:
      return kOpenClDialect;
    case TextDialect::kCuda:
      return absl::StrCat(kCTypes, kCudaDialect);
    case TextDialect::kEmulated:
      return absl::StrCat(kCTypes, kCDialect, kEmulatedDialect);
  }
  return "";
}

}  // namespace

absl::StatusOr<LaunchText> PrintLaunches(const KernelSource& source, TextDialect dialect) {
  const Program& program = *source.program;
  const auto refuse = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(source.symbol, ": ", status.message()));
  };
  if (!program.lowered || program.root < 0) {
    return refuse(absl::InvalidArgumentError("the program is not lowered"));
  }
  RETURN_IF_ERROR(CheckSymbol(source.symbol));
  const auto owners = FindOwners(program);
  if (!owners.ok()) return refuse(owners.status());
  LaunchText printed;
  int table_count = 0;
  std::string functions;
  const auto print = [&](NodeId root, const std::string& symbol,
                         std::vector<TextLaunch>& launches) {
    for (const NodeId nest : program.nodes[root].children) {
      TextLaunch launch = {.symbol = absl::StrCat(symbol, "_launch_", launches.size()),
                           .launch = LaunchOf(program, nest)};
      ASSIGN_OR_RETURN(const std::string text,
                       LaunchPrinter(program, *owners, table_count).Print(nest, launch));
      absl::StrAppend(&functions, "\n", text);
      if (dialect == TextDialect::kEmulated) absl::StrAppend(&functions, Caller(launch));
      launches.push_back(std::move(launch));
    }
    return absl::OkStatus();
  };
  absl::Status status;
  if (program.pack_root >= 0) {
    status = print(program.pack_root, PackSymbol(source.symbol), printed.pack);
  }
  if (status.ok()) status = print(program.root, source.symbol, printed.kernel);
  if (!status.ok()) return refuse(status);
  printed.text = absl::StrCat(CPiecesFor(functions, HeadOf(dialect)), functions);
  return printed;
}

}  // namespace burnish
