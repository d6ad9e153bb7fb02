// The C API over Model and Session; running on a caller's tensors is in c_api_run.cc.

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/usable_cpus.h"
#include "burnish/burnish.h"
#include "compiler/runtime/benchmark.h"
#include "compiler/runtime/bundle.h"
#include "compiler/runtime/c_api_model.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/refit.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/side_by_side.h"
#include "compiler/runtime/sized_struct.h"
#include "compiler/runtime/tensor_info.h"
#include "compiler/runtime/thread_pool.h"

namespace burnish {
namespace {

static_assert(BURNISH_RANK_MAX == kRankMax);
static_assert(BURNISH_BOOL == static_cast<int>(ElementType::kBool));
static_assert(BURNISH_DATA_LOSS == static_cast<int>(RuntimeCode::kDataLoss));

thread_local std::string last_error;

constexpr int32_t kThreadsCountMax = 1024;  // As of threads in a pool.

RuntimeStatus CheckIndex(const char* what, int32_t index, size_t count) {
  if (index >= 0 && static_cast<size_t>(index) < count) return RuntimeStatus();
  return RuntimeStatus(RuntimeCode::kOutOfRange, std::string("got ") + what + " " +
                                                     std::to_string(index) + ", want 0 to below " +
                                                     std::to_string(count));
}

RuntimeOr<BurnishOptions> ReadOptions(const BurnishOptions* options) {
  if (options == nullptr) return BurnishOptions{};
  RUNTIME_ASSIGN_OR_RETURN(const BurnishOptions read, ReadStruct("BurnishOptions", options));
  if (read.reserved != 0) return InvalidArgument("BurnishOptions.reserved must be 0");
  return read;
}

RuntimeOr<ThreadPoolOptions> PoolOptionsOf(const BurnishThreadsOptions& options) {
  ThreadPoolOptions pool_options;
  pool_options.thread_count = options.thread_count != 0 ? options.thread_count : UsableCpuCount();
  if (options.cpus != nullptr && pool_options.thread_count > 0) {
    pool_options.cpus.assign(options.cpus, options.cpus + pool_options.thread_count);
  }
  if (options.spin_ns < 0) return InvalidArgument("spin_ns must not be negative");
  if (options.spin_ns > 0) {
    pool_options.barrier_spin_ns = pool_options.idle_spin_ns = options.spin_ns;
  }
  if (options.reserved != 0) return InvalidArgument("BurnishThreadsOptions.reserved must be 0");
  pool_options.foreign = {.parallel = options.parallel,
                          .parallel_arg = options.parallel_arg,
                          .ends_at_fork = options.parallel_ends_at_fork != 0};
  return pool_options;
}

RuntimeOr<std::shared_ptr<ThreadPool>> MakePool(const BurnishThreadsOptions& options) {
  RUNTIME_ASSIGN_OR_RETURN(const ThreadPoolOptions pool_options, PoolOptionsOf(options));
  RUNTIME_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool, ThreadPool::Create(pool_options));
  return std::shared_ptr<ThreadPool>(std::move(pool));
}

RuntimeOr<std::shared_ptr<ThreadPool>> PoolOf(const BurnishOptions& options,
                                              const BundleManifest& manifest) {
  if (options.threads != nullptr) {
    if (options.thread_count != 0 || options.cpus != nullptr || options.spin_ns != 0) {
      return InvalidArgument(
          "got threads together with thread_count, cpus or spin_ns: give those to "
          "burnish_threads_create");
    }
    return options.threads->pool;
  }
  BurnishThreadsOptions own = {};
  own.thread_count = options.thread_count != 0
                         ? options.thread_count
                         : std::min(static_cast<int>(manifest.thread_count), UsableCpuCount());
  own.cpus = options.cpus;
  own.spin_ns = options.spin_ns;
  return MakePool(own);
}

RuntimeOr<std::vector<Replacement>> ReplacementsOf(const BurnishOptions& options) {
  std::vector<Replacement> replacements;
  const StructArray<const BurnishInput> given("BurnishInput", options.replacements,
                                              options.replacement_count);
  RUNTIME_RETURN_IF_ERROR(given.Check());
  for (int32_t i = 0; i < given.count(); ++i) {
    RUNTIME_ASSIGN_OR_RETURN(const BurnishInput input, ReadStruct("BurnishInput", given.at(i)));
    if (input.name == nullptr) return InvalidArgument("got a replacement without a name");
    RUNTIME_ASSIGN_OR_RETURN(const GivenTensor tensor, GivenOf(input.name, input));
    replacements.push_back({.name = input.name, .tensor = tensor});
  }
  return replacements;
}

// `load`: from ModelOptions to RuntimeOr<std::shared_ptr<const Model>>.
template <typename Load>
RuntimeStatus Open(const BurnishOptions* given, BurnishModel** model, const Load& load) {
  if (model == nullptr) return InvalidArgument("got no place for the model");
  *model = nullptr;
  RUNTIME_ASSIGN_OR_RETURN(const BurnishOptions options, ReadOptions(given));
  ModelOptions model_options;
  if (options.share_with != nullptr) {
    model_options.share_weights_with = options.share_with->session->model();
  }
  if (options.parameter_memory != nullptr) {
    model_options.weights_memory = {static_cast<uint8_t*>(options.parameter_memory),
                                    static_cast<size_t>(options.parameter_memory_bytes)};
  }
  model_options.weights_memory_is_filled = options.parameters_are_filled != 0;
  model_options.check_weights = options.trust_parameters == 0;
  RUNTIME_ASSIGN_OR_RETURN(model_options.replacements, ReplacementsOf(options));
  RUNTIME_ASSIGN_OR_RETURN(std::shared_ptr<const Model> loaded, load(model_options));
  RUNTIME_ASSIGN_OR_RETURN(std::shared_ptr<ThreadPool> pool, PoolOf(options, loaded->manifest()));
  auto opened = std::make_unique<BurnishModel>();
  RUNTIME_ASSIGN_OR_RETURN(opened->session, Session::Create(std::move(loaded), std::move(pool)));
  *model = opened.release();
  return RuntimeStatus();
}

RuntimeOr<const StepOutput*> FindStepOutput(const BundleManifest& manifest, int32_t step,
                                            int32_t output) {
  RUNTIME_RETURN_IF_ERROR(CheckIndex("step", step, manifest.steps.size()));
  const std::vector<StepOutput>& outputs = manifest.steps[step].outputs;
  RUNTIME_RETURN_IF_ERROR(CheckIndex("step output", output, outputs.size()));
  return &outputs[output];
}

}  // namespace

