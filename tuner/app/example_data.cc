#include "tuner/app/example_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/rng.h"
#include "base/small_float.h"
#include "base/status_macros.h"
#include "compiler/driver/model_error.h"
#include "tuner/app/error.h"
#include "tuner/app/tensor_array.h"
#include "tuner/app/value_text.h"

namespace burnish {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kSuffix = ".npy";

std::string Describe(const TensorInfo& tensor) {
  return absl::StrCat(tensor.name, " ", ElementTypeName(tensor.type), FormatShape(tensor.shape));
}

std::string DescribeAll(const std::vector<TensorInfo>& tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* text, const TensorInfo& tensor) {
    absl::StrAppend(text, Describe(tensor));
  });
}

// An input's file in its folder.
std::string FileName(const TensorInfo& tensor) {
  std::string name = tensor.name;
  std::replace(name.begin(), name.end(), '/', '_');
  return absl::StrCat(name, kSuffix);
}

// By the numbers in names: "9.npy" before "10.npy".
bool InOrder(const std::string& a, const std::string& b) {
  const auto number_end = [](const std::string& text, size_t at) {
    while (at < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[at]))) ++at;
    return at;
  };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const size_t a_end = number_end(a, i), b_end = number_end(b, j);
    if (a_end > i && b_end > j) {
      while (i + 1 < a_end && a[i] == '0') ++i;
      while (j + 1 < b_end && b[j] == '0') ++j;
      if (a_end - i != b_end - j) return a_end - i < b_end - j;
      const int order = a.compare(i, a_end - i, b, j, b_end - j);
      if (order != 0) return order < 0;
      i = a_end;
      j = b_end;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  // Equal but for zeros in front: any order that is always the same.
  return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

struct Listing {
  std::vector<std::string> files, folders;  // Names, in order.
};

// Files of NumPy's and folders. What begins with a dot is nobody's data.
absl::StatusOr<Listing> List(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) {
    return MakeError(ErrorCode::kNoInputFile, "there is no such folder", folder);
  }
  if (!fs::is_directory(folder, error)) {
    return MakeError(ErrorCode::kNoInputFile, "it is no folder", folder,
                     "the folder that has the examples as .npy files");
  }
  Listing listing;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (name[0] == '.') continue;
    if (entry->is_directory(ignored)) {
      listing.folders.push_back(name);
    } else if (absl::EndsWith(name, kSuffix)) {
      listing.files.push_back(name);
    }
  }
  if (error) {
    const bool denied = error == std::errc::permission_denied;
    return MakeError(denied ? ErrorCode::kInputPermission : ErrorCode::kIo, error.message(),
                     folder);
  }
  std::sort(listing.files.begin(), listing.files.end(), &InOrder);
  std::sort(listing.folders.begin(), listing.folders.end(), &InOrder);
  return listing;
}

// Examples that an array of this shape holds; -1: it is none of the input's.
int64_t ExamplesIn(const std::vector<int64_t>& shape, const std::vector<int64_t>& want) {
  if (shape == want) return 1;
  if (shape.empty()) return -1;
  const bool is_stack = shape.size() == want.size() + 1;
  if (!is_stack && shape.size() != want.size()) return -1;
  if (!std::equal(shape.begin() + 1, shape.end(), want.end() - (shape.size() - 1))) return -1;
  if (is_stack) return shape[0];
  return want[0] > 0 && shape[0] % want[0] == 0 ? shape[0] / want[0] : -1;
}

// "[1,3,32,32], or that many times [N,..]"
std::string ShapesThatFit(const std::vector<int64_t>& want) {
  std::string text = FormatShape(want);
  std::vector<std::string> rest;
  for (const int64_t extent : want) rest.push_back(absl::StrCat(extent));
  const std::string stacked = absl::StrJoin(rest, ",");
  if (want.empty()) return absl::StrCat(text, " or [N]");
  rest[0] = want[0] == 1 ? "N" : absl::StrCat("N*", want[0]);
  return absl::StrCat(text, ", [", absl::StrJoin(rest, ","), "] or [N,", stacked,
                      "] for N examples");
}

