// What crosses processes and stays on disk, as text: a line for each field, value and call of the
// compiled descriptors.
#ifndef TESTS_WIRE_WIRE_TEXT_H_
#define TESTS_WIRE_WIRE_TEXT_H_

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"

namespace burnish {

// Sorted.
std::vector<std::string> WireLines(
    const std::vector<const google::protobuf::FileDescriptor*>& files);

// What a program of the old wire would misunderstand about the new one; empty: nothing. Additions
// are no harm. What is gone, has another number or another type is, also where its number was
// given to something else: the old line is not there any more.
std::vector<std::string> Broken(const std::vector<std::string>& old_lines,
                                const std::vector<std::string>& new_lines);

}  // namespace burnish

#endif  // TESTS_WIRE_WIRE_TEXT_H_
