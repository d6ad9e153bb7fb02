// What every cost model owes. A new model adds INSTANTIATE_TEST_SUITE_P with its maker to its test
// and gets all of these.
#ifndef TUNER_COST_MODEL_COST_MODEL_CONFORMANCE_H_
#define TUNER_COST_MODEL_COST_MODEL_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tuner/cost_model/cost_model.h"

namespace burnish {

struct CostModelMaker {
  std::string name;
  int columns = 0;
  std::function<std::unique_ptr<CostModel>(uint64_t seed)> make;
};

class CostModelConformanceTest : public ::testing::TestWithParam<CostModelMaker> {};

}  // namespace burnish

#endif  // TUNER_COST_MODEL_COST_MODEL_CONFORMANCE_H_
