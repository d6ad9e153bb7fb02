#include "tracker/content_store.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::IsNull;
using ::testing::Pointee;

TEST(ContentStoreTest, LeastRecentlyUsedIsForgottenFirst) {
  ContentStore store(/*bytes_max=*/10);
  store.Put("a", "1234");
  store.Put("b", "5678");
  EXPECT_THAT(store.Get("a"), Pointee(std::string("1234")));
  store.Put("c", "90");
  EXPECT_EQ(store.byte_count(), 10);
  store.Put("d", "x");  // One byte too many: b was used longest ago.
  EXPECT_THAT(store.Get("b"), IsNull());
  EXPECT_THAT(store.Get("a"), Pointee(std::string("1234")));
  EXPECT_EQ(store.count(), 3);
  EXPECT_EQ(store.byte_count(), 7);
}

TEST(ContentStoreTest, PuttingAgainCountsAsUse) {
  ContentStore store(/*bytes_max=*/2);
  store.Put("a", "1");
  store.Put("b", "2");
  store.Put("a", "1");
  store.Put("c", "3");
  EXPECT_THAT(store.Get("b"), IsNull());
  EXPECT_THAT(store.Get("a"), Pointee(std::string("1")));
}

TEST(ContentStoreTest, WhatIsLargerThanTheStoreDrivesNothingOut) {
  ContentStore store(/*bytes_max=*/3);
  store.Put("a", "1");
  store.Put("big", "1234");
  EXPECT_THAT(store.Get("big"), IsNull());
  EXPECT_THAT(store.Get("a"), Pointee(std::string("1")));
}

TEST(ContentStoreTest, ForgottenBytesLiveAsLongAsSomebodySendsThem) {
  ContentStore store(/*bytes_max=*/1);
  store.Put("a", "1");
  const std::shared_ptr<const std::string> bytes = store.Get("a");
  store.Put("b", "2");
  EXPECT_EQ(*bytes, "1");
}

}  // namespace
}  // namespace burnish
