// Prints a model as a graph, or writes it as ONNX: what do the importer and the passes make of it?
//   graph_main resnet50 --stage=tasks
//   graph_main resnet50 --stage=workloads  # Whole, in order: did a change of a pass change a task?
//   graph_main model.onnx --shape=x=1x3x224x224 --stage=imported --emit=out.onnx
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "compiler/frontend/model_file.h"
#include "compiler/frontend/onnx_export.h"
#include "compiler/frontend/zoo.h"
#include "compiler/graph/assign_storage.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/graph/prepare.h"

namespace burnish {
namespace {

struct Arguments {
  std::string model;
  std::string stage = "prepared";  // imported, prepared, tasks, workloads
  std::string emit;
  ImportOptions import;
};

absl::StatusOr<Arguments> ParseArguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    absl::string_view text = argv[i];
    if (absl::ConsumePrefix(&text, "--stage=")) {
      arguments.stage = std::string(text);
    } else if (absl::ConsumePrefix(&text, "--emit=")) {
      arguments.emit = std::string(text);
    } else if (absl::ConsumePrefix(&text, "--shape=")) {
      const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
      std::vector<int64_t>& shape = arguments.import.input_shapes[parts[0]];
      for (absl::string_view extent : absl::StrSplit(parts.back(), 'x')) {
        shape.push_back(0);
        if (!absl::SimpleAtoi(extent, &shape.back())) {
          return absl::InvalidArgumentError("want --shape=NAME=1x3x224x224");
        }
      }
    } else {
      arguments.model = std::string(text);
    }
  }
  if (arguments.model.empty()) return absl::InvalidArgumentError("want a model");
  return arguments;
}

absl::Status PrintTasks(const Graph& graph, bool whole) {
  const Fusion fusion = Fuse(graph);
  const StorageAssignment storage = AssignStorage(graph, fusion);
  ASSIGN_OR_RETURN(const TaskList list, ExtractTasks(graph, fusion, storage.copy_free));
  if (whole) {
    for (const ExtractedTask& task : list.tasks) {
      std::printf("# %ld x %s\n%s", static_cast<long>(task.weight), task.name.c_str(),
                  task.workload.c_str());
    }
    return absl::OkStatus();
  }
  int64_t copies = 0;
  for (const bool free : storage.copy_free) copies += free;
  std::printf("%zu groups, %zu tasks, %ld free\n", fusion.groups.size(), list.tasks.size(),
              static_cast<long>(copies));
  for (const ExtractedTask& task : list.tasks) {
    std::printf("%3ld x %10.3f MFLOP  %s  %zu blocks\n", static_cast<long>(task.weight),
                static_cast<double>(task.flop_count) * 1e-6, task.name.c_str(),
                task.program.blocks.size());
  }
  return absl::OkStatus();
}

absl::Status Main(int argc, char** argv) {
  ASSIGN_OR_RETURN(const Arguments arguments, ParseArguments(argc, argv));
  Graph graph;
  if (arguments.model.find('.') == std::string::npos) {
    ASSIGN_OR_RETURN(graph, BuildZooModel(arguments.model));
  } else {
    ASSIGN_OR_RETURN(graph, ImportModelFile(arguments.model, arguments.import));
  }
  if (arguments.stage != "imported") RETURN_IF_ERROR(PrepareGraph(graph));
  if (arguments.stage == "tasks" || arguments.stage == "workloads") {
    RETURN_IF_ERROR(PrintTasks(graph, /*whole=*/arguments.stage == "workloads"));
  } else if (arguments.emit.empty()) {
    std::printf("%s", PrintGraph(graph).c_str());
  }
  if (!arguments.emit.empty()) {
    ASSIGN_OR_RETURN(const std::string bytes, ExportOnnx(graph));
    std::ofstream(arguments.emit, std::ios::binary) << bytes;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) {
  const absl::Status status = burnish::Main(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