void SetLastError(const std::string& text) { last_error = text; }

BurnishTensorInfo Describe(const TensorInfo& tensor) {
  BurnishTensorInfo info = {};
  info.name = tensor.name.c_str();
  info.dtype = static_cast<int32_t>(tensor.type);
  info.rank = static_cast<int32_t>(tensor.shape.size());
  std::copy(tensor.shape.begin(), tensor.shape.end(), info.shape);
  info.size_bytes = tensor.dense_bytes();
  return info;
}

RuntimeOr<BurnishTensorInfo> DescribeModelTensor(const BundleManifest& manifest, Region region,
                                                 int32_t index) {
  const bool is_input = region == Region::kInput;
  const std::vector<ModelTensor>& all = is_input ? manifest.inputs : manifest.outputs;
  RUNTIME_RETURN_IF_ERROR(CheckIndex(is_input ? "input" : "output", index, all.size()));
  BurnishTensorInfo info = Describe(all[index].tensor);
  if (all[index].tensor.IsDense() && all[index].storage_bytes == info.size_bytes) {
    info.bind_alignment = RegionAlignment(manifest, region, static_cast<uint32_t>(index));
  }
  return info;
}

}  // namespace burnish

using namespace burnish;  // NOLINT: the functions below are its C face.

BurnishStatus burnish_threads_create(const BurnishThreadsOptions* options,
                                     BurnishThreads** threads) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(threads));
    *threads = nullptr;
    BurnishThreadsOptions read = {};
    if (options != nullptr) {
      RUNTIME_ASSIGN_OR_RETURN(read, ReadStruct("BurnishThreadsOptions", options));
    }
    RUNTIME_ASSIGN_OR_RETURN(std::shared_ptr<ThreadPool> pool, MakePool(read));
    *threads = new BurnishThreads{.pool = std::move(pool)};
    return RuntimeStatus();
  });
}

BurnishStatus burnish_threads_create_disjoint(const BurnishThreadsOptions* options, int32_t count,
                                              BurnishThreads** threads) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(threads));
    if (count < 1 || count > kThreadsCountMax) {
      return InvalidArgument("got count " + std::to_string(count) + ", want 1 to " +
                             std::to_string(kThreadsCountMax));
    }
    std::fill_n(threads, count, nullptr);
    BurnishThreadsOptions read = {};
    if (options != nullptr) {
      RUNTIME_ASSIGN_OR_RETURN(read, ReadStruct("BurnishThreadsOptions", options));
    }
    if (read.cpus != nullptr || read.parallel != nullptr || read.thread_count < 0) {
      return InvalidArgument(
          "want no cpus, no parallel and no negative thread_count: the CPUs are shared out here");
    }
    RUNTIME_ASSIGN_OR_RETURN(const ThreadPoolOptions each, PoolOptionsOf(read));
    // Released together, whatever fails.
    std::vector<std::unique_ptr<BurnishThreads>> made;
    for (const ThreadPoolOptions& pool_options :
         ShareOut(SideBySideHere(count, read.thread_count), each)) {
      RUNTIME_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool, ThreadPool::Create(pool_options));
      made.push_back(std::make_unique<BurnishThreads>(BurnishThreads{.pool = std::move(pool)}));
    }
    for (int32_t i = 0; i < count; ++i) threads[i] = made[i].release();
    return RuntimeStatus();
  });
}

