#include "tuner/cli/context.h"

#include "tuner/app/database.h"
#include "tuner/app/error.h"
#include "tuner/app/target_text.h"

namespace burnish {

void Context::Note(absl::string_view text) {
  if (!quiet()) err() << std::string(text) << "\n" << std::flush;
}

absl::StatusOr<Database> Context::OpenDatabase() {
  const std::string& url = settings_.Get("db");
  if (url.empty()) {
    return MakeError(ErrorCode::kDatabaseFolder,
                     "no database: neither HOME nor XDG_DATA_HOME is set", "", "--db FILE");
  }
  return OpenOrMakeDatabase(url);
}

absl::StatusOr<Target> Context::ResolveTarget(int threads) const {
  return burnish::ResolveTarget(settings_.Get("target"), threads);
}

}  // namespace burnish
