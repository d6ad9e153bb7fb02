// Tile registers of x86's AMX in software, for tests on processors without them: the arithmetic as
// a class of its own, and a stand-in for the instructions of compiled code, which end in SIGILL on
// such a processor. So what is tested is the code as it is shipped, byte for byte.
#ifndef COMPILER_CODEGEN_TILE_EMULATOR_H_
#define COMPILER_CODEGEN_TILE_EMULATOR_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace burnish {

// Source: Intel SDM vol. 1, chapter 18, and vol. 2 of each instruction, for palette 1.
class TileMachine {
 public:
  // Each is false where a processor raises an exception: a configuration that the palette does not
  // allow, no configuration, a register that is not configured, or sizes that do not fit each
  // other.
  bool Configure(const uint8_t* configuration);  // 64 bytes; ldtilecfg.
  void Release();
  bool Zero(int tile);
  bool Load(int tile, const uint8_t* from, int64_t stride_bytes);
  bool Store(int tile, uint8_t* to, int64_t stride_bytes) const;
  bool MultiplyBf16(int sums, int left, int right);  // tdpbf16ps
  bool MultiplyU8S8(int sums, int left, int right);  // tdpbusd

  bool is_configured() const { return palette_ != 0; }

 private:
  struct Tile {
    int rows = 0;
    int row_bytes = 0;
    std::array<std::array<uint8_t, 64>, 16> data = {};
  };

  bool IsUsable(int tile) const;
  bool FitsProduct(int sums, int left, int right) const;

  int palette_ = 0;
  std::array<Tile, 8> tiles_;
};

// What the code of this process has executed since the emulator was installed.
struct TileCounts {
  int64_t configurations = 0, releases = 0, zeros = 0, loads = 0, stores = 0, products = 0;
};

// While one lives, instructions on tiles that the processor refuses are done by a TileMachine of
// the thread that executes them. What it refuses, too, and every other illegal instruction ends the
// process as SIGILL does, after a line on stderr. One at a time.
class ScopedTileEmulator {
 public:
  ScopedTileEmulator();
  ~ScopedTileEmulator();
  ScopedTileEmulator(const ScopedTileEmulator&) = delete;
  ScopedTileEmulator& operator=(const ScopedTileEmulator&) = delete;

  // All zero on a processor that has the instructions.
  TileCounts counts() const;
  // Of this thread: whether its tiles were given back.
  bool IsReleased() const;
};

}  // namespace burnish

#endif  // COMPILER_CODEGEN_TILE_EMULATOR_H_
