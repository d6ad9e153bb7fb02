// Little-endian encoding of manifests. A struct names its fields once, in a template function
//   template <typename Archive> void Fields(Archive& archive, Tensor& tensor);
// which works with both classes below, so that writer and reader cannot drift apart.
#ifndef COMPILER_RUNTIME_BYTE_ARCHIVE_H_
#define COMPILER_RUNTIME_BYTE_ARCHIVE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace burnish {

// Appends to a string of bytes. Cannot fail.
class ByteWriter {
 public:
  template <typename Int>
    requires std::is_integral_v<Int> || std::is_enum_v<Int>
  void Number(const Int& value) {
    auto bits = static_cast<uint64_t>(value);
    for (size_t i = 0; i < sizeof(Int); ++i, bits >>= 8) {
      bytes_.push_back(static_cast<char>(bits & 0xff));
    }
  }
  void Text(const std::string& text) {
    Number(static_cast<uint32_t>(text.size()));
    bytes_ += text;
  }
  template <typename Int>
  void Numbers(const std::vector<Int>& values) {
    Number(static_cast<uint32_t>(values.size()));
    for (const Int& value : values) Number(value);
  }
  void Texts(const std::vector<std::string>& texts) {
    Number(static_cast<uint32_t>(texts.size()));
    for (const std::string& text : texts) Text(text);
  }
  template <typename T>
  void List(const std::vector<T>& items) {
    Number(static_cast<uint32_t>(items.size()));
    // Fields() is shared with the reader and so takes a mutable item; a writer changes nothing.
    for (const T& item : items) Fields(*this, const_cast<T&>(item));
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads what ByteWriter wrote. Bounds-checked: after the first read beyond the end, ok() is false
// and every further read gives zeros and empty lists, so callers check once. A list's count is
// checked against the bytes left before memory is taken: damaged counts cannot exhaust memory.
class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return position_ == bytes_.size(); }

  template <typename Int>
    requires std::is_integral_v<Int> || std::is_enum_v<Int>
  void Number(Int& value) {
    uint64_t bits = 0;
    if (Has(sizeof(Int))) {
      for (size_t i = 0; i < sizeof(Int); ++i) {
        bits |= static_cast<uint64_t>(bytes_[position_++]) << (8 * i);
      }
    }
    if constexpr (std::is_same_v<Int, bool>) {
      if (bits > 1) ok_ = false;
    }
    value = static_cast<Int>(bits);
  }
  void Text(std::string& text) {
    const uint32_t size = Count(1);
    text.assign(reinterpret_cast<const char*>(bytes_.data()) + position_, size);
    position_ += size;
  }
  template <typename Int>
  void Numbers(std::vector<Int>& values) {
    values.resize(Count(sizeof(Int)));
    for (Int& value : values) Number(value);
  }
  void Texts(std::vector<std::string>& texts) {
    texts.resize(Count(sizeof(uint32_t)));
    for (std::string& text : texts) Text(text);
  }
  // Every listed struct takes at least 8 bytes, so that a false count cannot multiply memory much.
  template <typename T>
  void List(std::vector<T>& items) {
    items.resize(Count(8));
    for (T& item : items) Fields(*this, item);
  }

 private:
  bool Has(size_t size) {
    if (size > bytes_.size() - position_) ok_ = false;
    return ok_;
  }
  // A count whose items of at least `item_bytes` each fit into what is left; else 0 and not ok.
  uint32_t Count(size_t item_bytes) {
    uint32_t count = 0;
    Number(count);
    if (!ok_ || count > (bytes_.size() - position_) / item_bytes) {
      ok_ = false;
      return 0;
    }
    return count;
  }

  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_BYTE_ARCHIVE_H_
