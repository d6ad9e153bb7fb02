// Builds ONNX models with default schedules and runs the bundles, as many as one likes in one
// process: what the Python tests beside this ask for what Burnish computes.
//   onnx_case_runner < REQUESTS
// A request is a line of JSON: {"folder": F, "sets": N}, where F has model.onnx and the inputs'
// dense bytes as input_SET_INDEX.bin, sets and indices from 0. "names" says which input has which
// index; one with a default need not have a file. With "zoo": NAME (and "image_size", "sequence",
// "batch") the model is the zoo's, and model.onnx is written from it. With "target": TEXT it is
// built for that CPU, which must be no more than this machine's. "values" fixes inputs by name, as
// --value does; those have no file. "dims" gives ranges of dimensions, as --dim does, and
// "input_shapes" the shapes of each set's inputs. {"operators": true} asks for the names of all
// operators that can be imported, and for nothing else. The reply is a line of JSON:
// "error" ("" for success), "stage", "outputs" (name, dtype, shape), "steps", "kernels" and
// milliseconds by stage; outputs lie in F as output_SET_INDEX.bin. Every set runs with one thread
// and with two, which must give equal bytes.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/cpu_info.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/to_status.h"
#include "compiler/frontend/model_file.h"
#include "compiler/frontend/onnx_export.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/frontend/zoo.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/target/target.h"
#include "nlohmann/json.hpp"
#include "proto/builder_client.h"
#include "tests/e2e/models/remembered_schedules.h"

namespace burnish {
namespace {

using Json = nlohmann::json;

constexpr int64_t kFileBytesMax = int64_t{4} << 30;

// Milliseconds since `start`, which moves to now.
double Lap(absl::Time& start) {
  const absl::Time now = Clock::Real().SteadyNow();
  return absl::ToDoubleMilliseconds(now - std::exchange(start, now));
}

absl::StatusOr<Graph> ReadModel(const Json& request, const std::string& folder) {
  if (!request.contains("zoo")) {
    ImportOptions options;
    if (request.contains("values")) options.input_values = request.at("values");
    if (request.contains("dims")) options.dims = request.at("dims");
    return ImportModelFile(folder + "/model.onnx", options);
  }
  ASSIGN_OR_RETURN(Graph graph, BuildZooModel(request.at("zoo").get<std::string>(),
                                              {.batch = request.value("batch", 1),
                                               .image_size = request.value("image_size", 224),
                                               .sequence = request.value("sequence", 128)}));
  ASSIGN_OR_RETURN(const std::string onnx, ExportOnnx(graph));
  RETURN_IF_ERROR(WriteFileAtomically(folder + "/model.onnx", onnx));
  return graph;
}

class CaseRunner {
 public:
  // Fills in `reply` as far as it gets; its "stage" says how far.
  absl::Status Run(const Json& request, Json& reply) {
    const std::string folder = request.at("folder");
    absl::Time start = Clock::Real().SteadyNow();
    reply["stage"] = "import";
    ASSIGN_OR_RETURN(const Graph graph, ReadModel(request, folder));
    reply["import_ms"] = Lap(start);
    reply["stage"] = "build";
    ASSIGN_OR_RETURN(Target target, HostTarget(HostCpuInfo(), ThreadsOf(request)));
    if (request.contains("target")) {
      ASSIGN_OR_RETURN(target, ParseTarget(request.at("target").get<std::string>()));
    }
    const absl::Duration searched = schedules_.spent();
    ASSIGN_OR_RETURN(const BuiltModel built,
                     BuildModel(graph, schedules_, builder_, {.target = target}));
    reply["build_ms"] = Lap(start);
    reply["schedule_ms"] = absl::ToDoubleMilliseconds(schedules_.spent() - searched);
    reply["steps"] = built.step_count;
    reply["kernels"] = built.kernel_count;
    for (const TaskReport& task : built.tasks) {
      for (const std::string& rejected : task.rejected) {
        reply["rejected"].push_back(task.name + ": " + rejected);
      }
    }
    reply["stage"] = "run";
    RETURN_IF_ERROR(RunSets(request, built.bundle, folder, reply));
    reply["run_ms"] = Lap(start);
    return absl::OkStatus();
  }

 private:
  // What the bundle is built for, and run with beside one.
  static int ThreadsOf(const Json& request) { return request.value("threads", 2); }

