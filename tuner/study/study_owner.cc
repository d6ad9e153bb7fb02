#include "tuner/study/study_owner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"

namespace burnish {
namespace {

// What tells processes apart. Machines are told apart by name: two of one name that share a store
// still differ in their boot.
struct Owner {
  std::string host;
  std::string boot;   // A machine that started again has another.
  std::string space;  // Of process ids: a container's are its own.
  int64_t pid = 0;
  std::string start;  // Of the process, in ticks since the boot: ids are used again.
};

std::string FirstLine(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, 4096);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

// Field 22 of /proc/PID/stat, proc(5); empty: there is no such process.
std::string StartOf(int64_t pid) {
  const std::string stat = FirstLine(absl::StrCat("/proc/", pid, "/stat"));
  // The name, field 2, is in brackets and may have spaces and brackets in it.
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return "";
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(name_end + 1), ' ');
  // " S ppid ..": field 3 is at 1. A process that has ended and that nobody has waited for is one
  // that will do nothing any more.
  constexpr size_t kStart = 20, kState = 1;
  if (fields.size() <= kStart || fields[kState] == "Z" || fields[kState] == "X") return "";
  return fields[kStart];
}

Owner Here() {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  struct stat space = {};
  stat("/proc/self/ns/pid", &space);
  return {.host = host,
          .boot = FirstLine("/proc/sys/kernel/random/boot_id"),
          .space = absl::StrCat(space.st_ino),
          .pid = getpid(),
          .start = StartOf(getpid())};
}

constexpr absl::string_view kProcess = "process ", kOn = " on ", kDetails = " (", kEnd = ")";

std::string TextOf(const Owner& owner) {
  return absl::StrCat(kProcess, owner.pid, kOn, owner.host, kDetails, owner.boot, " ", owner.space,
                      " ", owner.start, kEnd);
}

std::optional<Owner> Parse(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, kProcess) || !absl::ConsumeSuffix(&text, kEnd)) {
    return std::nullopt;
  }
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(kOn, 1));
  const size_t details = parts.second.rfind(kDetails);
  Owner owner;
  if (details == absl::string_view::npos || !absl::SimpleAtoi(parts.first, &owner.pid)) {
    return std::nullopt;
  }
  owner.host = std::string(parts.second.substr(0, details));
  const std::vector<std::string> fields =
      absl::StrSplit(parts.second.substr(details + kDetails.size()), ' ');
  if (fields.size() != 3) return std::nullopt;
  owner.boot = fields[0];
  owner.space = fields[1];
  owner.start = fields[2];
  return owner;
}

}  // namespace

std::string ThisProcess() { return TextOf(Here()); }

bool HasEnded(absl::string_view text) {
  const std::optional<Owner> owner = Parse(text);
  const Owner here = Here();
  if (!owner.has_value() || owner->host != here.host || here.boot.empty()) return false;
  if (owner->boot != here.boot) return true;
  // The processes of another container cannot be seen from here.
  if (owner->space != here.space) return false;
  return StartOf(owner->pid) != owner->start;
}

}  // namespace burnish