void burnish_threads_release(BurnishThreads* threads) { delete threads; }

int32_t burnish_threads_count(const BurnishThreads* threads) {
  return threads == nullptr ? 0 : threads->pool->thread_count();
}

BurnishStatus burnish_open(const char* path, const BurnishOptions* options, BurnishModel** model) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(path));
    return Open(options, model, [path](const ModelOptions& model_options) {
      return Model::LoadFile(path, model_options);
    });
  });
}

BurnishStatus burnish_open_bytes(const void* bytes, uint64_t size_bytes,
                                 const BurnishOptions* options, BurnishModel** model) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(bytes));
    return Open(options, model, [&](const ModelOptions& model_options) {
      return Model::LoadBytes({static_cast<const uint8_t*>(bytes), static_cast<size_t>(size_bytes)},
                              model_options);
    });
  });
}

void burnish_close(BurnishModel* model) { delete model; }

BurnishStatus burnish_parameter_bytes(const char* path, uint64_t* size_bytes) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(path, size_bytes));
    RUNTIME_ASSIGN_OR_RETURN(const BundleReader reader, BundleReader::OpenFile(path));
    *size_bytes = reader.manifest().weights_bytes;
    return RuntimeStatus();
  });
}

const char* burnish_target(const BurnishModel* model) {
  return model == nullptr ? "" : ManifestOf(model).target.c_str();
}

int32_t burnish_thread_count(const BurnishModel* model) {
  return model == nullptr ? 0 : model->session->pool()->thread_count();
}

int32_t burnish_input_count(const BurnishModel* model) {
  return model == nullptr ? 0 : static_cast<int32_t>(ManifestOf(model).inputs.size());
}

int32_t burnish_output_count(const BurnishModel* model) {
  return model == nullptr ? 0 : static_cast<int32_t>(ManifestOf(model).outputs.size());
}

BurnishStatus burnish_input_info(const BurnishModel* model, int32_t index,
                                 BurnishTensorInfo* info) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model, info));
    RUNTIME_ASSIGN_OR_RETURN(const BurnishTensorInfo found,
                             DescribeModelTensor(ManifestOf(model), Region::kInput, index));
    return WriteStruct("BurnishTensorInfo", found, info);
  });
}

BurnishStatus burnish_output_info(const BurnishModel* model, int32_t index,
                                  BurnishTensorInfo* info) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model, info));
    RUNTIME_ASSIGN_OR_RETURN(const BurnishTensorInfo found,
                             DescribeModelTensor(ManifestOf(model), Region::kOutput, index));
    return WriteStruct("BurnishTensorInfo", found, info);
  });
}

BurnishStatus burnish_output_shape(const BurnishModel* model, int32_t index,
                                   BurnishTensorInfo* info) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model, info));
    RUNTIME_ASSIGN_OR_RETURN(BurnishTensorInfo found,
                             DescribeModelTensor(ManifestOf(model), Region::kOutput, index));
    const std::vector<int64_t> shape = model->session->OutputShape(static_cast<size_t>(index));
    found.size_bytes = DenseTensor("", ElementTypeOf(found.dtype), shape).dense_bytes();
    std::copy(shape.begin(), shape.end(), found.shape);
    return WriteStruct("BurnishTensorInfo", found, info);
  });
}

int32_t burnish_parameter_count(const BurnishModel* model) {
  return model == nullptr ? 0 : static_cast<int32_t>(ParametersOf(model).size());
}

BurnishStatus burnish_parameter_info(const BurnishModel* model, int32_t index,
                                     BurnishTensorInfo* info) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model, info));
    RUNTIME_RETURN_IF_ERROR(CheckIndex("parameter", index, ParametersOf(model).size()));
    return WriteStruct("BurnishTensorInfo", Describe(ParametersOf(model)[index]), info);
  });
}

BurnishStatus burnish_set_input(BurnishModel* model, int32_t index, const void* data,
                                uint64_t size_bytes) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model, data));
    RUNTIME_RETURN_IF_ERROR(CheckIndex("input", index, ManifestOf(model).inputs.size()));
    return model->session->SetInput(
        index, {static_cast<const uint8_t*>(data), static_cast<size_t>(size_bytes)});
  });
}

