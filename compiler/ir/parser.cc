#include "compiler/ir/parser.h"

#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/numerics.h"
#include "base/status_macros.h"
#include "compiler/ir/expr_parser.h"
#include "compiler/ir/expr_text.h"
#include "compiler/ir/lexer.h"
#include "compiler/ir/verifier.h"

namespace burnish {
namespace {

// Limits on hostile text, each against one way to take memory or time: many small declarations,
// deep nests (the parser recurses), tables. Guesses at what no real workload needs; nothing was
// tuned. Shapes as in the verifier's declarations.
constexpr size_t kTextBytesMax = 4 << 20;
constexpr size_t kRankMax = 24;
constexpr int64_t kExtentMax = int64_t{1} << 31;
constexpr int64_t kElementsMax = int64_t{1} << 40;
constexpr int kTreeDepthMax = 200;
constexpr size_t kBuffersMax = 4096;
constexpr size_t kBlocksMax = 4096;
constexpr size_t kVarsMax = 1 << 16;
constexpr size_t kNodesMax = 1 << 18;
constexpr size_t kTablesMax = 1024;
constexpr int64_t kTableValuesMax = 1 << 16;

class ProgramParser {
 public:
  explicit ProgramParser(absl::string_view text) : cursor_(text) { DeclareVars(text); }

  absl::StatusOr<Program> Parse() {
    RETURN_IF_ERROR(ParseHeader());
    while (cursor_.Peek().kind != TokenKind::kEnd) RETURN_IF_ERROR(ParseStatement());
    // The look-ahead counts the word `var` wherever it stands. A count that does not come out means
    // that one stood where no declaration is.
    if (duplicate_var_ || vars_parsed_ < vars_declared_) {
      return cursor_.Want("each variable declared once");
    }
    // A workload's text has no tree: the definition's own nests are meant.
    if (program_.root < 0) {
      program_.root = AddNode(program_, {});
      for (size_t i = 0; i < program_.blocks.size(); ++i) {
        AddDefaultNest(program_, static_cast<BlockId>(i));
      }
    }
    return std::move(program_);
  }

 private:
  // ---- Names.

  // Extents and maps mention variables that are declared later, so their names are collected first.
  // What is wrong with a declaration is found when it is parsed.
  void DeclareVars(absl::string_view text) {
    TokenCursor ahead(text);
    while (ahead.Peek().kind != TokenKind::kEnd && program_.vars.size() < kVarsMax) {
      if (!ahead.TakeWord("var")) {
        ahead.Advance();
        continue;
      }
      absl::StatusOr<std::string> name = ahead.ExpectName("a name");
      if (name.ok() && !AddVarNamed(*name).ok()) duplicate_var_ = true;
    }
    vars_declared_ = program_.vars.size();
  }

  absl::StatusOr<VarId> AddVarNamed(const std::string& name) {
    if (program_.vars.size() >= kVarsMax) {
      return cursor_.Want(absl::StrCat("at most ", kVarsMax, " variables"));
    }
    const VarId id = static_cast<VarId>(program_.vars.size());
    if (!scope_.vars.emplace(name, id).second) return cursor_.Want("a name that is not taken");
    program_.vars.push_back({.name = name});
    return id;
  }

  absl::StatusOr<BufferId> ParseBufferName() {
    const Token token = cursor_.Peek();
    ASSIGN_OR_RETURN(const std::string name, cursor_.ExpectName("a buffer"));
    const auto buffer = scope_.buffers.find(name);
    if (buffer == scope_.buffers.end()) return TokenCursor::ErrorAt(token, "a declared buffer");
    return buffer->second;
  }

  absl::StatusOr<BlockId> ParseBlockName() {
    const Token token = cursor_.Peek();
    ASSIGN_OR_RETURN(const std::string name, cursor_.ExpectName("a block"));
    const auto block = blocks_.find(name);
    if (block == blocks_.end()) return TokenCursor::ErrorAt(token, "a declared block");
    return block->second;
  }

