// What a process of Python's gives up before it reads a file that others wrote.
#ifndef PYTHON_RUNTIME_CONFINE_H_
#define PYTHON_RUNTIME_CONFINE_H_

#include "python/runtime/python_object.h"

namespace burnish {

inline constexpr char kConfineDoc[] =
    "confine(parent, readable_folders, writable_folder, address_space_bytes, cpu_time_seconds,\n"
    "        file_size_bytes, /)\n"
    "--\n\n"
    "Enter the sandbox of compilers (base/sandbox.h), for good: no network, no other process, no\n"
    "file but those beneath the folders, and files that are open. The process ends with `parent`,\n"
    "its own parent. Returns what this kernel lacks of it; empty: nothing.";
PyObject* Confine(PyObject* module, PyObject* args);

}  // namespace burnish

#endif  // PYTHON_RUNTIME_CONFINE_H_
