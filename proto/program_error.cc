#include "proto/program_error.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace burnish {

std::string ProgramErrorText(const ProgramError& error, bool color) {
  std::string text = absl::StrCat(color ? "\033[1;31m" : "", "error[", error.number, "]",
                                  color ? "\033[0m" : "", ": ", error.message, "\n");
  if (!error.where.empty()) absl::StrAppend(&text, "  where: ", error.where, "\n");
  if (!error.hint.empty()) absl::StrAppend(&text, "  hint: ", error.hint, "\n");
  return text;
}

std::string ProgramErrorJson(const ProgramError& error) {
  using Json = nlohmann::ordered_json;
  Json json = {{"code", error.number}, {"message", error.message}};
  if (!error.where.empty()) json["where"] = error.where;
  if (!error.hint.empty()) json["hint"] = error.hint;
  // Messages quote files and networks, whose bytes need not be UTF-8.
  return Json({{"error", json}, {"schema", 1}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace burnish