  absl::StatusOr<Expr> ParseValue() { return ParseExpr(cursor_, scope_); }

  // ---- Statements.

  absl::Status ParseHeader() {
    const bool workload = cursor_.TakeWord("workload");
    if (!workload && !cursor_.TakeWord("program")) return cursor_.Want("'program' or 'workload'");
    RETURN_IF_ERROR(cursor_.ExpectSymbol("/"));
    // Both versions of workload text read alike: they differ in the names that were given.
    RETURN_IF_ERROR(cursor_.ExpectInt("a text version", 1, workload ? 2 : 1).status());
    program_.name = "workload";
    if (!workload) {
      ASSIGN_OR_RETURN(program_.name, cursor_.ExpectName("the program's name"));
    }
    return absl::OkStatus();
  }

  absl::Status ParseStatement() {
    if (cursor_.TakeWord("numerics")) return ParseNumerics();
    if (cursor_.TakeWord("lowered")) {
      program_.lowered = true;
      return absl::OkStatus();
    }
    if (cursor_.TakeWord("input")) return ParseBuffer(BufferRole::kInput);
    if (cursor_.TakeWord("const")) return ParseBuffer(BufferRole::kConstant);
    if (cursor_.TakeWord("output")) return ParseBuffer(BufferRole::kOutput);
    if (cursor_.TakeWord("packed")) return ParseBuffer(BufferRole::kPacked);
    if (cursor_.TakeWord("temp")) return ParseBuffer(BufferRole::kTemp);
    if (cursor_.TakeWord("table")) return ParseTable();
    if (cursor_.TakeWord("var")) return ParseVar();
    if (cursor_.TakeWord("block")) return ParseBlock();
    if (cursor_.IsWord("kernel")) return ParseRoot(program_.root);
    if (cursor_.IsWord("pack")) return ParseRoot(program_.pack_root);
    return cursor_.Want("a buffer, table, var, block, kernel or pack");
  }

  absl::Status ParseNumerics() {
    Numerics& numerics = program_.numerics;
    numerics = {.kind = NumericsClass::kExact};
    if (cursor_.TakeWord("exact")) return absl::OkStatus();
    if (cursor_.TakeWord("reassociated")) {
      numerics.kind = NumericsClass::kReassociated;
      return absl::OkStatus();
    }
    std::string want = "exact, reassociated";
    for (const Algorithm* algorithm : AllAlgorithms()) {
      absl::StrAppend(&want, " or ", algorithm->name);
      if (!cursor_.TakeWord(algorithm->name)) continue;
      numerics = {.kind = NumericsClass::kAlgorithm, .algorithm = algorithm->name};
      RETURN_IF_ERROR(cursor_.ExpectSymbol("("));
      ASSIGN_OR_RETURN(numerics.parameter, cursor_.ExpectInt(algorithm->parameter_meaning, 0,
                                                             algorithm->parameter_max));
      return cursor_.ExpectSymbol(")");
    }
    return cursor_.Want(want);
  }

  // ---- Buffers and tables.

  absl::StatusOr<DType> ParseType() {
    DType dtype = DType::kF32;
    if (cursor_.Peek().kind != TokenKind::kWord || !ParseDType(cursor_.Peek().text, &dtype)) {
      return cursor_.Want("an element type");
    }
    cursor_.Advance();
    return dtype;
  }

  // `[a, b, ..]`.
  absl::StatusOr<std::vector<int64_t>> ParseInts(absl::string_view what, int64_t min, int64_t max) {
    RETURN_IF_ERROR(cursor_.ExpectSymbol("["));
    std::vector<int64_t> values;
    if (cursor_.TakeSymbol("]")) return values;
    do {
      if (values.size() == kRankMax) {
        return cursor_.Want(absl::StrCat("at most ", kRankMax, " dimensions"));
      }
      ASSIGN_OR_RETURN(const int64_t value, cursor_.ExpectInt(what, min, max));
      values.push_back(value);
    } while (cursor_.TakeSymbol(","));
    RETURN_IF_ERROR(cursor_.ExpectSymbol("]"));
    return values;
  }

