#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace burnish::check_internal {

Failure::Failure(const char* file, int line, const std::string& what) {
  stream_ << file << ":" << line << ": check failed: " << what << " ";
}

Failure::~Failure() {
  // stdio and not the logger: the logger may be what is broken.
  std::fprintf(stderr, "%s\n", stream_.str().c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace burnish::check_internal
