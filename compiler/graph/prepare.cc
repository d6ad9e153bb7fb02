#include "compiler/graph/prepare.h"

#include <memory>
#include <utility>

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
#include "compiler/graph/quantize_graph.h"
#include "compiler/graph/simplify_pass.h"
#include "compiler/graph/sink_concat_pass.h"
#include "compiler/graph/sink_shuffle_pass.h"
#include "compiler/graph/split_phases_pass.h"
#include "compiler/graph/split_pools_pass.h"

namespace burnish {

namespace {

// Constants first: a body folds those that it captures.
absl::Status PrepareBodies(Graph& graph, const PrepareOptions& options) {
  for (GraphNode& node : graph.nodes) {
    if (!IsControl(node)) continue;
    MoveConstantsIntoBodies(graph, node);
    for (auto& shared : node.bodies) {
      Graph body = *shared;
      RETURN_IF_ERROR(PrepareGraph(body, options));
      shared = std::make_shared<const Graph>(std::move(body));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PrepareGraph(Graph& graph, const PrepareOptions& options) {
  EliminateDead(graph);
  if (options.storage.quantizes()) RETURN_IF_ERROR(StoreAsBytes(graph, options.storage));
  // Before constants are folded: weights are still numbers of few bits.
  RETURN_IF_ERROR(FoldQuantization(graph));
  RETURN_IF_ERROR(KeepWeights(graph));
  RETURN_IF_ERROR(FoldConstants(graph));
  RETURN_IF_ERROR(Simplify(graph));
  if (options.fold_batch_norm) RETURN_IF_ERROR(FoldBatchNorm(graph));
  RETURN_IF_ERROR(CropKernels(graph));
  RETURN_IF_ERROR(SplitPools(graph));
  RETURN_IF_ERROR(SinkChannelShuffles(graph));
  RETURN_IF_ERROR(SinkConcats(graph));
  if (options.channels_last) {
    RETURN_IF_ERROR(ConvertToChannelsLast(graph));
    // Transposes of the layout meet the model's own, reshapes and constants.
    RETURN_IF_ERROR(Simplify(graph));
    RETURN_IF_ERROR(FoldConstants(graph));
    // Where a transpose stood between a convolution and its scale, none does now.
    if (options.fold_batch_norm) RETURN_IF_ERROR(FoldBatchNorm(graph));
  }
  // Behind the layout, whose transposes would stand between a convolution and its phases.
  RETURN_IF_ERROR(SplitPhases(graph));
  PrepareOptions of_bodies = options;
  of_bodies.storage = {};
  RETURN_IF_ERROR(PrepareBodies(graph, of_bodies));
  NameLayers(graph);
  // When nothing folds any more, and the layout's transposes are there to be narrow.
  if (options.storage.narrows()) RETURN_IF_ERROR(StoreFloatsAs(graph, options.storage));
  EliminateCommon(graph);
  // Last: other passes look at concats that nothing else reads.
  return NestConcats(graph);
}

}  // namespace burnish
