#include "tuner/app/model_format.h"

#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

struct ForeignFormat {
  const char* suffix;
  const char* what;
  const char* hint;  // FILE, FOLDER and ONNX stand for the file, where it is, and what to write.
};

// Weights have no graph, and pickles run code: only who has the class can export these.
constexpr char kFromTorch[] =
    "in Python, where the model is made: torch.onnx.export(model.eval(), (example,), ONNX); or "
    "torch.export.save(torch.export.export(model.eval(), (example,)), 'model.pt2')";
constexpr char kFromTransformers[] =
    "pip install 'optimum[onnxruntime]' && optimum-cli export onnx --model FOLDER onnx, then "
    "--model onnx/model.onnx";
constexpr char kFromKeras[] =
    "pip install 'keras>=3.8' tensorflow tf2onnx && python3 -c \"import sys, keras; "
    "keras.models.load_model(sys.argv[1]).export(sys.argv[2], format='onnx')\" FILE ONNX";

constexpr ForeignFormat kForeign[] = {
    {".pt", "PyTorch's checkpoint or TorchScript", kFromTorch},
    {".pth", "PyTorch's checkpoint", kFromTorch},
    {".ckpt", "a checkpoint", kFromTorch},
    {".safetensors", "weights without a graph", kFromTransformers},
    {"pytorch_model.bin", "weights without a graph", kFromTransformers},
    {".gguf", "llama.cpp's weights without a graph",
     "optimum-cli export onnx --model NAME onnx, of the model that it was made of"},
    {".tflite", "TensorFlow Lite's model",
     "pip install tensorflow tf2onnx && python3 -m tf2onnx.convert --tflite FILE --output ONNX"},
    {".h5", "Keras's model", kFromKeras},
    {".keras", "Keras's model", kFromKeras},
    {".pdmodel", "PaddlePaddle's model",
     "pip install paddle2onnx && paddle2onnx --model_dir FOLDER --model_filename FILE --save_file "
     "ONNX"},
};

// As a shell, or Python, takes it for one word.
std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace

absl::Status CheckModelFormat(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string name = absl::AsciiStrToLower(file.filename().string());
  for (const ForeignFormat& format : kForeign) {
    if (!absl::EndsWith(name, format.suffix)) continue;
    const std::string folder = file.parent_path().string();
    return MakeError(
        ErrorCode::kBadModel, absl::StrCat("got ", format.what, ", want a file of ONNX"), path,
        absl::StrReplaceAll(format.hint, {{"FILE", Quoted(path)},
                                          {"FOLDER", Quoted(folder.empty() ? "." : folder)},
                                          {"ONNX", Quoted(file.stem().string() + ".onnx")}}));
  }
  return absl::OkStatus();
}

}  // namespace burnish
