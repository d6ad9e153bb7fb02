#include "tests/e2e/fields/extremes.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"

namespace burnish {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kMany = 10'000;
constexpr size_t kLongBytes = 1'000'000;  // With the rest of a job within a job's 1 MiB.
constexpr int kDepthMax = 8;              // No message of ours is as deep.
constexpr int kGroups = 10'000;

using Path = std::vector<const FieldDescriptor*>;

// The message that holds the last field of the path.
Message& Holder(Message& message, const Path& path) {
  Message* holder = &message;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    const Reflection& reflection = *holder->GetReflection();
    if (!path[i]->is_repeated()) {
      holder = reflection.MutableMessage(holder, path[i]);
    } else if (reflection.FieldSize(*holder, path[i]) == 0) {
      holder = reflection.AddMessage(holder, path[i]);
    } else {
      holder = reflection.MutableRepeatedMessage(holder, path[i], 0);
    }
  }
  return *holder;
}

std::string NameOf(const Path& path) {
  std::string name;
  for (const FieldDescriptor* field : path) {
    absl::StrAppend(&name, name.empty() ? "" : ".", field->name());
  }
  return name;
}

class Walk {
 public:
  explicit Walk(const std::vector<std::string>& names) : names_(names) {}

  void Message(const Descriptor& type, const Path& above) {
    for (int i = 0; i < type.field_count(); ++i) {
      Path path = above;
      path.push_back(type.field(i));
      Field(*type.field(i), path);
    }
  }

  std::vector<Mutation> Take() { return std::move(mutations_); }

 private:
  using Setter = std::function<void(google::protobuf::Message& holder, const Reflection&)>;

  void Add(const Path& path, std::string value, Setter set) {
    mutations_.push_back({.field = NameOf(path),
                          .value = std::move(value),
                          .apply = [path, set = std::move(set)](google::protobuf::Message& whole) {
                            google::protobuf::Message& holder = Holder(whole, path);
                            set(holder, *holder.GetReflection());
                          }});
  }

  void Field(const FieldDescriptor& field, const Path& path) {
    const FieldDescriptor* const f = &field;
    if (field.is_repeated() || field.has_presence()) {
      Add(path, "absent", [f](google::protobuf::Message& holder, const Reflection& reflection) {
        reflection.ClearField(&holder, f);
      });
    }
    if (field.is_repeated()) Many(field, path);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return Scalar(field, path);
    if (!field.is_repeated()) {
      Add(path, "empty", [f](google::protobuf::Message& holder, const Reflection& reflection) {
        reflection.MutableMessage(&holder, f)->Clear();
      });
    }
    if (path.size() < kDepthMax) Message(*field.message_type(), path);
  }

