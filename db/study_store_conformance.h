// What every StudyStore owes. A store adds one line to its test and gets all of these:
//   INSTANTIATE_TEST_SUITE_P(Mine, StudyStoreConformanceTest, ::testing::Values(&MakeMine));
#ifndef DB_STUDY_STORE_CONFORMANCE_H_
#define DB_STUDY_STORE_CONFORMANCE_H_

#include <memory>

#include "db/study_store.h"
#include "gtest/gtest.h"

namespace burnish {

// A new, empty store. Of a store on disk: in a folder of its own under the test's.
using StudyStoreFactory = std::unique_ptr<StudyStore> (*)();

class StudyStoreConformanceTest : public ::testing::TestWithParam<StudyStoreFactory> {
 protected:
  void SetUp() override {
    store_ = GetParam()();
    ASSERT_NE(store_, nullptr);
  }

  std::unique_ptr<StudyStore> store_;
};

}  // namespace burnish

#endif  // DB_STUDY_STORE_CONFORMANCE_H_
