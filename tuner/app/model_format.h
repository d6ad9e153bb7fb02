// Files of other programs that people take for models.
#ifndef TUNER_APP_MODEL_FORMAT_H_
#define TUNER_APP_MODEL_FORMAT_H_

#include <string>

#include "absl/status/status.h"

namespace burnish {

// By the end of the name. Error B0301 where it is another framework's, such as "x.safetensors": the
// hint has the command that exports such a model to ONNX.
absl::Status CheckModelFormat(const std::string& path);

}  // namespace burnish

#endif  // TUNER_APP_MODEL_FORMAT_H_
