#include "base/check.h"
#include "compiler/te/operator.h"

namespace burnish {
namespace {

template <typename T>
T Get(const std::map<std::string, AttributeValue>& values, const std::string& name, T fallback) {
  const auto it = values.find(name);
  if (it == values.end()) return fallback;
  const T* value = std::get_if<T>(&it->second);
  CHECK(value != nullptr) << "attribute " << name << " has alternative " << it->second.index();
  return *value;
}

}  // namespace

int64_t Attributes::Int(const std::string& name, int64_t fallback) const {
  return Get(values_, name, fallback);
}
double Attributes::Float(const std::string& name, double fallback) const {
  return Get(values_, name, fallback);
}
std::string Attributes::String(const std::string& name, std::string fallback) const {
  return Get(values_, name, std::move(fallback));
}
std::vector<int64_t> Attributes::Ints(const std::string& name,
                                      std::vector<int64_t> fallback) const {
  return Get(values_, name, std::move(fallback));
}
std::vector<double> Attributes::Floats(const std::string& name,
                                       std::vector<double> fallback) const {
  return Get(values_, name, std::move(fallback));
}

}  // namespace burnish
