#include "tuner/measure/build_spec.h"

#include "proto/build_job.h"
#include "proto/compile.h"
#include "proto/record.h"

namespace burnish {

std::string CandidateIdOf(const MeasureTask& task, const std::string& trace) {
  return CandidateId(task.workload.id, task.target.ToText(), task.contract, trace,
                     task.codegen_epoch);
}

JobSpec MakeBuildSpec(const MeasureTask& task, const std::string& trace,
                      const BuildSpecOptions& options) {
  const BuildJob job = {.candidate_id = CandidateIdOf(task, trace),
                        .workload = task.workload.text,
                        .target = task.target.ToText(),
                        .contract = task.contract,
                        .trace = trace,
                        .codegen_epoch = task.codegen_epoch,
                        .timeout = options.build_timeout};
  // The lease outlasts the child's limit: that is the builder's to report.
  return {.id = options.id,
          .kind = JobKind::kBuild,
          .study = options.study,
          .priority = options.priority,
          // Two tries of the builder, by the wall clock; the rest is for the worker itself.
          .timeout = 2 * CompileRequest::kWallPerCpu * options.build_timeout + absl::Seconds(30),
          .payload = Encode(job)};
}

}  // namespace burnish
