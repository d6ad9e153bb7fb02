#include "compiler/driver/model_error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/small_float.h"
#include "base/status_macros.h"
#include "compiler/driver/to_status.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/run_sizes.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/thread_pool.h"

namespace burnish {
namespace {

// The largest error of a draw varies from one to the next by a third or so.
constexpr int kDraws = 3;
// Fixed: the same model gives the same error and so the same bundle. The number has no meaning.
constexpr uint64_t kSeed = 20161;

using Bytes = std::vector<uint8_t>;

absl::StatusOr<std::unique_ptr<Session>> Open(const std::string& bundle,
                                              const std::shared_ptr<ThreadPool>& pool) {
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(bundle.data()),
                                       bundle.size());
  // Made by this process a moment ago: hashing the weights would find nothing.
  auto model = Model::LoadBytes(bytes, {.check_weights = false});
  if (!model.ok()) return ToStatus(model.status());
  auto session = Session::Create(*model, pool);
  if (!session.ok()) return ToStatus(session.status());
  return std::move(*session);
}

template <typename Float>
void FillNormal(Rng& rng, Bytes& bytes) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(Float)) {
    const Float value(rng.Normal());
    std::memcpy(&bytes[at], &value, sizeof(Float));
  }
}

std::vector<std::vector<ExampleInputs::Array>> DrawExamples(const BundleManifest& manifest) {
  Rng rng(kSeed);
  std::vector<std::vector<ExampleInputs::Array>> examples(kDraws);
  for (auto& example : examples) {
    for (size_t i = 0; i < manifest.inputs.size(); ++i) {
      const TensorInfo& tensor = manifest.inputs[i].tensor;
      const InputDefault* value = DefaultOf(manifest.input_defaults, i);
      example.push_back({tensor.shape, value == nullptr
                                           ? DrawTensor(tensor, rng)
                                           : Bytes(value->bytes().begin(), value->bytes().end())});
    }
  }
  return examples;
}

absl::StatusOr<Bytes> OutputOf(Session& session, size_t index) {
  TensorInfo tensor = session.manifest().outputs[index].tensor;
  tensor.shape = session.OutputShape(index);
  Bytes bytes(tensor.dense_bytes());
  if (const RuntimeStatus got = session.GetOutput(index, bytes); !got.ok()) return ToStatus(got);
  return bytes;
}

template <typename Float>
absl::StatusOr<double> ErrorOf(const Bytes& got, const Bytes& want) {
  double difference = 0, greatest = 0;
  for (size_t at = 0; at < want.size(); at += sizeof(Float)) {
    Float a, b;
    std::memcpy(&a, &got[at], sizeof(Float));
    std::memcpy(&b, &want[at], sizeof(Float));
    // Random inputs may overflow a model that its own inputs do not. Then nothing is known, and the
    // expected error has to do.
    if (!std::isfinite(static_cast<double>(b))) return absl::InternalError("not finite");
    // What overflows in other types alone (f16 ends at 65504) is no choice.
    if (!std::isfinite(static_cast<double>(a))) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(static_cast<double>(a) - static_cast<double>(b)));
    greatest = std::max(greatest, std::abs(static_cast<double>(b)));
  }
  return difference == 0 ? 0 : difference / greatest;
}

// Null: a type whose values are no measure of an error.
using Error = absl::StatusOr<double> (*)(const Bytes& got, const Bytes& want);
Error ErrorFor(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return &ErrorOf<float>;
    case ElementType::kF64:
      return &ErrorOf<double>;
    case ElementType::kBf16:
      return &ErrorOf<Bfloat16>;
    case ElementType::kF16:
      return &ErrorOf<Float16>;
    default:
      return nullptr;
  }
}

}  // namespace

std::vector<uint8_t> DrawTensor(const TensorInfo& tensor, Rng& rng) {
  Bytes bytes(tensor.dense_bytes());
  if (tensor.type == ElementType::kF32) {
    FillNormal<float>(rng, bytes);
  } else if (tensor.type == ElementType::kF64) {
    FillNormal<double>(rng, bytes);
  } else if (tensor.type == ElementType::kBf16) {
    FillNormal<Bfloat16>(rng, bytes);
  } else if (tensor.type == ElementType::kF16) {
    FillNormal<Float16>(rng, bytes);
  } else {
    // Little-endian: the value is that of the first byte.
    for (size_t at = 0; at < bytes.size(); at += ElementBytes(tensor.type)) {
      bytes[at] = static_cast<uint8_t>(rng.Below(2));
    }
  }
  return bytes;
}

