#include "compiler/te/op_id.h"

#include <algorithm>
#include <iterator>
#include <ostream>

namespace burnish {
namespace {

constexpr absl::string_view kNames[] = {
#define BURNISH_OPERATOR(id, name) name,
    BURNISH_OPERATORS(BURNISH_OPERATOR)
#undef BURNISH_OPERATOR
};

}  // namespace

absl::string_view OpName(OpId op) { return kNames[static_cast<size_t>(op)]; }

std::ostream& operator<<(std::ostream& out, OpId op) { return out << OpName(op); }

std::optional<OpId> FindOpId(absl::string_view name) {
  const auto* const found = std::lower_bound(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames) || *found != name) return std::nullopt;
  return static_cast<OpId>(found - kNames);
}

}  // namespace burnish
