#include "tests/e2e/fields/cases.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "google/protobuf/stubs/logging.h"
#include "gtest/gtest.h"
#include "proto/rpc.h"
#include "tests/e2e/fields/extremes.h"
#include "tests/e2e/fields/farm.h"

namespace burnish {
namespace {

struct Flags {
  int pairs = 0;
  uint64_t seed = 1;
  std::string only;  // Of a field's name; empty: all.
};
Flags flags;

}  // namespace

const std::string& StrangersSecret() {
  static const std::string& secret = *new std::string(32, 's');
  return secret;
}

std::vector<Case> CasesOf(const google::protobuf::Message& base) {
  const std::vector<Mutation> mutations = MutationsOf(base, {kHonest});
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, const std::vector<const Mutation*>& applied) {
    const std::unique_ptr<google::protobuf::Message> message(base.New());
    message->CopyFrom(base);
    for (const Mutation* mutation : applied) mutation->apply(*message);
    if (message->ByteSizeLong() > kRpcMessageBytesMax) return;  // Refused before it is read.
    cases.push_back({.name = name, .bytes = message->SerializePartialAsString()});
  };
  const auto label = [&](const Mutation& mutation) {
    return absl::StrCat(mutation.field, " = ", mutation.value.substr(0, 40));
  };
  const std::string& type = base.GetDescriptor()->name();
  for (const Mutation& mutation : mutations) {
    if (!flags.only.empty() && mutation.field.find(flags.only) == std::string::npos) continue;
    add(absl::StrCat(type, ": ", label(mutation)), {&mutation});
  }
  if (!flags.only.empty()) return cases;
  int number = 0;
  for (std::string& bytes : OddEncodings(base.SerializeAsString())) {
    cases.push_back(
        {.name = absl::StrCat(type, ": encoding ", ++number), .bytes = std::move(bytes)});
  }
  Rng rng(flags.seed);
  for (int i = 0; i < flags.pairs; ++i) {
    const Mutation& first = mutations[rng.Below(mutations.size())];
    const Mutation& second = mutations[rng.Below(mutations.size())];
    if (first.field == second.field) continue;
    add(absl::StrCat(type, ": ", label(first), ", ", label(second)), {&first, &second});
  }
  return cases;
}

CalibrationRow StrangersRow() {
  return {.machine = "m",
          .threads = 1,
          .clock_ghz = 3,
          .units = {{.unit = "fma_f32x16", .gops_alone = 100, .gops_with_loads = 90}},
          .levels = {{"memory", 12, 12, 90}}};
}

void ExpectAllIn(const google::protobuf::ServiceDescriptor& service, const Bases& bases) {
  for (int i = 0; i < service.method_count(); ++i) {
    const google::protobuf::MethodDescriptor& method = *service.method(i);
    const auto base = bases.find(method.name());
    ASSERT_NE(base, bases.end()) << method.name() << " has no message to begin from here";
    EXPECT_EQ(base->second->GetDescriptor(), method.input_type());
  }
}

int RunFieldsTests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  CLI::App app("Each field of each message at its extremes, at real daemons.");
  app.add_option("--pairs", flags.pairs, "of fields of each message, beside each alone");
  app.add_option("--seed", flags.seed, "of the pairs");
  app.add_option("--only", flags.only, "fields whose name has this");
  CLI11_PARSE(app, argc, argv);
  // Text that is no UTF-8 is meant.
  google::protobuf::SetLogHandler(nullptr);
  return RUN_ALL_TESTS();
}

}  // namespace burnish
