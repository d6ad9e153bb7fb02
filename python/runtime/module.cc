// The extension module _burnish_runtime: Burnish's C API as Python types.
//
// State is static, as NumPy's is: one interpreter of a process can use both.
#include "base/version.h"
#include "python/runtime/aligned_array.h"
#include "python/runtime/confine.h"
#include "python/runtime/element_type.h"
#include "python/runtime/errors.h"
#include "python/runtime/model_type.h"
#include "python/runtime/python_object.h"
#include "python/runtime/tensor_guard.h"
#include "python/runtime/threads_type.h"

namespace burnish {
namespace {

PyMethodDef functions[] = {
    {"confine", Confine, METH_VARARGS, kConfineDoc},
    {"empty", AsMethod(Empty), METH_VARARGS | METH_KEYWORDS, kEmptyDoc},
    {"open_bundle", OpenBundle, METH_VARARGS,
     "open_bundle(path, threads, share_with, trust_parameters, loop_limit, /)\n--\n\n"
     "What burnish_runtime.load calls."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_burnish_runtime",
    .m_doc = "The part of burnish_runtime that is compiled.",
    .m_size = -1,  // One state for the process.
    .m_methods = functions,
};

}  // namespace
}  // namespace burnish

PyMODINIT_FUNC PyInit__burnish_runtime() {  // NOLINT: Python looks for this name.
  burnish::Ref module(PyModule_Create(&burnish::definition));
  if (!module || !burnish::ImportNumpy() || !burnish::ImportErrors() ||
      !burnish::MakeMemoryType() || !burnish::AddThreadsType(module.get()) ||
      !burnish::AddModelTypes(module.get()) || !burnish::AddTensorGuardType(module.get()) ||
      PyModule_AddStringConstant(module.get(), "__version__", burnish::kBurnishVersion) != 0) {
    return nullptr;
  }
  return module.release();
}
