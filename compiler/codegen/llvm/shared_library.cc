#include "compiler/codegen/llvm/shared_library.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ELFObjectFile.h"

LLD_HAS_DRIVER(elf)

namespace burnish {
namespace {

// An anonymous file with `bytes`, open at the returned descriptor.
absl::StatusOr<int> MemoryFile(absl::string_view bytes) {
  const int fd = memfd_create("object", MFD_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, "memfd_create");
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      close(fd);
      return absl::ErrnoToStatus(errno, "write to an anonymous file");
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return fd;
}

// The linker takes an archive for many objects: a file each would be a descriptor each, of which a
// sandboxed builder has few.
absl::StatusOr<std::string> ArchiveOf(absl::Span<const std::string> objects) {
  std::vector<llvm::NewArchiveMember> members;
  for (const std::string& object : objects) {
    members.emplace_back(llvm::MemoryBufferRef(object, "kernel.o"));
  }
  // Without a table of symbols: all members are linked.
  auto archive = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NoSymtab,
                                            llvm::object::Archive::K_GNU,
                                            /*Deterministic=*/true, /*Thin=*/false);
  if (!archive) {
    return absl::InternalError(
        absl::StrCat("archive of objects: ", llvm::toString(archive.takeError())));
  }
  return (*archive)->getBuffer().str();
}

}  // namespace

std::map<std::string, int64_t> FunctionSizes(const std::string& object) {
  std::map<std::string, int64_t> sizes;
  auto file =
      llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object, "object"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return sizes;
  }
  for (const llvm::object::ELFSymbolRef symbol :
       llvm::cast<llvm::object::ELFObjectFileBase>(**file).symbols()) {
    auto name = symbol.getName();
    if (name) {
      sizes[name->str()] = static_cast<int64_t>(symbol.getSize());
    } else {
      llvm::consumeError(name.takeError());
    }
  }
  return sizes;
}

absl::StatusOr<std::vector<uint8_t>> LinkSharedLibrary(absl::Span<const std::string> objects,
                                                       const std::string& folder) {
  const absl::StatusOr<std::string> file =
      objects.size() == 1 ? absl::StatusOr<std::string>(objects[0]) : ArchiveOf(objects);
  if (!file.ok()) return file.status();
  absl::StatusOr<int> input = MemoryFile(*file);
  if (!input.ok()) return input.status();
  const absl::Cleanup close_input = [&] { close(*input); };
  // lld replaces its output by a rename: it needs a name in a folder.
  std::string output_folder = absl::StrCat(folder, "/burnish-link-XXXXXX");
  if (mkdtemp(output_folder.data()) == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot write to ", folder));
  }
  const std::string output = output_folder + "/kernel.so";
  const absl::Cleanup remove_output = [&] {
    unlink(output.c_str());
    rmdir(output_folder.c_str());
  };

  const std::string input_path = absl::StrCat("/proc/self/fd/", *input);
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  // One page size for all: kernels are small, and separate-code's padding to 64 KiB helps nobody.
  // --no-undefined is the rule that kernels call nothing. No build id, one thread: the same input
  // gives the same bytes, which hashes of artifacts and bundles rest on. -znow: nothing is bound
  // lazily in a timed call.
  const std::vector<const char*> arguments = {"ld.lld",
                                              "-shared",
                                              "--no-undefined",
                                              "--build-id=none",
                                              "--threads=1",
                                              "--hash-style=gnu",
                                              "-soname=kernel",
                                              "-zmax-page-size=4096",
                                              "-znoseparate-code",
                                              "-zrelro",
                                              "-znow",
                                              "--no-mmap-output-file",
                                              "--whole-archive",
                                              input_path.c_str(),
                                              "-o",
                                              output.c_str()};
  const bool linked = lld::elf::link(arguments, stream, stream, /*exitEarly=*/false,
                                     /*disableOutput=*/false);
  // lld keeps state of a link in globals; without this the next link in this process would see it.
  lld::CommonLinkerContext::destroy();
  if (!linked) return absl::InternalError(absl::StrCat("linker: ", messages));
  std::ifstream library(output, std::ios::binary);
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(library)),
                             std::istreambuf_iterator<char>());
  if (bytes.empty()) return absl::UnavailableError(absl::StrCat("cannot read ", output));
  return bytes;
}

}  // namespace burnish
