#include "tuner/cli/progress_line.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tuner/cli/format.h"

namespace burnish {

std::string Redraw(absl::Span<const std::string> lines, int columns, std::vector<size_t>& drawn) {
  const auto width = static_cast<size_t>(std::max(columns, 2));
  size_t rows = 0;
  for (const size_t characters : drawn)
    rows += std::max<size_t>(1, (characters + width - 1) / width);
  drawn.clear();
  // ECMA-48: CUU to the first row, EL for each line, ED for rows that are left over.
  std::string text = rows > 0 ? absl::StrCat("\x1b[", rows, "A") : "";
  for (const std::string& line : lines) {
    // In the last column some terminals wrap, and some do not.
    const std::string safe = absl::StrReplaceAll(Printable(line), {{"\n", " "}});
    const absl::string_view shown = FirstCharacters(safe, width - 1);
    drawn.push_back(CharacterCount(shown));
    absl::StrAppend(&text, "\r\x1b[K", shown, "\n");
  }
  return absl::StrCat(text, "\x1b[J");
}

void ProgressLine::Show(absl::string_view text) {
  if (!context_.err_is_terminal() || context_.quiet()) return;
  context_.err() << Redraw({std::string(text)}, context_.columns(), drawn_) << std::flush;
}

void ProgressLine::Clear() {
  if (drawn_.empty()) return;
  context_.err() << Redraw({}, context_.columns(), drawn_) << std::flush;
}

}  // namespace burnish
