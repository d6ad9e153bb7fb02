// Which tile registers the sums and operands of a kernel's tiles have. Plain data, free of LLVM.
#ifndef COMPILER_CODEGEN_LLVM_TILE_PLAN_H_
#define COMPILER_CODEGEN_LLVM_TILE_PLAN_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/strings/string_view.h"
#include "compiler/ir/program.h"
#include "compiler/target/instruction.h"

namespace burnish {

// What the target has.
using TileProducts = std::vector<const Instruction*>;

enum class TileOperation { kZero, kLoad, kStore, kProduct };

// One nest of an instruction.
struct TileNest {
  TileOperation operation;
  const Instruction* product = nullptr;          // Null: it moves.
  std::array<VarId, 4> vars = {-1, -1, -1, -1};  // Rows and columns; of products, both of k.
  int64_t rows = 0, columns = 0;
  int64_t groups = 0;  // Of products; else 0.
  const Node* store = nullptr;
  BufferId tiles = -1;                              // The buffer in tile registers.
  const std::vector<Expr>* tile_indices = nullptr;  // Of the sums.
  // Of products: loads of both factors. Of kLoad: `left` is what is loaded.
  const ExprNode* left = nullptr;
  const ExprNode* right = nullptr;
  int64_t left_stride_bytes = 0;   // From row to row; of kStore: of what is stored to.
  int64_t right_stride_bytes = 0;  // From one group of k to the next.
};

// Registers of one phase (a child of the root): sums first, then left operands, then right ones.
struct TileRegisters {
  int64_t rows = 0;     // Of sums and of left operands.
  int64_t columns = 0;  // Of sums and of right operands, 4 bytes each.
  int64_t groups = 0;   // Of left operands, 4 bytes each, and rows of right ones; 0: no product.
  int sums = 0, left = 0, right = 0;

  int first_left() const { return sums; }
  int first_right() const { return sums + left; }
};

struct TilePlan {
  std::vector<int> first;                  // By BufferId: of a tile buffer; -1: it is in memory.
  std::map<NodeId, TileNest> nests;        // By loop.
  std::map<NodeId, TileRegisters> phases;  // By child of the root.
};

// Of a lowered program's root. A phase in which a tile buffer is touched otherwise than by
// instructions of the target, on tiles of one shape, has its tiles in memory: its nests are emitted
// as they stand.
TilePlan PlanTiles(const Program& program, NodeId root, const TileProducts& products);

// Whether lowered programs may have nests of this name. They are products of rows by columns, or
// move a tile.
bool IsTileNest(absl::string_view intrinsic);

// Tiles of a tile buffer.
int64_t TileCount(const Buffer& buffer);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_TILE_PLAN_H_
