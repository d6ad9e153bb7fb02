#include "python/runtime/confine.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string>

#include "base/sandbox.h"

namespace burnish {
namespace {

// False: a Python error is set.
bool ReadFolders(PyObject* list, std::vector<std::string>& folders) {
  const Py_ssize_t count = PyList_Size(list);  // -1, and an error, for what is no list.
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), &size);
    if (text == nullptr) return false;
    folders.emplace_back(text, static_cast<size_t>(size));
  }
  return count >= 0;
}

}  // namespace

PyObject* Confine(PyObject* /*module*/, PyObject* args) {
  int parent = 0;
  PyObject* folders = nullptr;
  const char* writable = nullptr;
  long long address_space = 0, cpu_time = 0, file_size = 0;
  if (!PyArg_ParseTuple(args, "iOsLLL:confine", &parent, &folders, &writable, &address_space,
                        &cpu_time, &file_size)) {
    return nullptr;
  }
  SandboxOptions options = {.profile = SandboxOptions::Profile::kCompile,
                            .writable_folder = writable,
                            .address_space_bytes = address_space,
                            .cpu_time_seconds = cpu_time,
                            .file_size_bytes = file_size};
  if (!ReadFolders(folders, options.readable_folders)) return nullptr;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A parent that died before the line above sends nothing any more.
  if (getppid() != parent) raise(SIGKILL);
  return PyUnicode_FromString(EnterSandbox(options).c_str());
}

}  // namespace burnish
