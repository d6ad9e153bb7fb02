// The middle of a few numbers.
#ifndef TUNER_REFINE_MEDIAN_H_
#define TUNER_REFINE_MEDIAN_H_

#include <vector>

namespace burnish {

// Of an even count the mean of the two in the middle; of none 0.
double Median(std::vector<double> values);

}  // namespace burnish

#endif  // TUNER_REFINE_MEDIAN_H_
