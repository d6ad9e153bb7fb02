// Ends uploads whose clients say nothing, or next to nothing: each holds a thread, a place that
// others wait for, and memory.
#ifndef TUNER_SERVE_UPLOAD_WATCH_H_
#define TUNER_SERVE_UPLOAD_WATCH_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "absl/time/time.h"

namespace burnish {

// A thread of its own, since a call that waits for its client has none to spare. Thread-safe.
class UploadWatch {
 public:
  // Bytes a second that an upload has to bring on average, beyond what the silence allows: a
  // modem's.
  static constexpr int64_t kBytesPerSecondMin = 64 << 10;

  class Upload {
   public:
    // `cancel` is called at most once, by the watch's thread, while this lives. It returns at once.
    Upload(UploadWatch& watch, std::function<void()> cancel);
    ~Upload();
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;

    // The client has sent so much more.
    void Received(int64_t bytes);

   private:
    friend class UploadWatch;

    UploadWatch& watch_;
    const std::function<void()> cancel_;
    absl::Time end_at_;       // By its silence.
    absl::Time too_slow_at_;  // By what it has sent.
    bool cancelled_ = false;
  };

  explicit UploadWatch(absl::Duration silence_max);
  // No upload is left.
  ~UploadWatch();

 private:
  void Run();

  const absl::Duration silence_max_;
  std::mutex mutex_;  // For all below, and the uploads.
  std::condition_variable changed_;
  std::set<Upload*> uploads_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace burnish

#endif  // TUNER_SERVE_UPLOAD_WATCH_H_
