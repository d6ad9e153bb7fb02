// gMock matchers for absl::Status and absl::StatusOr<T>:
//   EXPECT_THAT(Parse("x"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("got x")));
//   EXPECT_THAT(Find("a"), IsOkAndHolds(Field(&Job::id, "a")));
//   ASSERT_OK_AND_ASSIGN(const Program program, Parse(text));
#ifndef BASE_STATUS_MATCHERS_H_
#define BASE_STATUS_MATCHERS_H_

#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace status_matchers_internal {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

class IsOkMatcher {
 public:
  template <typename S>
  bool MatchAndExplain(const S& status, ::testing::MatchResultListener* listener) const {
    if (status.ok()) return true;
    *listener << "whose status is " << StatusOf(status).ToString();
    return false;
  }
  void DescribeTo(std::ostream* out) const { *out << "is OK"; }
  void DescribeNegationTo(std::ostream* out) const { *out << "is not OK"; }
};

template <typename Inner>
class IsOkAndHoldsMatcher {
 public:
  explicit IsOkAndHoldsMatcher(Inner inner) : inner_(std::move(inner)) {}

  template <typename S>
  operator ::testing::Matcher<S>() const {  // NOLINT: gMock's way to a matcher of any type.
    return ::testing::Matcher<S>(new Impl<S>(inner_));
  }

 private:
  template <typename S>
  class Impl : public ::testing::MatcherInterface<S> {
   public:
    using Value = typename std::remove_cvref_t<S>::value_type;
    explicit Impl(const Inner& inner) : inner_(::testing::SafeMatcherCast<const Value&>(inner)) {}
    bool MatchAndExplain(S result, ::testing::MatchResultListener* listener) const override {
      if (!result.ok()) {
        *listener << "whose status is " << result.status().ToString();
        return false;
      }
      *listener << "whose value is " << ::testing::PrintToString(*result) << " ";
      return inner_.MatchAndExplain(*result, listener);
    }
    void DescribeTo(std::ostream* out) const override {
      *out << "is OK and its value ";
      inner_.DescribeTo(out);
    }
    void DescribeNegationTo(std::ostream* out) const override {
      *out << "is not OK or its value ";
      inner_.DescribeNegationTo(out);
    }

   private:
    ::testing::Matcher<const Value&> inner_;
  };
  Inner inner_;
};

class StatusIsMatcher {
 public:
  StatusIsMatcher(absl::StatusCode code, ::testing::Matcher<const std::string&> message)
      : code_(code), message_(std::move(message)) {}
  template <typename S>
  bool MatchAndExplain(const S& result, ::testing::MatchResultListener* listener) const {
    const absl::Status& status = StatusOf(result);
    *listener << "whose status is " << status.ToString();
    return status.code() == code_ && message_.Matches(std::string(status.message()));
  }
  void DescribeTo(std::ostream* out) const {
    *out << "has code " << absl::StatusCodeToString(code_) << " and a message that ";
    message_.DescribeTo(out);
  }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "has not code " << absl::StatusCodeToString(code_) << ", or a message that ";
    message_.DescribeNegationTo(out);
  }

 private:
  absl::StatusCode code_;
  ::testing::Matcher<const std::string&> message_;
};

}  // namespace status_matchers_internal

inline auto IsOk() {
  return ::testing::MakePolymorphicMatcher(status_matchers_internal::IsOkMatcher());
}

// `inner`: a value or a matcher for the value that the StatusOr holds.
template <typename Inner>
auto IsOkAndHolds(Inner&& inner) {
  return status_matchers_internal::IsOkAndHoldsMatcher<std::decay_t<Inner>>(
      std::forward<Inner>(inner));
}

inline auto StatusIs(absl::StatusCode code,
                     ::testing::Matcher<const std::string&> message = ::testing::_) {
  return ::testing::MakePolymorphicMatcher(
      status_matchers_internal::StatusIsMatcher(code, std::move(message)));
}

}  // namespace burnish

// `lhs = *rexpr`; ends the test function with a fatal failure when rexpr is not OK.
#define ASSERT_OK_AND_ASSIGN(lhs, rexpr) \
  BURNISH_ASSERT_OK_AND_ASSIGN(BURNISH_CONCAT(burnish_or_, __LINE__), lhs, rexpr)
#define BURNISH_ASSERT_OK_AND_ASSIGN(var, lhs, rexpr) \
  auto var = (rexpr);                                 \
  ASSERT_THAT(var, ::burnish::IsOk());                \
  lhs = *std::move(var)

#endif  // BASE_STATUS_MATCHERS_H_
