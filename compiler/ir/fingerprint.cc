#include "compiler/ir/fingerprint.h"

#include <bit>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/numerics.h"

namespace burnish {
namespace {

// Two independent lanes of multiply, rotate and add.
class Mixer {
 public:
  void Add(int64_t value) {
    const auto v = static_cast<uint64_t>(value);
    a_ = std::rotl((a_ ^ v) * 0x9e3779b97f4a7c15u, 29) + 0x165667b19e3779f9u;
    b_ = std::rotl((b_ + v) * 0xc2b2ae3d27d4eb4fu, 31) ^ 0x27d4eb2f165667c5u;
  }
  void Add(double value) { Add(std::bit_cast<int64_t>(value)); }
  template <typename T>
  void AddEnum(T value) {
    Add(static_cast<int64_t>(value));
  }
  template <typename Items>
  void AddAll(const Items& items) {
    // The number first: otherwise [1, 2], [3] and [1], [2, 3] were one.
    Add(static_cast<int64_t>(items.size()));
    for (const auto& item : items) Add(item);
  }

  std::string Bytes() const {
    const uint64_t words[2] = {Final(a_ + b_), Final(b_ ^ std::rotl(a_, 17))};
    return std::string(reinterpret_cast<const char*>(words), sizeof(words));
  }

 private:
  static uint64_t Final(uint64_t x) {
    x = (x ^ (x >> 31)) * 0xff51afd7ed558ccdu;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
  }

  uint64_t a_ = 0x243f6a8885a308d3u, b_ = 0x13198a2e03707344u;
};

class Fingerprint {
 public:
  explicit Fingerprint(const Program& program) : program_(program) {
    CHECK(program.lowered);
    NumberVars();
    NumberBuffers();
  }

  std::string Run() {
    // From 0 (exact), as records have it.
    mix_.Add(static_cast<int64_t>(program_.numerics.kind) - 1);
    mix_.Add(AlgorithmKey(program_.numerics));
    mix_.Add(int64_t{buffer_count_});
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      if (buffer_at_[i] >= 0) AddBuffer(program_.buffers[i]);
    }
    for (const NodeId root : {program_.root, program_.pack_root}) {
      mix_.Add(int64_t{root >= 0});
      if (root >= 0) AddNode(root);
    }
    return mix_.Bytes();
  }

 private:
  // Those that have a loop, by their order: lowering may leave others over.
  void NumberVars() {
    var_at_.assign(program_.vars.size(), -1);
    for (const Node& node : program_.nodes) {
      if (node.kind == NodeKind::kLoop) var_at_[node.var] = 0;
    }
    int32_t count = 0;
    for (int32_t& at : var_at_) {
      if (at == 0) at = count++;
    }
  }

  // Parameters, and what is touched.
  void NumberBuffers() {
    buffer_at_.assign(program_.buffers.size(), -1);
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      const BufferRole role = program_.buffers[i].role;
      if (role != BufferRole::kTemp && role != BufferRole::kPacked) buffer_at_[i] = 0;
    }
    for (const Node& node : program_.nodes) {
      if (node.buffer >= 0) buffer_at_[node.buffer] = 0;
      for (const Expr& index : node.indices) TouchLoaded(index);
      TouchLoaded(node.value);
      TouchLoaded(node.cond);
    }
    for (int32_t& at : buffer_at_) {
      if (at == 0) at = buffer_count_++;
    }
  }

  void TouchLoaded(const Expr& e) {
    if (e == nullptr) return;
    if (e->kind == ExprKind::kLoad) buffer_at_[e->id] = 0;
    for (const Expr& operand : e->operands) TouchLoaded(operand);
  }

  void AddBuffer(const Buffer& buffer) {
    mix_.AddEnum(buffer.dtype);
    mix_.AddAll(buffer.shape);
    mix_.AddEnum(buffer.role);
    mix_.AddEnum(buffer.scope);
    mix_.AddAll(buffer.storage.strides);
    mix_.Add(static_cast<int64_t>(buffer.storage.border.size()));
    for (const auto& [below, above] : buffer.storage.border) {
      mix_.Add(below);
      mix_.Add(above);
    }
    mix_.Add(buffer.storage.border_value);
    mix_.Add(buffer.storage.offset);
    mix_.Add(buffer.storage.alignment_bytes);
    mix_.Add(int64_t{buffer.streamed});
  }

  void AddNode(NodeId id) {
    const Node& node = program_.nodes[id];
    mix_.AddEnum(node.kind);
    mix_.Add(int64_t{node.var < 0 ? -1 : var_at_[node.var]});
    // Variables by number and extent, not by name: lowering makes them in order, so that twins
    // agree.
    if (node.var >= 0) AddExpr(program_.vars[node.var].extent);
    mix_.AddEnum(node.loop_kind);
    mix_.Add(int64_t{node.lanes});
    for (const std::string* text : {&node.thread_tag, &node.intrinsic}) {
      mix_.Add(static_cast<int64_t>(text->size()));
      for (const char c : *text) mix_.Add(int64_t{c});
    }
    mix_.Add(int64_t{node.buffer < 0 ? -1 : buffer_at_[node.buffer]});
    mix_.Add(static_cast<int64_t>(node.indices.size()));
    for (const Expr& index : node.indices) AddExpr(index);
    AddExpr(node.value);
    mix_.AddEnum(node.combiner);
    AddExpr(node.cond);
    mix_.Add(int64_t{node.cache_level});
    mix_.Add(static_cast<int64_t>(node.children.size()));
    for (const NodeId child : node.children) AddNode(child);
  }

  void AddExpr(const Expr& e) {
    if (e == nullptr) {
      mix_.Add(int64_t{-1});
      return;
    }
    // One word where most nodes differ.
    mix_.Add(static_cast<int64_t>(e->kind) << 48 | static_cast<int64_t>(e->dtype) << 40 |
             static_cast<int64_t>(e->operands.size()) << 32 | static_cast<uint32_t>(NumberOf(*e)));
    if (e->kind == ExprKind::kIntImm) mix_.Add(e->int_value);
    if (e->kind == ExprKind::kFloatImm) mix_.Add(e->float_value);
    if (e->table != nullptr) {
      mix_.AddEnum(e->table->dtype);
      mix_.AddAll(e->table->shape);
      mix_.AddAll(e->table->values);
    }
    for (const Expr& operand : e->operands) AddExpr(operand);
  }

  int32_t NumberOf(const ExprNode& e) const {
    if (e.kind == ExprKind::kVar) return var_at_[e.id];
    return e.kind == ExprKind::kLoad ? buffer_at_[e.id] : e.id;
  }

  const Program& program_;
  Mixer mix_;
  // Numbers by id; -1: nothing mentions it.
  std::vector<int32_t> var_at_, buffer_at_;
  int32_t buffer_count_ = 0;
};

}  // namespace

std::string FingerprintOf(const Program& lowered) { return Fingerprint(lowered).Run(); }

}  // namespace burnish
