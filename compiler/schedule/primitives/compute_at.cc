// compute_at@1 P->(a,b,..) inside=loop [align=16]: P is computed where it is needed: before the
// body of `loop`, and there only the region that the body reads. New loops a, b, .. walk that
// region, one for each axis of P; P's memory shrinks to it. With `align` each row of it (along the
// last axis) begins at a multiple of so many elements, so that vectors of a row do not lie across
// cache lines.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/region.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {
namespace {

absl::Status CheckProducer(const Program& program, BlockId producer, NodeId loop) {
  const Block& block = program.blocks[producer];
  const Buffer& buffer = program.buffers[block.output];
  if (buffer.role != BufferRole::kTemp) return Refuse("output of ", block.name, " is not private");
  if (IsInside(program, NodeOf(program, producer), loop)) {
    return Refuse(block.name, " is inside the loop already");
  }
  for (size_t d = 0; d < block.spatial.size(); ++d) {
    if (program.vars[block.spatial[d]].def != nullptr) {
      return Refuse("loops of ", block.name, " are scheduled already");
    }
  }
  if (!WritesInAxisOrder(program, block)) {
    return Refuse(block.name, " does not write its elements in order of its axes");
  }
  for (VarId axis : block.reduction) {
    if (program.vars[axis].def != nullptr) {
      return Refuse("loops of ", block.name, " are scheduled already");
    }
  }
  const NodeId nest = NestOf(program, NodeOf(program, producer));
  if (BlocksUnder(program, nest).size() != 1) return Refuse(block.name, " shares its nest");
  for (NodeId id : Subtree(program, nest)) {
    const Node& node = program.nodes[id];
    if (node.kind == NodeKind::kStage || node.kind == NodeKind::kPrefetch ||
        (node.kind == NodeKind::kLoop && node.loop_kind != LoopKind::kSerial)) {
      return Refuse("loops of ", block.name, " are scheduled already");
    }
  }
  for (BlockId reader : ReadersOf(program, block.output)) {
    if (!IsInside(program, NodeOf(program, reader), loop)) {
      // After this the buffer holds a window: whoever reads it elsewhere would find another
      // iteration's elements.
      return Refuse(program.blocks[reader].name, " reads ", buffer.name, " outside the loop");
    }
  }
  for (NodeId id = program.nodes[loop].parent; id >= 0; id = program.nodes[id].parent) {
    // A stage keeps one block's unfinished elements while its body runs; another block's nest in
    // there is none of them.
    if (program.nodes[id].kind == NodeKind::kStage) {
      return Refuse("the loop is inside a stage");
    }
  }
  return absl::OkStatus();
}

// Row-major, rows `align` elements apart or a multiple of it.
Storage StorageOfRows(const std::vector<int64_t>& shape, int64_t align) {
  std::vector<int64_t> longer = shape;
  if (shape.size() > 1) longer.back() = (longer.back() + align - 1) / align * align;
  return DenseStorage(longer);
}

}  // namespace

absl::Status ApplyComputeAt(const Step& step, Program& program) {
  RETURN_IF_ERROR(WantNames(step, 1, -1));
  ASSIGN_OR_RETURN(const BlockId producer, FindBlockArg(program, step.inputs[0]));
  ASSIGN_OR_RETURN(const std::string inside, step.GetWord("inside"));
  ASSIGN_OR_RETURN(const NodeId loop, FindLoopArg(program, inside));
  RETURN_IF_ERROR(CheckProducer(program, producer, loop));
  Block& block = program.blocks[producer];
  if (step.outputs.size() != block.spatial.size()) {
    return Refuse("want a name for each of the ", absl::StrCat(block.spatial.size()), " axes");
  }
  int64_t align = 1;
  if (step.Has("align")) {
    ASSIGN_OR_RETURN(align, step.GetInt("align"));
    if (align < 1 || align > 1024) return Refuse("align must be 1 to 1024 elements");
  }
  ASSIGN_OR_RETURN(Region region, RegionUnder(program, block.output, loop));
  for (RegionDim& dim : region) {
    // A reader that looks before the first element does so under a condition.
    const std::optional<Range> start = RangeOf(dim.start, RangesOf(program));
    if (!start.has_value() || start->min < 0) dim.start = Max(dim.start, Int(0));
  }

  // Where: the child of `loop` that holds the first reader; behind the stages that start there, so
  // that the region is complete before anything reads it.
  const std::vector<NodeId> old_children = program.nodes[loop].children;
  Detach(program, NodeOf(program, producer));
  NodeId parent = loop;
  Buffer& buffer = program.buffers[block.output];
  std::vector<NodeId> chain;
  for (size_t d = 0; d < block.spatial.size(); ++d) {
    RETURN_IF_ERROR(WantNewVar(program, step.outputs[d]));
    const VarId axis = block.spatial[d];
    // What a region has beyond the end of P nobody reads: the loop is cut short there.
    const Expr whole = Int(region[d].size);
    const Expr extent =
        region[d].may_overrun
            ? Min(whole, ExpandDefs(program, program.vars[axis].extent) - region[d].start)
            : whole;
    const VarId local = AddVar(program, {.name = step.outputs[d], .extent = extent});
    // Loops run at least once. An empty region would need a guard that nothing here writes.
    ASSIGN_OR_RETURN(const std::vector<int64_t> extents, NewExtentValues(program, local));
    if (extents.front() < 1) {
      return Refuse("nothing of ", buffer.name, " is needed in some iterations of ", inside);
    }
    program.vars[axis].def = region[d].start + VarRef(local);
    chain.push_back(AddNode(program, {.kind = NodeKind::kLoop, .var = local}));
    block.output_indices[d] = VarRef(local);
  }
  for (VarId axis : block.reduction) {
    chain.push_back(AddNode(program, {.kind = NodeKind::kLoop, .var = axis}));
  }
  chain.push_back(AddNode(program, {.kind = NodeKind::kBlock, .block = producer}));

  const std::vector<BlockId> readers = ReadersOf(program, block.output);
  auto& children = program.nodes[parent].children;
  const auto first_reader = std::find_if(children.begin(), children.end(), [&](NodeId child) {
    const std::vector<BlockId> under = BlocksUnder(program, child);
    return std::any_of(under.begin(), under.end(), [&](BlockId b) {
      return std::find(readers.begin(), readers.end(), b) != readers.end();
    });
  });
  children.insert(first_reader, chain[0]);
  program.nodes[chain[0]].parent = parent;
  for (size_t i = 1; i < chain.size(); ++i) AppendChild(program, chain[i - 1], chain[i]);

  // Last, when all places of the old buffer have been read: RegionUnder and the readers' indices
  // are in terms of the old shape.
  for (size_t d = 0; d < region.size(); ++d) buffer.shape[d] = region[d].size;
  buffer.storage = StorageOfRows(buffer.shape, align);
  for (BlockId reader : readers) {
    RewriteBlock(program.blocks[reader], [&](const Expr& node) -> Expr {
      if (node->kind != ExprKind::kLoad || node->id != block.output) return nullptr;
      std::vector<Expr> indices;
      for (size_t d = 0; d < region.size(); ++d) {
        indices.push_back(node->operands[d] - region[d].start);
      }
      return Load(node->id, node->dtype, indices);
    });
  }
  return absl::OkStatus();
}

}  // namespace burnish
