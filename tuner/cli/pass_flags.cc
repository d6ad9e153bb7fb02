#include "tuner/cli/pass_flags.h"

#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tuner/app/error.h"
#include "tuner/cli/format.h"

namespace burnish {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::string_view kHint = "`tuner compile --passes list` shows all";

const char* KeepsName(PassKeeps keeps) {
  switch (keeps) {
    case PassKeeps::kBits:
      return "bits";
    case PassKeeps::kValues:
      return "values";
    case PassKeeps::kTypes:
      return "accuracy";
  }
  return "";
}

const GraphPass* FindPass(absl::string_view name) {
  for (const GraphPass& pass : GraphPasses()) {
    if (pass.name == name) return &pass;
  }
  return nullptr;
}

}  // namespace

void PassFlags::Add(CommandOptions& options) {
  options.Value("--passes", "list|verify|-NAME", &text_,
                "list: show the passes; verify: check the graph after each; -NAME: without that");
  options.Value("--dump-graph-after", "NAME", &dump_after_,
                "print the graph that a pass left; into a file *.dot, for Graphviz");
  std::vector<std::string> names, values = {"list", "verify"};
  for (const GraphPass& pass : GraphPasses()) {
    names.emplace_back(pass.name);
    if (pass.is_optional) values.push_back(absl::StrCat("-", pass.name));
  }
  options.Suggest("--passes", values);
  options.Suggest("--dump-graph-after", names);
}

std::string PassFlags::ListText(int columns) {
  TextTable table({{"pass"},
                   {"from level", TextTable::kRight},
                   {"keeps"},
                   {"may be left out"},
                   {"needs", TextTable::kLeft, /*wraps=*/true},
                   {"what it does", TextTable::kLeft, /*wraps=*/true}});
  for (const GraphPass& pass : GraphPasses()) {
    table.AddRow({std::string(pass.name), absl::StrCat(pass.opt_level), KeepsName(pass.keeps),
                  pass.is_optional ? "yes" : "no", absl::StrJoin(pass.needs, " "),
                  std::string(pass.what)});
  }
  return table.ToText(columns);
}

Json PassFlags::ListJson() {
  Json passes = Json::array();
  for (const GraphPass& pass : GraphPasses()) {
    Json needs = Json::array();
    for (const absl::string_view need : pass.needs) needs.push_back(std::string(need));
    passes.push_back({{"name", std::string(pass.name)},
                      {"opt_level", pass.opt_level},
                      {"keeps", KeepsName(pass.keeps)},
                      {"optional", pass.is_optional},
                      {"needs", std::move(needs)},
                      {"what", std::string(pass.what)}});
  }
  return {{"schema", 1}, {"passes", std::move(passes)}};
}

absl::StatusOr<PassOptions> PassFlags::Parse(int opt_level) {
  PassOptions options;
  std::vector<std::string> without;
  for (absl::string_view part : absl::StrSplit(text_, ',', absl::SkipEmpty())) {
    if (part == "verify") {
      options.verify = true;
    } else if (absl::ConsumePrefix(&part, "-")) {
      without.emplace_back(part);
    } else {
      return MakeError(ErrorCode::kUsage, absl::StrCat("'", part, "' is no word of --passes"),
                       "--passes",
                       absl::StrCat("--passes=-", FindPass(part) != nullptr ? part : "NAME",
                                    " builds without a pass; ", kHint));
    }
  }
  absl::StatusOr<std::vector<std::string>> left_out = LeftOut(without);
  if (!left_out.ok()) {
    return MakeError(ErrorCode::kUsage, left_out.status().message(), "--passes",
                     std::string(kHint));
  }
  options.without = *std::move(left_out);
  if (!dump_after_.empty()) {
    const GraphPass* pass = FindPass(dump_after_);
    if (pass == nullptr) {
      return MakeError(ErrorCode::kUsage, absl::StrCat("there is no pass '", dump_after_, "'"),
                       "--dump-graph-after", std::string(kHint));
    }
    if (pass->opt_level > opt_level || absl::c_linear_search(options.without, pass->name)) {
      return MakeError(ErrorCode::kUsage,
                       absl::StrCat("pass '", dump_after_, "' does not run in this build"),
                       "--dump-graph-after", "leave out --passes and --opt-level");
    }
  }
  options.observer = [this](const GraphPass& pass, const Graph&, absl::Duration time) {
    const std::lock_guard<std::mutex> lock(mutex_);
    times_[pass.name] += time;
  };
  return options;
}

Json PassFlags::TimesJson() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  Json times = Json::array();
  for (const GraphPass& pass : GraphPasses()) {
    const auto found = times_.find(pass.name);
    if (found == times_.end()) continue;
    times.push_back(
        {{"name", std::string(pass.name)}, {"time_us", absl::ToDoubleMicroseconds(found->second)}});
  }
  return times;
}

}  // namespace burnish
