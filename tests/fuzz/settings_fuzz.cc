// libFuzzer target: a config.toml is read, or refused as B0102 with its line. Values are strings of
// known names, whatever the file holds.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "tuner/app/error.h"
#include "tuner/cli/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace burnish;  // NOLINT: a C function has no namespace of its own.
  // A file without a disk, under a path that a library may open.
  static const int file = memfd_create("config.toml", 0);
  static const std::string path = absl::StrCat("/proc/self/fd/", file);
  CHECK_GE(file, 0);
  CHECK_EQ(ftruncate(file, 0), 0);
  CHECK_EQ(pwrite(file, data, size, 0), static_cast<ssize_t>(size));
  const absl::StatusOr<Settings> settings = Settings::Load(
      {.getenv = [](const char*) -> const char* { return nullptr; }, .system_config = path});
  if (!settings.ok()) {
    CHECK(ErrorCodeOf(settings.status()) == ErrorCode::kSettings) << settings.status();
    return 0;
  }
  for (const SettingInfo& info : AllSettings()) CHECK(!settings->Find(info.key).origin.empty());
  return 0;
}
