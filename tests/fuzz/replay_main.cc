// Runs a fuzzer's function over each file of a folder, in place of libFuzzer. What crashed once
// stays in the corpus and is tried in every run of the tests.
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>

#include "base/check.h"
#include "base/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  CHECK_EQ(argc, 2) << "usage: " << argv[0] << " FOLDER";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    const absl::StatusOr<std::string> bytes = burnish::ReadFile(entry.path().string(), 1 << 20);
    CHECK_OK(bytes);
    std::cout << entry.path().filename().string() << std::endl;  // Before it, in case it crashes.
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size());
    ++count;
  }
  CHECK_GT(count, 0) << "no corpus in " << argv[1];
  std::cout << count << " inputs" << std::endl;
  return 0;
}
