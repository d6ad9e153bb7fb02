#include "base/secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/entropy.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"
#include "base/xdg_folder.h"

namespace burnish {
namespace {

constexpr int kNewSecretBytes = 32;  // As many as its fingerprint has.
constexpr size_t kFileBytesMax = 4096;

std::string Sha256Raw(absl::string_view bytes) {
  const Sha256Digest digest = Sha256Of(bytes.data(), bytes.size());
  return std::string(digest.begin(), digest.end());
}

// Beside its place first and then linked there: nobody reads half of it, and whoever comes second
// takes what the first has written.
absl::Status MakeFile(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty() && !std::filesystem::exists(folder, error)) {
    std::filesystem::create_directories(folder, error);
    // It holds secrets, and is this user's alone. One that was there is left as it is.
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  }
  const std::string temporary =
      absl::StrCat(path, ".tmp-", absl::BytesToHexString(EntropyBytes(8)));
  const UniqueFd file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  const std::string text = absl::StrCat(absl::BytesToHexString(NewSecret()), "\n");
  // Short of one page: written whole or not at all.
  const bool is_whole =
      write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      fsync(file.get()) == 0;
  const int write_error = errno;
  const bool is_linked = is_whole && link(temporary.c_str(), path.c_str()) == 0;
  const int link_error = errno;
  unlink(temporary.c_str());
  if (!is_whole) return absl::ErrnoToStatus(write_error, absl::StrCat("cannot write ", path));
  if (is_linked || link_error == EEXIST) return absl::OkStatus();
  return absl::ErrnoToStatus(link_error, absl::StrCat("cannot write ", path));
}

// `own`: root does not take another user's either.
absl::StatusOr<std::string> ReadOrMake(const std::string& path, bool own) {
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) {
    RETURN_IF_ERROR(MakeFile(path));
    file.Reset(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  struct stat info = {};
  if (!file.valid() || fstat(file.get(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  }
  // Of the open file, which nobody can exchange any more.
  if (own && info.st_uid != geteuid()) {
    return absl::PermissionDeniedError(absl::StrCat(path, " belongs to user ", info.st_uid,
                                                    ", and this process is user ", geteuid(),
                                                    "'s: remove it and a new one is made"));
  }
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("others may read the secret in ", path, ": chmod 600 ", path,
                     " if nobody has, else remove it and a new one is made"));
  }
  // More than any secret: what is longer is none.
  char text[kFileBytesMax];
  const ssize_t size = read(file.get(), text, sizeof(text));
  if (size < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  absl::StatusOr<std::string> secret =
      ParseSecret(absl::string_view(text, static_cast<size_t>(size)));
  if (!secret.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", secret.status().message(),
                                                   "; remove the file and a new one is made"));
  }
  return secret;
}

}  // namespace

std::string NewSecret() { return EntropyBytes(kNewSecretBytes); }

std::string SecretFor(absl::string_view secret, absl::string_view name) {
  // The secret itself, and not its hash: that is the fingerprint, which others know. Last, behind a
  // name of one length: SHA-256 of a secret and a longer name could be had from that of the secret
  // and the beginning of the name.
  return Sha256Raw(absl::StrCat("burnish secret", Sha256Raw(name), secret));
}

std::string FingerprintOf(absl::string_view secret) { return Sha256Raw(secret); }

bool IsFingerprintOf(absl::string_view fingerprint, absl::string_view secret) {
  const std::string own = FingerprintOf(secret);
  if (fingerprint.size() != own.size()) return false;
  // Each byte, whatever those before it say.
  volatile uint8_t difference = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    difference = difference | static_cast<uint8_t>(own[i] ^ fingerprint[i]);
  }
  return difference == 0;
}

absl::StatusOr<std::string> ParseSecret(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  bool is_hex = text.size() % 2 == 0;
  for (const char digit : text) is_hex = is_hex && absl::ascii_isxdigit(digit);
  if (!is_hex || text.size() < 2 * kSecretBytesMin || text.size() > 2 * kSecretBytesMax) {
    // Never the text itself: it may be somebody's secret all the same.
    return absl::InvalidArgumentError(
        absl::StrCat("got no secret, want ", 2 * kSecretBytesMin, " to ", 2 * kSecretBytesMax,
                     " hexadecimal digits, as by openssl rand -hex 32"));
  }
  return absl::HexStringToBytes(text);
}

absl::StatusOr<std::string> ReadOrMakeSecret(const std::string& path) {
  return ReadOrMake(path, /*own=*/false);
}

std::string UserSecretPath(const std::function<const char*(const char*)>& getenv,
                           absl::string_view name) {
  const std::string folder = XdgFolder(getenv, "XDG_STATE_HOME", ".local/state");
  return folder.empty() ? "" : absl::StrCat(folder, "/burnish/", name);
}

absl::StatusOr<std::string> UserSecret(const std::function<const char*(const char*)>& getenv,
                                       const char* variable, absl::string_view name) {
  if (const char* set = getenv(variable); set != nullptr && *set != '\0') {
    absl::StatusOr<std::string> secret = ParseSecret(set);
    if (secret.ok()) return secret;
    return absl::InvalidArgumentError(absl::StrCat(variable, ": ", secret.status().message()));
  }
  const std::string path = UserSecretPath(getenv, name);
  if (!path.empty()) return ReadOrMake(path, /*own=*/true);
  return absl::FailedPreconditionError(
      absl::StrCat("this user has no home for a secret: set HOME, or ", variable));
}

}  // namespace burnish
