// Examples of a model's inputs in a folder of NumPy files: what models are calibrated with and
// measured on.
//
//   DIR/ids.npy DIR/mask.npy       a file an input, with all examples one behind the other
//   DIR/0.npy DIR/1.npy ..         of a model with one input: files of any names
//   DIR/0/ids.npy DIR/0/mask.npy DIR/1/ids.npy ..    folders of either form
//
// A file holds one example (the input's shape), examples one behind the other in dimension 0
// ([500,3,32,32] of [1,3,32,32]), or a stack of them ([500,1,3,32,32]). What is numbered is in the
// order of its numbers. In the name of an input's file a '_' stands for each '/'.
#ifndef TUNER_APP_EXAMPLE_DATA_H_
#define TUNER_APP_EXAMPLE_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/runtime/tensor_info.h"
#include "tuner/app/npy.h"

namespace burnish {

// In a folder's place: examples that are drawn.
inline constexpr char kRandomData[] = "random";

class ExampleData {
 public:
  // Reads all files once, to check them, and keeps none. `inputs`: the model's, in order, of fixed
  // shapes. Errors: B0201 no folder, or no file for an input; B0202, B0203 a file that cannot be
  // read; B0404 another shape or type than the input's, or another number of examples than its
  // neighbours'; B0405 a file that belongs to no input; B0408 fewer examples than `least`, or NaN
  // or infinite values.
  static absl::StatusOr<ExampleData> Open(const std::string& folder, std::vector<TensorInfo> inputs,
                                          int64_t least = 1);

  // `count` examples that are drawn, each by its number (DrawTensor). Error B0408: as of Open.
  static absl::StatusOr<ExampleData> Random(std::vector<TensorInfo> inputs, int64_t count);

  int64_t count() const { return count_; }
  // The inputs of one example, in the model's order and shapes. Cheap in the order of the examples:
  // the files of one of them are kept until those of another are wanted. Errors: as of Open.
  absl::StatusOr<std::vector<NpyArray>> Read(int64_t index);

 private:
  // Files with the same examples, one an input.
  struct Set {
    std::vector<std::string> paths;
    int64_t begin = 0, count = 0;
  };

  ExampleData() = default;
  static absl::StatusOr<ExampleData> Of(std::vector<TensorInfo> inputs, const std::string& where);
  absl::Status AddFolder(const std::string& folder);
  absl::Status AddSet(std::vector<std::string> paths);
  absl::StatusOr<std::vector<std::string>> PathsByName(const std::string& folder,
                                                       const std::vector<std::string>& files) const;

  std::vector<TensorInfo> inputs_;
  std::vector<Set> sets_;  // None: examples are drawn.
  int64_t count_ = 0;
  // Of the set that was read last.
  size_t loaded_ = static_cast<size_t>(-1);
  std::vector<NpyArray> arrays_;
};

}  // namespace burnish

#endif  // TUNER_APP_EXAMPLE_DATA_H_
