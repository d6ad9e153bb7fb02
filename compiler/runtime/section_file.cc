#include "compiler/runtime/section_file.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "compiler/runtime/byte_archive.h"
#include "compiler/runtime/section_digest.h"

namespace burnish {
namespace {

// A file is of the oldest version that has all of its kinds of sections, so that a runtime opens
// whatever it understands. 3: kControl, without which a runtime would take each step once, and
// kHostCalls, without which it would look for their code. 4: kRunSizes, without which it would show
// what no run wrote. 5: kInputAxes, without which it would read what no caller gave. 6:
// kLiveTables, without which kernels would leave out whatever the arena happens to say. 7: what
// control asks for (FormatOf in bundle.cc). 8: kInputStrides, as kLiveTables. 9:
// kInputDefaults, without which it would read zeros. kVariants alone raises nothing: a runtime that
// passes them over runs all at the greatest sizes.
constexpr uint32_t kVersionMin = 2, kVersionMax = 9;
constexpr uint64_t kHeaderBytes = 24;
constexpr uint64_t kEntryBytes = 56;
constexpr uint64_t kDigestBytes = 32;

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

RuntimeStatus Damaged(const std::string& text) {
  return RuntimeStatus(RuntimeCode::kDataLoss, "damaged file: " + text);
}

uint32_t VersionOf(const std::vector<Section>& sections, uint32_t version_min) {
  uint32_t version = std::max(kVersionMin, version_min);
  for (const Section& section : sections) {
    if (section.kind == SectionKind::kControl || section.kind == SectionKind::kHostCalls) {
      version = std::max(version, 3u);
    }
    if (section.kind == SectionKind::kRunSizes) version = std::max(version, 4u);
    if (section.kind == SectionKind::kInputAxes) version = std::max(version, 5u);
    if (section.kind == SectionKind::kLiveTables) version = std::max(version, 6u);
    if (section.kind == SectionKind::kInputStrides) version = std::max(version, 8u);
    if (section.kind == SectionKind::kInputDefaults) version = std::max(version, 9u);
  }
  return version;
}

// The bytes [begin, end) must be zero. The gap is shorter than the alignment.
RuntimeStatus CheckZeros(const ByteSource& source, uint64_t begin, uint64_t end) {
  std::vector<uint8_t> gap(end - begin);
  RUNTIME_RETURN_IF_ERROR(source.Read(begin, gap));
  if (std::any_of(gap.begin(), gap.end(), [](uint8_t byte) { return byte != 0; })) {
    return Damaged("the bytes between its sections are not zero");
  }
  return RuntimeStatus();
}

RuntimeOr<SectionFile::Entry> ReadEntry(ByteReader& reader) {
  SectionFile::Entry entry;
  uint32_t zero = 0;
  reader.Number(entry.kind);
  reader.Number(zero);
  reader.Number(entry.offset);
  reader.Number(entry.size_bytes);
  for (uint8_t& byte : entry.digest) reader.Number(byte);
  if (!reader.ok() || zero != 0) return Damaged("section table");
  return entry;
}

}  // namespace

std::string WriteSectionFile(const SectionFormat& format, const std::vector<Section>& sections,
                             uint32_t version_min) {
  CHECK(format.magic.size() == 8);
  CHECK(sections.size() <= kSectionCountMax);
  const uint64_t table_end = kHeaderBytes + kEntryBytes * sections.size() + kDigestBytes;
  std::vector<uint64_t> offsets, sizes;
  uint64_t end = table_end;
  for (const Section& section : sections) {
    offsets.push_back(AlignUp(end, format.alignment));
    sizes.push_back(section.bytes.size());
    for (const std::span<const uint8_t> more : section.more) sizes.back() += more.size();
    end = offsets.back() + sizes.back();
  }
  std::string file;
  file.reserve(end);
  file.resize(table_end);
  const auto append = [&file](std::span<const uint8_t> bytes) {
    file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  for (size_t i = 0; i < sections.size(); ++i) {
    file.resize(offsets[i]);
    append(sections[i].bytes);
    for (const std::span<const uint8_t> more : sections[i].more) append(more);
  }

  // In front of the sections and made behind them: only in the file are all of one's bytes in a
  // row.
  ByteWriter header;
  header.Number(VersionOf(sections, version_min));
  header.Number(static_cast<uint32_t>(sections.size()));
  header.Number(end);
  for (size_t i = 0; i < sections.size(); ++i) {
    header.Number(sections[i].kind);
    header.Number(uint32_t{0});
    header.Number(offsets[i]);
    header.Number(sizes[i]);
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(file.data()), end);
    for (uint8_t byte : SectionDigest(bytes.subspan(offsets[i], sizes[i]))) {
      header.Number(byte);
    }
  }
  std::string table(format.magic);
  table += header.Take();
  const Sha256Digest digest = Sha256Of(table.data(), table.size());
  table.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  file.replace(0, table_end, table);
  return file;
}

RuntimeOr<SectionFile> SectionFile::Open(const SectionFormat& format,
                                         std::unique_ptr<ByteSource> source) {
  std::vector<uint8_t> header(kHeaderBytes);
  if (source->size() < 8 || !source->Read(0, std::span(header).first(8)).ok() ||
      std::memcmp(header.data(), format.magic.data(), 8) != 0) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "got a file that does not start with \"" +
                                                            std::string(format.magic) + "\"");
  }
  RUNTIME_RETURN_IF_ERROR(source->Read(0, header));
  ByteReader reader{std::span(header).subspan(8)};
  uint32_t version = 0, section_count = 0;
  uint64_t file_bytes = 0;
  reader.Number(version);
  reader.Number(section_count);
  reader.Number(file_bytes);
  if (version < kVersionMin || version > kVersionMax) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument,
                         "got format version " + std::to_string(version) + ", want " +
                             std::to_string(kVersionMin) + " to " + std::to_string(kVersionMax) +
                             ": it was written by " +
                             (version < kVersionMin ? "an older Burnish; build it again"
                                                    : "a newer Burnish; run it with that"));
  }
  // A file that was cut short is found before anything in it is read.
  if (file_bytes != source->size()) {
    return Damaged("got " + std::to_string(source->size()) + " bytes, want " +
                   std::to_string(file_bytes));
  }
  // Before the table is allocated by it.
  if (section_count > kSectionCountMax) return Damaged("section count");

  std::vector<uint8_t> table(kHeaderBytes + kEntryBytes * section_count + kDigestBytes);
  RUNTIME_RETURN_IF_ERROR(source->Read(0, table));
  const size_t hashed_bytes = table.size() - kDigestBytes;
  const Sha256Digest digest = Sha256Of(table.data(), hashed_bytes);
  if (std::memcmp(digest.data(), table.data() + hashed_bytes, digest.size()) != 0) {
    return Damaged("the SHA-256 of its header does not fit");
  }
  ByteReader entries_reader{std::span(table).subspan(kHeaderBytes, hashed_bytes - kHeaderBytes)};
  std::vector<Entry> entries;
  uint64_t end = table.size();
  for (uint32_t i = 0; i < section_count; ++i) {
    RUNTIME_ASSIGN_OR_RETURN(const Entry entry, ReadEntry(entries_reader));
    if (entry.offset > file_bytes || entry.size_bytes > file_bytes - entry.offset ||
        // In order and without room between: each byte belongs to one section or is zero, so that
        // nothing hides from the hashes.
        entry.offset != AlignUp(end, format.alignment)) {
      return Damaged("section " + std::to_string(i) + " lies outside of the file or out of order");
    }
    RUNTIME_RETURN_IF_ERROR(CheckZeros(*source, end, entry.offset));
    end = entry.offset + entry.size_bytes;
    entries.push_back(entry);
  }
  if (end != file_bytes) return Damaged("bytes after its last section");
  return SectionFile(std::move(source), std::move(entries));
}

