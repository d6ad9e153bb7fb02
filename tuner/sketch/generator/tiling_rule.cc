// Multi-level tiling by a structure, one row of the rules for each: letters for levels, outermost
// first. S: tiles of the output; R: of the reduction; U: steps of the reduction that are written
// out; |: where producers are computed. Each loop is cut into as many pieces as it has levels. The
// last S is the register tile: the vector loop and, where there is one, the loop next to it.
// Source: Zheng et al., "Ansor", OSDI 2020, section 4.1, where "SSRSRS" stands for this.
//
//   SRUS, of Y[m, n] summed over k:
//   split@1 m->(Y_s0_0,Y_s0_1) max=$s0_1
//   split@1 n->(Y_s1_0,Y_s1_1) size=$s1_1
//   split@1 k->(Y_r0_0,Y_r0_1) size=$r0_1
//   reorder@1 (Y_s0_0,Y_s1_0,Y_r0_0,Y_r0_1,Y_s0_1,Y_s1_1)
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tuner/sketch/generator/nest.h"

namespace burnish {
namespace {

// Sizes of a tile in a cache: so many, evenly spread over the divisors.
constexpr int kTilesPerLevel = 6;
// Rows of a register tile, as far as any instruction set has registers for.
constexpr int64_t kRegisterRows[] = {1, 2, 3, 4, 6, 8, 10, 12, 14, 16};
// Vectors of a register tile.
constexpr int64_t kRegisterVectors[] = {1, 2, 3, 4, 6, 8};
// Steps of the last reduction loop that are written out.
constexpr int64_t kSteps[] = {1, 2, 4, 8, 16};
// A shorter loop beside it, such as the taps of a window, is written out whole or not at all.
constexpr int64_t kTapsMax = 8;

class Tiling {
 public:
  Tiling(const char* structure, Nest nest) : nest_(std::move(nest)) {
    for (const char* c = structure; *c != 0; ++c) {
      if (*c == '|') {
        nest_.location = static_cast<int>(nest_.levels.size()) - 1;
      } else {
        nest_.levels.push_back({.kind = *c});
      }
    }
    nest_.trail = absl::StrCat(nest_.trail, "/", structure);
  }

  Nest Build() {
    const std::vector<int> spatial = LevelsOf("S"), reduction = LevelsOf("RU");
    for (size_t i = 0; i < nest_.spatial.size(); ++i) CutSpatial(i, spatial);
    for (size_t i = 0; i < nest_.reduction.size(); ++i) CutReduction(i, reduction);
    // Loops of one iteration lie where they are in nobody's way: what is dealt out takes them in.
    for (const std::string& name : nest_.trivial_spatial) Put(spatial[0], name, {});
    const int last_reduction = reduction.empty() ? spatial[0] : reduction[0];
    for (const std::string& name : nest_.trivial_reduction) Put(last_reduction, name, {});
    std::vector<std::string> order;
    for (const NestLevel& level : nest_.levels) {
      order.insert(order.end(), level.loops.begin(), level.loops.end());
    }
    nest_.schedule.Reorder(Refs(nest_.schedule, order));
    return std::move(nest_);
  }

 private:
  std::vector<int> LevelsOf(absl::string_view kinds) const {
    std::vector<int> levels;
    for (size_t i = 0; i < nest_.levels.size(); ++i) {
      if (absl::StrContains(kinds, nest_.levels[i].kind)) levels.push_back(static_cast<int>(i));
    }
    return levels;
  }

  void Put(int level, const std::string& name, const std::vector<VarId>& axes) {
    nest_.levels[level].loops.push_back(name);
    nest_.levels[level].dims.push_back({.name = name, .axes = axes});
  }

  // Cuts a loop into a piece for each of `levels`; `sizes[i]`: of the piece at level i + 1, `even`
  // where pieces of one size are to divide the next greater one, `balanced` where the last may
  // differ in size by one.
  struct Piece {
    std::vector<int64_t> sizes;
    bool even = true;
    bool balanced = false;
  };
  void Cut(const NestLoop& loop, const std::string& tag, const std::vector<int>& levels,
           std::vector<Piece> pieces) {
    Schedule& s = nest_.schedule;
    LoopRef rest = s.Find(loop.name);
    Expr around = Int(loop.extent);
    for (size_t i = 0; i < pieces.size(); ++i) {
      const std::string name = absl::StrCat(tag, "_", i + 1);
      const bool is_free = i > 0;  // Values were chosen for the whole loop.
      const Expr size = s.Decide({.name = name, .values = std::move(pieces[i].sizes)});
      if (is_free) s.Require(pieces[i].even ? Eq(Mod(around, size), Int(0)) : Le(size, around));
      const Schedule::Names names = {
          nest_.New(absl::StrCat(tag, "_", i)),
          i + 1 == pieces.size() ? nest_.New(name) : nest_.New(absl::StrCat(name, "r"))};
      const auto [outer, inner] =
          pieces[i].balanced ? s.SplitMax(rest, names, size) : s.SplitSize(rest, names, size);
      Put(levels[i], s.NameOf(outer), loop.axes);
      rest = inner;
      around = size;
    }
    Put(levels[pieces.size()], s.NameOf(rest), loop.axes);
  }

