#include "tuner/search/training_rule.h"

namespace burnish {
namespace {

// The model learns anew when this many results, or this share of what it knows, are new to it.
constexpr int64_t kTrainCountMin = 16;
constexpr double kTrainShare = 0.1;

}  // namespace

bool IsTimeToTrain(int64_t untrained, int64_t trained) {
  return untrained >= kTrainCountMin &&
         static_cast<double>(untrained) >= kTrainShare * static_cast<double>(trained);
}

}  // namespace burnish
