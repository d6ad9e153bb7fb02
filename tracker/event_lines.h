// The tracker's events as lines of its log.
#ifndef TRACKER_EVENT_LINES_H_
#define TRACKER_EVENT_LINES_H_

#include "absl/time/time.h"
#include "base/event_log.h"
#include "tracker/tracker_event.h"

namespace burnish {

// "worker w1 was not heard of: 2 jobs go elsewhere"; what strangers wrote is escaped and cut.
void WriteEvent(absl::Time now, const TrackerEvent& event, EventLog& log);

}  // namespace burnish

#endif  // TRACKER_EVENT_LINES_H_
