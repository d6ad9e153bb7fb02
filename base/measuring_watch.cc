#include "base/measuring_watch.h"

#include <sys/file.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/measuring_files.h"

namespace burnish {
namespace {

// While somebody measures: the kernel tells of a close before it lets the lock go, so the look that
// follows may come too early. 20 ms are short beside a timed section (50 to 100 ms), and 50 looks
// of some microseconds a second are no disturbance.
constexpr int kLookAgainMs = 20;

// A shared lock is had wherever nobody has the exclusive one. Held for a microsecond: who wants the
// exclusive one meanwhile waits for it, and gets it.
bool IsMeasured(int descriptor) {
  if (flock(descriptor, LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  flock(descriptor, LOCK_UN);
  return false;
}

}  // namespace

std::unique_ptr<MeasuringWatch> MeasuringWatch::Start(const std::string& folder,
                                                      const std::vector<int>& cpus) {
  std::unique_ptr<MeasuringWatch> watch(new MeasuringWatch());
  watch->inotify_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  for (const int cpu : cpus) {
    File file{.cpu = cpu};
    const std::string path = MeasuringFile(folder, cpu);
    if (watch->inotify_ >= 0) file.descriptor = OpenMeasuringFile(path);
    if (file.descriptor >= 0) {
      // Announced by opening; ended by closing.
      file.watch = inotify_add_watch(watch->inotify_, path.c_str(),
                                     IN_OPEN | IN_CLOSE_NOWRITE | IN_CLOSE_WRITE);
    }
    watch->files_.push_back(file);
  }
  watch->Look();
  return watch;
}

MeasuringWatch::~MeasuringWatch() {
  for (const File& file : files_) {
    if (file.descriptor >= 0) close(file.descriptor);
  }
  if (inotify_ >= 0) close(inotify_);
}

int MeasuringWatch::timeout_ms() const { return free_.size() < files_.size() ? kLookAgainMs : -1; }

void MeasuringWatch::ReadEvents() {
  if (inotify_ < 0) return;
  alignas(inotify_event) char buffer[4096];
  while (true) {
    const ssize_t count = read(inotify_, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    for (ssize_t at = 0; at < count;) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof(event));
      at += static_cast<ssize_t>(sizeof(event) + event.len);
      for (File& file : files_) {
        // The queue ran over: anything may have happened.
        if (file.watch == event.wd || (event.mask & IN_Q_OVERFLOW) != 0) file.look = true;
      }
    }
  }
}

bool MeasuringWatch::Look() {
  ReadEvents();
  std::vector<int> free;
  for (File& file : files_) {
    if (file.watch >= 0 && (file.look || file.measured)) {
      file.measured = IsMeasured(file.descriptor);
      file.look = false;
    }
    if (!file.measured) free.push_back(file.cpu);
  }
  const bool changed = free != free_;
  free_ = std::move(free);
  return changed;
}

}  // namespace burnish
