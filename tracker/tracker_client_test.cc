// Clients in a process without a server: gRPC's threads come and go with the last channel.
#include "tracker/tracker_client.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/child.h"
#include "base/file.h"
#include "base/self_path.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/job.h"

namespace burnish {
namespace {

// gRPC 1.51 joins the threads of its callbacks when the last channel of the process goes, and
// breaks when that happens on one of those threads: a context that a callback keeps alive may hold
// the last reference. One client in a thousand met it.
TEST(TrackerClientTest, ClientGoesWhileItsCallsAreUnderWay) {
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("tracker-client"));
  ASSERT_OK_AND_ASSIGN(const std::string program, FindProgram("tracker/tracker"));
  const std::string address = absl::StrCat("unix:", folder.path(), "/tracker");
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<Child> tracker,
      Child::Start({.program = program, .args = {"--listen", address, "--log-level", "warning"}}));
  ASSERT_THAT(tracker->ReadLine(absl::Minutes(1)), IsOkAndHolds(address));
  for (int i = 0; i < 1000; ++i) {
    TrackerClient client({.tracker = address,
                          .tuner_id = "tuner",
                          .tuner_secret = "kept by the test alone",
                          .seed = 1});
    ASSERT_THAT(client.Cancel({}, "no such study"), IsOk());  // The channel is there.
    ASSERT_THAT(client.Submit({{.id = absl::StrCat(i), .kind = JobKind::kBuild}}), IsOk());
  }
}

}  // namespace
}  // namespace burnish
