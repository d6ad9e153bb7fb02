// For tests: somebody who measures.
#ifndef BASE_MEASURING_TESTING_H_
#define BASE_MEASURING_TESTING_H_

#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace burnish {

// Locks and announces, as a runner does, until the descriptors are closed; one for each CPU.
std::vector<UniqueFd> MeasureOn(const std::string& folder, const std::vector<int>& cpus);

}  // namespace burnish

#endif  // BASE_MEASURING_TESTING_H_
