#include "base/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"

namespace burnish {
namespace {

// A program has about ten headers, and its notes take some hundred bytes.
constexpr int kHeadersMax = 64;
constexpr size_t kNotesBytesMax = 1 << 16;

template <typename T>
bool ReadAt(int fd, uint64_t offset, T* value) {
  return pread(fd, value, sizeof(T), static_cast<off_t>(offset)) == sizeof(T);
}

// The description of the note among `notes`; empty: it is not there.
absl::string_view FindNote(absl::string_view notes) {
  const auto padded = [](size_t size) { return (size + 3) / 4 * 4; };
  Elf64_Nhdr note;
  while (notes.size() >= sizeof(note)) {
    memcpy(&note, notes.data(), sizeof(note));
    notes.remove_prefix(sizeof(note));
    const size_t name_size = padded(note.n_namesz), size = padded(note.n_descsz);
    if (name_size > notes.size() || size > notes.size() - name_size) break;
    const bool is_gnu = notes.substr(0, note.n_namesz) == absl::string_view("GNU", 4);
    if (is_gnu && note.n_type == NT_GNU_BUILD_ID) return notes.substr(name_size, note.n_descsz);
    notes.remove_prefix(name_size + size);
  }
  return "";
}

}  // namespace

std::string BuildIdOf(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Elf64_Ehdr elf;
  if (!fd.valid() || !ReadAt(fd.get(), 0, &elf) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
      elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phnum > kHeadersMax) {
    return "";
  }
  for (int i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr header;
    if (!ReadAt(fd.get(), elf.e_phoff + i * sizeof(header), &header)) return "";
    if (header.p_type != PT_NOTE || header.p_filesz > kNotesBytesMax) continue;
    std::vector<char> notes(header.p_filesz);
    const ssize_t size =
        pread(fd.get(), notes.data(), notes.size(), static_cast<off_t>(header.p_offset));
    if (size != static_cast<ssize_t>(notes.size())) return "";
    const absl::string_view id = FindNote({notes.data(), notes.size()});
    if (!id.empty()) return absl::BytesToHexString(id);
  }
  return "";
}

}  // namespace burnish
