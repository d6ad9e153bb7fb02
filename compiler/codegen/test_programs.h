// Lowered programs written by hand, for tests and benchmarks of backends.
#ifndef COMPILER_CODEGEN_TEST_PROGRAMS_H_
#define COMPILER_CODEGEN_TEST_PROGRAMS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/program.h"

namespace burnish {

// Writes a lowered program from the outside in: loops take the function that fills them.
class ProgramWriter {
 public:
  explicit ProgramWriter(std::string name);

  BufferId Add(std::string name, std::vector<int64_t> shape, BufferRole role,
               DType dtype = DType::kF32, Scope scope = Scope::kGlobal);
  void Loop(LoopKind kind, Expr extent, const std::function<void(Expr)>& body, int lanes = 0);
  void Loop(LoopKind kind, int64_t extent, const std::function<void(Expr)>& body, int lanes = 0) {
    Loop(kind, Int(extent), body, lanes);
  }
  void If(Expr cond, const std::function<void()>& then,
          const std::function<void()>& otherwise = nullptr);
  void Store(BufferId buffer, std::vector<Expr> indices, Expr value,
             Combiner combiner = Combiner::kAssign);
  void Prefetch(BufferId buffer, std::vector<Expr> indices, Expr cond = nullptr,
                int cache_level = 2);
  Expr At(BufferId buffer, std::vector<Expr> indices) const;
  // What follows belongs to the pack function.
  void BeginPack();

  Program& program() { return program_; }

 private:
  NodeId Add(Node node);

  Program program_;
  NodeId parent_;
};

struct GemmTile {
  int64_t rows = 6;  // Of one register tile.
  int64_t columns = 16;
  int lanes = 8;
  int64_t depth = 256;       // Of the reduction.
  int64_t depth_unroll = 4;  // Divides depth.
  // How many tiles: over A's panels, over B's panels.
  int64_t row_tiles = 1;
  int64_t column_tiles = 1;
  // Rows in the innermost loop, under each vector of columns; else columns under each row.
  bool rows_inside = false;
};

// C[row_tiles * rows, column_tiles * columns] = A * B, with A[row_tiles * rows, depth] row-major
// and B packed as [column_tiles, depth, columns]. Accumulators are registers.
Program GemmTileProgram(const GemmTile& tile);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_TEST_PROGRAMS_H_
