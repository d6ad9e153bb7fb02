// Shorter copies of a tile: of the rows that are computed together in registers a call may read the
// first ones alone (guard_loops.h).
#ifndef COMPILER_IR_GUARD_ROWS_H_
#define COMPILER_IR_GUARD_ROWS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/program.h"

namespace burnish {

// Rows of the tiles in a loop's body.
struct TileRows {
  // Of loops inside, each of a row an iteration; where tiles are ragged, each size has its own.
  // Each row is computed without the others.
  std::vector<VarId> vars;
  int64_t least = 0, most = 0;  // Rows of a tile.
};

// Whether each iteration of the loop writes what it reads of a temporary, and nobody else reads it.
using IsPrivate = std::function<bool(NodeId loop, BufferId buffer)>;

// `stored`: what the body stores the output by, as one index each; rows are those where it grows by
// one from row to row of an unrolled loop. Nullopt: the body has no such rows, or they need one
// another.
std::optional<TileRows> FindTileRows(const Program& lowered, NodeId loop, BufferId output,
                                     const std::vector<Expr>& stored, const IsPrivate& is_private);

// How many rows the shorter copies have, ascending: `parts` equal shares of the tile but the whole,
// or each number below its own.
std::vector<int64_t> ShorterTiles(const TileRows& rows, int64_t parts);

// A kSeq with copies of `children` whose tiles have `count` rows, of ShorterTiles.
NodeId CopyOfRows(const std::vector<NodeId>& children, const TileRows& rows, int64_t count,
                  Program& lowered);

}  // namespace burnish

#endif  // COMPILER_IR_GUARD_ROWS_H_
