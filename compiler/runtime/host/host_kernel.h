// Operators that no loop nest says: what they write depends on the data (sorting, scattering,
// running sums). Each is a function in plain C++, in the runtime and not in the bundle's code, and
// a step of a model like any other.
//
// A kernel here is used three times: the operator library asks for types, the graph interpreter and
// the folding of constants run it, and so does a session. libc and libstdc++ only.
#ifndef COMPILER_RUNTIME_HOST_HOST_KERNEL_H_
#define COMPILER_RUNTIME_HOST_HOST_KERNEL_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/tensor_info.h"

namespace burnish {

struct HostType {
  ElementType type = ElementType::kF32;
  std::vector<int64_t> shape;

  friend bool operator==(const HostType&, const HostType&) = default;
};

// An integer, or where `text` is not empty, a word.
struct HostAttribute {
  std::string name;
  int64_t number = 0;
  std::string text = {};

  friend bool operator==(const HostAttribute&, const HostAttribute&) = default;
};

// A call's types and attributes: all that a kernel may rely on.
struct HostSignature {
  std::string kernel;
  std::vector<HostAttribute> attributes;
  std::vector<HostType> inputs, outputs;

  // The attribute must be one of the kernel's.
  int64_t Number(std::string_view name) const;
  const std::string& Text(std::string_view name) const;

  friend bool operator==(const HostSignature&, const HostSignature&) = default;
};

// Below the codes of generated kernels, which are stored: an input has a value that the operator
// does not allow.
inline constexpr int32_t kHostValueOutOfRange = -2;

struct HostKernel {
  const char* name;
  // Every attribute, with its value where a model says nothing.
  std::vector<HostAttribute> attributes;
  // Types of the outputs, or what a model's author got wrong: kInvalidArgument. Shapes and
  // attributes may come from a stranger's bundle: what passes must be safe to run on any data.
  RuntimeOr<std::vector<HostType>> (*infer)(const HostSignature& call);
  // Tensors are dense, aligned to their elements, and of the signature's types; outputs share no
  // memory with anything. Returns BURNISH_KERNEL_OK, a code of the data (kernel_abi.h), or
  // kHostValueOutOfRange.
  int32_t (*run)(const HostSignature& call, std::span<const uint8_t* const> inputs,
                 std::span<uint8_t* const> outputs);
};

// Null where there is no such kernel.
const HostKernel* FindHostKernel(std::string_view name);
// Sorted by name.
std::span<const HostKernel> AllHostKernels();

// kInvalidArgument unless there is such a kernel, with those attributes in their order, and its
// outputs are what it infers.
RuntimeStatus CheckHostSignature(const HostSignature& call);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_HOST_HOST_KERNEL_H_
