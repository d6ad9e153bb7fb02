// The checker's answers. Lives in its own process, apart from every kernel: what a kernel does to
// its process cannot make wrong outputs look right. Keeps what is dear to compute: the oracle's
// samples and candidate 0's outputs of the last workloads.
#ifndef WORKER_RUNNER_CHECKER_H_
#define WORKER_RUNNER_CHECKER_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/runner/output_check.h"
#include "worker/runner/runner_wire.h"

namespace burnish {

class Checker {
 public:
  static constexpr int kSampleCount = 400;  // Per output, and the corners.
  // Of all tasks that are kept. A study sends candidates of all its tasks in turn, and a miss costs
  // a run of candidate 0, a second one of the candidate and the samples: the outputs of ResNet-50's
  // 28 tasks are 40 MB, those of a detector at 640 x 640 some 200.
  static constexpr size_t kKeptBytesMax = size_t{256} << 20;

  // `outputs_descriptor`: the file that runners leave outputs in. However little may be kept, the
  // task that was asked for last is.
  explicit Checker(int outputs_descriptor, size_t kept_bytes_max = kKeptBytesMax)
      : outputs_descriptor_(outputs_descriptor), kept_bytes_max_(kept_bytes_max) {}

  CheckerReply Answer(const CheckerRequest& request);

 private:
  // One workload with one seed.
  struct Task {
    std::string workload;
    uint64_t seed = 0;
    std::vector<std::vector<Sample>> samples;  // By output.
    std::string reference_id;
    std::vector<std::vector<uint8_t>> reference;  // Candidate 0's dense outputs.

    size_t ByteCount() const;
  };

  absl::StatusOr<CheckerReply> Check(const CheckerRequest& request);
  absl::StatusOr<Task*> FindTask(const CheckerRequest& request);
  absl::Status ComputeSamples(Task& task) const;
  void ForgetOld();
  // Dense.
  absl::StatusOr<std::vector<std::vector<uint8_t>>> ReadOutputs(
      const std::vector<TensorSpec>& outputs, const std::vector<uint64_t>& bases) const;

  const int outputs_descriptor_;
  const size_t kept_bytes_max_;
  std::list<Task> tasks_;  // The last used first.
};

}  // namespace burnish

#endif  // WORKER_RUNNER_CHECKER_H_
