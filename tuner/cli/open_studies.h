// Where a command finds studies: behind the daemon that is set, else in the database.
#ifndef TUNER_CLI_OPEN_STUDIES_H_
#define TUNER_CLI_OPEN_STUDIES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "db/open.h"
#include "tuner/app/studies.h"
#include "tuner/cli/context.h"

namespace burnish {

class OpenedStudies {
 public:
  // Errors: B05xx. A daemon is met by the first call only.
  static absl::StatusOr<OpenedStudies> Open(Context& context, DatabaseAccess access);

  Studies* operator->() { return studies_.get(); }

 private:
  std::unique_ptr<Database> database_;  // Null: a daemon's.
  std::unique_ptr<Studies> studies_;
};

}  // namespace burnish

#endif  // TUNER_CLI_OPEN_STUDIES_H_
