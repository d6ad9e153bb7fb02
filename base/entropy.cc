#include "base/entropy.h"

#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace burnish {

std::string EntropyBytes(int count) {
  std::string bytes(static_cast<size_t>(count), '\0');
  // So few bytes come at once, and cannot be interrupted (getrandom(2)).
  CHECK_LE(count, 256);
  CHECK_EQ(getrandom(bytes.data(), bytes.size(), 0), static_cast<ssize_t>(count));
  return bytes;
}

int64_t EntropyNumber() {
  uint64_t bits = 0;
  std::memcpy(&bits, EntropyBytes(sizeof(bits)).data(), sizeof(bits));
  return std::max<int64_t>(1, static_cast<int64_t>(bits >> 3));
}

}  // namespace burnish
