// Operators that are refused for a reason that time does not change.
#include <map>
#include <string>

#include "compiler/frontend/onnx_import.h"

namespace burnish {

const std::map<std::string, std::string>& RefusedOnnxOperators() {
  static const auto& refused = *new std::map<std::string, std::string>{[] {
    std::map<std::string, std::string> reasons;
    const auto add = [&](const char* reason, std::initializer_list<const char*> names) {
      for (const char* name : names) reasons[name] = reason;
    };
    add("draws random numbers; make them outside of the model, as an input",
        {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
         "RandomUniformLike"});
    add("decodes files; decode them outside of the model", {"ImageDecoder"});
    add("works on text; tokenize outside of the model",
        {"RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"});
    add("works on sequences or optionals, and a bundle has tensors",
        {"ConcatFromSequence", "Optional", "OptionalGetElement", "SequenceAt", "SequenceConstruct",
         "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength", "SequenceMap",
         "SplitToSequence"});
    add("trains, and a bundle infers",
        {"ai.onnx.preview.training.Adagrad", "ai.onnx.preview.training.Adam",
         "ai.onnx.preview.training.Gradient", "ai.onnx.preview.training.Momentum"});
    return reasons;
  }()};
  return refused;
}

}  // namespace burnish
