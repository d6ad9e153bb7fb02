// A build on its way, as one line of a terminal that is drawn again and again; elsewhere silent.
#ifndef TUNER_CLI_BUILD_VIEW_H_
#define TUNER_CLI_BUILD_VIEW_H_

#include <string>

#include "compiler/driver/build_model.h"
#include "tuner/cli/context.h"
#include "tuner/cli/progress_line.h"

namespace burnish {

// "choosing schedules: 12 of 28 tasks"; pure.
std::string BuildProgressText(const BuildProgress& progress);

class BuildView {
 public:
  explicit BuildView(Context& context) : line_(context) {}

  // One call at a time, from any thread.
  void Update(const BuildProgress& progress);
  // Clears the line.
  void Finish();

 private:
  ProgressLine line_;
};

}  // namespace burnish

#endif  // TUNER_CLI_BUILD_VIEW_H_
