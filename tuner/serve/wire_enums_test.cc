#include "tuner/serve/wire_enums.h"

#include "base/status_matchers.h"
#include "google/protobuf/generated_enum_reflection.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

// Every named number of the wire from `first` on is a value of the code and comes back, with the
// number that older programs sent as a bare integer; `count` values there are in the code.
template <typename Value, typename Wire>
void ExpectSameEnums(int first, int count) {
  const google::protobuf::EnumDescriptor* wires = google::protobuf::GetEnumDescriptor<Wire>();
  EXPECT_EQ(wires->value_count(), first + count);
  for (int number = first; number < first + count; ++number) {
    ASSERT_NE(wires->FindValueByNumber(number), nullptr) << number;
    EXPECT_EQ(ToProto(static_cast<Value>(number)), static_cast<Wire>(number));
    EXPECT_THAT(FromProto(static_cast<Wire>(number)), IsOkAndHolds(static_cast<Value>(number)));
  }
  for (const int unknown : {-1, first - 1, first + count, 1 << 20}) {
    EXPECT_THAT(FromProto(static_cast<Wire>(unknown)), StatusIs(absl::StatusCode::kInvalidArgument))
        << unknown;
  }
}

TEST(WireEnumsTest, EveryValueGoesOverAndBackAndOthersAreRefused) {
  ExpectSameEnums<StudyState, v1::StudySummary::State>(1, kStudyStateCount);
  ExpectSameEnums<StopReason, v1::StudyEnd::Reason>(0, static_cast<int>(StopReason::kParked) + 1);
  ExpectSameEnums<BestOrigin, v1::TaskProgress::BestOrigin>(
      0, static_cast<int>(BestOrigin::kTrial) + 1);
  ExpectSameEnums<WorkloadMatch, v1::FindBestResponse::WorkloadMatch>(
      0, static_cast<int>(WorkloadMatch::kSameAnchor) + 1);
}

TEST(WireEnumsTest, StatusCodesAreThoseOfGoogleRpcAndAnErrorStaysOne) {
  for (int number = 0; number <= 16; ++number) {
    EXPECT_EQ(ToProto(static_cast<absl::StatusCode>(number)), number);
    EXPECT_EQ(FromProto(static_cast<v1::StatusCode::Value>(number)),
              static_cast<absl::StatusCode>(number));
  }
  EXPECT_EQ(FromProto(static_cast<v1::StatusCode::Value>(99)), absl::StatusCode::kUnknown);
  EXPECT_EQ(ToProto(static_cast<absl::StatusCode>(99)), v1::StatusCode::UNKNOWN);
}

}  // namespace
}  // namespace burnish
