#include "tuner/cli/best_on_record.h"

#include <memory>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"
#include "tuner/serve/tuner_client.h"

namespace burnish {

absl::StatusOr<BestFinder> FindBestOnRecord(Context& context) {
  const std::string& server = context.settings().Get("server");
  if (!server.empty()) {
    auto client = std::make_shared<TunerClient>(server);
    return BestFinder([client](const BestQuery& query) { return client->Best(query); });
  }
  absl::StatusOr<Database> opened = context.OpenDatabase(DatabaseAccess::kRead);
  // Who has tuned nothing yet gets default schedules.
  if (ErrorCodeOf(opened.status()) == ErrorCode::kNoDatabase) opened = OpenDatabase("memory:");
  RETURN_IF_ERROR(opened.status());
  auto database = std::make_shared<Database>(*std::move(opened));
  return BestFinder([database](const BestQuery& query) { return database->records->Best(query); });
}

}  // namespace burnish
