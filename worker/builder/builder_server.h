// The builder's answers: candidates are compiled in a forked child, so that one that makes the
// compiler crash, hang or run out of memory is a failure among the results.
#ifndef WORKER_BUILDER_BUILDER_SERVER_H_
#define WORKER_BUILDER_BUILDER_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/measuring_watch.h"
#include "proto/builder.h"
#include "proto/compile.h"
#include "worker/builder/candidate_compiler.h"
#include "worker/builder/forked_worker.h"

namespace burnish {

// For a process with one thread: it forks.
class BuilderServer : public Builder {
 public:
  // `compiler` outlives this. `folder`: where it writes its temporary files, and the only place
  // where its children may write (base/sandbox.h). `watch`: see ForkedWorker.
  BuilderServer(CandidateCompiler& compiler, const std::string& folder,
                std::unique_ptr<MeasuringWatch> watch);

  absl::StatusOr<CompileReply> Build(const CompileRequest& request) override;

 private:
  CompileResult BuildAlone(const CompileItem& item, const CompileRequest& request);
  CompileReply BuildLibrary(const CompileRequest& request);

  ForkedWorker child_;
};

}  // namespace burnish

#endif  // WORKER_BUILDER_BUILDER_SERVER_H_
