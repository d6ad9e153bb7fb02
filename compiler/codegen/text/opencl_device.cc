#include "compiler/codegen/text/opencl_device.h"

#include <dlfcn.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

// OpenCL 1.2's functions and numbers, as far as they are used here: nothing is linked.
using Handle = void*;
constexpr uint64_t kAllDevices = 0xFFFFFFFF, kReadWrite = 1, kCopyHost = 32;
constexpr uint32_t kBuildLog = 0x1183, kTrue = 1;

struct OpenCl {
  int (*get_platforms)(uint32_t, Handle*, uint32_t*);
  int (*get_devices)(Handle, uint64_t, uint32_t, Handle*, uint32_t*);
  Handle (*create_context)(const intptr_t*, uint32_t, const Handle*, void*, void*, int*);
  Handle (*create_queue)(Handle, Handle, uint64_t, int*);
  Handle (*create_program)(Handle, uint32_t, const char**, const size_t*, int*);
  int (*build_program)(Handle, uint32_t, const Handle*, const char*, void*, void*);
  int (*build_info)(Handle, Handle, uint32_t, size_t, void*, size_t*);
  Handle (*create_kernel)(Handle, const char*, int*);
  Handle (*create_buffer)(Handle, uint64_t, size_t, void*, int*);
  int (*set_argument)(Handle, uint32_t, size_t, const void*);
  int (*launch)(Handle, Handle, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t,
                const Handle*, Handle*);
  int (*read_buffer)(Handle, Handle, uint32_t, size_t, size_t, void*, uint32_t, const Handle*,
                     Handle*);
  int (*release_buffer)(Handle);
  int (*release_kernel)(Handle);
  int (*release_program)(Handle);
  int (*release_queue)(Handle);
  int (*release_context)(Handle);
  Handle device = nullptr;
};

absl::StatusOr<OpenCl> Load() {
  void* const library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto none = [](const char* what) {
    return absl::UnavailableError(
        absl::StrCat("no OpenCL ", what, ": ./dev setup --with opencl installs PoCL"));
  };
  if (library == nullptr) return none("library");
  OpenCl cl = {};
  bool complete = true;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
  find("clGetPlatformIDs", cl.get_platforms);
  find("clGetDeviceIDs", cl.get_devices);
  find("clCreateContext", cl.create_context);
  find("clCreateCommandQueue", cl.create_queue);
  find("clCreateProgramWithSource", cl.create_program);
  find("clBuildProgram", cl.build_program);
  find("clGetProgramBuildInfo", cl.build_info);
  find("clCreateKernel", cl.create_kernel);
  find("clCreateBuffer", cl.create_buffer);
  find("clSetKernelArg", cl.set_argument);
  find("clEnqueueNDRangeKernel", cl.launch);
  find("clEnqueueReadBuffer", cl.read_buffer);
  find("clReleaseMemObject", cl.release_buffer);
  find("clReleaseKernel", cl.release_kernel);
  find("clReleaseProgram", cl.release_program);
  find("clReleaseCommandQueue", cl.release_queue);
  find("clReleaseContext", cl.release_context);
  if (!complete) return none("library of version 1.2");
  Handle platform = nullptr;
  uint32_t count = 0;
  if (cl.get_platforms(1, &platform, &count) != 0 || count == 0) return none("platform");
  if (cl.get_devices(platform, kAllDevices, 1, &cl.device, &count) != 0 || count == 0) {
    return none("device");
  }
  return cl;
}

absl::Status Check(int code, const char* what) {
  if (code == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(what, ": OpenCL's error ", code));
}

class OpenClDevice : public LaunchDevice {
 public:
  explicit OpenClDevice(const OpenCl& cl) : cl_(cl) {}
  ~OpenClDevice() override {
    if (program_ != nullptr) cl_.release_program(program_);
    if (queue_ != nullptr) cl_.release_queue(queue_);
    if (context_ != nullptr) cl_.release_context(context_);
  }

  absl::Status Build(const std::string& text) {
    int code = 0;
    context_ = cl_.create_context(nullptr, 1, &cl_.device, nullptr, nullptr, &code);
    RETURN_IF_ERROR(Check(code, "context"));
    queue_ = cl_.create_queue(context_, cl_.device, 0, &code);
    RETURN_IF_ERROR(Check(code, "queue"));
    const char* source = text.c_str();
    program_ = cl_.create_program(context_, 1, &source, nullptr, &code);
    RETURN_IF_ERROR(Check(code, "program"));
    if (cl_.build_program(program_, 1, &cl_.device, "-cl-std=CL1.2", nullptr, nullptr) == 0) {
      return absl::OkStatus();
    }
    std::string log(size_t{1} << 16, '\0');
    cl_.build_info(program_, cl_.device, kBuildLog, log.size(), log.data(), nullptr);
    return absl::InvalidArgumentError(log.c_str());
  }

  absl::Status Run(const TextLaunch& launch,
                   const std::vector<LaunchArgument>& arguments) override {
    int code = 0;
    Handle kernel = cl_.create_kernel(program_, launch.symbol.c_str(), &code);
    RETURN_IF_ERROR(Check(code, launch.symbol.c_str()));
    std::vector<Handle> buffers;
    for (const LaunchArgument& argument : arguments) {
      buffers.push_back(cl_.create_buffer(context_, kReadWrite | kCopyHost, argument.size(),
                                          argument.data(), &code));
      if (code != 0) break;
    }
    absl::Status status = Check(code, "buffer");
    for (size_t i = 0; i < buffers.size() && status.ok(); ++i) {
      status =
          Check(cl_.set_argument(kernel, static_cast<uint32_t>(i), sizeof(Handle), &buffers[i]),
                "argument");
    }
    if (status.ok()) status = Launch(launch, kernel);
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (status.ok()) {
        status = Check(cl_.read_buffer(queue_, buffers[i], kTrue, 0, arguments[i].size(),
                                       arguments[i].data(), 0, nullptr, nullptr),
                       "copy");
      }
      if (buffers[i] != nullptr) cl_.release_buffer(buffers[i]);
    }
    cl_.release_kernel(kernel);
    return status;
  }

 private:
  absl::Status Launch(const TextLaunch& launch, Handle kernel) {
    size_t all[3], group[3];
    for (size_t d = 0; d < 3; ++d) {
      group[d] = static_cast<size_t>(launch.launch.extents[d + 3]);
      all[d] = group[d] * static_cast<size_t>(launch.launch.extents[d]);
    }
    return Check(cl_.launch(queue_, kernel, 3, nullptr, all, group, 0, nullptr, nullptr), "launch");
  }

  const OpenCl cl_;
  Handle context_ = nullptr, queue_ = nullptr, program_ = nullptr;
};

}  // namespace

absl::Status FindOpenCl() { return Load().status(); }

absl::StatusOr<std::unique_ptr<LaunchDevice>> MakeOpenClDevice(const LaunchText& text) {
  ASSIGN_OR_RETURN(const OpenCl cl, Load());
  auto device = std::make_unique<OpenClDevice>(cl);
  RETURN_IF_ERROR(device->Build(text.text));
  return device;
}

}  // namespace burnish
