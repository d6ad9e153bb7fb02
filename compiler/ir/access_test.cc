#include "compiler/ir/access.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/rng.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr VarId kRow = 0, kColumn = 1;
constexpr int64_t kRows = 6, kColumns = 24;

std::optional<Range> Ranges(VarId var) { return Range{0, (var == kRow ? kRows : kColumns) - 1}; }

// Where the element lies, by the meaning of its indices.
int64_t OffsetOf(const Storage& storage, const std::vector<Expr>& indices, int64_t row,
                 int64_t column) {
  int64_t offset = storage.offset;
  for (size_t d = 0; d < indices.size(); ++d) {
    offset += storage.strides[d] *
              EvalInt(indices[d], [&](VarId var) { return var == kRow ? row : column; });
  }
  return offset;
}

// Indices as layers have them: windows, reversed and interleaved rows, repeated ends.
std::vector<std::vector<Expr>> Accesses() {
  const Expr row = VarRef(kRow), column = VarRef(kColumn);
  return {{row, column},
          {row, column * 3 + 1},
          {row, Int(30) - column},
          {column, row},
          {row * 2 + Mod(column, 3), FloorDiv(column, 3)},
          {row, Min(Max(column - 2, Int(0)), Int(19))},
          {FloorDiv(row * kColumns + column, 8), Mod(row * kColumns + column, 8)}};
}

const Storage kStorage = {.strides = {100, 1}, .offset = 7};

// That every lane is taken from one place, which is its own.
void ExpectEachLaneOnce(const std::vector<LaneVector>& vectors,
                        const std::vector<int64_t>& places) {
  for (size_t lane = 0; lane < places.size(); ++lane) {
    int count = 0;
    for (const LaneVector& vector : vectors) {
      ASSERT_EQ(vector.place_of.size(), places.size());
      const int place = vector.place_of[lane];
      if (place < 0) continue;
      ++count;
      EXPECT_LT(place, vector.width);
      EXPECT_EQ(vector.from + place, places[lane]) << "lane " << lane;
    }
    EXPECT_EQ(count, 1) << "lane " << lane;
  }
}

TEST(AccessTest, AnAddressIsWhatItsIndicesMean) {
  for (const std::vector<Expr>& indices : Accesses()) {
    const LinearForm address = AddressOf(kStorage, indices, Ranges);
    for (int64_t row = 0; row < kRows; ++row) {
      for (int64_t column = 0; column < kColumns; ++column) {
        const int64_t got =
            EvalInt(FromLinear(address), [&](VarId var) { return var == kRow ? row : column; });
        EXPECT_EQ(got, OffsetOf(kStorage, indices, row, column));
      }
    }
  }
}

TEST(AccessTest, LanesLieWhereTheirIndicesSay) {
  int known_count = 0;
  for (const std::vector<Expr>& indices : Accesses()) {
    for (const int64_t first : {0, 8, 16}) {
      const std::optional<LanePlaces> known = PlacesOfLanes(8, [&](int64_t lane) {
        return AddressOf(kStorage, indices, [&](VarId var) {
          return var == kColumn ? Range{first + lane, first + lane} : Ranges(var);
        });
      });
      if (!known.has_value()) continue;
      ++known_count;
      for (int64_t row = 0; row < kRows; ++row) {
        const int64_t begin = OffsetOf(kStorage, indices, row, first);
        EXPECT_EQ(EvalInt(FromLinear(known->first), [&](VarId) { return row; }), begin);
        for (int64_t lane = 0; lane < 8; ++lane) {
          EXPECT_EQ(begin + known->places[lane], OffsetOf(kStorage, indices, row, first + lane));
        }
      }
      ExpectEachLaneOnce(VectorsOfRuns(known->places), known->places);
    }
  }
  EXPECT_EQ(known_count, 21);
}

TEST(AccessTest, LanesThatDataPlaceAreNotKnown) {
  const auto at = [](int64_t lane) {
    return AddressOf(kStorage, {VarRef(kRow), Load(0, DType::kI64, {Int(lane)})}, Ranges);
  };
  EXPECT_FALSE(PlacesOfLanes(4, at).has_value());
}

TEST(AccessTest, StepsAreTakenFromWholeVectorsBetweenTheFirstLaneAndTheLast) {
  for (const int64_t lanes : {2, 4, 8, 16, 32}) {
    for (int64_t step = -20; step <= 20; ++step) {
      if (step == 0) continue;
      SCOPED_TRACE(step);
      const std::vector<LaneVector> vectors = VectorsOfSteps(step, lanes);
      EXPECT_EQ(static_cast<int64_t>(vectors.size()), CountOfSteps(step, lanes));
      if (vectors.empty()) continue;
      std::vector<int64_t> places;
      for (int64_t lane = 0; lane < lanes; ++lane) places.push_back(lane * step);
      ExpectEachLaneOnce(vectors, places);
      const auto [least, most] = std::minmax(places.front(), places.back());
      for (const LaneVector& vector : vectors) {
        EXPECT_EQ(vector.width, lanes);
        EXPECT_GE(vector.from, least);
        EXPECT_LE(vector.from + vector.width - 1, most);
      }
    }
  }
}

TEST(AccessTest, RunsHaveNoElementThatNoLaneWants) {
  Rng rng(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<int64_t> places = {0};
    for (int lane = 1; lane < 16; ++lane) places.push_back(rng.Between(-12, 12));
    const std::vector<LaneVector> runs = VectorsOfRuns(places);
    ExpectEachLaneOnce(runs, places);
    const std::set<int64_t> wanted(places.begin(), places.end());
    int64_t elements = 0;
    for (size_t i = 0; i < runs.size(); ++i) {
      elements += runs[i].width;
      if (i > 0) EXPECT_GT(runs[i].from, runs[i - 1].from + runs[i - 1].width);
    }
    EXPECT_EQ(elements, static_cast<int64_t>(wanted.size()));
  }
}

}  // namespace
}  // namespace burnish
