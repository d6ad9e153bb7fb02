// Python's C API for this folder: the part that is the same from 3.11 on, and an owner.
#ifndef PYTHON_RUNTIME_PYTHON_OBJECT_H_
#define PYTHON_RUNTIME_PYTHON_OBJECT_H_

// 3.11 is the first whose stable interface has the buffer protocol.
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

namespace burnish {

// One reference to an object, or none. As in Python's C API, a function that returns an empty one
// (or false) has set an exception, unless its comment says otherwise.
class Ref {
 public:
  Ref() = default;
  // Takes over a new reference.
  explicit Ref(PyObject* object) : object_(object) {}
  // Of somebody else's reference.
  static Ref Borrowed(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// A function with keywords for a PyMethodDef, which holds all kinds in one type.
template <typename Function>
PyCFunction AsMethod(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace burnish

#endif  // PYTHON_RUNTIME_PYTHON_OBJECT_H_
