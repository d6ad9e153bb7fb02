#include "db/sqlite/sqlite_status.h"

#include <sqlite3.h>

#include "absl/strings/str_cat.h"

namespace burnish {

absl::Status SqliteStatus(int code, absl::string_view path, absl::string_view message) {
  const auto text = [&](absl::string_view cause, absl::string_view hint) {
    return absl::StrCat("database ", path, " ", cause, " (SQLite: ", message, "); hint: ", hint);
  };
  // The low byte is the primary code; extended ones say more about the same cause.
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(text("is locked by another process",
                                         "wait until it is done; `fuser` on the file shows it"));
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(
          text("has no space left; nothing was changed", "free space on its disk, then resume"));
    case SQLITE_NOMEM:
      return absl::ResourceExhaustedError(
          text("needs more memory; nothing was changed", "close other programs, then resume"));
    case SQLITE_CORRUPT:
      return absl::DataLossError(
          text("is damaged", "put back a copy, or save what is left: sqlite3 FILE .recover"));
    case SQLITE_NOTADB:
      return absl::InvalidArgumentError(
          text("is not a database", "name another file; one that is not there is made"));
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return absl::PermissionDeniedError(
          text("cannot be written", "check who owns the file and its folder"));
    case SQLITE_CANTOPEN:
      return absl::NotFoundError(
          text("cannot be opened", "its folder must be there and be ours to write"));
    // ABORTED and not DATA_LOSS: the file is as it was before the transaction.
    case SQLITE_IOERR:
      return absl::AbortedError(
          text("cannot be read or written; nothing was changed", "the kernel's log says more"));
    case SQLITE_TOOBIG:
      return absl::InvalidArgumentError(text("cannot hold a value this large", "cut it"));
    default:
      return absl::InternalError(text(absl::StrCat("refused a statement with code ", code),
                                      "this is a bug of Burnish: please report it"));
  }
}

}  // namespace burnish
