// Writes random traces as new files of compiler/schedule/testdata/corpus:
//   bazel run //tests/property:write_corpus -- FOLDER FIRST_SEED COUNT
// The corpus grows; a file that is there is never written again.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "base/sha256.h"
#include "compiler/ir/printer.h"
#include "compiler/schedule/trace.h"
#include "tests/property/random_program.h"
#include "tests/property/random_trace.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: write_corpus FOLDER FIRST_SEED COUNT\n";
    return 64;
  }
  const uint64_t first = std::strtoull(argv[2], nullptr, 10);
  const uint64_t count = std::strtoull(argv[3], nullptr, 10);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const burnish::RandomProgram defined = burnish::MakeRandomProgram(seed);
    const burnish::RandomTrace random = burnish::MakeRandomTrace(defined.program, seed);
    const std::string path =
        std::string(argv[1]) + "/" + defined.family + "_" + std::to_string(seed) + ".txt";
    if (std::filesystem::exists(path)) continue;
    std::ofstream(path) << burnish::Print(defined.program) << "----\n"
                        << burnish::PrintTrace(random.trace) << "----\nlowered "
                        << burnish::Sha256Hex(burnish::Print(random.lowered)) << "\n";
  }
  return 0;
}
