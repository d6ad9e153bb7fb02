// Functions of a model as graphs: what a node that calls one stands for. Internal to
// compiler/frontend.
#ifndef COMPILER_FRONTEND_ONNX_FUNCTION_H_
#define COMPILER_FRONTEND_ONNX_FUNCTION_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "third_party/onnx.pb.h"

namespace burnish {

// By OnnxOperatorName of the nodes that call them. Points into the model.
using OnnxFunctions = std::map<std::string, const onnx::FunctionProto*>;

// INVALID_ARGUMENT for two of one name; UNIMPLEMENTED for an overload, which is named by more.
absl::StatusOr<OnnxFunctions> FunctionsOf(const onnx::ModelProto& model);

// The function's nodes with the call's attributes in place of those that they refer to. Inputs that
// the call leaves out are left out, outputs that it has no name for are "".
onnx::GraphProto BodyOf(const onnx::FunctionProto& function, const onnx::NodeProto& call);

// Of ONNX's own operators; `fallback` where the function names none.
int OpsetOf(const onnx::FunctionProto& function, int fallback);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_FUNCTION_H_
