// Compiles through the builder program: a child process that loads the compiler once, is started
// when it is first needed, and again when it died.
#ifndef PROTO_BUILDER_CLIENT_H_
#define PROTO_BUILDER_CLIENT_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/child.h"
#include "proto/builder.h"

namespace burnish {

struct BuilderClientOptions {
  // Empty: worker/builder/builder of the installation that this program belongs to.
  std::string program = "";
  // Of the files that say who measures where (base/measuring_files.h); empty: the builder stands
  // aside for nobody.
  std::string measuring_folder = "";
};

// Build must not run in two threads at once; Cancel may be called from any thread.
class BuilderClient : public Builder {
 public:
  explicit BuilderClient(BuilderClientOptions options = {});
  ~BuilderClient() override;

  // Blocks. A builder that dies is replaced, once a call. ABORTED: somebody killed it, twice.
  absl::StatusOr<CompileReply> Build(const CompileRequest& request) override;

  // Ends the builder, and with it a Build in progress: CANCELLED. The next Build starts another.
  void Cancel() override;

 private:
  absl::Status Start();
  absl::StatusOr<CompileReply> Ask(const std::string& request, absl::Duration timeout);

  const BuilderClientOptions options_;
  absl::Mutex mutex_;  // Not held while waiting for the child.
  std::unique_ptr<Child> child_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;  // During a Build.
};

}  // namespace burnish

#endif  // PROTO_BUILDER_CLIENT_H_
