#include "tuner/cli/open_studies.h"

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "tuner/serve/tuner_client.h"

namespace burnish {

absl::StatusOr<OpenedStudies> OpenedStudies::Open(Context& context, DatabaseAccess access) {
  OpenedStudies opened;
  const std::string& server = context.settings().Get("server");
  if (!server.empty()) {
    opened.studies_ =
        std::make_unique<TunerClient>(server, [&context] { return context.FindClientSecret(); });
    return opened;
  }
  ASSIGN_OR_RETURN(Database database, context.OpenDatabase(access));
  opened.database_ = std::make_unique<Database>(std::move(database));
  opened.studies_ = std::make_unique<LocalStudies>(opened.database_.get(), &context.clock());
  return opened;
}

}  // namespace burnish
