// A build on its way, as one line of a terminal that is drawn again and again; elsewhere silent.
#ifndef TUNER_CLI_BUILD_VIEW_H_
#define TUNER_CLI_BUILD_VIEW_H_

#include <string>

#include "compiler/driver/build_model.h"
#include "tuner/cli/context.h"

namespace burnish {

// "choosing schedules: 12 of 28 tasks"; pure.
std::string BuildProgressText(const BuildProgress& progress);

class BuildView {
 public:
  explicit BuildView(Context& context) : context_(context) {}
  // A build that fails leaves no half line before its error.
  ~BuildView() { Finish(); }
  BuildView(const BuildView&) = delete;
  BuildView& operator=(const BuildView&) = delete;

  // One call at a time, from any thread.
  void Update(const BuildProgress& progress);
  // Clears the line.
  void Finish();

 private:
  bool shows() const { return context_.err_is_terminal() && !context_.quiet(); }

  Context& context_;
  bool drawn_ = false;
};

}  // namespace burnish

#endif  // TUNER_CLI_BUILD_VIEW_H_
