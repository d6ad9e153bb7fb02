#include "tests/bench/search/search_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace burnish {
namespace {

using Json = nlohmann::json;

constexpr std::pair<const char*, uint32_t> kSpaces[] = {
    {"templates", kTemplates}, {"generator", kGenerator}, {"all", kTemplates | kGenerator}};

std::string NameOfSpaces(uint32_t spaces) {
  for (const auto& [name, known] : kSpaces) {
    if (spaces == known) return name;
  }
  return "";
}

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("search table: got ", what, "; collect it again by ./dev bench search collect"));
}

// [index, 1 if uniform, sketch, "values", latencies or a failure's number, estimate, code]
Json RowJson(const TableRow& row) {
  Json outcome = row.latency_ns;
  if (row.failure.has_value()) outcome = static_cast<int>(*row.failure);
  return Json::array({row.index, row.uniform ? 1 : 0, row.sketch, absl::StrJoin(row.point, " "),
                      outcome, row.estimate_ns, row.code});
}

absl::StatusOr<TableRow> ParseRow(const Json& json, const std::vector<TableSketch>& sketches) {
  if (!json.is_array() || json.size() != 7) return Malformed("a row that is no list of seven");
  TableRow row{.index = json[0].get<int64_t>(),
               .uniform = json[1].get<int>() != 0,
               .sketch = json[2].get<int>()};
  if (row.index < 0) return Malformed("a negative index");
  if (row.sketch < 0 || row.sketch >= static_cast<int>(sketches.size())) {
    return Malformed(absl::StrCat("sketch ", row.sketch, " of ", sketches.size()));
  }
  for (const absl::string_view value :
       absl::StrSplit(json[3].get<std::string>(), ' ', absl::SkipEmpty())) {
    if (!absl::SimpleAtoi(value, &row.point.emplace_back())) return Malformed("no whole number");
  }
  if (row.point.size() != sketches[row.sketch].decisions.size()) {
    return Malformed(absl::StrCat(row.point.size(), " values of ",
                                  sketches[row.sketch].decisions.size(), " decisions"));
  }
  if (json[4].is_number()) {
    const int kind = json[4].get<int>();
    if (kind < 1 || kind > kFailureKindCount) return Malformed("an unknown kind of failure");
    row.failure = static_cast<FailureKind>(kind);
  } else {
    row.latency_ns = json[4].get<std::vector<int64_t>>();
    const bool positive = std::all_of(row.latency_ns.begin(), row.latency_ns.end(),
                                      [](int64_t ns) { return ns > 0; });
    if (row.latency_ns.empty() || !positive) return Malformed("a row without a positive latency");
  }
  row.estimate_ns = json[5].get<int64_t>();
  row.code = json[6].get<std::string>();
  return row;
}

absl::StatusOr<SearchTable> ParseFields(const Json& json) {
  if (json.at("schema").get<int>() != SearchTable::kSchema) return Malformed("another schema");
  SearchTable table{.name = json.at("name").get<std::string>(),
                    .kind = json.at("class").get<std::string>(),
                    .source = json.at("source").get<std::string>(),
                    .machine = json.at("machine").get<std::string>(),
                    .commit = json.at("commit").get<std::string>(),
                    .workload = json.at("workload").get<std::string>(),
                    .contract = json.at("contract").get<std::string>(),
                    .target = json.at("target").get<std::string>(),
                    .space_count = json.at("space").get<int64_t>(),
                    .space_exact = json.at("space_exact").get<bool>()};
  if (json.contains("rules")) {
    ASSIGN_OR_RETURN(table.spaces, SpacesOfName(json.at("rules").get<std::string>()));
  }
  if (const std::string row = json.at("calibration").get<std::string>(); !row.empty()) {
    ASSIGN_OR_RETURN(table.calibration, ParseCalibrationRow(row));
  }
  for (const Json& sketch : json.at("sketches")) {
    table.sketches.push_back({.name = sketch.at("name").get<std::string>(),
                              .decisions = sketch.at("decisions").get<std::vector<std::string>>()});
  }
  for (const Json& row : json.at("rows")) {
    ASSIGN_OR_RETURN(table.rows.emplace_back(), ParseRow(row, table.sketches));
    if (table.rows.size() > 1 && table.rows.back().index <= table.rows.end()[-2].index) {
      return Malformed("rows that are not in the order of their indices");
    }
  }
  return table;
}

}  // namespace

absl::StatusOr<uint32_t> SpacesOfName(absl::string_view name) {
  for (const auto& [known, spaces] : kSpaces) {
    if (name == known) return spaces;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("got rules ", name, ", want templates, generator or all"));
}

int64_t TableRow::rank_ns() const {
  if (latency_ns.empty()) return 0;
  std::vector<int64_t> sorted = latency_ns;
  std::sort(sorted.begin(), sorted.end());
  return sorted[(sorted.size() - 1) / 2];
}

std::string PrintTable(const SearchTable& table) {
  Json head{{"schema", SearchTable::kSchema},
            {"name", table.name},
            {"class", table.kind},
            {"source", table.source},
            {"machine", table.machine},
            {"commit", table.commit},
            {"contract", table.contract},
            {"target", table.target},
            {"space", table.space_count},
            {"space_exact", table.space_exact},
            {"rules", NameOfSpaces(table.spaces)},
            {"workload", table.workload},
            {"calibration", table.calibration.has_value() ? ToText(*table.calibration) : ""},
            {"sketches", Json::array()}};
  for (const TableSketch& sketch : table.sketches) {
    head["sketches"].push_back({{"name", sketch.name}, {"decisions", sketch.decisions}});
  }
  // The head's last brace makes way for the rows.
  std::string text = head.dump(1);
  text.resize(text.size() - 2);
  absl::StrAppend(&text, ",\n \"rows\": [");
  for (size_t i = 0; i < table.rows.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "\n" : ",\n", RowJson(table.rows[i]).dump());
  }
  return absl::StrCat(text, "\n ]\n}\n");
}

absl::StatusOr<SearchTable> ParseTable(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Malformed("no JSON");
  // The library says by exceptions what a field lacks; nothing of it may leave this function.
  try {
    return ParseFields(json);
  } catch (const Json::exception& error) {
    return Malformed(error.what());
  }
}

absl::StatusOr<SearchTable> ReadTable(const std::string& path) {
  constexpr int64_t kTableBytesMax = 64 << 20;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kTableBytesMax));
  return ParseTable(text);
}

}  // namespace burnish
