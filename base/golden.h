// Expected outputs kept in files. A test that uses this has `tags = ["golden"]` and its files in
// `data`; `./dev golden` rewrites them all, and the diff is reviewed like code.
#ifndef BASE_GOLDEN_H_
#define BASE_GOLDEN_H_

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace burnish {

// For EXPECT_TRUE: whether the file at `path`, from the root of the repository
// ("compiler/ir/testdata/matmul.txt"), holds exactly `got`; if not, says where they part. When the
// test was started with the argument --update, which works under `bazel run` only, the file is
// overwritten instead. A new file must exist (empty) and be in `data` first.
::testing::AssertionResult MatchesGolden(const std::string& path, absl::string_view got);

// The rule by itself. `update`: overwrite.
::testing::AssertionResult CompareOrUpdate(const std::string& path, absl::string_view got,
                                           bool update);

}  // namespace burnish

#endif  // BASE_GOLDEN_H_
