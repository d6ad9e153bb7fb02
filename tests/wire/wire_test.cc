// The wire of this tree against that of the last tag (testdata/wire_0_2.txt): programs of
// neighbouring versions talk to each other, and read each other's databases.
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "proto/calibration.pb.h"
#include "proto/compile.pb.h"
#include "proto/job.pb.h"
#include "proto/measurement.pb.h"
#include "proto/record.pb.h"
#include "proto/study.pb.h"
#include "proto/target.pb.h"
#include "proto/trace.pb.h"
#include "proto/tracker.pb.h"
#include "proto/tuner.pb.h"
#include "proto/workload.pb.h"
#include "tests/wire/wire_text.h"

namespace burnish {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> LinesOfThisTree() {
  return WireLines({
      v1::CalibrationRow::descriptor()->file(),
      v1::CompileRequest::descriptor()->file(),
      v1::RunJob::descriptor()->file(),
      v1::Measurement::descriptor()->file(),
      v1::Record::descriptor()->file(),
      v1::StudySpec::descriptor()->file(),
      v1::Target::descriptor()->file(),
      v1::SplitTrace::descriptor()->file(),
      v1::SynchronizeRequest::descriptor()->file(),
      v1::SubmitStudyRequest::descriptor()->file(),
      v1::Workload::descriptor()->file(),
  });
}

// A file with one message `M` of these fields, and an enum.
std::vector<std::string> LinesOf(const std::string& fields, const std::string& values) {
  FileDescriptorProto proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "name: 'm.proto' package: 'p' syntax: 'proto3' message_type { name: 'M' " + fields +
          " } enum_type { name: 'E' value { name: 'NONE' number: 0 } " + values + " }",
      &proto));
  DescriptorPool pool;
  const FileDescriptor* file = pool.BuildFile(proto);
  EXPECT_NE(file, nullptr);
  return WireLines({file});
}

constexpr char kFields[] =
    "field { name: 'a' number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }"
    "field { name: 'b' number: 2 type: TYPE_STRING label: LABEL_REPEATED }";
constexpr char kValues[] = "value { name: 'ONE' number: 1 }";

std::vector<std::string> BrokenBy(const std::string& fields, const std::string& values = kValues) {
  return Broken(LinesOf(kFields, kValues), LinesOf(fields, values));
}

TEST(WireTest, AdditionsBreakNothing) {
  EXPECT_THAT(BrokenBy(kFields), IsEmpty());
  EXPECT_THAT(BrokenBy(std::string(kFields) +
                           "field { name: 'c' number: 3 type: TYPE_BYTES label: LABEL_OPTIONAL }",
                       std::string(kValues) + "value { name: 'TWO' number: 2 }"),
              IsEmpty());
}

TEST(WireTest, WhatIsGoneRenumberedRetypedOrReusedIsNamed) {
  constexpr char kA[] = "field p.M 1 a int32";
  constexpr char kB[] = "field { name: 'b' number: 2 type: TYPE_STRING label: LABEL_REPEATED }";
  EXPECT_THAT(BrokenBy(kB), ElementsAre(kA));
  EXPECT_THAT(BrokenBy("field { name: 'a' number: 7 type: TYPE_INT32 label: LABEL_OPTIONAL }" +
                       std::string(kB)),
              ElementsAre(kA));
  EXPECT_THAT(BrokenBy("field { name: 'a' number: 1 type: TYPE_INT64 label: LABEL_OPTIONAL }" +
                       std::string(kB)),
              ElementsAre(kA));
  EXPECT_THAT(BrokenBy("field { name: 'z' number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }" +
                       std::string(kB)),
              ElementsAre(kA));
  EXPECT_THAT(BrokenBy("field { name: 'a' number: 1 type: TYPE_INT32 label: LABEL_REPEATED }" +
                       std::string(kB)),
              ElementsAre(kA));
  EXPECT_THAT(BrokenBy(kFields, "value { name: 'OTHER' number: 1 }"),
              ElementsAre("value p.E 1 ONE"));
  EXPECT_THAT(BrokenBy(kFields, ""), ElementsAre("value p.E 1 ONE"));
}

TEST(WireTest, AReservedNumberStaysReserved) {
  const std::string reserved = std::string(kFields) + "reserved_range { start: 4 end: 5 }";
  const std::string used =
      std::string(kFields) + "field { name: 'd' number: 4 type: TYPE_INT32 label: LABEL_OPTIONAL }";
  EXPECT_THAT(Broken(LinesOf(reserved, kValues), LinesOf(used, kValues)),
              ElementsAre("field p.M 4 reserved"));
}

TEST(WireTest, ThisTreeUnderstandsTheLastTag) {
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       ReadFile("tests/wire/testdata/wire_0_2.txt", 1 << 20));
  const std::vector<std::string> old_lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  ASSERT_GT(old_lines.size(), 300u);
  EXPECT_THAT(Broken(old_lines, LinesOfThisTree()), IsEmpty())
      << "these lines of the last tag are not in this tree any more";
}

// Not a check: `bazel run //tests/wire:wire_test -- --gtest_also_run_disabled_tests
// --gtest_filter='*ListOfThisTree'` prints what becomes the baseline at the next tag.
TEST(WireTest, DISABLED_ListOfThisTree) {
  for (const std::string& line : LinesOfThisTree()) std::cout << line << "\n";
}

}  // namespace
}  // namespace burnish