BurnishStatus burnish_get_output(BurnishModel* model, int32_t index, void* data,
                                 uint64_t size_bytes) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model, data));
    RUNTIME_RETURN_IF_ERROR(CheckIndex("output", index, ManifestOf(model).outputs.size()));
    return model->session->GetOutput(
        index, {static_cast<uint8_t*>(data), static_cast<size_t>(size_bytes)});
  });
}

BurnishStatus burnish_bind_input(BurnishModel* model, int32_t index, const void* data,
                                 uint64_t size_bytes) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model));
    RUNTIME_RETURN_IF_ERROR(CheckIndex("input", index, ManifestOf(model).inputs.size()));
    return model->session->BindInput(index, data, size_bytes);
  });
}

BurnishStatus burnish_bind_output(BurnishModel* model, int32_t index, void* data,
                                  uint64_t size_bytes) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model));
    RUNTIME_RETURN_IF_ERROR(CheckIndex("output", index, ManifestOf(model).outputs.size()));
    return model->session->BindOutput(index, data, size_bytes);
  });
}

BurnishStatus burnish_run(BurnishModel* model) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model));
    return model->session->Run();
  });
}

BurnishStatus burnish_benchmark(BurnishModel* model, double seconds, BurnishLatency* latency) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model, latency));
    RUNTIME_RETURN_IF_ERROR(CheckStructSize("BurnishLatency", StructSizeAt(latency)));
    RUNTIME_ASSIGN_OR_RETURN(const LatencySummary summary, Benchmark(*model->session, seconds));
    return WriteStruct("BurnishLatency",
                       BurnishLatency{.run_count = summary.run_count,
                                      .min_ns = summary.min_ns,
                                      .median_ns = summary.median_ns,
                                      .p90_ns = summary.p90_ns,
                                      .p99_ns = summary.p99_ns,
                                      .mean_ns = summary.mean_ns},
                       latency);
  });
}

int32_t burnish_step_count(const BurnishModel* model) {
  return model == nullptr ? 0 : static_cast<int32_t>(ManifestOf(model).steps.size());
}

BurnishStatus burnish_step_info(const BurnishModel* model, int32_t step, BurnishStepInfo* info) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model, info));
    RUNTIME_RETURN_IF_ERROR(CheckIndex("step", step, ManifestOf(model).steps.size()));
    const ModelStep& found = ManifestOf(model).steps[step];
    return WriteStruct("BurnishStepInfo",
                       BurnishStepInfo{.output_count = static_cast<int32_t>(found.outputs.size()),
                                       .name = found.name.c_str(),
                                       .schedule_origin = found.schedule_origin.c_str(),
                                       .workload_id = found.workload_id.c_str(),
                                       .flop_count = found.flop_count,
                                       .moved_bytes = found.moved_bytes},
                       info);
  });
}

BurnishStatus burnish_profile(BurnishModel* model, int32_t run_count, int64_t* step_ns,
                              int32_t step_count) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model, step_ns));
    if (step_count != burnish_step_count(model)) {
      return InvalidArgument("got room for " + std::to_string(step_count) + " steps, want " +
                             std::to_string(burnish_step_count(model)));
    }
    RUNTIME_ASSIGN_OR_RETURN(const std::vector<int64_t> medians,
                             ProfileSteps(*model->session, run_count));
    std::copy(medians.begin(), medians.end(), step_ns);
    return RuntimeStatus();
  });
}

BurnishStatus burnish_set_loop_limit(BurnishModel* model, uint64_t iterations) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model));
    model->session->SetLoopLimit(iterations);
    return RuntimeStatus();
  });
}

BurnishStatus burnish_debug_output_info(const BurnishModel* model, int32_t step, int32_t output,
                                        BurnishTensorInfo* info) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model, info));
    RUNTIME_ASSIGN_OR_RETURN(const StepOutput* found,
                             FindStepOutput(ManifestOf(model), step, output));
    return WriteStruct("BurnishTensorInfo", Describe(found->tensor), info);
  });
}

BurnishStatus burnish_debug_output(BurnishModel* model, int32_t step, int32_t output, void* data,
                                   uint64_t size_bytes) {
  return Guard([&]() -> RuntimeStatus {
    RUNTIME_RETURN_IF_ERROR(CheckPointers(model, data));
    RUNTIME_RETURN_IF_ERROR(FindStepOutput(ManifestOf(model), step, output).status());
    return model->session->DebugOutput(
        step, output, {static_cast<uint8_t*>(data), static_cast<size_t>(size_bytes)});
  });
}

const char* burnish_last_error(void) { return last_error.c_str(); }

const char* burnish_dtype_name(int32_t dtype) { return ElementTypeName(ElementTypeOf(dtype)); }
