// Whether this build has a sanitizer, whose own system calls, memory and settings come on top of
// the program's. Free of Abseil.
#ifndef BASE_SANITIZED_H_
#define BASE_SANITIZED_H_

namespace burnish {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace burnish

#endif  // BASE_SANITIZED_H_
