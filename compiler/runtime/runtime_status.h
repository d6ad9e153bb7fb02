// Errors of the runtime: a code and a text. The runtime links libc and libstdc++ only, so absl's
// Status is not for it; the codes have absl's numbers, so that a caller with Abseil can cast them.
// No function of the runtime throws but std::bad_alloc, which the C API turns into a code.
#ifndef COMPILER_RUNTIME_RUNTIME_STATUS_H_
#define COMPILER_RUNTIME_RUNTIME_STATUS_H_

#include <cassert>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace burnish {

enum class RuntimeCode : int32_t {
  kOk = 0,
  kInvalidArgument = 3,     // The caller's or the file's fault; never retry.
  kNotFound = 5,            // No such file, symbol, step or tensor.
  kResourceExhausted = 8,   // No memory, no file descriptors, no threads.
  kFailedPrecondition = 9,  // Right call, wrong state or wrong machine (CPU features, ABI).
  kOutOfRange = 11,         // An index of the API, or an index input of the model.
  kInternal = 13,
  kDataLoss = 15,  // Damaged bytes: a hash or a bound does not fit.
};

class [[nodiscard]] RuntimeStatus {
 public:
  RuntimeStatus() = default;
  RuntimeStatus(RuntimeCode code, std::string message) : code_(code), message_(std::move(message)) {
    assert(code != RuntimeCode::kOk);
  }
  bool ok() const { return code_ == RuntimeCode::kOk; }
  RuntimeCode code() const { return code_; }
  const std::string& message() const { return message_; }  // Empty when ok.

 private:
  RuntimeCode code_ = RuntimeCode::kOk;
  std::string message_;
};

// `text` and the meaning of `errno_value` in words.
RuntimeStatus ErrnoStatus(const std::string& text, int errno_value);

// A value, or the reason why there is none.
template <typename T>
class [[nodiscard]] RuntimeOr {
 public:
  RuntimeOr(RuntimeStatus status) : value_(std::move(status)) { assert(!this->status().ok()); }
  RuntimeOr(T value) : value_(std::in_place_index<1>, std::move(value)) {}

  bool ok() const { return value_.index() == 1; }
  RuntimeStatus status() const { return ok() ? RuntimeStatus() : std::get<0>(value_); }
  const T& value() const& { return std::get<1>(value_); }
  T& value() & { return std::get<1>(value_); }
  T&& value() && { return std::get<1>(std::move(value_)); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  std::variant<RuntimeStatus, T> value_;
};

}  // namespace burnish

#define RUNTIME_CONCAT_INNER(a, b) a##b
#define RUNTIME_CONCAT(a, b) RUNTIME_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr` (RuntimeStatus) is not ok.
#define RUNTIME_RETURN_IF_ERROR(expr)                                             \
  do {                                                                            \
    if (::burnish::RuntimeStatus runtime_status = (expr); !runtime_status.ok()) { \
      return runtime_status;                                                      \
    }                                                                             \
  } while (false)

// `lhs = *rexpr`, or returns rexpr's status. `lhs` may declare a variable.
#define RUNTIME_ASSIGN_OR_RETURN(lhs, rexpr) \
  RUNTIME_ASSIGN_OR_RETURN_INNER(RUNTIME_CONCAT(runtime_or_, __LINE__), lhs, rexpr)
#define RUNTIME_ASSIGN_OR_RETURN_INNER(var, lhs, rexpr) \
  auto var = (rexpr);                                   \
  if (!var.ok()) return var.status();                   \
  lhs = *std::move(var)

#endif  // COMPILER_RUNTIME_RUNTIME_STATUS_H_
