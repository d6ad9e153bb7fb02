// The history-best look-up: a few walks down the index `record_best`, never a scan of the records.
#ifndef DB_SQLITE_BEST_LOOKUP_H_
#define DB_SQLITE_BEST_LOOKUP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "db/record_store.h"
#include "db/sqlite/connection.h"

namespace burnish {

// `query` is valid. Inside one read transaction.
absl::StatusOr<BestAnswer> LookUpBest(SqliteConnection& connection, const BestQuery& query);

// The tasks that the index knows, by skipping from one to the next.
absl::StatusOr<std::vector<TaskKey>> ListIndexedTasks(SqliteConnection& connection);

// The row ids of the query's one column, in its order.
absl::StatusOr<std::vector<int64_t>> AllIds(SqliteQuery& query);

}  // namespace burnish

#endif  // DB_SQLITE_BEST_LOOKUP_H_
