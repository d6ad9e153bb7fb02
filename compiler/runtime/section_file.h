// The container of artifacts and bundles: one file of hashed sections. All numbers little-endian.
//
//   0   magic, 8 bytes            16  file size, u64
//   8   version, u32: 2 to 9          24  table of section_count entries of 56 bytes:
//   12  section count, u32            kind u32, zero u32, offset u64, size u64, digest of 32 bytes
//   then the SHA-256 of everything before it, zeros up to the first section, and the sections in
//   the order of the table, each at the next multiple of the alignment, with zeros between. The
//   file ends where its last section ends. So each byte of the file is covered by a hash
//   (section_digest.h) or must be zero.
//
// The writer is a pure function of the sections: equal input gives equal bytes.
#ifndef COMPILER_RUNTIME_SECTION_FILE_H_
#define COMPILER_RUNTIME_SECTION_FILE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "compiler/runtime/byte_source.h"
#include "compiler/runtime/runtime_status.h"

namespace burnish {

// Stored: never reused.
enum class SectionKind : uint32_t {
  kManifest = 1,
  kElf = 2,
  kWeights = 3,
  kRefit = 4,      // How parameters become weights; optional, with the next.
  kPacks = 5,      // An artifact whose kernels are pack functions.
  kControl = 6,    // How the steps are walked; from format version 3 on, optional.
  kHostCalls = 7,  // Kernels that are functions of the runtime; as kControl.
  // In place of kRefit, where weights are computed from parameters before they are packed:
  kRefitPlan = 8,     // As kRefit, and what is computed.
  kRefitProgram = 9,  // A bundle: from parameters to what is packed.
  kRunSizes = 10,     // Sizes that only a run knows; from format version 4 on, optional.
  kInputAxes = 11,    // Which of them inputs give; from format version 5 on, optional.
  kTrims = 12,        // What steps may leave out of a run; optional. Others run all.
  kLiveTables = 13,   // What loops in kernels ask; from format version 6 on, optional.
  kVariants = 14,     // The model for smaller sizes, with the same weights; as kLiveTables.
  kNumberNotes = 15,  // For people; optional. Others say nothing of it.
  // Inputs that are read in a run's shape; from format version 8 on, optional.
  kInputStrides = 16,
  kInputDefaults = 17,  // Of inputs that a run may leave out; from format version 9 on, optional.
};

struct SectionFormat {
  std::string_view magic;  // 8 characters.
  uint64_t alignment;      // Of each section's offset in the file, a power of two.
};
inline constexpr SectionFormat kArtifactFormat = {"BRNSHART", 64};
inline constexpr SectionFormat kBundleFormat = {"BRNSHBUN", 4096};

struct Section {
  SectionKind kind;
  std::span<const uint8_t> bytes;
  // Behind `bytes`: what lies in many places need not be put together first.
  std::vector<std::span<const uint8_t>> more = {};
};

// At most kSectionCountMax sections, each kind at most once. `version_min`: what a section's bytes
// need, where its kind does not say so.
inline constexpr uint32_t kSectionCountMax = 16;
std::string WriteSectionFile(const SectionFormat& format, const std::vector<Section>& sections,
                             uint32_t version_min = 0);

class SectionFile {
 public:
  struct Entry {
    SectionKind kind;
    uint64_t offset;
    uint64_t size_bytes;
    Sha256Digest digest;  // SectionDigest.
  };

  // Reads and checks the header, the table and the zeros between sections; the sections' own hashes
  // are checked when they are read. kInvalidArgument: not such a file, or another version;
  // kDataLoss: damaged.
  static RuntimeOr<SectionFile> Open(const SectionFormat& format,
                                     std::unique_ptr<ByteSource> source);

  // In the order of the file.
  const std::vector<Entry>& entries() const { return entries_; }
  // nullptr when the file has no such section.
  const Entry* Find(SectionKind kind) const;

  // kDataLoss when the section is missing, or its hash does not fit.
  RuntimeOr<std::vector<uint8_t>> Read(SectionKind kind) const;

  // Into memory of exactly the section's size. `check_hash` false skips the hash, which costs about
  // 0.3 ms per megabyte of one core (4 without SHA instructions): for a file that was checked
  // before.
  RuntimeStatus ReadInto(const Entry& entry, std::span<uint8_t> destination, bool check_hash) const;

 private:
  SectionFile(std::unique_ptr<ByteSource> source, std::vector<Entry> entries)
      : source_(std::move(source)), entries_(std::move(entries)) {}

  std::unique_ptr<ByteSource> source_;
  std::vector<Entry> entries_;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_SECTION_FILE_H_
