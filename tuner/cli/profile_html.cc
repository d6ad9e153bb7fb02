#include "tuner/cli/profile_html.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tuner/app/value_text.h"
#include "tuner/cli/format.h"

namespace burnish {
namespace {

constexpr char kHead[] = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Profile</title><style>
body { font: 14px sans-serif; margin: 2em; color: #222; background: #fff }
table { border-collapse: collapse } td, th { padding: 2px 10px; text-align: right }
td:first-child, th:first-child { text-align: left; max-width: 36em; overflow-wrap: anywhere }
.bar { width: 22em; text-align: left } .bar div { height: 12px; background: #c9d6ea }
.bar div div { background: #2f6db5 }
</style></head><body>
)html";

std::string Escape(absl::string_view text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

}  // namespace

std::string ProfileHtml(absl::string_view model, const std::vector<ProfileRow>& rows) {
  double total_ns = 0, longest_ns = 1;
  for (const ProfileRow& row : rows) {
    total_ns += row.ns;
    longest_ns = std::max(longest_ns, row.ns);
  }
  std::string page = absl::StrCat(
      kHead, "<h1>", Escape(model), "</h1><p>", rows.size(), " steps, ", FormatNs(total_ns),
      ". A bar is a step's time; the dark part is what the machine's peak or its "
      "memory would need at least.</p><table><tr><th>step<th>time<th class=bar>"
      "<th>GFLOP/s<th>of peak<th>moved<th>bound by<th>schedule</tr>\n");
  for (const ProfileRow& row : rows) {
    absl::StrAppend(
        &page, "<tr><td>", Escape(row.name), "<td>", FormatNs(row.ns),
        absl::StrFormat("<td class=bar><div style=\"width:%.2f%%\"><div "
                        "style=\"width:%.2f%%\"></div></div>",
                        100 * row.ns / longest_ns, std::min(100.0, 100 * row.bound_ns / row.ns)),
        absl::StrFormat("<td>%.1f<td>%.0f %%", row.gflops, 100 * row.peak_share), "<td>",
        FormatBytes(static_cast<double>(row.moved_bytes)), "<td>",
        row.bound_by_memory ? "memory" : "compute", "<td>", Escape(row.origin), "</tr>\n");
  }
  return page + "</table></body></html>\n";
}

}  // namespace burnish
