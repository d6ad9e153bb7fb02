#include "base/unit_loops.h"

#include <cstdlib>
#include <set>
#include <string>

#include "base/cpu_info.h"
#include "base/tile_permission.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(UnitLoopsTest, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const UnitLoop& loop : AllUnitLoops()) {
    EXPECT_TRUE(names.insert(std::string(loop.unit)).second) << loop.unit;
    EXPECT_EQ(FindUnitLoop(loop.unit), &loop);
  }
  EXPECT_EQ(FindUnitLoop("fma_f128x1"), nullptr);
}

// The name says how many lanes an instruction has; a lane of a dot product holds several products.
TEST(UnitLoopsTest, OperationsOfAnInstructionAreTwoForEachProductOfItsName) {
  for (const UnitLoop& loop : AllUnitLoops()) {
    const std::string unit(loop.unit);
    const size_t lanes_at = unit.rfind('x');
    int64_t products = 0;
    if (unit == "amx_bf16") {
      products = 16 * 16 * 32;
    } else if (unit == "amx_u8s8") {
      products = 16 * 16 * 64;
    } else {
      products = std::atoi(unit.c_str() + lanes_at + 1);
      if (unit.starts_with("dot_bf16") || unit.starts_with("dot2_")) products *= 2;
      if (unit.starts_with("vnni_u8s8")) products *= 4;
    }
    EXPECT_EQ(loop.operations, 2 * products * loop.instructions) << unit;
  }
}

void ExpectRuns(const CpuInfo& cpu, bool tiles) {
  for (const UnitLoop& loop : AllUnitLoops()) {
    if (loop.unit.starts_with("amx") != tiles || !cpu.Has(std::string(loop.feature))) continue;
    SCOPED_TRACE(loop.unit);
    loop.run(1, /*with_loads=*/false);
    loop.run(1, /*with_loads=*/true);
    loop.run(1'000, /*with_loads=*/true);
  }
}

TEST(UnitLoopsTest, WhatThisCpuHasRunsToItsEnd) { ExpectRuns(HostCpuInfo(), /*tiles=*/false); }

TEST(UnitLoopsTest, TilesRunToTheirEnd) {
  const CpuInfo cpu = HostCpuInfo();
  if (!cpu.Has("amx-tile")) GTEST_SKIP() << "this CPU, or its system, has no tile registers";
  EXPECT_TRUE(AllowTiles());
  ExpectRuns(cpu, /*tiles=*/true);
}

}  // namespace
}  // namespace burnish