  absl::Status ParseBuffer(BufferRole role) {
    const Token token = cursor_.Peek();
    // Where no scope is written: none was asked for, or, in a lowered program, kGlobal.
    const bool open = role == BufferRole::kTemp && !program_.lowered;
    Buffer buffer{.role = role, .scope = open ? Scope::kAuto : Scope::kGlobal};
    ASSIGN_OR_RETURN(buffer.name, cursor_.ExpectName("a buffer's name"));
    RETURN_IF_ERROR(cursor_.ExpectSymbol(":"));
    ASSIGN_OR_RETURN(buffer.dtype, ParseType());
    ASSIGN_OR_RETURN(buffer.shape, ParseInts("a dimension", 1, kExtentMax));
    if (cursor_.TakeWord("global")) buffer.scope = Scope::kGlobal;
    if (cursor_.TakeWord("scratch")) buffer.scope = Scope::kScratch;
    if (cursor_.TakeWord("register")) buffer.scope = Scope::kRegister;
    if (cursor_.TakeWord("shared")) buffer.scope = Scope::kShared;
    if (cursor_.TakeWord("local")) buffer.scope = Scope::kLocal;
    if (cursor_.TakeWord("tile")) buffer.scope = Scope::kTile;
    RETURN_IF_ERROR(ParseStorage(token, buffer));
    buffer.streamed = cursor_.TakeWord("streamed");
    const BufferId id = static_cast<BufferId>(program_.buffers.size());
    if (program_.buffers.size() >= kBuffersMax) {
      return TokenCursor::ErrorAt(token, absl::StrCat("at most ", kBuffersMax, " buffers"));
    }
    if (!scope_.buffers.emplace(buffer.name, id).second) {
      return TokenCursor::ErrorAt(token, "a name that is not taken");
    }
    scope_.buffer_types.push_back(buffer.dtype);
    program_.buffers.push_back(std::move(buffer));
    return absl::OkStatus();
  }

  absl::Status ParseStorage(const Token& token, Buffer& buffer) {
    std::vector<std::pair<int64_t, int64_t>> border;
    double border_value = 0;
    if (cursor_.TakeWord("border")) {
      RETURN_IF_ERROR(cursor_.ExpectSymbol("["));
      do {
        RETURN_IF_ERROR(cursor_.ExpectSymbol("("));
        ASSIGN_OR_RETURN(const int64_t below, cursor_.ExpectInt("a border", 0, kExtentMax));
        RETURN_IF_ERROR(cursor_.ExpectSymbol(","));
        ASSIGN_OR_RETURN(const int64_t above, cursor_.ExpectInt("a border", 0, kExtentMax));
        RETURN_IF_ERROR(cursor_.ExpectSymbol(")"));
        border.emplace_back(below, above);
      } while (border.size() < buffer.shape.size() && cursor_.TakeSymbol(","));
      if (border.size() != buffer.shape.size()) return cursor_.Want("a border for each dimension");
      RETURN_IF_ERROR(cursor_.ExpectSymbol("]"));
      ASSIGN_OR_RETURN(border_value, ParseTableValue(cursor_, DType::kF64));
    }
    int64_t count = 1;
    for (size_t d = 0; d < buffer.shape.size(); ++d) {
      // Three terms of at most 2^31: no overflow before the comparison.
      const int64_t width =
          buffer.shape[d] + (border.empty() ? 0 : border[d].first + border[d].second);
      if (width > kElementsMax / count) {
        return TokenCursor::ErrorAt(token, "a buffer of fewer than 2^40 elements");
      }
      count *= width;
    }
    buffer.storage = DenseStorage(buffer.shape, std::move(border), border_value);
    if (cursor_.TakeWord("strides")) {
      ASSIGN_OR_RETURN(buffer.storage.strides, ParseInts("a stride", -kElementsMax, kElementsMax));
    }
    if (cursor_.TakeWord("offset")) {
      ASSIGN_OR_RETURN(buffer.storage.offset, cursor_.ExpectInt("an offset", 0, kElementsMax));
    }
    if (cursor_.TakeWord("align")) {
      ASSIGN_OR_RETURN(buffer.storage.alignment_bytes,
                       cursor_.ExpectInt("an alignment", 1, 1 << 21));
    }
    return absl::OkStatus();
  }

