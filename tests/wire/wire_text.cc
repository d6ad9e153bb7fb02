#include "tests/wire/wire_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace burnish {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

std::string TypeOf(const FieldDescriptor& field) {
  std::string type = field.type_name();
  if (field.message_type() != nullptr) type = field.message_type()->full_name();
  if (field.enum_type() != nullptr) type = field.enum_type()->full_name();
  // A message per entry on the wire; its fields have lines of their own.
  if (field.is_repeated()) absl::StrAppend(&type, " repeated");
  if (field.real_containing_oneof() != nullptr) {
    absl::StrAppend(&type, " oneof ", field.real_containing_oneof()->name());
  }
  // Absent and zero are two things then.
  if (field.has_presence() && field.message_type() == nullptr &&
      field.real_containing_oneof() == nullptr) {
    absl::StrAppend(&type, " optional");
  }
  return type;
}

void AddEnum(const EnumDescriptor& type, std::vector<std::string>& lines) {
  for (int i = 0; i < type.value_count(); ++i) {
    lines.push_back(absl::StrCat("value ", type.full_name(), " ", type.value(i)->number(), " ",
                                 type.value(i)->name()));
  }
  for (int i = 0; i < type.reserved_range_count(); ++i) {
    for (int n = type.reserved_range(i)->start; n <= type.reserved_range(i)->end; ++n) {
      lines.push_back(absl::StrCat("value ", type.full_name(), " ", n, " reserved"));
    }
  }
}

void AddMessage(const Descriptor& type, std::vector<std::string>& lines) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    lines.push_back(absl::StrCat("field ", type.full_name(), " ", field.number(), " ", field.name(),
                                 " ", TypeOf(field)));
  }
  for (int i = 0; i < type.reserved_range_count(); ++i) {
    for (int n = type.reserved_range(i)->start; n < type.reserved_range(i)->end; ++n) {
      lines.push_back(absl::StrCat("field ", type.full_name(), " ", n, " reserved"));
    }
  }
  for (int i = 0; i < type.nested_type_count(); ++i) AddMessage(*type.nested_type(i), lines);
  for (int i = 0; i < type.enum_type_count(); ++i) AddEnum(*type.enum_type(i), lines);
}

void AddService(const ServiceDescriptor& service, std::vector<std::string>& lines) {
  for (int i = 0; i < service.method_count(); ++i) {
    const MethodDescriptor& method = *service.method(i);
    lines.push_back(absl::StrCat(
        "call ", service.full_name(), ".", method.name(), " ",
        method.client_streaming() ? "stream " : "", method.input_type()->full_name(), " to ",
        method.server_streaming() ? "stream " : "", method.output_type()->full_name()));
  }
}

}  // namespace

std::vector<std::string> WireLines(const std::vector<const FileDescriptor*>& files) {
  std::vector<std::string> lines;
  for (const FileDescriptor* file : files) {
    for (int i = 0; i < file->message_type_count(); ++i) AddMessage(*file->message_type(i), lines);
    for (int i = 0; i < file->enum_type_count(); ++i) AddEnum(*file->enum_type(i), lines);
    for (int i = 0; i < file->service_count(); ++i) AddService(*file->service(i), lines);
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

std::vector<std::string> Broken(const std::vector<std::string>& old_lines,
                                const std::vector<std::string>& new_lines) {
  std::vector<std::string> broken;
  for (const std::string& line : old_lines) {
    if (std::find(new_lines.begin(), new_lines.end(), line) == new_lines.end()) {
      broken.push_back(line);
    }
  }
  return broken;
}

}  // namespace burnish
