// Burnish runtime, C++ over the C API (burnish.h): owners and spans. Header only, C++20.
//
//   burnish::Model model("resnet50.bundle");
//   std::vector<float> image(model.input(0).element_count()),
//   logits(model.output(0).element_count()); model.Run({burnish::Input(image)},
//   {burnish::Output(logits)});
//
// A call that fails throws burnish::Error. What is said of threads and memory in burnish.h holds
// here.
#ifndef BURNISH_BURNISH_HPP_
#define BURNISH_BURNISH_HPP_

#include <burnish/burnish.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace burnish {

class Error : public std::runtime_error {
 public:
  Error(BurnishStatus status, const char* text) : std::runtime_error(text), status_(status) {}
  BurnishStatus status() const { return status_; }

 private:
  BurnishStatus status_;
};

inline void ThrowIfError(BurnishStatus status) {
  if (status != BURNISH_OK) throw Error(status, burnish_last_error());
}

// The number of a C++ type's elements; 16-bit floats have none and are given as bytes with a dtype.
template <typename T>
constexpr int32_t DtypeOf() {
  if constexpr (std::is_same_v<T, float>) return BURNISH_F32;
  if constexpr (std::is_same_v<T, double>) return BURNISH_F64;
  if constexpr (std::is_same_v<T, bool>) return BURNISH_BOOL;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr int32_t kSigned[] = {BURNISH_I8, BURNISH_I16, 0, BURNISH_I32, 0, 0, 0, BURNISH_I64};
    constexpr int32_t kUnsigned[] = {BURNISH_U8, BURNISH_U16, 0, BURNISH_U32, 0, 0, 0, BURNISH_U64};
    return (std::is_signed_v<T> ? kSigned : kUnsigned)[sizeof(T) - 1];
  }
  return 0;
}

struct TensorInfo : BurnishTensorInfo {
  TensorInfo() : BurnishTensorInfo{} { struct_size = sizeof(BurnishTensorInfo); }
  std::span<const int64_t> extents() const { return {shape, static_cast<size_t>(rank)}; }
  size_t element_count() const {
    size_t count = 1;
    for (int64_t extent : extents()) count *= static_cast<size_t>(extent);
    return count;
  }
};

// An input of one run. What it points to must live until the run has ended.
struct Input : BurnishInput {
  // Dense, by its place in the list. `values`: a vector, array or span of elements.
  template <std::ranges::contiguous_range Range>
  explicit Input(const Range& values) : BurnishInput{} {
    using T = std::ranges::range_value_t<Range>;
    static_assert(DtypeOf<T>() != 0, "no element type of Burnish");
    struct_size = sizeof(BurnishInput);
    dtype = DtypeOf<T>();
    data = std::ranges::data(values);
    size_bytes = std::ranges::size(values) * sizeof(T);
  }
  Input& Named(const char* input_name) {
    name = input_name;
    return *this;
  }
  Input& Shaped(std::span<const int64_t> extents) {
    shape = extents.data();
    rank = static_cast<int32_t>(extents.size());
    return *this;
  }
  // Steps in elements, one per axis.
  Input& Strided(std::span<const int64_t> steps) {
    strides = steps.data();
    rank = static_cast<int32_t>(steps.size());
    return *this;
  }
};

// An output of one run, into memory of the caller.
struct Output : BurnishOutput {
  template <std::ranges::contiguous_range Range>
  explicit Output(Range&& values) : BurnishOutput{} {
    using T = std::ranges::range_value_t<Range>;
    static_assert(DtypeOf<T>() != 0, "no element type of Burnish");
    static_assert(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>,
                  "an output is written");
    struct_size = sizeof(BurnishOutput);
    dtype = DtypeOf<T>();
    data = std::ranges::data(values);
    capacity_bytes = std::ranges::size(values) * sizeof(T);
  }
  Output& Named(const char* output_name) {
    name = output_name;
    return *this;
  }
};

