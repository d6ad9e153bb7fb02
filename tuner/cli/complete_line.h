// Answers a shell that completes a line of `tuner`.
#ifndef TUNER_CLI_COMPLETE_LINE_H_
#define TUNER_CLI_COMPLETE_LINE_H_

#include <string>
#include <vector>

#include "tuner/cli/completion.h"
#include "tuner/cli/context.h"

namespace burnish {

// Prints what the last of `words` may become, one a line. Nobody waits for completion: there are no
// errors, and a database or daemon that does not answer in a second has no studies.
void CompleteLine(const std::vector<CompletionCommand>& commands,
                  const std::vector<std::string>& words, const CliEnvironment& environment);

}  // namespace burnish

#endif  // TUNER_CLI_COMPLETE_LINE_H_
