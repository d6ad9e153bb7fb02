#include "base/self_path.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace burnish {

std::string ProgramPath(absl::string_view self, absl::string_view label) {
  // Bazel builds into .../bazel-out/<configuration>/bin/<folder>/<name>.
  constexpr absl::string_view kOut = "/bazel-out/";
  const size_t out = self.rfind(kOut);
  if (out != absl::string_view::npos) {
    const size_t bin = self.find("/bin/", out + kOut.size());
    if (bin != absl::string_view::npos) return absl::StrCat(self.substr(0, bin), "/bin/", label);
  }
  // npos + 1 is 0: no slash leaves the whole text.
  return absl::StrCat(self.substr(0, self.rfind('/') + 1), label.substr(label.rfind('/') + 1));
}

absl::StatusOr<std::string> FindProgram(absl::string_view label) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return absl::ErrnoToStatus(error.value(), "cannot read /proc/self/exe");
  std::string path = ProgramPath(self.string(), label);
  if (access(path.c_str(), X_OK) != 0) {
    return absl::NotFoundError(absl::StrCat("no program ", path, ": the installation of ",
                                            self.string(), " is not complete"));
  }
  return path;
}

}  // namespace burnish
