// What is sent to the calls of a service: each field of a message at its extremes.
#ifndef TESTS_E2E_FIELDS_CASES_H_
#define TESTS_E2E_FIELDS_CASES_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "proto/calibration_row.h"

namespace burnish {

// Of those who send them; whoever is honest has another.
const std::string& StrangersSecret();
CalibrationRow StrangersRow();

struct Case {
  std::string name;
  std::string bytes;
};

// Each single mutation of `base`, odd encodings, and as many pairs as the flag --pairs asks for.
std::vector<Case> CasesOf(const google::protobuf::Message& base);

// A message of each call of a service, by the call's name.
using Bases = std::map<std::string, std::unique_ptr<google::protobuf::Message>>;

template <typename Message>
void Add(Bases& bases, const std::string& method, const Message& message) {
  bases[method] = std::make_unique<Message>(message);
}

// Each call of the service is there: one that is added must be added.
void ExpectAllIn(const google::protobuf::ServiceDescriptor& service, const Bases& bases);

// The main function of these tests, which has flags beside GoogleTest's.
int RunFieldsTests(int argc, char** argv);

}  // namespace burnish

#endif  // TESTS_E2E_FIELDS_CASES_H_
