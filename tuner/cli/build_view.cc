#include "tuner/cli/build_view.h"

#include "absl/strings/str_cat.h"

namespace burnish {
namespace {

// To the line's start, and clear what follows (ECMA-48, EL).
constexpr char kClearLine[] = "\r\x1b[K";

}  // namespace

std::string BuildProgressText(const BuildProgress& progress) {
  switch (progress.stage) {
    case BuildProgress::Stage::kSchedules:
      return absl::StrCat("choosing schedules: ", progress.done, " of ", progress.total, " tasks");
    case BuildProgress::Stage::kKernels:
      return "compiling kernels";
    case BuildProgress::Stage::kWeights:
      return "packing weights";
    case BuildProgress::Stage::kError:
      return "measuring the error of algorithms that round otherwise";
  }
  return "";
}

void BuildView::Update(const BuildProgress& progress) {
  if (!shows()) return;
  context_.err() << kClearLine << BuildProgressText(progress) << std::flush;
  drawn_ = true;
}

void BuildView::Finish() {
  if (drawn_) context_.err() << kClearLine << std::flush;
  drawn_ = false;
}

}  // namespace burnish
