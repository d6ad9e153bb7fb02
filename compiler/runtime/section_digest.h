// The hash of a section: SHA-256 over the SHA-256 digests of its chunks of kSectionChunkBytes, the
// last one shorter; of an empty section SHA-256 over nothing. The section table's own hash covers
// the size, so no two sections have the same chunks. In chunks, because SHA-256 by itself is one
// chain: this way all cores of a machine read and check the weights of a model together.
#ifndef COMPILER_RUNTIME_SECTION_DIGEST_H_
#define COMPILER_RUNTIME_SECTION_DIGEST_H_

#include <cstdint>
#include <span>

#include "base/sha256.h"
#include "compiler/runtime/byte_source.h"
#include "compiler/runtime/runtime_status.h"

namespace burnish {

// A huge page, so that threads that fill memory do not wait for each other's page faults.
inline constexpr uint64_t kSectionChunkBytes = uint64_t{2} << 20;

Sha256Digest SectionDigest(std::span<const uint8_t> bytes);

// Fills `destination` from `source`, beginning at `offset`, and returns the digest of what it then
// holds; with `wants_digest` false any value. Large sections are shared out to a thread for each
// CPU that this process may use. Errors: the source's.
RuntimeOr<Sha256Digest> ReadSection(const ByteSource& source, uint64_t offset,
                                    std::span<uint8_t> destination, bool wants_digest);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_SECTION_DIGEST_H_
