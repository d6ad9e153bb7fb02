// ASSIGN_OR_RETURN and RETURN_IF_ERROR: what Abseil of 2022 does not bring.
#ifndef BASE_STATUS_MACROS_H_
#define BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define BURNISH_CONCAT_INNER(a, b) a##b
#define BURNISH_CONCAT(a, b) BURNISH_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr` (absl::Status) is not OK.
#define RETURN_IF_ERROR(expr)                                         \
  do {                                                                \
    if (absl::Status burnish_status = (expr); !burnish_status.ok()) { \
      return burnish_status;                                          \
    }                                                                 \
  } while (false)

// `lhs = *rexpr`, or returns rexpr's status. `lhs` may declare a variable.
#define ASSIGN_OR_RETURN(lhs, rexpr) \
  BURNISH_ASSIGN_OR_RETURN(BURNISH_CONCAT(burnish_or_, __LINE__), lhs, rexpr)
#define BURNISH_ASSIGN_OR_RETURN(var, lhs, rexpr) \
  auto var = (rexpr);                             \
  if (!var.ok()) return std::move(var).status();  \
  lhs = *std::move(var)

#endif  // BASE_STATUS_MACROS_H_
