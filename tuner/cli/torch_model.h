// Models of PyTorch's as files that this program reads. What reads PyTorch's own is Python with
// torch, a child: this program links neither.
#ifndef TUNER_CLI_TORCH_MODEL_H_
#define TUNER_CLI_TORCH_MODEL_H_

#include <string>

#include "absl/status/statusor.h"

namespace burnish {

// What --model names: a file of torch.export (.pt2) is converted by `python` into one in the user's
// cache, which stays for who resumes the study; its path. Any other path comes back as it is.
// Errors: B0906 where that Python has no burnish or no torch, and those of the conversion.
absl::StatusOr<std::string> ModelFile(const std::string& path, const std::string& python);

// The model in a folder that burnish.functorch.graph_dumper_aot wrote, of one graph. Errors: B0101
// where it has several, with their names; B0201; B0302 where the graph was not converted.
absl::StatusOr<std::string> DumpedModel(const std::string& folder);

}  // namespace burnish

#endif  // TUNER_CLI_TORCH_MODEL_H_