template <typename Float>
int64_t FirstNotFinite(const NpyArray& array) {
  const auto count = static_cast<int64_t>(array.bytes.size() / sizeof(Float));
  for (int64_t i = 0; i < count; ++i) {
    Float value;
    std::memcpy(&value, &array.bytes[i * sizeof(Float)], sizeof(Float));
    if (!std::isfinite(static_cast<double>(value))) return i;
  }
  return -1;
}

// Position of the first value that is NaN or infinite; -1: there is none.
int64_t FirstNotFinite(const NpyArray& array) {
  switch (array.type) {
    case ElementType::kF32:
      return FirstNotFinite<float>(array);
    case ElementType::kF64:
      return FirstNotFinite<double>(array);
    case ElementType::kF16:
      return FirstNotFinite<Float16>(array);
    case ElementType::kBf16:
      return FirstNotFinite<Bfloat16>(array);
    default:
      return -1;
  }
}

struct ExampleFile {
  NpyArray array;
  int64_t count = 0;
};

absl::StatusOr<ExampleFile> ReadExamples(const TensorInfo& input, const std::string& path) {
  ExampleFile file;
  ASSIGN_OR_RETURN(file.array, ReadArray(path));
  file.array = ForType(std::move(file.array), input.type);
  file.count = ExamplesIn(file.array.shape, input.shape);
  if (file.array.type != input.type || file.count < 0) {
    return Misfit(file.array, input, path, ShapesThatFit(input.shape));
  }
  const int64_t bad = FirstNotFinite(file.array);
  if (bad >= 0) {
    return MakeError(
        ErrorCode::kBadExamples,
        absl::StrCat("input ", input.name, ": NaN or infinite in example ",
                     bad / std::max<int64_t>(input.element_count(), 1), " of the file"),
        path, "numpy.isfinite(x).all() finds such files");
  }
  return file;
}

}  // namespace

absl::StatusOr<ExampleData> ExampleData::Of(std::vector<TensorInfo> inputs,
                                            const std::string& where) {
  if (inputs.empty()) {
    return MakeError(ErrorCode::kBadExamples, "the model has no inputs: there is nothing to give",
                     where);
  }
  ExampleData data;
  data.inputs_ = std::move(inputs);
  return data;
}

absl::StatusOr<ExampleData> ExampleData::Random(std::vector<TensorInfo> inputs, int64_t count) {
  ASSIGN_OR_RETURN(ExampleData data, Of(std::move(inputs), "random inputs"));
  data.count_ = count;
  return data;
}

absl::StatusOr<ExampleData> ExampleData::Open(const std::string& folder,
                                              std::vector<TensorInfo> inputs, int64_t least) {
  ASSIGN_OR_RETURN(ExampleData data, Of(std::move(inputs), folder));
  ASSIGN_OR_RETURN(const Listing listing, List(folder));
  if (!listing.files.empty() || listing.folders.empty()) {
    RETURN_IF_ERROR(data.AddFolder(folder));
  } else {
    for (const std::string& name : listing.folders) {
      RETURN_IF_ERROR(data.AddFolder(absl::StrCat(folder, "/", name)));
    }
  }
  if (data.count_ < least) {
    return MakeError(ErrorCode::kBadExamples,
                     absl::StrCat("got ", data.count_, " examples, want at least ", least), folder,
                     "some hundred inputs that are like those that the model will get");
  }
  return data;
}

