#include "compiler/codegen/text/emulator.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "compiler/codegen/llvm/shared_library.h"
#include "compiler/codegen/text/text_backend.h"

namespace burnish {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;  // Of a thread; touched pages only are taken.

// As kEmulatedDialect declares it.
struct Emulation {
  int64_t places[6];
  uint8_t* shared;
  void (*barrier)(const Emulation*);
};
using Caller = void (*)(void* const* buffers, const Emulation* here);

struct Thread {
  Emulation here;  // First: a kernel gives its address back.
  ucontext_t context, *scheduler;
  Caller caller;
  void* const* buffers;
  bool ended;
};

void WaitAtBarrier(const Emulation* here) {
  auto* const thread = const_cast<Thread*>(reinterpret_cast<const Thread*>(here));
  swapcontext(&thread->context, thread->scheduler);
}

void Enter(unsigned high, unsigned low) {
  auto* const thread = reinterpret_cast<Thread*>(uintptr_t{high} << 32 | uintptr_t{low});
  thread->caller(thread->buffers, &thread->here);
  thread->ended = true;
}

class Emulator : public LaunchDevice {
 public:
  Emulator(void* library, ThreadOrder order) : library_(library), order_(order) {}
  ~Emulator() override { dlclose(library_); }

  absl::Status Run(const TextLaunch& launch,
                   const std::vector<LaunchArgument>& arguments) override {
    const auto caller =
        reinterpret_cast<Caller>(dlsym(library_, absl::StrCat(launch.symbol, "_call").c_str()));
    if (caller == nullptr) return absl::InternalError(absl::StrCat("no symbol ", launch.symbol));
    std::vector<void*> buffers;
    for (const LaunchArgument& argument : arguments) buffers.push_back(argument.data());
    const auto& extents = launch.launch.extents;
    const int64_t count = extents[3] * extents[4] * extents[5];
    const size_t stack_bytes = kStackBytes * static_cast<size_t>(count);
    void* const stacks = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED) return absl::InternalError("no memory for stacks");
    absl::Status status;
    for (int64_t block = 0; block < extents[0] * extents[1] * extents[2] && status.ok(); ++block) {
      status = RunBlock(launch, caller, buffers, block, static_cast<uint8_t*>(stacks));
    }
    munmap(stacks, stack_bytes);
    return status;
  }

 private:
  absl::Status RunBlock(const TextLaunch& launch, Caller caller, const std::vector<void*>& buffers,
                        int64_t block, uint8_t* stacks) {
    const auto& extents = launch.launch.extents;
    std::vector<uint8_t> shared(static_cast<size_t>(launch.launch.shared_bytes) + 64, 0xff);
    auto* const aligned =
        reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(shared.data()) + 63) / 64 * 64);
    std::vector<Thread> threads(static_cast<size_t>(extents[3] * extents[4] * extents[5]));
    ucontext_t scheduler;
    for (size_t i = 0; i < threads.size(); ++i) {
      const auto place = static_cast<int64_t>(i);
      threads[i] = {
          .here = {.places = {block % extents[0], block / extents[0] % extents[1],
                              block / extents[0] / extents[1], place % extents[3],
                              place / extents[3] % extents[4], place / extents[3] / extents[4]},
                   .shared = aligned,
                   .barrier = &WaitAtBarrier},
          .context = {},
          .scheduler = &scheduler,
          .caller = caller,
          .buffers = buffers.data(),
          .ended = false};
      getcontext(&threads[i].context);
      threads[i].context.uc_stack.ss_sp = stacks + i * kStackBytes;
      threads[i].context.uc_stack.ss_size = kStackBytes;
      threads[i].context.uc_link = &scheduler;
      const auto address = reinterpret_cast<uintptr_t>(&threads[i]);
      makecontext(&threads[i].context, reinterpret_cast<void (*)()>(&Enter), 2,
                  static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
    }
    // From one barrier to the next.
    while (!threads[0].ended) {
      for (const size_t i : Order(threads.size())) {
        swapcontext(&scheduler, &threads[i].context);
      }
      const auto ended = std::count_if(threads.begin(), threads.end(),
                                       [](const Thread& thread) { return thread.ended; });
      if (ended != 0 && ended != static_cast<int64_t>(threads.size())) {
        return absl::InternalError(absl::StrCat(launch.symbol, ": ", ended, " of ", threads.size(),
                                                " threads ended while the others wait"));
      }
    }
    return absl::OkStatus();
  }

  std::vector<size_t> Order(size_t count) {
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    if (order_ == ThreadOrder::kBackward) std::reverse(order.begin(), order.end());
    for (size_t i = count; order_ == ThreadOrder::kShuffled && i > 1; --i) {
      std::swap(order[i - 1],
                order[static_cast<size_t>(rng_.Between(0, static_cast<int64_t>(i) - 1))]);
    }
    return order;
  }

  void* const library_;
  const ThreadOrder order_;
  Rng rng_{1};
};

}  // namespace

absl::StatusOr<std::unique_ptr<LaunchDevice>> MakeEmulator(const LaunchText& text,
                                                           ThreadOrder order) {
  ASSIGN_OR_RETURN(const std::string object, CompileC(text.text));
  ASSIGN_OR_RETURN(const std::vector<uint8_t> library, LinkSharedLibrary({&object, 1}, "/tmp"));
  const int file = memfd_create("launches", MFD_CLOEXEC);
  const bool written = file >= 0 && write(file, library.data(), library.size()) ==
                                        static_cast<ssize_t>(library.size());
  void* const loaded =
      written ? dlopen(absl::StrCat("/proc/self/fd/", file).c_str(), RTLD_NOW | RTLD_LOCAL)
              : nullptr;
  if (file >= 0) close(file);
  if (loaded == nullptr) return absl::InternalError("cannot load the launches");
  return std::make_unique<Emulator>(loaded, order);
}

}  // namespace burnish
