// When a model that is trained from scratch is worth training again.
#ifndef TUNER_SEARCH_TRAINING_RULE_H_
#define TUNER_SEARCH_TRAINING_RULE_H_

#include <cstdint>

namespace burnish {

// `untrained`: results that the model has not seen. `trained`: those that it knows.
bool IsTimeToTrain(int64_t untrained, int64_t trained);

}  // namespace burnish

#endif  // TUNER_SEARCH_TRAINING_RULE_H_