absl::Status ExampleData::AddFolder(const std::string& folder) {
  ASSIGN_OR_RETURN(const Listing listing, List(folder));
  if (listing.files.empty()) {
    return MakeError(ErrorCode::kBadExamples, "there is no .npy file in it", folder,
                     absl::StrCat("numpy.save('", folder, "/", FileName(inputs_[0]),
                                  "', x), x of shape ", ShapesThatFit(inputs_[0].shape)));
  }
  const bool is_named = std::find(listing.files.begin(), listing.files.end(),
                                  FileName(inputs_[0])) != listing.files.end();
  if (inputs_.size() > 1 || is_named) {
    ASSIGN_OR_RETURN(std::vector<std::string> paths, PathsByName(folder, listing.files));
    return AddSet(std::move(paths));
  }
  for (const std::string& name : listing.files) {
    RETURN_IF_ERROR(AddSet({absl::StrCat(folder, "/", name)}));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ExampleData::PathsByName(
    const std::string& folder, const std::vector<std::string>& files) const {
  std::vector<std::string> paths, names;
  for (const TensorInfo& input : inputs_) {
    names.push_back(FileName(input));
    paths.push_back(absl::StrCat(folder, "/", names.back()));
    if (std::find(files.begin(), files.end(), names.back()) == files.end()) {
      return MakeError(ErrorCode::kNoInputFile,
                       absl::StrCat("there is no file for input ", Describe(input)), paths.back(),
                       "a file for each input, by its name");
    }
  }
  for (const std::string& file : files) {
    if (std::find(names.begin(), names.end(), file) != names.end()) continue;
    return MakeError(ErrorCode::kUnknownTensor,
                     absl::StrCat("want files for: ", DescribeAll(inputs_)),
                     absl::StrCat(folder, "/", file),
                     "a file is named after its input; move others out of the folder");
  }
  return paths;
}

absl::Status ExampleData::AddSet(std::vector<std::string> paths) {
  Set set{.paths = std::move(paths), .begin = count_};
  for (size_t i = 0; i < inputs_.size(); ++i) {
    ASSIGN_OR_RETURN(const ExampleFile file, ReadExamples(inputs_[i], set.paths[i]));
    if (i == 0) set.count = file.count;
    if (file.count == set.count) continue;
    return MakeError(
        ErrorCode::kTensorMismatch,
        absl::StrCat("input ", inputs_[i].name, ": got ", file.count, " examples, want ", set.count,
                     ", as many as of ", inputs_[0].name),
        set.paths[i], "the same examples in the files of all inputs");
  }
  count_ += set.count;
  if (set.count > 0) sets_.push_back(std::move(set));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NpyArray>> ExampleData::Read(int64_t index) {
  if (index < 0 || index >= count_) {
    return absl::OutOfRangeError(absl::StrCat("example ", index, " of ", count_));
  }
  if (sets_.empty()) {
    Rng rng(static_cast<uint64_t>(index));
    std::vector<NpyArray> drawn;
    for (const TensorInfo& input : inputs_) {
      const std::vector<uint8_t> bytes = DrawTensor(input, rng);
      drawn.push_back(
          {.type = input.type, .shape = input.shape, .bytes = {bytes.begin(), bytes.end()}});
    }
    return drawn;
  }
  const auto behind = std::upper_bound(sets_.begin(), sets_.end(), index,
                                       [](int64_t i, const Set& set) { return i < set.begin; });
  const Set& set = *(behind - 1);
  const auto number = static_cast<size_t>(behind - 1 - sets_.begin());
  if (number != loaded_) {
    loaded_ = static_cast<size_t>(-1);
    arrays_.clear();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      ASSIGN_OR_RETURN(ExampleFile file, ReadExamples(inputs_[i], set.paths[i]));
      // Somebody has written it anew meanwhile.
      if (file.count != set.count) return Misfit(file.array, inputs_[i], set.paths[i]);
      arrays_.push_back(std::move(file.array));
    }
    loaded_ = number;
  }
  std::vector<NpyArray> example;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto bytes = static_cast<size_t>(inputs_[i].dense_bytes());
    example.push_back({.type = inputs_[i].type,
                       .shape = inputs_[i].shape,
                       .bytes = arrays_[i].bytes.substr((index - set.begin) * bytes, bytes)});
  }
  return example;
}

}  // namespace burnish
