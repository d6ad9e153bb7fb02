// The space of schedules, frozen: how many valid points each sketch has and which traces they are.
// Rules may be written anew in any form; what they offered once stays reachable, byte for byte.
// testdata/space_workloads.txt holds the workloads, as text: they must not follow changes of the
// operators' definitions or of fusion. testdata/space_oracle.txt was written from commit 5c07ec8;
// a new rule adds lines to it, in a commit of their own, and changes none. Lines went or shrank
// once, by points whose traces never applied: Winograd's with fewer tiles than workers that share
// their transform, and of one output channel.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/golden.h"
#include "base/sha256.h"
#include "base/status_matchers.h"
#include "compiler/ir/parser.h"
#include "compiler/schedule/trace.h"
#include "compiler/target/device_model.h"
#include "compiler/target/test_device_models.h"
#include "gtest/gtest.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

constexpr char kFolder[] = "tuner/sketch/testdata/";
// More points than the greatest sketch has: nothing is left out unseen.
constexpr int64_t kPointsMax = 1 << 20;

// Pairs of a name and a workload's text: "== name", then the text.
std::vector<std::pair<std::string, std::string>> Workloads(absl::string_view file) {
  std::vector<std::pair<std::string, std::string>> workloads;
  for (absl::string_view section : absl::StrSplit(file, "== ", absl::SkipEmpty())) {
    workloads.push_back(absl::StrSplit(section, absl::MaxSplits('\n', 1)));
  }
  return workloads;
}

// One line a sketch: its name, the count of its valid points, and the SHA-256 over the sorted texts
// of their traces. `part`: of the sketches' names.
void AppendSpace(const Program& workload, const DeviceModel& device, absl::string_view part,
                 std::string& out) {
  for (const Sketch& sketch : GenerateSketches(workload, device, {.algorithms = true})) {
    if (!absl::StrContains(sketch.name, part)) continue;
    const std::vector<Point> points = EnumeratePoints(sketch, kPointsMax);
    ASSERT_LT(static_cast<int64_t>(points.size()), kPointsMax) << sketch.name;
    std::vector<std::string> traces;
    for (const Point& point : points) {
      ASSERT_OK_AND_ASSIGN(const Trace trace, Bind(sketch, point));
      traces.push_back(PrintTrace(trace));
    }
    std::sort(traces.begin(), traces.end());
    const std::string all = absl::StrJoin(traces, "\n");
    absl::StrAppend(&out, "  ", sketch.name, ": ", points.size(), " ", Sha256Hex(all), "\n");
  }
}

// Of each workload of the file, for each of the targets.
void ExpectSpaces(const char* workloads_file, size_t at_least,
                  const std::vector<const char*>& arches, absl::string_view part,
                  const char* golden) {
  ASSERT_OK_AND_ASSIGN(const std::string file,
                       ReadFile(absl::StrCat(kFolder, workloads_file), 1 << 20));
  const auto workloads = Workloads(file);
  ASSERT_GE(workloads.size(), at_least);
  std::string got;
  for (const auto& [name, text] : workloads) {
    ASSERT_OK_AND_ASSIGN(const Program workload, ParseProgram(text));
    for (const char* arch : arches) {
      for (const int threads : {1, 2, 8}) {
        ASSERT_OK_AND_ASSIGN(const Target target,
                             ParseTarget(absl::StrCat("cpu:arch=", arch, ",threads=", threads)));
        absl::StrAppend(&got, name, " ", arch, " threads=", threads, "\n");
        AppendSpace(workload, DeviceModelOf(target), part, got);
      }
    }
  }
  EXPECT_TRUE(MatchesGolden(absl::StrCat(kFolder, golden), got));
}

TEST(SpaceOracleTest, EverySketchHasTheTracesThatItHad) {
  ExpectSpaces("space_workloads.txt", 60, {"x86-64-v2", "znver3", "znver4"}, "",
               "space_oracle.txt");
}

// On tile registers, which none of the targets above has. Written when the rule was.
TEST(SpaceOracleTest, EverySketchOnTilesHasTheTracesThatItHad) {
  ExpectSpaces("space_tile_workloads.txt", 3, {"sapphirerapids"}, "tile_product",
               "space_tile_oracle.txt");
}

// Devices of which nobody has one here: rules ask the device, and know no kind of it. Written when
// the second one came.
TEST(SpaceOracleTest, OtherDevicesHaveTheTracesThatTheyHad) {
  ASSERT_OK_AND_ASSIGN(const std::string file,
                       ReadFile(absl::StrCat(kFolder, "space_workloads.txt"), 1 << 20));
  std::string got;
  for (const auto& [name, text] : Workloads(file)) {
    ASSERT_OK_AND_ASSIGN(const Program workload, ParseProgram(text));
    for (const DeviceModel& device : {GpuLikeDevice(), NeonDevice()}) {
      absl::StrAppend(&got, name, " ", device.name, "\n");
      AppendSpace(workload, device, "", got);
    }
  }
  EXPECT_TRUE(MatchesGolden(absl::StrCat(kFolder, "space_devices_oracle.txt"), got));
}

}  // namespace
}  // namespace burnish
