#include "base/xdg_folder.h"

#include "absl/strings/str_cat.h"

namespace burnish {

std::string XdgFolder(const std::function<const char*(const char*)>& getenv, const char* variable,
                      absl::string_view fallback) {
  const char* folder = getenv(variable);
  if (folder != nullptr && folder[0] == '/') return folder;
  const char* home = getenv("HOME");
  if (home == nullptr || home[0] != '/') return "";
  return absl::StrCat(home, "/", fallback);
}

}  // namespace burnish
