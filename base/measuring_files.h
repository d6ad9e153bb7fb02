// The files by which programs of one host tell each other on which CPUs somebody measures: one for
// each logical CPU, locked with flock by who measures there (worker/runner/measuring_lock.h), so
// that a holder that dies leaves nothing locked. Free of Abseil.
#ifndef BASE_MEASURING_FILES_H_
#define BASE_MEASURING_FILES_H_

#include <string>
#include <vector>

namespace burnish {

// Where all users of this host keep the files unless told otherwise.
std::string DefaultMeasuringFolder();

std::string MeasuringFile(const std::string& folder, int cpu);

// Made where it is not there. -1 and errno: it cannot be opened.
int OpenMeasuringFile(const std::string& path);

// Who has just locked these files says so: watchers (base/measuring_watch.h) look again. A lock
// alone wakes nobody who does not wait for it.
void AnnounceMeasuring(const std::vector<std::string>& paths);

}  // namespace burnish

#endif  // BASE_MEASURING_FILES_H_
