// What every RecordStore owes. A store adds one line to its test and gets all of these:
//   INSTANTIATE_TEST_SUITE_P(Mine, RecordStoreConformanceTest, ::testing::Values(&MakeMine));
#ifndef DB_RECORD_STORE_CONFORMANCE_H_
#define DB_RECORD_STORE_CONFORMANCE_H_

#include <memory>

#include "db/record_store.h"
#include "gtest/gtest.h"

namespace burnish {

// A new, empty store. Of a store on disk: in a folder of its own under the test's.
using RecordStoreFactory = std::unique_ptr<RecordStore> (*)();

class RecordStoreConformanceTest : public ::testing::TestWithParam<RecordStoreFactory> {
 protected:
  void SetUp() override {
    store_ = GetParam()();
    ASSERT_NE(store_, nullptr);
  }

  std::unique_ptr<RecordStore> store_;
};

}  // namespace burnish

#endif  // DB_RECORD_STORE_CONFORMANCE_H_
