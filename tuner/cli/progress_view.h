// A running study on stderr: a block that is drawn again and again on a terminal, else a line now
// and then.
#ifndef TUNER_CLI_PROGRESS_VIEW_H_
#define TUNER_CLI_PROGRESS_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tuner/cli/context.h"
#include "tuner/study/study_types.h"

namespace burnish {

// What is shown; pure. `flop_counts`: one a task.
// One line: "120/500 trials, 8.3/s, sum 20.1 ms, failed: 2 wrong result, 1 crashed, ETA 46 s".
std::string ProgressText(const StudyProgress& progress, double trials_per_second, int bar_columns);
// The tasks that cost most, at most `limit` lines: best latency, GFLOP/s, the default's latency.
// Names have what is left of the terminal's `columns`.
std::vector<std::string> ProgressTasks(const StudyProgress& progress,
                                       const std::vector<int64_t>& flop_counts, size_t limit,
                                       int columns);
// What "-" in the column of gains means; empty: there is none, or RefineText says why.
std::string NoGainText(const StudyProgress& progress);
// What `refine` came to, in a line; empty: it did not begin.
std::string RefineText(const RefineProgress& refine);
// Where the time of the run went, in two lines: the study's own, and its workers'.
std::string TimesText(const StudyTimes& times);
// Every task, before and after, and their sum.
std::string ResultTable(const StudyProgress& progress, const std::vector<int64_t>& flop_counts,
                        int columns = 0, bool color = false);  // See TextTable::ToText.

class ProgressView {
 public:
  ProgressView(Context& context, std::vector<int64_t> flop_counts)
      : context_(context), flop_counts_(std::move(flop_counts)) {}

  // Draws if it is time to. This and `Say` may be called from any thread.
  void Update(const StudyProgress& progress);
  // A remark, above the block.
  void Say(absl::string_view text);
  // Leaves the last block where it is.
  void Finish();

 private:
  void Draw(const StudyProgress& progress, double rate);

  Context& context_;
  const std::vector<int64_t> flop_counts_;
  std::mutex mutex_;                           // Guards what is below, and the terminal.
  absl::Time started_ = absl::InfinitePast();  // Steady; before the first update.
  absl::Time last_ = absl::InfinitePast();
  int64_t trials_before_ = 0;       // By earlier runs of the study.
  std::vector<std::string> lines_;  // Of the block; empty: none is there.
  std::vector<size_t> drawn_;       // See Redraw.
};

}  // namespace burnish

#endif  // TUNER_CLI_PROGRESS_VIEW_H_
