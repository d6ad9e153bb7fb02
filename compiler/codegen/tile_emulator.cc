#include "compiler/codegen/tile_emulator.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

namespace burnish {
namespace {

template <typename T>
T Get(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

// Subnormal numbers are zeros of their sign, whatever the thread's float mode is.
float Flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

float FromBf16(const uint8_t* at) {
  return Flushed(std::bit_cast<float>(uint32_t{Get<uint16_t>(at)} << 16));
}

}  // namespace

bool TileMachine::Configure(const uint8_t* configuration) {
  const int palette = configuration[0];
  if (palette > 1) return false;
  Release();
  if (palette == 0) return true;
  // Start row 0: no interrupted load goes on here. Reserved bytes must be 0.
  for (int i = 1; i < 16; ++i) {
    if (configuration[i] != 0) return false;
  }
  for (int i = 32; i < 48; ++i) {
    if (configuration[i] != 0) return false;
  }
  for (int i = 56; i < 64; ++i) {
    if (configuration[i] != 0) return false;
  }
  for (int t = 0; t < 8; ++t) {
    const int row_bytes = Get<uint16_t>(configuration + 16 + 2 * t);
    const int rows = configuration[48 + t];
    if (row_bytes > 64 || rows > 16 || (row_bytes == 0) != (rows == 0)) return false;
    tiles_[static_cast<size_t>(t)] = {.rows = rows, .row_bytes = row_bytes};
  }
  palette_ = 1;
  return true;
}

void TileMachine::Release() {
  palette_ = 0;
  tiles_.fill({});
}

bool TileMachine::IsUsable(int tile) const {
  return palette_ == 1 && tile >= 0 && tile < 8 && tiles_[static_cast<size_t>(tile)].rows > 0;
}

bool TileMachine::Zero(int tile) {
  if (!IsUsable(tile)) return false;
  tiles_[static_cast<size_t>(tile)].data = {};
  return true;
}

bool TileMachine::Load(int tile, const uint8_t* from, int64_t stride_bytes) {
  if (!Zero(tile)) return false;
  Tile& t = tiles_[static_cast<size_t>(tile)];
  for (int row = 0; row < t.rows; ++row) {
    std::memcpy(t.data[static_cast<size_t>(row)].data(), from + row * stride_bytes,
                static_cast<size_t>(t.row_bytes));
  }
  return true;
}

bool TileMachine::Store(int tile, uint8_t* to, int64_t stride_bytes) const {
  if (!IsUsable(tile)) return false;
  const Tile& t = tiles_[static_cast<size_t>(tile)];
  for (int row = 0; row < t.rows; ++row) {
    std::memcpy(to + row * stride_bytes, t.data[static_cast<size_t>(row)].data(),
                static_cast<size_t>(t.row_bytes));
  }
  return true;
}

bool TileMachine::FitsProduct(int sums, int left, int right) const {
  if (!IsUsable(sums) || !IsUsable(left) || !IsUsable(right)) return false;
  if (sums == left || sums == right || left == right) return false;
  const Tile& c = tiles_[static_cast<size_t>(sums)];
  const Tile& a = tiles_[static_cast<size_t>(left)];
  const Tile& b = tiles_[static_cast<size_t>(right)];
  return c.row_bytes % 4 == 0 && a.row_bytes % 4 == 0 && c.row_bytes == b.row_bytes &&
         c.rows == a.rows && a.row_bytes / 4 == b.rows;
}

bool TileMachine::MultiplyBf16(int sums, int left, int right) {
  if (!FitsProduct(sums, left, right)) return false;
  Tile& c = tiles_[static_cast<size_t>(sums)];
  const Tile& a = tiles_[static_cast<size_t>(left)];
  const Tile& b = tiles_[static_cast<size_t>(right)];
  for (size_t m = 0; m < static_cast<size_t>(c.rows); ++m) {
    for (size_t n = 0; n < static_cast<size_t>(c.row_bytes / 4); ++n) {
      float part[2] = {0, 0};
      for (size_t k = 0; k < static_cast<size_t>(b.rows); ++k) {
        for (size_t v = 0; v < 2; ++v) {
          part[v] = Flushed(std::fmaf(FromBf16(&a.data[m][4 * k + 2 * v]),
                                      FromBf16(&b.data[k][4 * n + 2 * v]), part[v]));
        }
      }
      const float old = Flushed(Get<float>(&c.data[m][4 * n]));
      const float sum = Flushed(old + Flushed(part[0] + part[1]));
      std::memcpy(&c.data[m][4 * n], &sum, sizeof(sum));
    }
  }
  return true;
}

bool TileMachine::MultiplyU8S8(int sums, int left, int right) {
  if (!FitsProduct(sums, left, right)) return false;
  Tile& c = tiles_[static_cast<size_t>(sums)];
  const Tile& a = tiles_[static_cast<size_t>(left)];
  const Tile& b = tiles_[static_cast<size_t>(right)];
  for (size_t m = 0; m < static_cast<size_t>(c.rows); ++m) {
    for (size_t n = 0; n < static_cast<size_t>(c.row_bytes / 4); ++n) {
      auto sum = Get<uint32_t>(&c.data[m][4 * n]);  // Unsigned: sums wrap around.
      for (size_t k = 0; k < static_cast<size_t>(4 * b.rows); ++k) {
        const int product = int{a.data[m][k]} * static_cast<int8_t>(b.data[k / 4][4 * n + k % 4]);
        sum += static_cast<uint32_t>(product);
      }
      std::memcpy(&c.data[m][4 * n], &sum, sizeof(sum));
    }
  }
  return true;
}

namespace {

struct AtomicCounts {
  std::atomic<int64_t> configurations, releases, zeros, loads, stores, products;
};
AtomicCounts counted;
struct sigaction before;
thread_local TileMachine machine;

// An instruction with a three-byte VEX prefix of map 0f38. Source: Intel SDM vol. 2, 2.3.5.
struct Decoded {
  uint8_t opcode = 0;
  int prefix = 0;  // 0: none, 1: 66, 2: f3, 3: f2.
  int reg = 0, rm = 0, vvvv = 0;
  bool is_memory = false;
  uint8_t* address = nullptr;
  int64_t index = 0;  // Of the stride in a tile's address: SIB without its scaled index.
  int length = 0;
};

// Registers in the order of their numbers in instructions.
int64_t Register(const ucontext_t& context, int number) {
  constexpr int kOrder[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                            REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return context.uc_mcontext.gregs[kOrder[number]];
}

bool Decode(const ucontext_t& context, Decoded& out) {
  const auto* const code = reinterpret_cast<const uint8_t*>(context.uc_mcontext.gregs[REG_RIP]);
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2 || (code[2] & 0x84) != 0) return false;
  const int r = (code[1] & 0x80) != 0 ? 0 : 8, x = (code[1] & 0x40) != 0 ? 0 : 8,
            b = (code[1] & 0x20) != 0 ? 0 : 8;
  out.vvvv = ~(code[2] >> 3) & 0xf;
  out.prefix = code[2] & 3;
  out.opcode = code[3];
  const int mod = code[4] >> 6, low = code[4] & 7;
  out.reg = (code[4] >> 3 & 7) + r;
  out.rm = low + b;
  out.is_memory = mod != 3;
  out.length = 5;
  if (!out.is_memory) return true;
  int64_t address = 0;
  bool has_long = mod == 2, relative = false;
  if (low == 4) {
    const uint8_t sib = code[out.length++];
    const int index = (sib >> 3 & 7) + x, base = (sib & 7) + b;
    if (index != 4) out.index = Register(context, index) << (sib >> 6);
    if ((sib & 7) == 5 && mod == 0) {
      has_long = true;
    } else {
      address = Register(context, base);
    }
  } else if (low == 5 && mod == 0) {
    has_long = relative = true;
  } else {
    address = Register(context, out.rm);
  }
  if (mod == 1) {
    address += Get<int8_t>(code + out.length);
    out.length += 1;
  } else if (has_long) {
    address += Get<int32_t>(code + out.length);
    out.length += 4;
  }
  if (relative) address += context.uc_mcontext.gregs[REG_RIP] + out.length;
  out.address = reinterpret_cast<uint8_t*>(address);
  return true;
}

// False where no processor would do it.
bool Execute(const Decoded& i) {
  constexpr int kNone = 0, k66 = 1, kF3 = 2, kF2 = 3;
  switch (i.opcode) {
    case 0x49:
      if (i.is_memory && i.prefix == kNone) {
        ++counted.configurations;
        // ldtilecfg takes any address; an index is a part of it here.
        return machine.Configure(i.address + i.index);
      }
      if (!i.is_memory && i.prefix == kNone) {
        ++counted.releases;
        machine.Release();
        return true;
      }
      if (i.is_memory || i.prefix != kF2) return false;
      ++counted.zeros;
      return machine.Zero(i.reg);
    case 0x4b:
      if (!i.is_memory) return false;
      if (i.prefix == kF3) {
        ++counted.stores;
        return machine.Store(i.reg, i.address, i.index);
      }
      if (i.prefix != kF2 && i.prefix != k66) return false;
      ++counted.loads;
      return machine.Load(i.reg, i.address, i.index);
    case 0x5c:
    case 0x5e:
      ++counted.products;
      if (i.is_memory) return false;
      if (i.opcode == 0x5c && i.prefix == kF3) return machine.MultiplyBf16(i.reg, i.rm, i.vvvv);
      if (i.opcode == 0x5e && i.prefix == k66) return machine.MultiplyU8S8(i.reg, i.rm, i.vvvv);
      return false;
    default:
      return false;
  }
}

void OnIllegalInstruction(int, siginfo_t*, void* raw) {
  auto& context = *static_cast<ucontext_t*>(raw);
  Decoded decoded;
  if (Decode(context, decoded) && Execute(decoded)) {
    context.uc_mcontext.gregs[REG_RIP] += decoded.length;
    return;
  }
  constexpr char kText[] = "tile emulator: an instruction that no processor does here\n";
  (void)!write(STDERR_FILENO, kText, sizeof(kText) - 1);
  // Again, for whoever was there before.
  sigaction(SIGILL, &before, nullptr);
}

}  // namespace

ScopedTileEmulator::ScopedTileEmulator() {
  for (auto* count : {&counted.configurations, &counted.releases, &counted.zeros, &counted.loads,
                      &counted.stores, &counted.products}) {
    *count = 0;
  }
  machine.Release();
  struct sigaction action = {};
  action.sa_sigaction = OnIllegalInstruction;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, &before);
}

ScopedTileEmulator::~ScopedTileEmulator() { sigaction(SIGILL, &before, nullptr); }

TileCounts ScopedTileEmulator::counts() const {
  return {.configurations = counted.configurations,
          .releases = counted.releases,
          .zeros = counted.zeros,
          .loads = counted.loads,
          .stores = counted.stores,
          .products = counted.products};
}

bool ScopedTileEmulator::IsReleased() const { return !machine.is_configured(); }

}  // namespace burnish
