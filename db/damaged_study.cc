#include "db/damaged_study.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace burnish {
namespace {

constexpr absl::string_view kHint = "; hint: ";

// For SQL within a shell's quotes: an id from a file may hold anything.
std::string Quoted(absl::string_view text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-_./", c);
  });
  if (is_plain) return absl::StrCat("'", text, "'");
  return absl::StrCat("CAST(x'", absl::BytesToHexString(text), "' AS TEXT)");
}

}  // namespace

absl::Status DamagedStudy(absl::string_view study_id, absl::string_view what) {
  const std::string id = Quoted(study_id);
  std::string sql = absl::StrCat("DELETE FROM study WHERE id=", id);
  for (const absl::string_view table : {"study_task", "study_log", "open_job"}) {
    absl::StrAppend(&sql, "; DELETE FROM ", table, " WHERE study=", id);
  }
  return absl::DataLossError(
      absl::StrCat("study '", absl::CHexEscape(study_id), "' is damaged: ", what, kHint,
                   "put back a copy, or go on without it: sqlite3 FILE \"", sql, "\""));
}

absl::Status WithDamagedStudy(absl::string_view study_id, const absl::Status& status) {
  if (!absl::IsDataLoss(status) || absl::StrContains(status.message(), kHint)) return status;
  return DamagedStudy(study_id, status.message());
}

}  // namespace burnish
