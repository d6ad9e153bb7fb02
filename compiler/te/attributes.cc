#include "base/check.h"
#include "compiler/te/operator.h"

namespace burnish {

template <typename T>
T Attributes::Get(const std::string& name, T fallback) const {
  if (reads_ != nullptr) reads_->names.insert(name);
  const auto it = values_.find(name);
  if (it == values_.end()) return fallback;
  const T* value = std::get_if<T>(&it->second);
  if (value == nullptr && reads_ != nullptr) {
    if (reads_->mistyped.empty()) reads_->mistyped = name;
    return fallback;
  }
  CHECK(value != nullptr) << "attribute " << name << " has alternative " << it->second.index();
  return *value;
}

int64_t Attributes::Int(const std::string& name, int64_t fallback) const {
  return Get(name, fallback);
}
double Attributes::Float(const std::string& name, double fallback) const {
  return Get(name, fallback);
}
std::string Attributes::String(const std::string& name, std::string fallback) const {
  return Get(name, std::move(fallback));
}
std::vector<int64_t> Attributes::Ints(const std::string& name,
                                      std::vector<int64_t> fallback) const {
  return Get(name, std::move(fallback));
}
std::vector<double> Attributes::Floats(const std::string& name,
                                       std::vector<double> fallback) const {
  return Get(name, std::move(fallback));
}

}  // namespace burnish
