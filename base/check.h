// CHECK: states what must hold for our own code to be right. On in release builds too: a wrong
// answer costs more than the comparison. A failure prints file, line, the values and what was
// streamed, then aborts. For what a user, a file or another process can cause, use absl::Status.
// Free of Abseil, so that the runtime may use it.
#ifndef BASE_CHECK_H_
#define BASE_CHECK_H_

#include <concepts>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

namespace burnish::check_internal {

// Collects the message; its destructor prints and aborts.
class Failure {
 public:
  Failure(const char* file, int line, const std::string& what);
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;
  [[noreturn]] ~Failure();
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

template <typename T>
void Print(std::ostream& out, const T& value) {
  if constexpr (std::is_same_v<T, std::nullptr_t>) {
    out << "nullptr";
  } else if constexpr (std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>) {
    out << static_cast<int>(value);
  } else if constexpr (requires { out << value; }) {
    out << value;
  } else if constexpr (std::is_enum_v<T>) {
    out << +static_cast<std::underlying_type_t<T>>(value);
  } else {
    out << "(a value that cannot be printed)";
  }
}

template <typename A, typename B>
[[gnu::cold, gnu::noinline]] std::unique_ptr<std::string> Describe(const A& a, const B& b,
                                                                   const char* text) {
  std::ostringstream out;
  out << text << " (";
  Print(out, a);
  out << " vs. ";
  Print(out, b);
  out << ")";
  return std::make_unique<std::string>(std::move(out).str());
}

// What std::cmp_equal and its like accept: integers that are not characters and not bool.
template <typename T>
concept Number = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                 !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                 !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

// Compares integers by value: a negative int is less than any size_t.
#define BURNISH_DEFINE_CHECK_OP(Name, op, cmp)                                         \
  template <typename A, typename B>                                                    \
  std::unique_ptr<std::string> Check##Name(const A& a, const B& b, const char* text) { \
    if constexpr (Number<A> && Number<B>) {                                            \
      if (std::cmp(a, b)) [[likely]]                                                   \
        return nullptr;                                                                \
    } else {                                                                           \
      if (a op b) [[likely]]                                                           \
        return nullptr;                                                                \
    }                                                                                  \
    return Describe(a, b, text);                                                       \
  }
BURNISH_DEFINE_CHECK_OP(EQ, ==, cmp_equal)
BURNISH_DEFINE_CHECK_OP(NE, !=, cmp_not_equal)
BURNISH_DEFINE_CHECK_OP(LT, <, cmp_less)
BURNISH_DEFINE_CHECK_OP(LE, <=, cmp_less_equal)
BURNISH_DEFINE_CHECK_OP(GT, >, cmp_greater)
BURNISH_DEFINE_CHECK_OP(GE, >=, cmp_greater_equal)
#undef BURNISH_DEFINE_CHECK_OP

// Takes absl::Status and absl::StatusOr<T> without naming them.
template <typename S>
std::unique_ptr<std::string> CheckOk(const S& status, const char* text) {
  if (status.ok()) [[likely]]
    return nullptr;
  std::string cause;
  if constexpr (requires { status.status(); }) {
    cause = status.status().ToString();
  } else {
    cause = status.ToString();
  }
  return std::make_unique<std::string>(std::string(text) + " is OK (" + cause + ")");
}

}  // namespace burnish::check_internal

// `while`, because an `if` would catch the caller's `else`; the body never returns.
#define CHECK(condition) \
  while (!(condition)) ::burnish::check_internal::Failure(__FILE__, __LINE__, #condition).stream()

#define BURNISH_CHECK_RESULT(expr)                           \
  while (std::unique_ptr<std::string> burnish_what = (expr)) \
  ::burnish::check_internal::Failure(__FILE__, __LINE__, *burnish_what).stream()
#define BURNISH_CHECK_OP(Name, op, a, b) \
  BURNISH_CHECK_RESULT(::burnish::check_internal::Check##Name((a), (b), #a " " #op " " #b))

#define CHECK_EQ(a, b) BURNISH_CHECK_OP(EQ, ==, a, b)
#define CHECK_NE(a, b) BURNISH_CHECK_OP(NE, !=, a, b)
#define CHECK_LT(a, b) BURNISH_CHECK_OP(LT, <, a, b)
#define CHECK_LE(a, b) BURNISH_CHECK_OP(LE, <=, a, b)
#define CHECK_GT(a, b) BURNISH_CHECK_OP(GT, >, a, b)
#define CHECK_GE(a, b) BURNISH_CHECK_OP(GE, >=, a, b)
#define CHECK_OK(status) BURNISH_CHECK_RESULT(::burnish::check_internal::CheckOk((status), #status))

// In debug builds only, for what an inner loop cannot afford. In release the operands are compiled
// but never evaluated.
#ifdef NDEBUG
#define BURNISH_DCHECK(check) \
  while (false) check
#else
#define BURNISH_DCHECK(check) check
#endif
#define DCHECK(condition) BURNISH_DCHECK(CHECK(condition))
#define DCHECK_EQ(a, b) BURNISH_DCHECK(CHECK_EQ(a, b))
#define DCHECK_NE(a, b) BURNISH_DCHECK(CHECK_NE(a, b))
#define DCHECK_LT(a, b) BURNISH_DCHECK(CHECK_LT(a, b))
#define DCHECK_LE(a, b) BURNISH_DCHECK(CHECK_LE(a, b))
#define DCHECK_GT(a, b) BURNISH_DCHECK(CHECK_GT(a, b))
#define DCHECK_GE(a, b) BURNISH_DCHECK(CHECK_GE(a, b))

#endif  // BASE_CHECK_H_
