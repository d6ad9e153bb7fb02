#include "compiler/runtime/host/host_kernel.h"

#include <algorithm>

#include "compiler/runtime/host/kernels.h"

namespace burnish {

namespace host {

RuntimeStatus Got(const std::string& what, const std::string& want) {
  return RuntimeStatus(RuntimeCode::kInvalidArgument, "got " + what + ", want " + want);
}

std::string Text(const HostType& type) {
  std::string text = ElementTypeName(type.type);
  for (size_t d = 0; d < type.shape.size(); ++d) {
    text += (d == 0 ? "[" : ",") + std::to_string(type.shape[d]);
  }
  return text + (type.shape.empty() ? "[]" : "]");
}

RuntimeOr<size_t> AxisOf(int64_t axis, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) {
    return Got("axis " + std::to_string(axis),
               "one of the " + std::to_string(rank) + " dimensions");
  }
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

Around AroundAxis(const std::vector<int64_t>& shape, size_t axis) {
  Around around{.extent = shape[axis]};
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d < axis) around.outer *= shape[d];
    if (d > axis) around.inner *= shape[d];
  }
  return around;
}

int64_t Count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

bool IsIndex(ElementType type) { return type == ElementType::kI32 || type == ElementType::kI64; }

}  // namespace host

namespace {

const std::vector<HostKernel>& Table() {
  static const auto* const table = [] {
    auto* const all = new std::vector<HostKernel>{
        host::CumProd(), host::CumSum(),          host::NonMaxSuppression(),
        host::NonZero(), host::ScatterElements(), host::ScatterNd(),
        host::TopK(),    host::Unique()};
    std::sort(all->begin(), all->end(), [](const HostKernel& a, const HostKernel& b) {
      return std::string_view(a.name) < b.name;
    });
    return all;
  }();
  return *table;
}

const HostAttribute& Find(const std::vector<HostAttribute>& attributes, std::string_view name) {
  return *std::find_if(attributes.begin(), attributes.end(),
                       [name](const HostAttribute& a) { return a.name == name; });
}

// Far below what int64_t holds, so that kernels may multiply extents.
constexpr int64_t kElementsMax = int64_t{1} << 40;

RuntimeStatus CheckSizes(const std::vector<HostType>& types) {
  for (const HostType& type : types) {
    int64_t count = 1;
    for (const int64_t extent : type.shape) {
      if (extent < 1 || count > kElementsMax / extent) {
        return host::Got(host::Text(type), "1 to 2^40 elements");
      }
      count *= extent;
    }
  }
  return RuntimeStatus();
}

}  // namespace

int64_t HostSignature::Number(std::string_view name) const { return Find(attributes, name).number; }

const std::string& HostSignature::Text(std::string_view name) const {
  return Find(attributes, name).text;
}

std::span<const HostKernel> AllHostKernels() { return Table(); }

const HostKernel* FindHostKernel(std::string_view name) {
  for (const HostKernel& kernel : Table()) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

RuntimeStatus CheckHostSignature(const HostSignature& call) {
  const HostKernel* kernel = FindHostKernel(call.kernel);
  if (kernel == nullptr) return host::Got("host kernel \"" + call.kernel + "\"", "a known one");
  const auto same_name = [](const HostAttribute& a, const HostAttribute& b) {
    return a.name == b.name;
  };
  if (!std::equal(call.attributes.begin(), call.attributes.end(), kernel->attributes.begin(),
                  kernel->attributes.end(), same_name)) {
    return host::Got("other attributes", "those of host kernel " + call.kernel);
  }
  RUNTIME_RETURN_IF_ERROR(CheckSizes(call.inputs));
  RUNTIME_RETURN_IF_ERROR(CheckSizes(call.outputs));
  RUNTIME_ASSIGN_OR_RETURN(const std::vector<HostType> outputs, kernel->infer(call));
  if (outputs != call.outputs) return host::Got("other outputs", "what the host kernel writes");
  return RuntimeStatus();
}

}  // namespace burnish