// Threads for any number of models.
class Threads {
 public:
  explicit Threads(int thread_count = 0) {
    BurnishThreadsOptions options{};
    options.struct_size = sizeof(options);
    options.thread_count = thread_count;
    Create(options);
  }
  // One thread for each of these CPUs, on which it runs.
  explicit Threads(std::span<const int32_t> cpus) {
    BurnishThreadsOptions options{};
    options.struct_size = sizeof(options);
    options.thread_count = static_cast<int32_t>(cpus.size());
    options.cpus = cpus.data();
    Create(options);
  }
  // For `count` models that run at the same time; see burnish_threads_create_disjoint.
  static std::vector<Threads> Disjoint(int count, int thread_count = 0) {
    BurnishThreadsOptions options{};
    options.struct_size = sizeof(options);
    options.thread_count = thread_count;
    std::vector<BurnishThreads*> made(count > 0 ? static_cast<size_t>(count) : 1);
    ThrowIfError(burnish_threads_create_disjoint(&options, count, made.data()));
    std::vector<Threads> threads;
    for (BurnishThreads* each : made) threads.push_back(Threads(each));
    return threads;
  }
  // The caller's own pool; see BurnishParallel.
  Threads(int thread_count, BurnishParallel parallel, void* parallel_arg) {
    BurnishThreadsOptions options{};
    options.struct_size = sizeof(options);
    options.thread_count = thread_count;
    options.parallel = parallel;
    options.parallel_arg = parallel_arg;
    Create(options);
  }
  int count() const { return burnish_threads_count(threads_.get()); }
  BurnishThreads* get() const { return threads_.get(); }

 private:
  explicit Threads(BurnishThreads* made) : threads_(made) {}
  struct Release {
    void operator()(BurnishThreads* threads) const { burnish_threads_release(threads); }
  };
  void Create(const BurnishThreadsOptions& options) {
    BurnishThreads* made = nullptr;
    ThrowIfError(burnish_threads_create(&options, &made));
    threads_.reset(made);
  }
  std::unique_ptr<BurnishThreads, Release> threads_;
};

// An opened bundle.
class Model {
 public:
  explicit Model(const std::string& path) : Model(path, Options()) {}
  Model(const std::string& path, const Threads& threads) : Model(path, OptionsFor(threads)) {}
  // Its struct_size is set.
  Model(const std::string& path, BurnishOptions options) {
    options.struct_size = sizeof(options);
    BurnishModel* opened = nullptr;
    ThrowIfError(burnish_open(path.c_str(), &options, &opened));
    model_.reset(opened);
  }
  // From memory, which may be freed afterwards.
  Model(std::span<const std::byte> bundle, BurnishOptions options) {
    options.struct_size = sizeof(options);
    BurnishModel* opened = nullptr;
    ThrowIfError(burnish_open_bytes(bundle.data(), bundle.size(), &options, &opened));
    model_.reset(opened);
  }

  int input_count() const { return burnish_input_count(get()); }
  int output_count() const { return burnish_output_count(get()); }
  TensorInfo input(int index) const { return Info(&burnish_input_info, index); }
  TensorInfo output(int index) const { return Info(&burnish_output_info, index); }
  // Those that a replacement may name.
  int parameter_count() const { return burnish_parameter_count(get()); }
  TensorInfo parameter(int index) const { return Info(&burnish_parameter_info, index); }
  int thread_count() const { return burnish_thread_count(get()); }
  std::string target() const { return burnish_target(get()); }

  // One inference. `outputs`: their lower fields are set.
  void Run(std::span<const Input> inputs, std::span<Output> outputs) {
    static_assert(sizeof(Input) == sizeof(BurnishInput) && sizeof(Output) == sizeof(BurnishOutput));
    ThrowIfError(burnish_run_tensors(get(), inputs.data(), static_cast<int32_t>(inputs.size()),
                                     outputs.data(), static_cast<int32_t>(outputs.size()),
                                     nullptr));
  }
  void Run(std::initializer_list<Input> inputs, std::initializer_list<Output> outputs) {
    std::vector<Output> written(outputs);
    Run(std::span<const Input>(inputs.begin(), inputs.size()), written);
  }

  BurnishModel* get() const { return model_.get(); }

 private:
  struct Close {
    void operator()(BurnishModel* model) const { burnish_close(model); }
  };
  static BurnishOptions Options() { return BurnishOptions{}; }
  static BurnishOptions OptionsFor(const Threads& threads) {
    BurnishOptions options{};
    options.threads = threads.get();
    return options;
  }
  TensorInfo Info(decltype(&burnish_input_info) ask, int index) const {
    TensorInfo info;
    ThrowIfError(ask(get(), index, &info));
    return info;
  }
  std::unique_ptr<BurnishModel, Close> model_;
};

}  // namespace burnish

#endif  // BURNISH_BURNISH_HPP_