  void CutSpatial(size_t i, std::vector<int> levels) {
    const NestLoop& loop = nest_.spatial[i];
    const bool is_vector = nest_.lanes > 1 && i + 1 == nest_.spatial.size();
    const bool is_row = i + (nest_.lanes > 1 ? 2 : 1) == nest_.spatial.size();
    if (nest_.is_inner) {
      Put(is_vector ? levels.back() : levels.front(), loop.name, loop.axes);
      return;
    }
    if (loop.is_whole) {
      std::erase_if(levels, [&](int level) { return level <= nest_.location; });
    }
    // The register tile has no other loops: each would be written out.
    if (!is_vector && !is_row) levels.pop_back();
    std::vector<Piece> pieces;
    for (size_t j = 1; j < levels.size(); ++j) {
      const bool in_registers = j + 1 == levels.size() && (is_vector || is_row);
      Piece& piece = pieces.emplace_back();
      if (!in_registers) {
        piece.sizes = SpacedDivisors(loop.extent, kTilesPerLevel);
        // A tile that is narrower than a vector leaves lanes empty.
        const auto narrow = [&](int64_t size) { return is_vector && size < nest_.lanes; };
        std::erase_if(piece.sizes, narrow);
        continue;
      }
      piece.even = false;
      piece.balanced = is_row;
      if (is_row) {
        for (const int64_t rows : kRegisterRows) {
          if (rows <= loop.extent) piece.sizes.push_back(rows);
        }
        continue;
      }
      for (const int64_t vectors : kRegisterVectors) {
        const int64_t size = vectors * nest_.lanes;
        if (size <= kVectorElementsMax && (vectors == 1 || size < loop.extent + nest_.lanes)) {
          piece.sizes.push_back(size);
        }
      }
    }
    Cut(loop, absl::StrCat("s", i), levels, std::move(pieces));
  }

  void CutReduction(size_t i, std::vector<int> levels) {
    const NestLoop& loop = nest_.reduction[i];
    const bool is_last = i + 1 == nest_.reduction.size();
    const bool has_steps = nest_.levels[levels.back()].kind == 'U';
    const bool is_tap = !is_last && loop.extent <= kTapsMax;
    if (has_steps && !is_last && !is_tap) levels.pop_back();
    std::vector<Piece> pieces;
    for (size_t j = 1; j < levels.size(); ++j) {
      Piece& piece = pieces.emplace_back();
      if (nest_.levels[levels[j]].kind != 'U') {
        // How long the loop of an inner nest is the decisions say.
        piece.sizes = nest_.is_inner ? std::vector<int64_t>{loop.extent}
                                     : SpacedDivisors(loop.extent, kTilesPerLevel);
        continue;
      }
      if (is_tap || loop.extent <= kTapsMax) {
        piece.sizes = {1, loop.extent};
        if (loop.extent == 1) piece.sizes.pop_back();
        continue;
      }
      piece.even = false;
      for (const int64_t steps : kSteps) {
        if (nest_.is_inner ? steps <= 4 && steps <= loop.extent : loop.extent % steps == 0) {
          piece.sizes.push_back(steps);
        }
      }
      if (piece.sizes.size() == 1) piece.sizes.push_back(4);
    }
    Cut(loop, absl::StrCat("r", i), levels, std::move(pieces));
  }

  Nest nest_;
};

}  // namespace

std::vector<Nest> TilingRule(const RuleContext&, const SketchRule& row, const Nest& nest) {
  if (nest.tiled()) return {};
  const absl::string_view structure = row.structure;
  const auto has = [&](char letter) { return absl::StrContains(structure, letter); };
  if (has('R') == nest.reduction.empty() || has('|') == nest.producers.empty()) return {};
  // An inner nest has a level of rows, and its lanes.
  if (nest.is_inner && std::count(structure.begin(), structure.end(), 'S') != 2) return {};
  return {Tiling(row.structure, nest).Build()};
}

}  // namespace burnish
