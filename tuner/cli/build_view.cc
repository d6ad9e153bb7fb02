#include "tuner/cli/build_view.h"

#include "absl/strings/str_cat.h"

namespace burnish {

std::string BuildProgressText(const BuildProgress& progress) {
  switch (progress.stage) {
    case BuildProgress::Stage::kSchedules:
      return absl::StrCat("choosing schedules: ", progress.done, " of ", progress.total, " tasks");
    case BuildProgress::Stage::kKernels:
      return "compiling kernels";
    case BuildProgress::Stage::kWeights:
      return "packing weights";
    case BuildProgress::Stage::kError:
      if (progress.total == 0) return "measuring the error of the whole model";
      return absl::StrCat("finding layers for fewer bits: ", progress.done, " of ", progress.total,
                          " runs");
  }
  return "";
}

void BuildView::Update(const BuildProgress& progress) { line_.Show(BuildProgressText(progress)); }

void BuildView::Finish() { line_.Clear(); }

}  // namespace burnish