  // 10,000 of the first item; keys of a map differ.
  void Many(const FieldDescriptor& field, const Path& path) {
    const FieldDescriptor* const f = &field;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Add(path, "many", [f](google::protobuf::Message& holder, const Reflection& reflection) {
        if (reflection.FieldSize(holder, f) == 0) reflection.AddMessage(&holder, f);
        const std::unique_ptr<google::protobuf::Message> first(
            reflection.GetRepeatedMessage(holder, f, 0).New());
        first->CopyFrom(reflection.GetRepeatedMessage(holder, f, 0));
        for (int i = 1; i < kMany; ++i) {
          if (f->is_map()) SetKey(*first, i);
          reflection.AddMessage(&holder, f)->CopyFrom(*first);
        }
      });
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      Add(path, "many", [f](google::protobuf::Message& holder, const Reflection& reflection) {
        for (int i = 0; i < kMany; ++i) reflection.AddString(&holder, f, absl::StrCat("x", i));
      });
    } else {
      // Numbers, most often; what does not fit is cut off, as anybody may send it.
      Numbers(field, path, "many", std::vector<int64_t>(kMany, 1));
    }
  }

  static void SetKey(google::protobuf::Message& entry, int number) {
    const FieldDescriptor* const key = entry.GetDescriptor()->map_key();
    const Reflection& reflection = *entry.GetReflection();
    if (key->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      reflection.SetString(&entry, key, absl::StrCat("key", number));
    } else {
      Set(entry, reflection, key, number);
    }
  }

  void Scalar(const FieldDescriptor& field, const Path& path) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        return Texts(field, path);
      case FieldDescriptor::CPPTYPE_DOUBLE:
      case FieldDescriptor::CPPTYPE_FLOAT:
        return Reals(field, path);
      case FieldDescriptor::CPPTYPE_BOOL:
        Numbers(field, path, "false", {0});
        return Numbers(field, path, "true", {1});
      case FieldDescriptor::CPPTYPE_ENUM:
        for (int i = 0; i < field.enum_type()->value_count(); ++i) {
          const auto* const value = field.enum_type()->value(i);
          Numbers(field, path, value->name(), {value->number()});
        }
        Numbers(field, path, "unknown", {12345});
        return Numbers(field, path, "below", {-1});
      default:
        break;
    }
    const bool is_64 = field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 ||
                       field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64;
    for (const int64_t value : {int64_t{0}, int64_t{1}, int64_t{-1}}) {
      Numbers(field, path, absl::StrCat(value), {value});
    }
    if (is_64) {
      // 2^50: too much for any machine, and nothing that overflows.
      Numbers(field, path, "2^50", {int64_t{1} << 50});
      Numbers(field, path, "2^62", {int64_t{1} << 62});
      Numbers(field, path, "min", {std::numeric_limits<int64_t>::min()});
      Numbers(field, path, "max", {std::numeric_limits<int64_t>::max()});
    } else {
      Numbers(field, path, "2^30", {1 << 30});
      Numbers(field, path, "min", {std::numeric_limits<int32_t>::min()});
      Numbers(field, path, "max", {std::numeric_limits<int32_t>::max()});
    }
  }

  void Texts(const FieldDescriptor& field, const Path& path) {
    const FieldDescriptor* const f = &field;
    std::vector<std::pair<std::string, std::string>> values = {
        {"none", ""},
        {"zero", std::string("a\0b", 3)},
        {"no UTF-8", "a\xff\xfe"},
        {"control", "\x1b[2J\n\r\t../../x"},
        {"long", std::string(kLongBytes, 'x')},
        {"32 bytes", std::string(32, 'x')}};
    for (const std::string& name : names_) values.emplace_back(name, name);
    for (const auto& [label, value] : values) {
      Add(path, label,
          [f, text = value](google::protobuf::Message& holder, const Reflection& reflection) {
            if (!f->is_repeated()) {
              reflection.SetString(&holder, f, text);
            } else if (reflection.FieldSize(holder, f) == 0) {
              reflection.AddString(&holder, f, text);
            } else {
              reflection.SetRepeatedString(&holder, f, 0, text);
            }
          });
    }
  }

  void Reals(const FieldDescriptor& field, const Path& path) {
    using Limits = std::numeric_limits<double>;
    for (const double value :
         {0.0, -0.0, 1.0, -1.0, Limits::denorm_min(), Limits::max(), Limits::lowest(),
          Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
      Add(path, absl::StrCat(value),
          [f = &field, value](google::protobuf::Message& holder, const Reflection& reflection) {
            SetReal(holder, reflection, f, value);
          });
    }
  }

  static void SetReal(google::protobuf::Message& holder, const Reflection& reflection,
                      const FieldDescriptor* f, double value) {
    const bool is_float = f->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
    if (!f->is_repeated()) {
      is_float ? reflection.SetFloat(&holder, f, static_cast<float>(value))
               : reflection.SetDouble(&holder, f, value);
      return;
    }
    reflection.ClearField(&holder, f);
    is_float ? reflection.AddFloat(&holder, f, static_cast<float>(value))
             : reflection.AddDouble(&holder, f, value);
  }

  void Numbers(const FieldDescriptor& field, const Path& path, std::string label,
               std::vector<int64_t> values) {
    Add(path, std::move(label),
        [f = &field, values = std::move(values)](google::protobuf::Message& holder,
                                                 const Reflection& reflection) {
          if (f->is_repeated()) reflection.ClearField(&holder, f);
          for (const int64_t value : values) Set(holder, reflection, f, value);
        });
  }

  static void Set(google::protobuf::Message& m, const Reflection& r, const FieldDescriptor* f,
                  int64_t value) {
    const bool many = f->is_repeated();
    switch (f->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return many ? r.AddInt32(&m, f, static_cast<int32_t>(value))
                    : r.SetInt32(&m, f, static_cast<int32_t>(value));
      case FieldDescriptor::CPPTYPE_UINT32:
        return many ? r.AddUInt32(&m, f, static_cast<uint32_t>(value))
                    : r.SetUInt32(&m, f, static_cast<uint32_t>(value));
      case FieldDescriptor::CPPTYPE_INT64:
        return many ? r.AddInt64(&m, f, value) : r.SetInt64(&m, f, value);
      case FieldDescriptor::CPPTYPE_UINT64:
        return many ? r.AddUInt64(&m, f, static_cast<uint64_t>(value))
                    : r.SetUInt64(&m, f, static_cast<uint64_t>(value));
      case FieldDescriptor::CPPTYPE_BOOL:
        return many ? r.AddBool(&m, f, value != 0) : r.SetBool(&m, f, value != 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return many ? r.AddEnumValue(&m, f, static_cast<int>(value))
                    : r.SetEnumValue(&m, f, static_cast<int>(value));
      default:
        return SetReal(m, r, f, static_cast<double>(value));
    }
  }

  const std::vector<std::string>& names_;
  std::vector<Mutation> mutations_;
};

}  // namespace

std::vector<Mutation> MutationsOf(const Message& base, const std::vector<std::string>& names) {
  Walk walk(names);
  walk.Message(*base.GetDescriptor(), {});
  return walk.Take();
}

std::vector<std::string> OddEncodings(const std::string& encoded) {
  // Field 1000 is in no message of ours. 3: a group begins; 0: a number; 2: bytes of a length.
  const std::string group = "\xc3\x3e", number = "\xc0\x3e", bytes = "\xc2\x3e";
  std::string groups;
  for (int i = 0; i < kGroups; ++i) groups += group;
  return {std::string(),
          encoded.substr(0, encoded.size() / 2),
          encoded + encoded,
          encoded + number + "\x01",
          encoded + number + std::string(11, '\xff'),
          encoded + bytes + "\xff\xff\xff\xff\x07",
          encoded + bytes + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
          groups + encoded,
          std::string(kLongBytes, '\0'),
          std::string(kLongBytes, '\xff')};
}

}  // namespace burnish
