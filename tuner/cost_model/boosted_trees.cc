#include "tuner/cost_model/boosted_trees.h"

#include <xgboost/c_api.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/stand_aside.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
// Few thousand rows have no use for more; training time grows with it.
constexpr int kBinsMax = 64;

absl::Status FromXgboost(int code, const char* call) {
  if (code == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call, ": ", XGBGetLastError()));
}

struct FreeMatrix {
  void operator()(void* matrix) const { XGDMatrixFree(matrix); }
};
using Matrix = std::unique_ptr<void, FreeMatrix>;

absl::StatusOr<Matrix> MakeMatrix(const FeatureMatrix& features, int threads) {
  DMatrixHandle handle = nullptr;
  RETURN_IF_ERROR(FromXgboost(
      XGDMatrixCreateFromMat_omp(features.values().data(), static_cast<bst_ulong>(features.rows()),
                                 static_cast<bst_ulong>(features.columns()), kMissing, &handle,
                                 threads),
      "creating a matrix"));
  return Matrix(handle);
}

absl::Status SetFloats(const Matrix& matrix, const char* field, absl::Span<const float> values) {
  return FromXgboost(XGDMatrixSetFloatInfo(matrix.get(), field, values.data(),
                                           static_cast<bst_ulong>(values.size())),
                     field);
}

}  // namespace

absl::StatusOr<std::unique_ptr<BoostedTrees>> BoostedTrees::Train(
    const FeatureMatrix& features, absl::Span<const float> labels, absl::Span<const float> weights,
    const BoostedTreesOptions& options) {
  CHECK_GE(features.rows(), 1);
  CHECK_EQ(labels.size(), static_cast<size_t>(features.rows()));
  CHECK_EQ(weights.size(), labels.size());
  ASSIGN_OR_RETURN(const Matrix matrix, MakeMatrix(features, options.threads));
  RETURN_IF_ERROR(SetFloats(matrix, "label", labels));
  RETURN_IF_ERROR(SetFloats(matrix, "weight", weights));
  BoosterHandle handle = nullptr;
  DMatrixHandle matrices[] = {matrix.get()};
  RETURN_IF_ERROR(FromXgboost(XGBoosterCreate(matrices, 1, &handle), "creating a booster"));
  std::unique_ptr<BoostedTrees> trees(new BoostedTrees(handle));
  const std::pair<const char*, std::string> parameters[] = {
      {"verbosity", "0"},
      {"nthread", absl::StrCat(options.threads)},
      {"seed", absl::StrCat(options.seed % (uint64_t{1} << 31))},
      {"objective", "reg:squarederror"},
      {"base_score", "0"},
      {"tree_method", "hist"},
      {"max_bin", absl::StrCat(kBinsMax)},
      {"max_depth", absl::StrCat(options.depth_max)},
      {"eta", absl::StrCat(options.learning_rate)},
      {"lambda", "1"},
  };
  for (const auto& [name, value] : parameters) {
    RETURN_IF_ERROR(FromXgboost(XGBoosterSetParam(handle, name, value.c_str()), name));
  }
  for (int round = 0; round < options.rounds; ++round) {
    StandAsidePoint();
    RETURN_IF_ERROR(FromXgboost(XGBoosterUpdateOneIter(handle, round, matrix.get()), "training"));
  }
  return trees;
}

BoostedTrees::~BoostedTrees() { XGBoosterFree(booster_); }

absl::StatusOr<std::vector<float>> BoostedTrees::Predict(const FeatureMatrix& features) const {
  if (features.rows() == 0) return std::vector<float>();
  // NumPy's array interface, version 3: address and whether it is read-only.
  const std::string array =
      absl::StrCat(R"({"data": [)", reinterpret_cast<uintptr_t>(features.values().data()),
                   R"(, true], "shape": [)", features.rows(), ", ", features.columns(),
                   R"(], "typestr": "<f4", "version": 3})");
  constexpr char kConfig[] =
      R"({"type": 0, "training": false, "iteration_begin": 0, "iteration_end": 0,)"
      R"( "strict_shape": false, "cache_id": 0, "missing": NaN})";
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* values = nullptr;
  RETURN_IF_ERROR(FromXgboost(XGBoosterPredictFromDense(booster_, array.c_str(), kConfig, nullptr,
                                                        &shape, &dimensions, &values),
                              "predicting"));
  bst_ulong count = 1;
  for (bst_ulong d = 0; d < dimensions; ++d) count *= shape[d];
  CHECK_EQ(count, static_cast<bst_ulong>(features.rows()));
  return std::vector<float>(values, values + count);
}

}  // namespace burnish
