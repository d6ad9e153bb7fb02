// A bundle from a file to something that runs, with errors as the commands print them.
#ifndef TUNER_APP_BUNDLE_SESSION_H_
#define TUNER_APP_BUNDLE_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/driver/to_status.h"
#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/session.h"

namespace burnish {

// What the bundle says about itself; any CPU's bundle can be read.
absl::StatusOr<BundleManifest> ReadBundleManifest(const std::string& path);
// Sizes up to which the bundle has kernels of their own, ascending, without its greatest.
absl::StatusOr<std::vector<RunSizes>> ReadBundleBounds(const std::string& path);

struct SessionOptions {
  int threads = 0;  // 0: as many as it was tuned for, but at most threads_max.
  int threads_max = 1024;
  uint64_t loop_limit = 0;  // As of Session::SetLoopLimit; 0: the default.
};

// Errors: B02xx, B04xx.
absl::StatusOr<std::unique_ptr<Session>> OpenBundle(const std::string& path,
                                                    const SessionOptions& options);

// Sessions that run at the same time on one copy of the parameters, each with threads of its own:
// `options.threads` of them, or its share of the CPUs. Errors: as above.
absl::StatusOr<std::vector<std::unique_ptr<Session>>> OpenSideBySide(const std::string& path,
                                                                     int session_count,
                                                                     const SessionOptions& options);

// "f32[1,3,224,224]"
std::string DescribeTensor(const TensorInfo& tensor);

}  // namespace burnish

#endif  // TUNER_APP_BUNDLE_SESSION_H_
