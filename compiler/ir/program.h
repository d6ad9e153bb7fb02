// The tensor program: one IR from an operator's definition to the loops that are compiled.
//
// A Program is a value: buffers, variables, blocks and tree nodes live in vectors and refer to each
// other by position. A freshly defined program has one default nest per block; schedule primitives
// rewrite the tree; `Lower` replaces blocks by explicit stores. The interpreter runs every form.
#ifndef COMPILER_IR_PROGRAM_H_
#define COMPILER_IR_PROGRAM_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/numerics.h"
#include "compiler/ir/expr.h"

namespace burnish {

using BlockId = int32_t;
using NodeId = int32_t;

// ---- Buffers.

// kInput, kConstant and kOutput are parameters. kPacked is written by the pack function and read by
// the kernel. kTemp is private to one call.
enum class BufferRole : uint8_t { kInput, kConstant, kOutput, kPacked, kTemp };

// Where a kTemp lives. kGlobal: one array for all workers. kScratch: one per worker. kRegister:
// SSA values, every index constant after unrolling. kShared, kLocal: of a GPU's block and of one of
// its threads. kAuto: lowering chooses, by who writes and who reads; any other is kept or refused.
// kTile: registers of two dimensions, the last two of the buffer, which only nests of instructions
// touch; the dimensions before them say which register, and are constant after unrolling.
enum class Scope : uint8_t { kGlobal, kScratch, kRegister, kShared, kLocal, kAuto, kTile };

// Nests that move a tile to and from the memory of its buffer's rows, and that clear it: lowering
// puts them around a tile's sums.
inline constexpr char kTileZero[] = "tile_zero", kTileLoad[] = "tile_load",
                      kTileStore[] = "tile_store";

// A view of an allocation. Element [i0,i1,..] lies at offset + sum(i_d * strides[d]) elements.
// Indices from -border[d].first to shape[d] - 1 + border[d].second are readable; the border holds
// border_value. Traces hold for any storage; the driver compiles the real one in.
struct Storage {
  std::vector<int64_t> strides;                     // Elements, one a dimension.
  std::vector<std::pair<int64_t, int64_t>> border;  // Empty: no border anywhere.
  double border_value = 0;
  int64_t offset = 0;            // Elements before element [0,0,..], border included.
  int64_t alignment_bytes = 64;  // Of the allocation.
};

struct Buffer {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  BufferRole role = BufferRole::kTemp;
  Scope scope = Scope::kAuto;  // Of a kTemp; lowered programs have no kAuto.
  Storage storage;
  bool streamed = false;  // A hint: stores bypass the caches (see `stream`).
};

// Row-major storage with the given border (empty for none).
Storage DenseStorage(const std::vector<int64_t>& shape,
                     std::vector<std::pair<int64_t, int64_t>> border = {}, double border_value = 0);
// Elements from the start of the allocation to the last element that may be touched, plus one.
int64_t StorageElementCount(const Buffer& buffer);
int64_t ElementCount(const std::vector<int64_t>& shape);
// The extra elements that may be read below and above dimension `dim`.
std::pair<int64_t, int64_t> BorderOf(const Buffer& buffer, int dim);

// ---- Variables.

// A loop variable (def is null) or a variable that primitives replaced: it keeps the map it came
// from as `def`, an expression over newer variables, and is never re-detected from index patterns.
struct Var {
  std::string name;  // Unique in the program. Axes of block Y start as "Y.n", "Y.y", ..
  // Values are 0 .. extent-1. A constant, or an expression over variables outside this one.
  Expr extent;
  Expr def;
  // With def: def may reach beyond extent - 1; block instances where it does are skipped (for a
  // reduction axis only the step is skipped).
  bool guarded = false;
  // With def: some values are visited more than once (split with tail=shift).
  bool repeats = false;
  bool reduce = false;  // Feeds reduction axes (a variable never feeds both kinds).
};

// ---- Blocks.

enum class Combiner : uint8_t { kAssign, kSum, kProd, kMax, kMin };

// out[indices] = finish(reduce(init; step)). Axes are variables: the block's domain is the product
// of the axes' extents, spatial first. Without reduction axes the combiner is kAssign, init is null
// and the value is finish(step). Expressions use axes and the variables of the axes' maps (a guard,
// a tail), never another block's.
struct Block {
  std::string name;
  std::vector<VarId> spatial;
  std::vector<VarId> reduction;
  BufferId output = -1;
  std::vector<Expr> output_indices;  // Injective over the spatial axes.
  Combiner combiner = Combiner::kAssign;
  Expr init;    // Null: the combiner's identity.
  Expr step;    // One term of the reduction, or the value of an assignment.
  Expr finish;  // Over Self; null: Self. Applied once, after the last step.
};

// ---- The tree.

enum class NodeKind : uint8_t {
  kSeq,    // children in order (the two roots)
  kLoop,   // children for var = 0 .. extent-1
  kBlock,  // leaf: one instance of `block` at the current values of its axes
  // children, with the elements of `stage_buffer` that they touch kept in `buffer` (see `stage`)
  kStage,
  // Lowered programs only:
  kIf,     // children[0] where cond holds, else children[1] if there is one (each a kSeq)
  kStore,  // leaf: buffer[indices] = value, or combined into it by `combiner`
  // leaf, outside of loops over threads: the threads of a block wait for each other, and see what
  // each has stored in shared buffers
  kBarrier,
  // Any program. Leaf, no meaning: asks for the cache line of buffer[indices].
  kPrefetch,
};

enum class LoopKind : uint8_t {
  kSerial,
  kParallel,
  kVectorized,
  kUnrolled,
  kBound,
  // The nest under it is one that an instruction computes. Its meaning is that of the nest.
  kTensorized,
};

struct Node {
  NodeKind kind = NodeKind::kSeq;
  NodeId parent = -1;
  std::vector<NodeId> children;
  // kLoop
  VarId var = -1;
  LoopKind loop_kind = LoopKind::kSerial;
  int32_t lanes = 0;       // kVectorized: lanes of one vector; the rest of an extent is narrower.
  std::string thread_tag;  // kBound: "block.x", "thread.y", ..
  std::string intrinsic;   // kTensorized: its name in compiler/target/instruction.h
  // kBlock, kStage: the block (of a stage: the one that writes the staged window)
  BlockId block = -1;
  // kStage: the window; kStore, kPrefetch: the buffer
  BufferId buffer = -1;
  std::vector<Expr> indices;              // kStore, kPrefetch
  Expr value;                             // kStore
  Combiner combiner = Combiner::kAssign;  // kStore
  Expr cond;                              // kIf, kPrefetch (null: always)
  int32_t cache_level = 2;                // kPrefetch: 1 or 2
};

struct Program {
  std::string name;
  std::vector<Buffer> buffers;  // Parameters first, in call order.
  std::vector<Var> vars;
  std::vector<Block> blocks;
  std::vector<Node> nodes;
  NodeId root = -1;       // kSeq: the kernel. Top-level parallel loops are its phases.
  NodeId pack_root = -1;  // kSeq: the pack function, run once when weights are known. -1: none.
  Numerics numerics = {.kind = NumericsClass::kExact};  // The error is nothing a program knows.
  bool lowered = false;
};

// ---- Building and finding.

BufferId AddBuffer(Program& program, Buffer buffer);
VarId AddVar(Program& program, Var var);
NodeId AddNode(Program& program, Node node);
// Appends `child` to `parent`'s children and sets its parent.
void AppendChild(Program& program, NodeId parent, NodeId child);
// Puts `with` where `node` is among its parent's children.
void ReplaceChild(Program& program, NodeId node, NodeId with);
// Takes `node` out of its parent; loops and stages that become empty go too. Nodes keep their
// positions; unreachable ones are dropped by Prune.
void Detach(Program& program, NodeId node);
// Drops nodes and blocks that the trees do not reach, then variables and temporaries that nothing
// mentions, and renumbers the rest in order: every id that the caller holds is void afterwards.
void Prune(Program& program);

// The default nest of a block: its spatial, then its reduction loops, around the block. Appended to
// the root.
NodeId AddDefaultNest(Program& program, BlockId block);

// -1 where there is none. A variable is found by its full name, or by the part after the dot when
// only one variable has it ("n" for "Y.n").
BufferId FindBuffer(const Program& program, absl::string_view name);
BlockId FindBlock(const Program& program, absl::string_view name);
VarId FindVar(const Program& program, absl::string_view name);
BlockId WriterOf(const Program& program, BufferId buffer);  // The block whose output it is.
NodeId LoopOf(const Program& program, VarId var);           // Its loop in the tree.
NodeId NodeOf(const Program& program, BlockId block);       // Its kBlock node.
// Loops from the outermost to `node` (itself included if it is a loop).
std::vector<NodeId> LoopsAround(const Program& program, NodeId node);
bool IsInside(const Program& program, NodeId node, NodeId ancestor);
// All nodes under `node`, itself included, in execution order.
std::vector<NodeId> Subtree(const Program& program, NodeId node);

// `e` with every variable that has a def replaced, repeatedly, until only loop variables are left.
Expr ExpandDefs(const Program& program, const Expr& e);
// The loop variables that `var` is made of (itself if it is a loop), sorted.
std::vector<VarId> LoopVarsOf(const Program& program, VarId var);
// The greatest value of an extent over all iterations; extents are constants or depend on a few
// outer variables.
int64_t MaxExtent(const Program& program, VarId var);
// Calls `visit` at each combination of values that the loops under `e` take together, with a
// function that gives the value of a loop. False, without a call, over `limit` points.
bool ForEachIteration(const Program& program, const Expr& e, int64_t limit,
                      const std::function<void(const std::function<int64_t(VarId)>&)>& visit);
// Every value that the extent takes, ascending; over kExtentPointsMax iterations perhaps some more,
// below and above which there are none. Of a verified program, or of one that primitives make
// of it: others may have more iterations than anybody can look at, and end the process here.
std::vector<int64_t> ExtentValues(const Program& program, VarId var);
// The same of any program whose expressions are verified. Takes about one of `budget` for each
// point that is looked at; nothing where that is not enough.
std::optional<std::vector<int64_t>> FindExtentValues(const Program& program, VarId var,
                                                     int64_t& budget);
// The budget of ExtentValues, and of the verifier for a whole program: some tenths of a second.
// Points only count where an extent has a rest for nearly every iteration; tiles of a loop of any
// length take some hundreds.
inline constexpr int64_t kExtentPointsMax = int64_t{1} << 22;
std::string UniqueVarName(const Program& program, absl::string_view base);

// Whether element [i0,i1,..] of the output is written at spatial axes i0, i1, .. (an axis of one
// element may stand as 0).
bool WritesInAxisOrder(const Program& program, const Block& block);

// Rewrites init, step, finish and output indices of `block`; see RewriteExpr.
void RewriteBlock(Block& block, const std::function<Expr(const Expr&)>& rewrite);

// Value that a combiner starts from (0, 1, -inf, +inf; the least or greatest integer).
Expr Identity(Combiner combiner, DType dtype);
Expr Combine(Combiner combiner, Expr a, Expr b);

}  // namespace burnish

#endif  // COMPILER_IR_PROGRAM_H_
