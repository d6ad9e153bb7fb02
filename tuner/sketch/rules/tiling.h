// The loops of a sum of products around a tile that stays in registers: the one engine for every
// unit that multiplies and adds. A rule says which forms and units a product may have and decides
// sizes; what loops these are, in which order they go and what is packed, this says.
//
// Rows are the output axes that only the broadcast operand has, fused into one flat axis; panels
// are pieces of the vector axis. Sums stay in registers over the whole reduction, the vector
// operand is laid out in the order of use. Source of the loop structure: Goto and van de Geijn,
// "Anatomy of high-performance matrix multiplication", TOMS 2008; of the flat reduction segments:
// Georganas et al., "High-performance deep learning via a single building block", 2019, arXiv
// 1906.06440.
#ifndef TUNER_SKETCH_RULES_TILING_H_
#define TUNER_SKETCH_RULES_TILING_H_

#include <cstdint>
#include <string>

#include "compiler/schedule/schedule.h"
#include "tuner/sketch/rules/contraction.h"

namespace burnish {

// What workers share out.
enum class Shared : uint8_t {
  kPanels,  // With the outer axes.
  kRows,
  kGrid,    // Rows and vectors, in two dimensions.
  kOuter,   // The outer axes alone.
  kBlocks,  // A tile for each thread of a block, a block for each outer tile.
};

// In which order a worker goes over its part.
enum class Order : uint8_t {
  kPlain,    // Panel by panel, all rows for each.
  kBlocked,  // The segment goes in blocks, partial sums are parked in the output.
  kChunks,   // All panels for some rows, which stay in L2, then the next rows. Of kRows.
  kTiles,    // All panels for each tile of rows. Of kRows.
};

struct Form {
  Shared shared = Shared::kPanels;
  Order order = Order::kPlain;
  bool direct = false;  // The vector operand is read where it lies.
};

// As names of sketches have it: "rows/blocked".
std::string NameOf(const Form& form);

// A tile of a form: what its unit takes, and sizes, which are decisions or follow from some.
struct Tile {
  Form form;

  // ---- The unit.
  std::string intrinsic;  // An instruction that is a nest; empty: vectors.
  Scope sums = Scope::kRegister;
  Expr columns;               // Of one vector, or of one instruction.
  int64_t lanes = 1;          // Elements of a vector, where there is no instruction.
  int64_t depth = 1;          // Products that one instruction adds to each sum.
  int64_t packed = 0;         // So many of these lie side by side where they are packed; 0: all.
  bool shifted = false;       // The last panel begins early, among the columns before it.
  VarId row_axis = -1;        // Rows of one instruction are taken from it; -1: it has one row.
  Expr rows;                  // So many.
  bool shifted_rows = false;  // The last tile begins early as well.

  // ---- Sizes. Null where the form or the unit has no such thing.
  Expr tile_rows;  // In instructions.
  Expr width;      // Of a panel: in instructions that take all columns evenly, else in elements.
  Expr unrolled;   // Steps of the reduction that are written out; null: no loop for them.
  Expr panel_streams;            // Where it holds, a tile's columns go outside of its rows.
  Expr block;                    // Of the segment, in elements.
  Expr chunks;                   // Of a worker's rows.
  Expr row_parts, column_parts;  // Of the grid.
  Expr warps;                    // Of a block of threads, each with rows of its own.
  Expr prefetch;                 // Whether what is packed is prefetched; not for kBlocks.
  int64_t parts = 1;             // Workers that have a part.
  bool even = false;             // Panels are split by workers first, and then by width.
};

// `schedule` with the tile's sizes decided: the structure as its steps. `program`: what `c` is of.
Schedule Tiled(const Program& program, const Contraction& c, const Tile& tile, Schedule schedule);

}  // namespace burnish

#endif  // TUNER_SKETCH_RULES_TILING_H_
