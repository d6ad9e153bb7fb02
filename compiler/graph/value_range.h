// What a value was seen to hold over runs of a model.
#ifndef COMPILER_GRAPH_VALUE_RANGE_H_
#define COMPILER_GRAPH_VALUE_RANGE_H_

namespace burnish {

struct ValueRange {
  double least = 0, greatest = 0;
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

}  // namespace burnish

#endif  // COMPILER_GRAPH_VALUE_RANGE_H_