  absl::Status ParseTable() {
    const std::string name = absl::StrCat("$", scope_.tables.size());
    if (scope_.tables.size() >= kTablesMax) {
      return cursor_.Want(absl::StrCat("at most ", kTablesMax, " tables"));
    }
    if (cursor_.Peek().text != name) return cursor_.Want(name);
    cursor_.Advance();
    RETURN_IF_ERROR(cursor_.ExpectSymbol(":"));
    auto table = std::make_shared<ConstTable>();
    ASSIGN_OR_RETURN(table->dtype, ParseType());
    ASSIGN_OR_RETURN(table->shape, ParseInts("a dimension", 1, kTableValuesMax));
    int64_t count = 1;
    for (const int64_t extent : table->shape) {
      if (extent > kTableValuesMax / count) {
        return cursor_.Want(absl::StrCat("a table of at most ", kTableValuesMax, " values"));
      }
      count *= extent;
    }
    RETURN_IF_ERROR(cursor_.ExpectSymbol("{"));
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0) RETURN_IF_ERROR(cursor_.ExpectSymbol(","));
      ASSIGN_OR_RETURN(const double value, ParseTableValue(cursor_, table->dtype));
      table->values.push_back(value);
    }
    RETURN_IF_ERROR(cursor_.ExpectSymbol("}"));
    scope_.tables.push_back(std::move(table));
    return absl::OkStatus();
  }

  // ---- Variables and blocks.

  absl::Status ParseVar() {
    const Token token = cursor_.Peek();
    ASSIGN_OR_RETURN(const std::string name, cursor_.ExpectName("a variable's name"));
    const auto it = scope_.vars.find(name);
    if (it == scope_.vars.end() || it->second != static_cast<VarId>(vars_parsed_)) {
      return TokenCursor::ErrorAt(token, "a name that is not taken");
    }
    ++vars_parsed_;
    // Parsed into a copy: parsing may not add variables here, but a reference says so to no one.
    Var var{.name = name};
    RETURN_IF_ERROR(cursor_.ExpectWord("in"));
    ASSIGN_OR_RETURN(var.extent, ParseValue());
    var.reduce = cursor_.TakeWord("reduce");
    var.guarded = cursor_.TakeWord("guarded");
    var.repeats = cursor_.TakeWord("repeats");
    if (cursor_.TakeSymbol("=")) {
      ASSIGN_OR_RETURN(var.def, ParseValue());
    }
    program_.vars[it->second] = std::move(var);
    return absl::OkStatus();
  }

  // `name`, or `name in extent`, which declares the axis `block.name`.
  absl::StatusOr<VarId> ParseAxis(const std::string& block_name, bool reduce) {
    const Token token = cursor_.Peek();
    ASSIGN_OR_RETURN(const std::string name, cursor_.ExpectName("an axis"));
    if (!cursor_.TakeWord("in")) {
      const auto var = scope_.vars.find(name);
      if (var == scope_.vars.end()) return TokenCursor::ErrorAt(token, "a declared variable");
      return var->second;
    }
    ASSIGN_OR_RETURN(const int64_t extent, cursor_.ExpectInt("an extent", 1, kExtentMax));
    ASSIGN_OR_RETURN(const VarId id, AddVarNamed(absl::StrCat(block_name, ".", name)));
    program_.vars[id].extent = Int(extent);
    program_.vars[id].reduce = reduce;
    scope_.own_axes[name] = id;
    return id;
  }

