#ifndef TRACKER_VERSION_H_
#define TRACKER_VERSION_H_

namespace burnish {

// Of this program and of the wire that it speaks (package burnish.v1).
inline constexpr char kTrackerVersion[] = "tracker 0.1.0 (burnish.v1)";

}  // namespace burnish

#endif  // TRACKER_VERSION_H_
