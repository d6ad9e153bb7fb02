// The control groups that this process is in, of version 1 and 2. Private to what reads their
// limits. Free of Abseil.
#ifndef BASE_CONTROL_GROUPS_H_
#define BASE_CONTROL_GROUPS_H_

#include <functional>
#include <string>
#include <utility>

namespace burnish {

// What a group's folder says, of version 2 or 1; infinity: nothing.
using ReadGroup = std::function<double(const std::string& folder, bool is_version_2)>;

// The least of the process's group and those around it: a limit of a group holds for all groups
// inside of it. `controller`: of version 1, such as "cpu". `root`: before /proc and /sys, for
// tests.
double LeastOfGroups(const std::string& root, const std::string& controller,
                     const ReadGroup& read_group);

// The first two words of a file; empty where it is not there.
std::pair<std::string, std::string> TwoWords(const std::string& path);

}  // namespace burnish

#endif  // BASE_CONTROL_GROUPS_H_