  absl::Status ParseBlock() {
    const Token token = cursor_.Peek();
    if (program_.blocks.size() >= kBlocksMax) {
      return cursor_.Want(absl::StrCat("at most ", kBlocksMax, " blocks"));
    }
    Block block;
    ASSIGN_OR_RETURN(block.name, cursor_.ExpectName("a block's name"));
    if (!blocks_.emplace(block.name, static_cast<BlockId>(program_.blocks.size())).second) {
      return TokenCursor::ErrorAt(token, "a name that is not taken");
    }
    RETURN_IF_ERROR(cursor_.ExpectSymbol("("));
    bool reduce = false;
    while (!cursor_.TakeSymbol(")")) {
      if (!reduce && cursor_.TakeSymbol(";")) reduce = true;
      std::vector<VarId>& axes = reduce ? block.reduction : block.spatial;
      if (!axes.empty()) RETURN_IF_ERROR(cursor_.ExpectSymbol(","));
      ASSIGN_OR_RETURN(const VarId axis, ParseAxis(block.name, reduce));
      axes.push_back(axis);
    }
    RETURN_IF_ERROR(cursor_.ExpectSymbol("{"));
    if (cursor_.TakeWord("init")) {
      ASSIGN_OR_RETURN(block.init, ParseValue());
    }
    RETURN_IF_ERROR(cursor_.ExpectWord("step"));
    ASSIGN_OR_RETURN(block.output, ParseBufferName());
    ASSIGN_OR_RETURN(block.output_indices, ParseIndices());
    ASSIGN_OR_RETURN(block.combiner, ParseCombiner());
    ASSIGN_OR_RETURN(block.step, ParseValue());
    if (cursor_.TakeWord("finish")) {
      scope_.self_type = block.step->dtype;
      ASSIGN_OR_RETURN(block.finish, ParseValue());
      scope_.self_type.reset();
    }
    // Short names of axes hold within their block.
    scope_.own_axes.clear();
    RETURN_IF_ERROR(cursor_.ExpectSymbol("}"));
    program_.blocks.push_back(std::move(block));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Expr>> ParseIndices() {
    RETURN_IF_ERROR(cursor_.ExpectSymbol("["));
    std::vector<Expr> indices;
    if (cursor_.TakeSymbol("]")) return indices;
    do {
      if (indices.size() == kRankMax) {
        return cursor_.Want(absl::StrCat("at most ", kRankMax, " indices"));
      }
      ASSIGN_OR_RETURN(Expr index, ParseValue());
      indices.push_back(std::move(index));
    } while (cursor_.TakeSymbol(","));
    RETURN_IF_ERROR(cursor_.ExpectSymbol("]"));
    return indices;
  }

  absl::StatusOr<Combiner> ParseCombiner() {
    if (cursor_.TakeSymbol("=")) return Combiner::kAssign;
    if (cursor_.TakeSymbol("+=")) return Combiner::kSum;
    if (cursor_.TakeSymbol("*=")) return Combiner::kProd;
    const bool max = cursor_.TakeWord("max");
    if (!max && !cursor_.TakeWord("min")) return cursor_.Want("= += *= max= or min=");
    RETURN_IF_ERROR(cursor_.ExpectSymbol("="));
    return max ? Combiner::kMax : Combiner::kMin;
  }

  // ---- The tree.

  absl::Status ParseRoot(NodeId& root) {
    if (root >= 0) return cursor_.Want("no second one");
    cursor_.Advance();
    ASSIGN_OR_RETURN(root, NewNode({}));
    return ParseBody(root, 1);
  }

  absl::StatusOr<NodeId> NewNode(Node node) {
    if (program_.nodes.size() >= kNodesMax) {
      return cursor_.Want(absl::StrCat("at most ", kNodesMax, " nodes"));
    }
    return AddNode(program_, std::move(node));
  }

  // `{ .. }` into the children of `parent`, which is at `depth`.
  absl::Status ParseBody(NodeId parent, int depth) {
    if (depth > kTreeDepthMax) {
      return cursor_.Want(absl::StrCat("a tree of depth at most ", kTreeDepthMax));
    }
    RETURN_IF_ERROR(cursor_.ExpectSymbol("{"));
    while (!cursor_.TakeSymbol("}")) RETURN_IF_ERROR(ParseNode(parent, depth));
    return absl::OkStatus();
  }

  // A node with a body.
  absl::Status AddParent(NodeId parent, Node node, int depth) {
    ASSIGN_OR_RETURN(const NodeId id, NewNode(std::move(node)));
    AppendChild(program_, parent, id);
    return ParseBody(id, depth + 1);
  }

  absl::Status AddLeaf(NodeId parent, Node node) {
    ASSIGN_OR_RETURN(const NodeId id, NewNode(std::move(node)));
    AppendChild(program_, parent, id);
    return absl::OkStatus();
  }

  absl::Status ParseNode(NodeId parent, int depth) {
    Node node{.kind = NodeKind::kLoop};
    if (cursor_.TakeWord("for")) return ParseLoop(parent, std::move(node), depth);
    if (cursor_.TakeWord("parallel")) {
      node.loop_kind = LoopKind::kParallel;
      return ParseLoop(parent, std::move(node), depth);
    }
    if (cursor_.TakeWord("unroll")) {
      node.loop_kind = LoopKind::kUnrolled;
      return ParseLoop(parent, std::move(node), depth);
    }
    if (cursor_.TakeWord("vectorize")) {
      node.loop_kind = LoopKind::kVectorized;
      RETURN_IF_ERROR(cursor_.ExpectSymbol("("));
      ASSIGN_OR_RETURN(node.lanes, cursor_.ExpectInt("lanes", 0, 4096));
      RETURN_IF_ERROR(cursor_.ExpectSymbol(")"));
      return ParseLoop(parent, std::move(node), depth);
    }
    if (cursor_.TakeWord("bind")) {
      node.loop_kind = LoopKind::kBound;
      RETURN_IF_ERROR(cursor_.ExpectSymbol("("));
      ASSIGN_OR_RETURN(node.thread_tag, cursor_.ExpectName("a thread axis"));
      RETURN_IF_ERROR(cursor_.ExpectSymbol(")"));
      return ParseLoop(parent, std::move(node), depth);
    }
    if (cursor_.TakeWord("tensorize")) {
      node.loop_kind = LoopKind::kTensorized;
      RETURN_IF_ERROR(cursor_.ExpectSymbol("("));
      ASSIGN_OR_RETURN(node.intrinsic, cursor_.ExpectName("an instruction"));
      RETURN_IF_ERROR(cursor_.ExpectSymbol(")"));
      return ParseLoop(parent, std::move(node), depth);
    }
    if (cursor_.TakeWord("seq")) return AddParent(parent, {}, depth);
    if (cursor_.TakeWord("if")) return ParseIf(parent, depth);
    if (cursor_.TakeWord("run")) {
      ASSIGN_OR_RETURN(const BlockId block, ParseBlockName());
      return AddLeaf(parent, {.kind = NodeKind::kBlock, .block = block});
    }
    if (cursor_.TakeWord("stage")) {
      ASSIGN_OR_RETURN(const BlockId block, ParseBlockName());
      RETURN_IF_ERROR(cursor_.ExpectWord("in"));
      ASSIGN_OR_RETURN(const BufferId buffer, ParseBufferName());
      return AddParent(parent, {.kind = NodeKind::kStage, .block = block, .buffer = buffer}, depth);
    }
    if (cursor_.TakeWord("prefetch")) return ParsePrefetch(parent);
    if (cursor_.TakeWord("barrier")) return AddLeaf(parent, {.kind = NodeKind::kBarrier});
    return ParseStore(parent);
  }

  absl::Status ParseLoop(NodeId parent, Node node, int depth) {
    const Token token = cursor_.Peek();
    ASSIGN_OR_RETURN(const std::string name, cursor_.ExpectName("a loop variable"));
    const auto it = scope_.vars.find(name);
    const bool known = it != scope_.vars.end();
    if (known) node.var = it->second;
    if (cursor_.TakeWord("in")) {
      ASSIGN_OR_RETURN(Expr extent, ParseValue());
      if (!known) {
        ASSIGN_OR_RETURN(node.var, AddVarNamed(name));
        program_.vars[node.var].extent = std::move(extent);
      } else if (!StructurallyEqual(extent, program_.vars[node.var].extent)) {
        return TokenCursor::ErrorAt(token, "the extent that the variable was declared with");
      }
    } else if (!known) {
      return TokenCursor::ErrorAt(token, "a declared variable, or an extent");
    }
    return AddParent(parent, std::move(node), depth);
  }

  absl::Status ParseIf(NodeId parent, int depth) {
    Node node{.kind = NodeKind::kIf};
    ASSIGN_OR_RETURN(node.cond, ParseValue());
    ASSIGN_OR_RETURN(const NodeId id, NewNode(std::move(node)));
    AppendChild(program_, parent, id);
    RETURN_IF_ERROR(AddParent(id, {}, depth));
    return cursor_.TakeWord("else") ? AddParent(id, {}, depth) : absl::OkStatus();
  }

  absl::Status ParsePrefetch(NodeId parent) {
    Node node{.kind = NodeKind::kPrefetch};
    RETURN_IF_ERROR(cursor_.ExpectSymbol("("));
    ASSIGN_OR_RETURN(node.cache_level, cursor_.ExpectInt("a cache level", 1, 2));
    RETURN_IF_ERROR(cursor_.ExpectSymbol(")"));
    ASSIGN_OR_RETURN(node.buffer, ParseBufferName());
    ASSIGN_OR_RETURN(node.indices, ParseIndices());
    if (cursor_.TakeWord("when")) {
      ASSIGN_OR_RETURN(node.cond, ParseValue());
    }
    return AddLeaf(parent, std::move(node));
  }

  absl::Status ParseStore(NodeId parent) {
    Node node{.kind = NodeKind::kStore};
    if (cursor_.Peek().kind != TokenKind::kWord && cursor_.Peek().kind != TokenKind::kQuoted) {
      return cursor_.Want("a statement");
    }
    ASSIGN_OR_RETURN(node.buffer, ParseBufferName());
    ASSIGN_OR_RETURN(node.indices, ParseIndices());
    ASSIGN_OR_RETURN(node.combiner, ParseCombiner());
    ASSIGN_OR_RETURN(node.value, ParseValue());
    return AddLeaf(parent, std::move(node));
  }

  TokenCursor cursor_;
  Program program_;
  ParseScope scope_;
  absl::flat_hash_map<std::string, BlockId> blocks_;
  size_t vars_declared_ = 0;  // By `var`, found before parsing.
  size_t vars_parsed_ = 0;
  bool duplicate_var_ = false;
};

}  // namespace

absl::StatusOr<Program> ParseProgram(absl::string_view text) {
  if (text.size() > kTextBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("got a program of ", text.size(), " bytes, want at most ", kTextBytesMax));
  }
  ASSIGN_OR_RETURN(Program program, ProgramParser(text).Parse());
  // Nobody gets a parsed program that is not verified: everything after this trusts ids, bounds and
  // types.
  RETURN_IF_ERROR(Verify(program));
  return program;
}

}  // namespace burnish
