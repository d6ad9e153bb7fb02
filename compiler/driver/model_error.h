// How far builds of one model are apart, by running them.
#ifndef COMPILER_DRIVER_MODEL_ERROR_H_
#define COMPILER_DRIVER_MODEL_ERROR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace burnish {

class Rng;
class Session;
class ThreadPool;
struct TensorInfo;

// Floats from a normal distribution, integers and booleans from 0 and 1, which are indices into any
// table; dense.
std::vector<uint8_t> DrawTensor(const TensorInfo& tensor, Rng& rng);

// Inputs that errors are measured on.
struct ExampleInputs {
  struct Array {
    std::vector<int64_t> shape;  // Within the input's range, where runs choose its sizes.
    std::vector<uint8_t> dense;
  };
  std::string source = "random inputs";  // For people: "12 examples of data".
  // By example and input. Empty: a few are drawn with a fixed seed (DrawTensor).
  std::vector<std::vector<Array>> examples = {};
};

// Measures builds against a reference, which runs once an example.
class ErrorMeter {
 public:
  ~ErrorMeter();

  // FAILED_PRECONDITION: this machine cannot run the reference. INTERNAL: an output is not finite.
  // Else the runtime's, for inputs that the model does not take.
  static absl::StatusOr<std::unique_ptr<ErrorMeter>> Create(const std::string& reference,
                                                            const ExampleInputs& inputs,
                                                            int thread_count);

  // The largest tensor error, max|got - want| / max|want|, of any output of `bundle` on any
  // example. What rounding in one layer does to the outputs depends on all layers behind it, so
  // nothing less than the whole model tells. Errors: as above, and INTERNAL where the bundle has
  // other inputs or outputs.
  absl::StatusOr<double> Measure(const std::string& bundle);

  // The session that made the references, and the same error of what it now has as outputs.
  Session& session() { return *reference_; }
  absl::StatusOr<double> ErrorOf(Session& session, size_t example) const;
  absl::Status SetInputs(Session& session, size_t example) const;
  const std::vector<std::vector<ExampleInputs::Array>>& examples() const { return examples_; }

 private:
  ErrorMeter();

  std::shared_ptr<ThreadPool> pool_;
  std::unique_ptr<Session> reference_;
  bool is_drawn_ = false;  // In the greatest sizes, which sessions begin with.
  std::vector<std::vector<ExampleInputs::Array>> examples_;
  std::vector<std::vector<std::vector<uint8_t>>> wanted_;  // By example and output.
};

}  // namespace burnish

#endif  // COMPILER_DRIVER_MODEL_ERROR_H_
