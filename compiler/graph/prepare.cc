#include "compiler/graph/prepare.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/graph/control.h"
#include "compiler/graph/crop_kernels_pass.h"
#include "compiler/graph/eliminate_common_pass.h"
#include "compiler/graph/eliminate_dead_pass.h"
#include "compiler/graph/fold_batch_norm_pass.h"
#include "compiler/graph/fold_constants_pass.h"
#include "compiler/graph/fold_quantization_pass.h"
#include "compiler/graph/keep_weights_pass.h"
#include "compiler/graph/layout_pass.h"
#include "compiler/graph/nest_concats_pass.h"
#include "compiler/graph/precision_pass.h"
#include "compiler/graph/quantize_graph.h"
#include "compiler/graph/simplify_pass.h"
#include "compiler/graph/sink_concat_pass.h"
#include "compiler/graph/sink_shuffle_pass.h"
#include "compiler/graph/split_phases_pass.h"
#include "compiler/graph/split_pools_pass.h"

namespace burnish {
namespace {

template <auto pass>
absl::Status Run(Graph& graph, const PrepareOptions&) {
  return pass(graph);
}

template <void (*pass)(Graph&)>
absl::Status RunSure(Graph& graph, const PrepareOptions&) {
  pass(graph);
  return absl::OkStatus();
}

absl::Status Quantize(Graph& graph, const PrepareOptions& options) {
  return options.storage.quantizes() ? StoreAsBytes(graph, options.storage) : absl::OkStatus();
}

absl::Status FoldAllConstants(Graph& graph, const PrepareOptions&) { return FoldConstants(graph); }

absl::Status Narrow(Graph& graph, const PrepareOptions& options) {
  return options.storage.narrows() ? StoreFloatsAs(graph, options.storage) : absl::OkStatus();
}

// Constants first: a body folds those that it captures.
absl::Status PrepareBodies(Graph& graph, const PrepareOptions& options) {
  PrepareOptions of_bodies = options;
  of_bodies.storage = {};
  of_bodies.passes.observer = nullptr;
  for (GraphNode& node : graph.nodes) {
    if (!IsControl(node)) continue;
    MoveConstantsIntoBodies(graph, node);
    for (auto& shared : node.bodies) {
      Graph body = *shared;
      RETURN_IF_ERROR(PrepareGraph(body, of_bodies));
      shared = std::make_shared<const Graph>(std::move(body));
    }
  }
  return absl::OkStatus();
}

bool Names(absl::Span<const std::string> names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

absl::Span<const GraphPass> GraphPasses() {
  static const auto* const kPasses = new std::vector<GraphPass>{
      {.name = "eliminate_dead",
       .what = "nodes that no output needs go",
       .is_optional = false,
       .run = RunSure<&EliminateDead>},
      {.name = "quantize",
       .what = "--precision int8: products of quantized numbers",
       .keeps = PassKeeps::kTypes,
       .is_optional = false,
       .run = Quantize},
      // Before constants are folded: weights are still numbers of few bits.
      {.name = "fold_quantization",
       .what = "integers between dequantize and quantize",
       .keeps = PassKeeps::kValues,
       .run = Run<&FoldQuantization>},
      {.name = "keep_weights",
       .what = "weights of 8 bits stay so",
       .keeps = PassKeeps::kValues,
       .needs = {"fold_quantization"},
       .run = Run<&KeepWeights>},
      {.name = "fold_constants",
       .what = "what is computed of constants is one",
       .keeps = PassKeeps::kValues,
       .is_optional = false,
       .run = FoldAllConstants},
      {.name = "simplify",
       .what = "identities, chains of casts, transposes, reshapes",
       .keeps = PassKeeps::kValues,
       .run = Run<&Simplify>},
      {.name = "fold_batch_norm",
       .what = "scales and shifts by channel become weights and bias",
       .keeps = PassKeeps::kValues,
       .opt_level = 1,
       .run = Run<&FoldBatchNorm>},
      {.name = "crop_kernels", .what = "taps that meet padding alone go", .run = Run<&CropKernels>},
      {.name = "split_pools",
       .what = "a large maximum is taken one dimension after the other",
       .run = Run<&SplitPools>},
      {.name = "sink_shuffles",
       .what = "shuffles of channels move past depthwise convolutions",
       .run = Run<&SinkChannelShuffles>},
      {.name = "sink_concats", .what = "activations move before concats", .run = Run<&SinkConcats>},
      {.name = "channels_last",
       .what = "channels last inside, transposes at the edges",
       .keeps = PassKeeps::kValues,
       .opt_level = 2,
       .run = Run<&ConvertToChannelsLast>},
      // Transposes of the layout meet the model's own, reshapes and constants.
      {.name = "simplify.2",
       .what = "transposes of the layout meet the model's",
       .keeps = PassKeeps::kValues,
       .opt_level = 2,
       .needs = {"simplify", "channels_last"},
       .run = Run<&Simplify>},
      {.name = "fold_constants.2",
       .what = "constants are turned to the layout",
       .keeps = PassKeeps::kValues,
       .opt_level = 2,
       .needs = {"fold_constants", "channels_last"},
       .run = FoldAllConstants},
      // Where a transpose stood between a convolution and its scale, none does now.
      {.name = "fold_batch_norm.2",
       .what = "scales from which a transpose kept a convolution",
       .keeps = PassKeeps::kValues,
       .opt_level = 2,
       .needs = {"fold_batch_norm", "channels_last"},
       .run = Run<&FoldBatchNorm>},
      // Behind the layout, whose transposes would stand between a convolution and its phases.
      {.name = "split_phases",
       .what = "transposed convolutions with strides become plain ones",
       .keeps = PassKeeps::kValues,
       .run = Run<&SplitPhases>},
      {.name = "prepare_bodies",
       .what = "all rows, on branches and loops",
       .keeps = PassKeeps::kValues,
       .is_optional = false,
       .run = PrepareBodies},
      {.name = "name_layers",
       .what = "each node gets the name that --precision knows it by",
       .is_optional = false,
       .run = RunSure<&NameLayers>},
      // When nothing folds any more, and the layout's transposes are there to be narrow.
      {.name = "narrow",
       .what = "--precision: weights and values between operators in 16 bits",
       .keeps = PassKeeps::kTypes,
       .needs = {"fold_constants", "name_layers"},
       .is_optional = false,
       .run = Narrow},
      {.name = "eliminate_common", .what = "equal nodes are one", .run = RunSure<&EliminateCommon>},
      // Last: other passes look at concats that nothing else reads.
      {.name = "nest_concats",
       .what = "concats that begin alike become a chain",
       .run = Run<&NestConcats>},
  };
  return *kPasses;
}

absl::StatusOr<std::vector<std::string>> LeftOut(absl::Span<const std::string> names) {
  std::vector<std::string> out;
  for (const GraphPass& pass : GraphPasses()) {
    std::string why = Names(names, pass.name) ? "a build needs it" : "";
    for (const absl::string_view need : pass.needs) {
      if (Names(out, need)) why = absl::StrCat("it needs '", need, "'");
    }
    if (why.empty()) continue;
    if (!pass.is_optional) {
      return absl::InvalidArgumentError(
          absl::StrCat("pass '", pass.name, "' cannot be left out: ", why));
    }
    out.emplace_back(pass.name);
  }
  for (const std::string& name : names) {
    if (!Names(out, name)) {
      return absl::InvalidArgumentError(absl::StrCat("there is no pass '", name, "'"));
    }
  }
  return out;
}

absl::Status PrepareGraph(Graph& graph, const PrepareOptions& options) {
  for (const GraphPass& pass : GraphPasses()) {
    if (options.opt_level < pass.opt_level || Names(options.passes.without, pass.name)) continue;
    const absl::Time start = absl::Now();
    RETURN_IF_ERROR(pass.run(graph, options));
    const absl::Duration time = absl::Now() - start;
    if (options.passes.verify) {
      if (const absl::Status verified = VerifyGraph(graph); !verified.ok()) {
        return absl::InternalError(
            absl::StrCat("pass '", pass.name, "' left: ", verified.message()));
      }
    }
    if (options.passes.observer != nullptr) options.passes.observer(pass, graph, time);
  }
  return absl::OkStatus();
}

}  // namespace burnish
