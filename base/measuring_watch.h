// On which CPUs somebody measures right now. Work that would disturb a timed section (builders,
// search) watches, and stands aside. A scheduling class does not do that: SCHED_IDLE gets a
// three-hundredth of a CPU beside anybody else's ordinary work, so that a busy host stops all
// builds, and counts within one session or control group only, so that another terminal's builder
// has half of a CPU that is being timed (sched(7), "autogroup"). Free of Abseil.
#ifndef BASE_MEASURING_WATCH_H_
#define BASE_MEASURING_WATCH_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace burnish {

// For so long at most somebody stands still at a time. A timed section takes a tenth of a second;
// several studies that take turns, some seconds. Whoever holds the lock for longer hangs, and must
// not take builds and search along.
inline constexpr std::chrono::seconds kStandStillMax(5);

class MeasuringWatch {
 public:
  // Of these CPUs. A file that cannot be opened or watched is one on which nobody measures: who
  // cannot see a measurement cannot spare it. Never null.
  static std::unique_ptr<MeasuringWatch> Start(const std::string& folder,
                                               const std::vector<int>& cpus);
  MeasuringWatch(const MeasuringWatch&) = delete;
  MeasuringWatch& operator=(const MeasuringWatch&) = delete;
  ~MeasuringWatch();

  // Readable (poll) where somebody may have begun or ended; -1: nothing can be watched.
  int descriptor() const { return inotify_; }
  // How long to wait for the descriptor, at most, until the next Look; -1: as long as it takes.
  int timeout_ms() const;

  // True: free() differs from before.
  bool Look();
  // Those of the CPUs on which nobody measures; ascending.
  const std::vector<int>& free() const { return free_; }

 private:
  struct File {
    int cpu = 0;
    int descriptor = -1;
    int watch = -1;
    bool measured = false;
    bool look = true;  // Something has happened to it.
  };

  MeasuringWatch() = default;
  void ReadEvents();

  int inotify_ = -1;
  std::vector<File> files_;
  std::vector<int> free_;
};

}  // namespace burnish

#endif  // BASE_MEASURING_WATCH_H_