const SectionFile::Entry* SectionFile::Find(SectionKind kind) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [kind](const Entry& entry) { return entry.kind == kind; });
  return found == entries_.end() ? nullptr : &*found;
}

RuntimeOr<std::vector<uint8_t>> SectionFile::Read(SectionKind kind) const {
  const Entry* entry = Find(kind);
  if (entry == nullptr) {
    return Damaged("no section of kind " + std::to_string(static_cast<uint32_t>(kind)));
  }
  std::vector<uint8_t> bytes(entry->size_bytes);  // At most the file's size: checked in Open.
  RUNTIME_RETURN_IF_ERROR(ReadInto(*entry, bytes, /*check_hash=*/true));
  return bytes;
}

RuntimeStatus SectionFile::ReadInto(const Entry& entry, std::span<uint8_t> destination,
                                    bool check_hash) const {
  CHECK(destination.size() == entry.size_bytes);
  RUNTIME_ASSIGN_OR_RETURN(const Sha256Digest digest,
                           ReadSection(*source_, entry.offset, destination, check_hash));
  if (check_hash && digest != entry.digest) {
    return Damaged("the hash of section " + std::to_string(static_cast<uint32_t>(entry.kind)) +
                   " does not fit");
  }
  return RuntimeStatus();
}

}  // namespace burnish
