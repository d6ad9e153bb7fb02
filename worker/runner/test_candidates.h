// Candidates for tests: the kernels of testdata/vector_kernels.c as artifacts, and the workload
// that the right ones compute.
#ifndef WORKER_RUNNER_TEST_CANDIDATES_H_
#define WORKER_RUNNER_TEST_CANDIDATES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "proto/job.h"
#include "proto/run_job.h"

namespace burnish {

// z[i] = x[i] * w[i] + x[0], f32[1000], w constant.
std::string VectorWorkload();

// `kernel`: as in vector_kernels.c, such as "RIGHT".
std::string VectorArtifact(absl::string_view kernel);

// One candidate with one thread on this host, and "RIGHT" as its candidate 0, in a quick method.
RunJob VectorJob(absl::string_view kernel);

// As the tracker hands it out.
JobSpec ToSpec(const RunJob& job, const std::string& id = "job");

}  // namespace burnish

#endif  // WORKER_RUNNER_TEST_CANDIDATES_H_