ErrorMeter::ErrorMeter() = default;
ErrorMeter::~ErrorMeter() = default;

absl::StatusOr<std::unique_ptr<ErrorMeter>> ErrorMeter::Create(const std::string& reference,
                                                               const ExampleInputs& inputs,
                                                               int thread_count) {
  auto made = ThreadPool::Create({.thread_count = thread_count});
  if (!made.ok()) return ToStatus(made.status());
  std::unique_ptr<ErrorMeter> meter(new ErrorMeter());
  meter->pool_ = std::move(*made);
  ASSIGN_OR_RETURN(meter->reference_, Open(reference, meter->pool_));
  Session& session = *meter->reference_;
  meter->examples_ = inputs.examples;
  meter->is_drawn_ = inputs.examples.empty();
  if (meter->is_drawn_) meter->examples_ = DrawExamples(session.manifest());
  for (size_t e = 0; e < meter->examples_.size(); ++e) {
    RETURN_IF_ERROR(meter->SetInputs(session, e));
    if (const RuntimeStatus ran = session.Run(); !ran.ok()) return ToStatus(ran);
    std::vector<Bytes>& wanted = meter->wanted_.emplace_back();
    for (size_t i = 0; i < session.manifest().outputs.size(); ++i) {
      ASSIGN_OR_RETURN(wanted.emplace_back(), OutputOf(session, i));
    }
    // Found now, and not with the first build that is measured.
    RETURN_IF_ERROR(meter->ErrorOf(session, e).status());
  }
  return meter;
}

absl::Status ErrorMeter::SetInputs(Session& session, size_t example) const {
  const std::vector<ExampleInputs::Array>& arrays = examples_[example];
  const BundleManifest& manifest = session.manifest();
  if (arrays.size() != manifest.inputs.size()) {
    return absl::InvalidArgumentError("the examples are of a model with other inputs");
  }
  if (!is_drawn_ && !manifest.run_sizes.inputs.empty()) {
    std::vector<ShapedInput> shaped;
    for (size_t i = 0; i < arrays.size(); ++i) {
      shaped.push_back({manifest.inputs[i].tensor.name, arrays[i].shape});
    }
    std::vector<int64_t> extents(manifest.run_sizes.sizes.size());
    RETURN_IF_ERROR(ToStatus(ReadGivenSizes(manifest.run_sizes, shaped, extents)));
    RETURN_IF_ERROR(ToStatus(session.SetSizes(extents)));
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    RETURN_IF_ERROR(ToStatus(session.SetInput(i, arrays[i].dense)));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> ErrorMeter::ErrorOf(Session& session, size_t example) const {
  double error = 0;
  for (size_t i = 0; i < session.manifest().outputs.size(); ++i) {
    const Error error_of = ErrorFor(session.manifest().outputs[i].tensor.type);
    if (error_of == nullptr) continue;
    ASSIGN_OR_RETURN(const Bytes got, OutputOf(session, i));
    // What is found may be another number of things by other rounding: nothing to compare.
    if (got.size() != wanted_[example][i].size()) return absl::InternalError("other shapes");
    ASSIGN_OR_RETURN(const double of_output, error_of(got, wanted_[example][i]));
    error = std::max(error, of_output);
  }
  return error;
}

absl::StatusOr<double> ErrorMeter::Measure(const std::string& bundle) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Open(bundle, pool_));
  if (session->manifest().inputs != reference_->manifest().inputs ||
      session->manifest().outputs != reference_->manifest().outputs) {
    return absl::InternalError("the bundles have other inputs or outputs");
  }
  double error = 0;
  for (size_t e = 0; e < examples_.size(); ++e) {
    RETURN_IF_ERROR(SetInputs(*session, e));
    if (const RuntimeStatus ran = session->Run(); !ran.ok()) return ToStatus(ran);
    ASSIGN_OR_RETURN(const double of_example, ErrorOf(*session, e));
    error = std::max(error, of_example);
  }
  return error;
}

}  // namespace burnish
