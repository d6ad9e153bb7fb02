#include "compiler/schedule/schedule.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/schedule/primitive.h"
#include "compiler/schedule/structure.h"
#include "compiler/schedule/trace.h"

namespace burnish {
namespace {

const char* ScopeName(Scope scope) {
  switch (scope) {
    case Scope::kRegister:
      return "register";
    case Scope::kScratch:
      return "scratch";
    case Scope::kShared:
      return "shared";
    case Scope::kLocal:
      return "local";
    case Scope::kTile:
      return "tile";
    case Scope::kGlobal:
      return "global";
    case Scope::kAuto:
      return "auto";
  }
  return "";
}

std::string LevelName(int cache_level) { return absl::StrCat("L", cache_level); }

}  // namespace

const char* TailName(Tail tail) {
  switch (tail) {
    case Tail::kRagged:
      return "ragged";
    case Tail::kGuard:
      return "guard";
    case Tail::kPad:
      return "pad";
    case Tail::kShift:
      return "shift";
  }
  return "";
}

Schedule::Schedule(Program program)
    : program_(std::move(program)), structure_(program_), owner_(new char) {}

Schedule::Schedule(const Schedule& other)
    : program_(other.program_),
      structure_(other.structure_),
      steps_(other.steps_),
      decisions_(other.decisions_),
      constraints_(other.constraints_),
      collision_(other.collision_),
      condition_(other.condition_),
      status_(other.status_),
      owner_(new char) {}

Schedule& Schedule::operator=(const Schedule& other) {
  if (this != &other) *this = Schedule(other);
  return *this;
}

// ---- Errors and handles.

void Schedule::Fail(absl::string_view what) {
  // The first error is the cause; what follows from it would hide it.
  if (!status_.ok()) return;
  status_ =
      absl::InvalidArgumentError(absl::StrCat("schedule step ", steps_.size() + 1, ": ", what));
}

bool Schedule::Check(LoopRef loop) {
  if (!status_.ok()) return false;
  if (loop.owner != owner_.get() || loop.id < 0) {
    Fail("a loop of another schedule");
  } else if (burnish::LoopOf(structure_, loop.id) < 0) {
    Fail(absl::StrCat("loop ", NameOf(loop), " is consumed already"));
  }
  return status_.ok();
}

bool Schedule::Check(BlockRef block) {
  if (!status_.ok()) return false;
  if (block.owner != owner_.get() || block.id < 0) {
    Fail("a block of another schedule");
  } else if (NodeOf(structure_, block.id) < 0) {
    Fail(absl::StrCat("block ", structure_.blocks[block.id].name, " is gone"));
  }
  return status_.ok();
}

bool Schedule::Check(BufferRef buffer) {
  if (status_.ok() && (buffer.owner != owner_.get() || buffer.id < 0)) {
    Fail("a buffer of another schedule");
  }
  return status_.ok();
}

bool Schedule::CheckUnconditional(const char* primitive) {
  if (condition_ != nullptr) {
    Fail(absl::StrCat(primitive, " under a condition would make or consume something"));
  }
  return status_.ok();
}

bool Schedule::CheckNew(const std::string& name) {
  for (const Var& var : structure_.vars) {
    if (var.name == name) Fail(absl::StrCat("there is a loop ", name, " already"));
  }
  for (const Buffer& buffer : structure_.buffers) {
    if (buffer.name == name) Fail(absl::StrCat("there is a buffer ", name, " already"));
  }
  return status_.ok();
}

LoopRef Schedule::Find(absl::string_view loop) {
  const VarId id = FindVar(structure_, loop);
  if (id < 0) Fail(absl::StrCat("no loop ", loop));
  return Ref(id);
}

BlockRef Schedule::FindBlock(absl::string_view name) {
  const BlockId id = burnish::FindBlock(structure_, name);
  if (id < 0) Fail(absl::StrCat("no block ", name));
  return {id, owner_.get()};
}

BufferRef Schedule::FindBuffer(absl::string_view name) {
  const BufferId id = burnish::FindBuffer(structure_, name);
  if (id < 0) Fail(absl::StrCat("no buffer ", name));
  return {id, owner_.get()};
}

BufferRef Schedule::OutputOf(BlockRef block) {
  if (!Check(block)) return {};
  return {structure_.blocks[block.id].output, owner_.get()};
}

std::vector<LoopRef> Schedule::AxisLoops(absl::Span<const VarId> axes) {
  std::vector<LoopRef> loops;
  for (VarId axis : axes) loops.push_back(AxisLoop(axis));
  return loops;
}

std::vector<LoopRef> Schedule::LoopsOf(BlockRef block) {
  std::vector<LoopRef> loops;
  if (!Check(block)) return loops;
  for (VarId axis : structure_.blocks[block.id].spatial) loops.push_back(Ref(axis));
  for (VarId axis : structure_.blocks[block.id].reduction) loops.push_back(Ref(axis));
  return loops;
}

VarId Schedule::NewLoop(const std::string& name, Expr extent, bool reduce) {
  return AddVar(structure_, {.name = name, .extent = std::move(extent), .reduce = reduce});
}

// ---- Decisions and steps.

Expr Schedule::Decide(Decision decision) {
  const auto taken = [&] {
    return std::any_of(decisions_.begin(), decisions_.end(),
                       [&](const Decision& other) { return other.name == decision.name; });
  };
  if (taken()) decision.name += collision_;
  if (taken()) Fail(absl::StrCat("two decisions ", decision.name));
  if (decision.values.empty()) Fail(absl::StrCat("decision ", decision.name, " has no value"));
  decisions_.push_back(std::move(decision));
  return VarRef(static_cast<VarId>(decisions_.size() - 1));
}

void Schedule::If(Expr condition, const std::function<void()>& verbs) {
  if (condition_ != nullptr) Fail("a condition inside a condition");
  condition_ = std::move(condition);
  verbs();
  condition_ = nullptr;
}

bool Schedule::Append(const char* primitive, std::vector<std::string> inputs,
                      std::vector<std::string> outputs, std::vector<Argument> arguments) {
  if (!status_.ok()) return false;
  const Primitive* found = FindPrimitive(primitive, 1);
  CHECK(found != nullptr) << primitive;
  steps_.push_back({.step = {.primitive = found,
                             .inputs = std::move(inputs),
                             .outputs = std::move(outputs),
                             .arguments = std::move(arguments)},
                    .when = condition_});
  return true;
}

// ---- Verbs.

Schedule::Pair Schedule::Split(LoopRef loop, const Names& names, const char* key, const Expr& value,
                               Expr outer, Expr inner, Tail tail) {
  if (!Check(loop) || !CheckUnconditional("split") || !CheckNew(names[0]) || !CheckNew(names[1])) {
    return {};
  }
  std::vector<Argument> arguments = {{key, ValueOf(value)}};
  if (tail != Tail::kRagged) arguments.push_back({"tail", TailName(tail)});
  Append("split", {NameOf(loop)}, {names[0], names[1]}, std::move(arguments));
  const bool reduce = structure_.vars[loop.id].reduce;
  const VarId pair[] = {NewLoop(names[0], std::move(outer), reduce),
                        NewLoop(names[1], std::move(inner), reduce)};
  structure_.vars[loop.id].def = VarRef(pair[0]) + VarRef(pair[1]);
  ReplaceLoop(structure_, loop.id, pair);
  return {Ref(pair[0]), Ref(pair[1])};
}

Schedule::Pair Schedule::SplitMax(LoopRef loop, Names names, const Expr& max) {
  if (!Check(loop)) return {};
  const Expr n = ExtentOf(loop);
  return n == nullptr ? Split(loop, names, "max", max, nullptr, max, Tail::kRagged)
                      : Split(loop, names, "max", max, CeilDiv(n, max), Min(max, n), Tail::kRagged);
}

Schedule::Pair Schedule::SplitSize(LoopRef loop, Names names, const Expr& size, Tail tail) {
  if (!Check(loop)) return {};
  const Expr n = ExtentOf(loop);
  if (n == nullptr) return Split(loop, names, "size", size, nullptr, size, tail);
  const Expr inner = tail == Tail::kRagged ? Min(size, n) : size;
  return Split(loop, names, "size", size, CeilDiv(n, size), inner, tail);
}

Schedule::Pair Schedule::SplitParts(LoopRef loop, Names names, const Expr& parts) {
  if (!Check(loop)) return {};
  const Expr n = ExtentOf(loop);
  return Split(loop, names, "parts", parts, parts, n == nullptr ? nullptr : CeilDiv(n, parts),
               Tail::kRagged);
}

LoopRef Schedule::Fuse(absl::Span<const LoopRef> loops, const std::string& name) {
  if (loops.size() == 1) return loops[0];
  std::vector<std::string> names;
  std::vector<VarId> vars;
  Expr extent = Int(1);
  for (LoopRef loop : loops) {
    if (!Check(loop)) return {};
    names.push_back(NameOf(loop));
    vars.push_back(loop.id);
    extent = extent == nullptr || ExtentOf(loop) == nullptr ? nullptr : extent * ExtentOf(loop);
  }
  if (loops.empty() || !CheckUnconditional("fuse") || !CheckNew(name)) return {};
  const VarId fused = NewLoop(name, std::move(extent), structure_.vars[vars[0]].reduce);
  if (!FuseLoops(structure_, vars, fused)) {
    Fail(absl::StrCat("fuse: ", names[0], " and what follows are not directly nested"));
    return {};
  }
  Append("fuse", std::move(names), {name});
  for (VarId var : vars) structure_.vars[var].def = VarRef(fused);
  return Ref(fused);
}

void Schedule::Reorder(absl::Span<const LoopRef> loops) {
  if (loops.size() < 2) return;
  std::vector<std::string> names;
  std::vector<VarId> vars;
  for (LoopRef loop : loops) {
    if (!Check(loop)) return;
    names.push_back(NameOf(loop));
    vars.push_back(loop.id);
  }
  // Under a condition the structure keeps the order without it.
  if (condition_ == nullptr && !ReorderLoops(structure_, vars)) {
    Fail(absl::StrCat("reorder: ", names[0], " and the others are not in one nest"));
    return;
  }
  Append("reorder", std::move(names), {});
}

BufferRef Schedule::Stage(BlockRef block, const std::string& name, LoopRef inside, Scope scope) {
  if (!Check(block) || !Check(inside) || !CheckUnconditional("stage") || !CheckNew(name)) return {};
  Append("stage", {structure_.blocks[block.id].name}, {name},
         {{"inside", NameOf(inside)}, {"scope", ScopeName(scope)}});
  const BufferId buffer = AddBuffer(structure_, {.name = name, .scope = scope});
  InsertStage(structure_, inside.id, block.id, buffer);
  return {buffer, owner_.get()};
}

BlockRef Schedule::Relayout(BufferRef source, const std::string& name,
                            absl::Span<const LoopRef> dims) {
  if (!Check(source) || !CheckUnconditional("relayout") || !CheckNew(name)) return {};
  const Buffer& from = structure_.buffers[source.id];
  Block copy{.name = name};
  std::vector<std::string> names;
  for (LoopRef dim : dims) {
    if (dim.owner != owner_.get() || dim.id < 0) {
      Fail("a dimension of another schedule");
      return {};
    }
    names.push_back(NameOf(dim));
    copy.spatial.push_back(NewLoop(UniqueVarName(structure_, absl::StrCat(name, ".", names.back())),
                                   ExtentOf(dim), false));
  }
  Append("relayout", {from.name}, {name}, {{"dims", names}});
  copy.step = Load(source.id, from.dtype, {});
  copy.output = AddBuffer(structure_, {.name = name, .dtype = from.dtype});
  BlockId reader = -1;
  for (BlockId id = 0; id < static_cast<BlockId>(structure_.blocks.size()); ++id) {
    RewriteBlock(structure_.blocks[id], [&](const Expr& node) -> Expr {
      if (node->kind != ExprKind::kLoad || node->id != source.id) return nullptr;
      reader = id;
      return Load(copy.output, node->dtype, node->operands);
    });
  }
  if (reader < 0) Fail(absl::StrCat("relayout: nothing reads ", names.empty() ? name : names[0]));
  if (!status_.ok()) return {};
  return {AddBlockBefore(structure_, std::move(copy), reader), owner_.get()};
}

void Schedule::Precompute(BlockRef block) {
  if (!Check(block) || !CheckUnconditional("precompute")) return;
  Append("precompute", {structure_.blocks[block.id].name}, {});
  MoveToPack(structure_, block.id);
}

std::vector<LoopRef> Schedule::ComputeAt(BlockRef block, const std::vector<std::string>& names,
                                         LoopRef inside, int64_t align_elements) {
  if (!Check(block) || !Check(inside) || !CheckUnconditional("compute_at")) return {};
  std::vector<VarId> loops;
  std::vector<LoopRef> refs;
  for (const std::string& name : names) {
    if (!CheckNew(name)) return {};
    loops.push_back(NewLoop(name, nullptr, false));
    refs.push_back(Ref(loops.back()));
  }
  if (names.size() != structure_.blocks[block.id].spatial.size()) {
    Fail(absl::StrCat("compute_at: got ", names.size(), " names, want one an axis"));
    return {};
  }
  std::vector<Argument> arguments = {{"inside", NameOf(inside)}};
  if (align_elements != 1) arguments.push_back({"align", align_elements});
  Append("compute_at", {structure_.blocks[block.id].name}, names, std::move(arguments));
  MoveInside(structure_, block.id, loops, inside.id);
  return refs;
}

BlockRef Schedule::Rfactor(BlockRef block, const std::string& name, LoopRef loop) {
  if (!Check(block) || !Check(loop) || !CheckUnconditional("rfactor") || !CheckNew(name)) return {};
  Append("rfactor", {structure_.blocks[block.id].name}, {name}, {{"loop", NameOf(loop)}});
  // The partial block takes the nest over; the block itself combines, in a nest of its own.
  Block partial = structure_.blocks[block.id];
  Block& combined = structure_.blocks[block.id];
  partial.name = name;
  partial.output = AddBuffer(structure_, {.name = name, .dtype = partial.step->dtype});
  partial.init = partial.finish = nullptr;
  std::vector<VarId> kept;
  for (VarId axis : partial.reduction) {
    for (VarId part : LoopVarsOf(structure_, axis)) {
      // Fused axes have loops in common.
      const bool is_new = std::find(kept.begin(), kept.end(), part) == kept.end();
      if (part != loop.id && is_new) kept.push_back(part);
    }
  }
  std::vector<VarId> spatial;
  for (VarId axis : partial.spatial) {
    spatial.push_back(
        NewLoop(UniqueVarName(structure_, absl::StrCat(name, ".", structure_.vars[axis].name)),
                structure_.vars[axis].extent, false));
  }
  const VarId sum = NewLoop(UniqueVarName(structure_, absl::StrCat(name, ".", NameOf(loop))),
                            ExtentOf(loop), true);
  structure_.vars[loop.id].reduce = false;
  partial.reduction = std::move(kept);
  partial.spatial.push_back(loop.id);
  combined.spatial = std::move(spatial);
  combined.reduction = {sum};
  combined.step = Load(partial.output, partial.step->dtype, {});
  return {GiveNest(structure_, block.id, std::move(partial)), owner_.get()};
}

void Schedule::Annotate(const char* primitive, LoopRef loop, LoopKind kind,
                        std::vector<Argument> arguments) {
  if (!Check(loop) || !CheckUnconditional(primitive)) return;
  Node& node = structure_.nodes[burnish::LoopOf(structure_, loop.id)];
  if (node.loop_kind != LoopKind::kSerial) {
    Fail(absl::StrCat(primitive, ": loop ", NameOf(loop), " is annotated already"));
    return;
  }
  node.loop_kind = kind;
  Append(primitive, {NameOf(loop)}, {}, std::move(arguments));
}

void Schedule::Parallel(LoopRef loop) { Annotate("parallel", loop, LoopKind::kParallel); }

void Schedule::Unroll(LoopRef loop) { Annotate("unroll", loop, LoopKind::kUnrolled); }

void Schedule::Vectorize(LoopRef loop, int64_t lanes) {
  Annotate("vectorize", loop, LoopKind::kVectorized, {{"lanes", lanes}});
  if (!status_.ok()) return;
  structure_.nodes[burnish::LoopOf(structure_, loop.id)].lanes = static_cast<int32_t>(lanes);
}

void Schedule::Tensorize(LoopRef loop, const std::string& intrinsic) {
  Annotate("tensorize", loop, LoopKind::kTensorized, {{"intrinsic", intrinsic}});
  if (!status_.ok()) return;
  structure_.nodes[burnish::LoopOf(structure_, loop.id)].intrinsic = intrinsic;
}

void Schedule::Bind(LoopRef loop, const std::string& thread) {
  Annotate("bind", loop, LoopKind::kBound, {{"thread", thread}});
  if (!status_.ok()) return;
  structure_.nodes[burnish::LoopOf(structure_, loop.id)].thread_tag = thread;
}

void Schedule::PrefetchNext(BufferRef buffer, LoopRef next, LoopRef at, int cache_level) {
  if (!Check(buffer) || !Check(next) || !Check(at)) return;
  Append("prefetch", {structure_.buffers[buffer.id].name}, {},
         {{"next", NameOf(next)}, {"at", NameOf(at)}, {"to", LevelName(cache_level)}});
}

void Schedule::PrefetchThis(BufferRef buffer, LoopRef loop, int cache_level) {
  if (!Check(buffer) || !Check(loop)) return;
  Append("prefetch", {structure_.buffers[buffer.id].name}, {},
         {{"this", NameOf(loop)}, {"to", LevelName(cache_level)}});
}

void Schedule::Stream(BufferRef buffer) {
  if (!Check(buffer)) return;
  Append("stream", {structure_.buffers[buffer.id].name}, {});
}

std::vector<BlockRef> Schedule::Algorithm(const char* primitive, BlockRef block,
                                          absl::Span<const AlgorithmPart> parts,
                                          absl::string_view rest, std::vector<Argument> arguments) {
  std::vector<BlockRef> refs(parts.size());
  if (!Check(block) || !CheckUnconditional(primitive)) return refs;
  std::vector<std::string> names;
  for (const AlgorithmPart& part : parts) {
    if (!CheckNew(part.name)) return refs;
    names.push_back(part.name);
  }
  Append(primitive, {structure_.blocks[block.id].name}, std::move(names), std::move(arguments));
  if (parts.empty()) return refs;
  const Expr definition = structure_.blocks[block.id].step;
  // How many points an axis has the primitive alone knows, and what a part computes of what it
  // reads: here the reads stand as a product.
  const auto axes = [&](const std::string& name, const std::vector<std::string>& axes, bool sum) {
    std::vector<VarId> loops;
    for (const std::string& axis : axes) {
      loops.push_back(NewLoop(absl::StrCat(name, ".", axis), nullptr, sum));
    }
    return loops;
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    Block added{.name = parts[i].name, .combiner = Combiner::kSum};
    added.spatial = axes(added.name, parts[i].spatial, false);
    added.reduction = axes(added.name, parts[i].reduction, true);
    added.step = parts[i].reads.empty() ? definition : nullptr;
    for (const int read : parts[i].reads) {
      const Expr load = Load(structure_.blocks[refs[read].id].output, DType::kF32, {});
      added.step = added.step == nullptr ? load : added.step * load;
    }
    added.output = AddBuffer(structure_, {.name = added.name});
    refs[i] = {AddBlockBefore(structure_, std::move(added), block.id), owner_.get()};
  }
  Block& sum = structure_.blocks[block.id];
  sum.reduction = {NewLoop(UniqueVarName(structure_, absl::StrCat(sum.name, ".", rest)), nullptr,
                           /*reduce=*/true)};
  sum.step = Load(structure_.blocks[refs.back().id].output, DType::kF32, {});
  ReplaceNest(structure_, block.id);
  return refs;
}

// ---- Structural verbs.

absl::Status Schedule::Restructure(const char* primitive, absl::string_view block,
                                   std::vector<std::string> outputs) {
  if (!status_.ok()) return status_;
  const Step step = {.primitive = FindPrimitive(primitive, 1),
                     .inputs = {std::string(block)},
                     .outputs = std::move(outputs)};
  // On the program first: refused, nothing has changed yet.
  const absl::Status applied = ApplyStep(step, program_);
  if (!applied.ok()) return applied;
  Append(primitive, step.inputs, step.outputs);
  const BlockId gone = burnish::FindBlock(structure_, block);
  const Block removed = structure_.blocks[gone];
  RemoveNest(structure_, gone);
  for (Block& reader : structure_.blocks) {
    RewriteBlock(reader, [&](const Expr& node) -> Expr {
      const bool reads = node->kind == ExprKind::kLoad && node->id == removed.output;
      return reads ? removed.step : nullptr;
    });
  }
  return status_;
}

absl::Status Schedule::Border(absl::string_view block, absl::string_view source) {
  return Restructure("border", block, {std::string(source)});
}

absl::Status Schedule::Inline(absl::string_view block) { return Restructure("inline", block, {}); }

}  // namespace burnish
