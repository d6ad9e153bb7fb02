// Each field of a message at its extremes, by the message's descriptor: what nobody thought of when
// a field was added is here, too.
#ifndef TESTS_E2E_FIELDS_EXTREMES_H_
#define TESTS_E2E_FIELDS_EXTREMES_H_

#include <functional>
#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace burnish {

struct Mutation {
  std::string field;  // "slots.info.kind"
  std::string value;  // "unknown"
  // Sets the field in a message of the type; of what is repeated, in the first item, which is made
  // where there is none.
  std::function<void(google::protobuf::Message&)> apply;
};

// Of each field, at any depth. Numbers: 0, 1, -1, the least, the greatest, 2^50, 2^62, NaN and
// the infinities. Text and bytes: none, a zero, what is no UTF-8, 1 MB, 32 bytes, and each of
// `names`, which are somebody else's. Enums: each value, and unknown ones. Repeated: none, and
// 10,000 of what `base` has. Messages: absent, and empty.
std::vector<Mutation> MutationsOf(const google::protobuf::Message& base,
                                  const std::vector<std::string>& names);

// What no field says: bytes that are no message, unknown fields, and groups within groups, in front
// of an encoded message or instead of it.
std::vector<std::string> OddEncodings(const std::string& encoded);

}  // namespace burnish

#endif  // TESTS_E2E_FIELDS_EXTREMES_H_
