#include "compiler/codegen/test_programs.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace burnish {

ProgramWriter::ProgramWriter(std::string name) {
  program_.name = std::move(name);
  program_.lowered = true;
  program_.root = parent_ = AddNode(program_, {.kind = NodeKind::kSeq});
}

BufferId ProgramWriter::Add(std::string name, std::vector<int64_t> shape, BufferRole role,
                            DType dtype, Scope scope) {
  return AddBuffer(program_, {.name = std::move(name),
                              .dtype = dtype,
                              .shape = shape,
                              .role = role,
                              .scope = scope,
                              .storage = DenseStorage(shape)});
}

NodeId ProgramWriter::Add(Node node) {
  const NodeId id = AddNode(program_, std::move(node));
  AppendChild(program_, parent_, id);
  return id;
}

void ProgramWriter::Loop(LoopKind kind, Expr extent, const std::function<void(Expr)>& body,
                         int lanes) {
  const VarId var = AddVar(
      program_, {.name = absl::StrCat("v", program_.vars.size()), .extent = std::move(extent)});
  const NodeId outer = parent_;
  parent_ = Add({.kind = NodeKind::kLoop, .var = var, .loop_kind = kind, .lanes = lanes});
  body(VarRef(var));
  parent_ = outer;
}

void ProgramWriter::If(Expr cond, const std::function<void()>& then,
                       const std::function<void()>& otherwise) {
  const NodeId outer = parent_;
  const NodeId branch = Add({.kind = NodeKind::kIf, .cond = std::move(cond)});
  for (const auto& body : {then, otherwise}) {
    if (!body) continue;
    parent_ = branch;
    parent_ = Add({.kind = NodeKind::kSeq});
    body();
  }
  parent_ = outer;
}

void ProgramWriter::Store(BufferId buffer, std::vector<Expr> indices, Expr value,
                          Combiner combiner) {
  Add({.kind = NodeKind::kStore,
       .buffer = buffer,
       .indices = std::move(indices),
       .value = std::move(value),
       .combiner = combiner});
}

void ProgramWriter::Prefetch(BufferId buffer, std::vector<Expr> indices, Expr cond,
                             int cache_level) {
  Add({.kind = NodeKind::kPrefetch,
       .buffer = buffer,
       .indices = std::move(indices),
       .cond = std::move(cond),
       .cache_level = cache_level});
}

Expr ProgramWriter::At(BufferId buffer, std::vector<Expr> indices) const {
  return Load(buffer, program_.buffers[buffer].dtype, std::move(indices));
}

void ProgramWriter::BeginPack() {
  program_.pack_root = parent_ = AddNode(program_, {.kind = NodeKind::kSeq});
}

Program GemmTileProgram(const GemmTile& tile) {
  ProgramWriter w("gemm");
  const int64_t rows = tile.rows * tile.row_tiles;
  const BufferId a = w.Add("A", {rows, tile.depth}, BufferRole::kInput);
  const BufferId b =
      w.Add("B", {tile.column_tiles, tile.depth, tile.columns}, BufferRole::kConstant);
  const BufferId c = w.Add("C", {rows, tile.column_tiles * tile.columns}, BufferRole::kOutput);
  const BufferId acc =
      w.Add("acc", {tile.rows, tile.columns}, BufferRole::kTemp, DType::kF32, Scope::kRegister);
  // Every element of the tile, in vectors.
  const auto each = [&](const std::function<void(Expr, Expr)>& body) {
    const auto columns = [&](const std::function<void(Expr)>& inner) {
      w.Loop(LoopKind::kVectorized, tile.columns, inner, tile.lanes);
    };
    const auto rows_loop = [&](const std::function<void(Expr)>& inner) {
      w.Loop(LoopKind::kUnrolled, tile.rows, inner);
    };
    if (tile.rows_inside) {
      columns([&](Expr n) { rows_loop([&](Expr m) { body(m, n); }); });
    } else {
      rows_loop([&](Expr m) { columns([&](Expr n) { body(m, n); }); });
    }
  };
  w.Loop(LoopKind::kParallel, tile.column_tiles, [&](Expr nt) {
    w.Loop(LoopKind::kSerial, tile.row_tiles, [&](Expr mt) {
      each([&](Expr m, Expr n) { w.Store(acc, {m, n}, Float(0)); });
      w.Loop(LoopKind::kSerial, tile.depth / tile.depth_unroll, [&](Expr ko) {
        w.Loop(LoopKind::kUnrolled, tile.depth_unroll, [&](Expr ki) {
          const Expr k = ko * tile.depth_unroll + ki;
          each([&](Expr m, Expr n) {
            w.Store(acc, {m, n}, w.At(a, {mt * tile.rows + m, k}) * w.At(b, {nt, k, n}),
                    Combiner::kSum);
          });
        });
      });
      each([&](Expr m, Expr n) {
        w.Store(c, {mt * tile.rows + m, nt * tile.columns + n}, w.At(acc, {m, n}));
      });
    });
  });
  return std::move(w.program());
}

}  // namespace burnish
