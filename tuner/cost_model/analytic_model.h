// How long a lowered program should take, from the instruction set and the caches alone. It ranks
// candidates before anything was measured, and the learned model predicts its residual.
#ifndef TUNER_COST_MODEL_ANALYTIC_MODEL_H_
#define TUNER_COST_MODEL_ANALYTIC_MODEL_H_

#include "compiler/ir/program.h"
#include "proto/isa_model.h"

namespace burnish {

// Seconds of one call on `threads` workers; > 0. Not meant to be exact: orders candidates.
double AnalyticSeconds(const Program& lowered, const IsaModel& isa, int threads);

}  // namespace burnish

#endif  // TUNER_COST_MODEL_ANALYTIC_MODEL_H_