  absl::Status RunSets(const Json& request, const std::string& bundle, const std::string& folder,
                       Json& reply) {
    auto model =
        Model::LoadBytes({reinterpret_cast<const uint8_t*>(bundle.data()), bundle.size()}, {});
    if (!model.ok()) return ToStatus(model.status());
    std::vector<std::unique_ptr<Session>> sessions;
    for (const int threads : {1, ThreadsOf(request)}) {
      auto pool = ThreadPool::Create({.thread_count = threads});
      if (!pool.ok()) return ToStatus(pool.status());
      auto session = Session::Create(*model, std::shared_ptr<ThreadPool>(std::move(*pool)));
      if (!session.ok()) return ToStatus(session.status());
      sessions.push_back(std::move(*session));
    }
    const BundleManifest& manifest = (*model)->manifest();
    for (const auto& output : manifest.outputs) {
      reply["outputs"].push_back({{"name", output.tensor.name},
                                  {"dtype", ElementTypeName(output.tensor.type)},
                                  {"shape", output.tensor.shape}});
    }
    reply["stage"] = "import";
    ASSIGN_OR_RETURN(const std::vector<size_t> places, PlacesOf(manifest, request));
    reply["stage"] = "run";
    for (int set = 0; set < request.at("sets"); ++set) {
      std::vector<std::string> inputs;
      for (size_t i = 0; i < manifest.inputs.size(); ++i) {
        const std::string path = InputPath(folder, set, places[i]);
        const InputDefault* value = DefaultOf(manifest.input_defaults, i);
        if (value != nullptr && access(path.c_str(), R_OK) != 0) {
          inputs.push_back(value->dense);
          continue;
        }
        ASSIGN_OR_RETURN(inputs.emplace_back(), ReadFile(path, kFileBytesMax));
      }
      if (!manifest.run_sizes.inputs.empty()) {
        for (const auto& session : sessions) {
          RETURN_IF_ERROR(SetSizes(*session, request.at("input_shapes").at(set), places));
        }
      }
      ASSIGN_OR_RETURN(const std::vector<std::string> outputs, RunOnce(*sessions[0], inputs));
      ASSIGN_OR_RETURN(const std::vector<std::string> with_all, RunOnce(*sessions[1], inputs));
      Json shapes = Json::array();
      for (size_t i = 0; i < outputs.size(); ++i) shapes.push_back(sessions[0]->OutputShape(i));
      reply["shapes"].push_back(std::move(shapes));
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i] != with_all[i]) {
          return absl::InternalError(absl::StrCat("output ", i, " of set ", set,
                                                  " differs between one thread and ",
                                                  ThreadsOf(request)));
        }
        RETURN_IF_ERROR(
            WriteFileAtomically(absl::StrCat(folder, "/output_", set, "_", i, ".bin"), outputs[i]));
      }
    }
    return absl::OkStatus();
  }

  // Of the bundle's inputs, their indices among "names". UNIMPLEMENTED: it has fixed one of them.
  static absl::StatusOr<std::vector<size_t>> PlacesOf(const BundleManifest& manifest,
                                                      const Json& request) {
    std::vector<std::string> names;
    for (const ModelTensor& input : manifest.inputs) names.push_back(input.tensor.name);
    const std::vector<std::string> given = request.value("names", names);
    std::vector<size_t> places;
    for (const std::string& name : names) {
      places.push_back(std::find(given.begin(), given.end(), name) - given.begin());
    }
    for (const std::string& name : request.value("given", std::vector<std::string>())) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      return absl::UnimplementedError(absl::StrCat("'", name, "' is a constant of the bundle"));
    }
    return places;
  }

  static absl::Status SetSizes(Session& session, const Json& shapes,
                               const std::vector<size_t>& places) {
    const BundleManifest& manifest = session.manifest();
    std::vector<ShapedInput> inputs;
    for (size_t i = 0; i < manifest.inputs.size(); ++i) {
      const TensorInfo& tensor = manifest.inputs[i].tensor;
      const Json& shape = shapes.at(places[i]);
      inputs.push_back(
          {tensor.name, shape.is_null() ? tensor.shape : shape.get<std::vector<int64_t>>()});
    }
    std::vector<int64_t> extents(manifest.run_sizes.sizes.size());
    const RuntimeStatus status = ReadGivenSizes(manifest.run_sizes, inputs, extents);
    return ToStatus(status.ok() ? session.SetSizes(extents) : status);
  }

  static std::string InputPath(const std::string& folder, int set, size_t index) {
    return absl::StrCat(folder, "/input_", set, "_", index, ".bin");
  }

  static absl::StatusOr<std::vector<std::string>> RunOnce(Session& session,
                                                          const std::vector<std::string>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const RuntimeStatus status = session.SetInput(
          i, {reinterpret_cast<const uint8_t*>(inputs[i].data()), inputs[i].size()});
      if (!status.ok()) return ToStatus(status);
    }
    if (const RuntimeStatus status = session.Run(); !status.ok()) return ToStatus(status);
    std::vector<std::string> outputs;
    for (size_t i = 0; i < session.manifest().outputs.size(); ++i) {
      std::string& bytes = outputs.emplace_back();
      TensorInfo tensor = session.manifest().outputs[i].tensor;
      tensor.shape = session.OutputShape(i);
      bytes.resize(tensor.dense_bytes());
      const RuntimeStatus status =
          session.GetOutput(i, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
      if (!status.ok()) return ToStatus(status);
    }
    return outputs;
  }

  RememberedSchedules schedules_;
  BuilderClient builder_;
};

int Main() {
  CaseRunner runner;
  std::string line;
  while (std::getline(std::cin, line)) {
    Json reply = {{"error", ""}, {"outputs", Json::array()}, {"rejected", Json::array()}};
    const Json request = Json::parse(line);
    if (request.contains("operators")) {
      reply["operators"] = SupportedOnnxOperators();
    } else if (const absl::Status status = runner.Run(request, reply); !status.ok()) {
      reply["error"] = status.ToString();
    }
    std::cout << reply.dump(-1, ' ', true, Json::error_handler_t::replace) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace burnish

int main() { return burnish::Main(); }
