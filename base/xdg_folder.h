// Where a user's files belong. Source: the XDG base directory specification, version 0.8.
#ifndef BASE_XDG_FOLDER_H_
#define BASE_XDG_FOLDER_H_

#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace burnish {

// $`variable`, or $HOME/`fallback` without it, or "" without both. Relative paths do not count, as
// the specification says. `getenv`: the value of a variable of the environment, or nullptr.
std::string XdgFolder(const std::function<const char*(const char*)>& getenv, const char* variable,
                      absl::string_view fallback);

}  // namespace burnish

#endif  // BASE_XDG_FOLDER_H_
