// What happens at a tracker, for whoever keeps a log of it.
#ifndef TRACKER_TRACKER_EVENT_H_
#define TRACKER_TRACKER_EVENT_H_

#include <string>

namespace burnish {

struct TrackerEvent {
  enum class Kind {
    // About a worker.
    kJoined,     // It was not known.
    kRestarted,  // Another process of it took its id over.
    kReturned,   // It was lost.
    kSilent,     // It did not call again in time.
    kSpoke,      // It was silent.
    kLeaving,    // It takes no more jobs.
    kLeft,       // And is gone.
    kLost,
    kDrained,
    kUndrained,
    kPaused,      // A slot of it, after a fault.
    kTurnedAway,  // The call of one that says that it is this worker.
    // About a job.
    kGivenUp,
    // About a tuner.
    kMet,
    kForgotten,
    // About the tracker: more happened than it remembers.
    kMore,
  };

  Kind kind = Kind::kJoined;
  std::string who = "";   // Id of the worker, job or tuner, as its sender wrote it.
  std::string text = "";  // What became of it, for people; may hold what strangers wrote.
};

}  // namespace burnish

#endif  // TRACKER_TRACKER_EVENT_H_
