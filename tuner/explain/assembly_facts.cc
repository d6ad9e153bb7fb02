#include "tuner/explain/assembly_facts.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace burnish {
namespace {

// One line that is an instruction.
struct Instruction {
  absl::string_view name;
  absl::string_view operands;
  size_t line = 0;
};

struct Loop {
  absl::string_view label;
  size_t begin = 0, end = 0;  // Lines, both included.
};

// The number of the vector register that `text` begins with after "%", and its bits; -1: none.
int VectorRegister(absl::string_view text, int* bits) {
  if (text.size() < 4 || text.substr(1, 2) != "mm" || !absl::ascii_isdigit(text[3])) return -1;
  *bits = text[0] == 'x' ? 128 : text[0] == 'y' ? 256 : text[0] == 'z' ? 512 : 0;
  if (*bits == 0) return -1;
  int number = text[3] - '0';
  if (text.size() > 4 && absl::ascii_isdigit(text[4])) number = 10 * number + (text[4] - '0');
  return number;
}

bool IsMove(absl::string_view name) {
  return absl::StartsWith(name, "vmov") || absl::StartsWith(name, "vbroadcast") ||
         absl::StartsWith(name, "vpbroadcast") || absl::StartsWith(name, "mov") ||
         absl::StartsWith(name, "vextract") || absl::StartsWith(name, "vinsert");
}

bool IsMultiplyAdd(absl::string_view name) {
  return absl::StartsWith(name, "vfmadd") || absl::StartsWith(name, "vfnmadd") ||
         absl::StartsWith(name, "vdp") || absl::StartsWith(name, "vpdp") ||
         absl::StartsWith(name, "vpmaddwd") || absl::StartsWith(name, "tdp");
}

HotLoop Count(const std::vector<Instruction>& all, const Loop& loop) {
  HotLoop hot{.label = std::string(loop.label)};
  std::set<int> registers;
  for (const Instruction& one : all) {
    if (one.line < loop.begin || one.line > loop.end) continue;
    ++hot.instructions;
    bool has_vector = false;
    for (size_t at = one.operands.find('%'); at != absl::string_view::npos;
         at = one.operands.find('%', at + 1)) {
      int bits = 0;
      const int number = VectorRegister(one.operands.substr(at + 1), &bits);
      if (number < 0) continue;
      has_vector = true;
      registers.insert(number);
      hot.vector_bits = std::max(hot.vector_bits, bits);
    }
    const bool is_tile = absl::StartsWith(one.name, "tdp");
    hot.multiply_adds += IsMultiplyAdd(one.name) && (has_vector || is_tile);
    hot.arithmetic += is_tile || (has_vector && !IsMove(one.name));
    // An address asks for no data, and a prefetch does not wait for it.
    const size_t memory = one.operands.find('(');
    if (memory == absl::string_view::npos || absl::StartsWith(one.name, "lea") ||
        absl::StartsWith(one.name, "prefetch") || one.name == "nopw" || one.name == "nopl") {
      continue;
    }
    // AT&T writes the destination last.
    const bool is_store =
        absl::EndsWith(absl::StripAsciiWhitespace(one.operands), ")") && IsMove(one.name);
    (is_store ? hot.stores : hot.loads) += 1;
    hot.stack_accesses += has_vector && absl::StrContains(one.operands, "(%rsp");
  }
  hot.vector_registers = static_cast<int>(registers.size());
  return hot;
}

}  // namespace

std::optional<HotLoop> FindHotLoop(absl::string_view text) {
  std::vector<Instruction> instructions;
  absl::flat_hash_map<absl::string_view, size_t> labels;
  std::vector<Loop> loops;
  size_t line = 0;
  for (absl::string_view full : absl::StrSplit(text, '\n')) {
    ++line;
    const bool is_indented = !full.empty() && (full[0] == '\t' || full[0] == ' ');
    full = absl::StripAsciiWhitespace(full.substr(0, full.find('#')));
    if (full.empty()) continue;
    if (!is_indented && full.back() == ':') {
      labels[full.substr(0, full.size() - 1)] = line;
      continue;
    }
    if (!is_indented || full[0] == '.') continue;
    const size_t space = full.find_first_of(" \t");
    Instruction one{.name = full.substr(0, space), .line = line};
    if (space != absl::string_view::npos) {
      one.operands = absl::StripAsciiWhitespace(full.substr(space));
    }
    instructions.push_back(one);
    if (one.name[0] != 'j') continue;
    // Back to a label that stands above: a loop.
    if (const auto label = labels.find(one.operands); label != labels.end()) {
      loops.push_back({one.operands, label->second, line});
    }
  }
  std::optional<HotLoop> hottest;
  const auto consider = [&](const Loop& loop) {
    HotLoop hot = Count(instructions, loop);
    const auto rank = [](const HotLoop& one) {
      return std::pair(one.multiply_adds, one.arithmetic);
    };
    if (hot.vector_registers == 0 && hot.multiply_adds == 0) return;
    if (!hottest.has_value() || rank(hot) > rank(*hottest)) hottest = std::move(hot);
  };
  for (const Loop& loop : loops) {
    const bool is_innermost = std::none_of(loops.begin(), loops.end(), [&](const Loop& other) {
      return &other != &loop && other.begin >= loop.begin && other.end <= loop.end;
    });
    if (is_innermost) consider(loop);
  }
  if (!hottest.has_value()) consider({.begin = 0, .end = line});
  return hottest;
}

}  // namespace burnish
