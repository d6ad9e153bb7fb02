#include "db/sqlite/best_lookup.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "db/sqlite/damaged_row.h"
#include "db/sqlite/record_rows.h"

namespace burnish {
namespace {

struct Ranked {
  int64_t rank_ns;
  int64_t row_id;

  auto operator<=>(const Ranked&) const = default;
};

// The accuracy rule is AccuracyLimit::Accepts in SQL, with the enum's stored numbers (1, 2: exact
// and reassociated; 3, 4: another algorithm and low precision). The memory store, which the
// conformance tests run beside this one, calls Accepts itself.
// One (workload, target, contract): the index holds its records by rising rank_ns, with every
// column that a caller may limit. Values: workload, target, contract, error_max, strict,
// method_version, codegen_epoch, limit; NULL: no limit.
constexpr char kBest[] = R"sql(
SELECT rank_ns, id FROM record INDEXED BY record_best
WHERE workload_id=?1 AND target_id=?2 AND contract_id=?3 AND rank_ns IS NOT NULL
  AND (?4 IS NULL OR (numerics_kind IN (1, 2) AND numerics_error <= ?4)
       OR (NOT ?5 AND numerics_kind IN (3, 4) AND numerics_error BETWEEN 0 AND ?4))
  AND (?6 IS NULL OR method_version = ?6)
  AND (?7 IS NULL OR codegen_epoch = ?7)
ORDER BY rank_ns, id LIMIT ?8)sql";

void IntOrNull(SqliteQuery& query, const auto& value) {
  value.has_value() ? query.Int(*value) : query.Null();
}

// The next value of the index's column after `previous`, or 0: a skip scan, as the values are few
// and their records many.
absl::StatusOr<int64_t> Next(SqliteConnection& connection, const std::string& column,
                             absl::string_view fixed, const std::vector<int64_t>& prefix,
                             int64_t previous) {
  ASSIGN_OR_RETURN(
      SqliteQuery query,
      connection.Query(absl::StrCat("SELECT ", column, " FROM record INDEXED BY record_best WHERE ",
                                    fixed, column,
                                    " > ? AND rank_ns IS NOT NULL "
                                    "ORDER BY ",
                                    column, " LIMIT 1")));
  for (const int64_t value : prefix) query.Int(value);
  // Row ids begin at 1, so that 0 is before the first value.
  ASSIGN_OR_RETURN(const bool found, query.Int(previous).Step());
  return found ? query.IntAt(0) : 0;
}

absl::StatusOr<int64_t> NextContract(SqliteConnection& connection, int64_t workload, int64_t target,
                                     int64_t previous) {
  return Next(connection, "contract_id", "workload_id = ? AND target_id = ? AND ",
              {workload, target}, previous);
}

absl::StatusOr<std::vector<int64_t>> Ids(SqliteConnection& connection, const std::string& sql,
                                         absl::string_view value, bool is_blob) {
  ASSIGN_OR_RETURN(SqliteQuery query, connection.Query(sql));
  is_blob ? query.Blob(value) : query.Text(value);
  return AllIds(query);
}

// One query's look-ups within one snapshot.
class BestLookUp {
 public:
  BestLookUp(SqliteConnection& connection, const BestQuery& query)
      : connection_(connection), query_(query) {}

  // False: the store knows neither the target nor a compatible one, or not the contract.
  absl::StatusOr<bool> FindKeys() {
    ASSIGN_OR_RETURN(exact_targets_, Ids(connection_, "SELECT id FROM target WHERE text=?",
                                         query_.target, /*is_blob=*/false));
    if (!query_.isa_key.empty()) {
      ASSIGN_OR_RETURN(compatible_targets_,
                       Ids(connection_, "SELECT id FROM target WHERE isa_key=?", query_.isa_key,
                           /*is_blob=*/false));
    }
    if (query_.contract.has_value()) {
      ASSIGN_OR_RETURN(contracts_, Ids(connection_, "SELECT id FROM contract WHERE text=?",
                                       *query_.contract, /*is_blob=*/false));
      // A contract that no record has: nothing can be found, whatever the targets.
      if (contracts_.empty()) return false;
    }
    return !exact_targets_.empty() || !compatible_targets_.empty();
  }

  // True: `answer` holds records of these workloads.
  absl::StatusOr<bool> Find(WorkloadMatch match, const std::vector<int64_t>& workloads,
                            BestAnswer& answer) {
    // The target itself first, over all workloads of this match. Latencies of a compatible target
    // were taken on another machine and do not compare, so that the two are never ranked together.
    for (const bool exact : {true, false}) {
      std::vector<Ranked> ranked;
      for (const int64_t workload : workloads) {
        for (const int64_t target : exact ? exact_targets_ : compatible_targets_) {
          RETURN_IF_ERROR(AddBest(workload, target, ranked));
        }
      }
      if (ranked.empty()) continue;
      std::sort(ranked.begin(), ranked.end());
      // Each of the queries has given its own best `limit`, so that the best of all are among them.
      if (ranked.size() > static_cast<size_t>(query_.limit)) ranked.resize(query_.limit);
      answer = {.workload_match = match, .exact_target = exact};
      for (const Ranked& best : ranked) {
        ASSIGN_OR_RETURN(SqliteQuery row,
                         // Only now the rows, of which only the winners are read: texts and hashes
                         // are many times the size of an index entry.
                         connection_.Query(absl::StrCat(kSelectRecord, " WHERE r.id=?")));
        ASSIGN_OR_RETURN(const bool found, row.Int(best.row_id).Step());
        if (!found) return RecordWithoutParts(connection_.path(), best.row_id);
        ASSIGN_OR_RETURN(answer.records.emplace_back(), RecordAt(row, connection_.path()));
      }
      return true;
    }
    return false;
  }

 private:
  absl::Status AddBest(int64_t workload, int64_t target, std::vector<Ranked>& ranked) {
    if (query_.contract.has_value()) {
      return AddBestOfContract(workload, target, contracts_.front(), ranked);
    }
    // Contract is a column of the index before rank_ns. Without a contract the index is not in
    // order of rank, so each contract is asked for by itself.
    for (int64_t contract = 0;;) {
      ASSIGN_OR_RETURN(contract, NextContract(connection_, workload, target, contract));
      if (contract == 0) return absl::OkStatus();
      RETURN_IF_ERROR(AddBestOfContract(workload, target, contract, ranked));
    }
  }

  absl::Status AddBestOfContract(int64_t workload, int64_t target, int64_t contract,
                                 std::vector<Ranked>& ranked) {
    ASSIGN_OR_RETURN(SqliteQuery query, connection_.Query(kBest));
    query.Int(workload).Int(target).Int(contract);
    query_.accuracy.has_value() ? query.Real(query_.accuracy->error_max) : query.Null();
    query.Int(query_.accuracy.has_value() && query_.accuracy->strict);
    IntOrNull(query, query_.method_version);
    IntOrNull(query, query_.codegen_epoch);
    query.Int(query_.limit);
    while (true) {
      ASSIGN_OR_RETURN(const bool found, query.Step());
      if (!found) return absl::OkStatus();
      ranked.push_back({.rank_ns = query.IntAt(0), .row_id = query.IntAt(1)});
    }
  }

  SqliteConnection& connection_;
  const BestQuery& query_;
  std::vector<int64_t> exact_targets_;  // One or none.
  std::vector<int64_t> compatible_targets_;
  std::vector<int64_t> contracts_;  // One, if the query names it.
};

}  // namespace

absl::StatusOr<std::vector<int64_t>> AllIds(SqliteQuery& query) {
  std::vector<int64_t> ids;
  while (true) {
    ASSIGN_OR_RETURN(const bool found, query.Step());
    if (!found) return ids;
    ids.push_back(query.IntAt(0));
  }
}

absl::StatusOr<BestAnswer> LookUpBest(SqliteConnection& connection, const BestQuery& query) {
  BestLookUp look_up(connection, query);
  BestAnswer answer;
  ASSIGN_OR_RETURN(const bool known, look_up.FindKeys());
  if (!known) return answer;
  const std::string by_id = "SELECT id FROM workload WHERE sha256=?";
  using RowIds = std::vector<int64_t>;
  ASSIGN_OR_RETURN(const RowIds exact, Ids(connection, by_id, query.workload_id, true));
  ASSIGN_OR_RETURN(const bool found, look_up.Find(WorkloadMatch::kExact, exact, answer));
  if (!found && !query.anchor_id.empty()) {
    ASSIGN_OR_RETURN(
        const RowIds same_anchor,
        Ids(connection, "SELECT id FROM workload WHERE anchor_sha256=?", query.anchor_id, true));
    RETURN_IF_ERROR(look_up.Find(WorkloadMatch::kSameAnchor, same_anchor, answer).status());
  }
  return answer;
}

absl::StatusOr<std::vector<TaskKey>> ListIndexedTasks(SqliteConnection& connection) {
  std::vector<TaskKey> tasks;
  for (int64_t workload = 0;;) {
    ASSIGN_OR_RETURN(workload, Next(connection, "workload_id", "", {}, workload));
    if (workload == 0) break;
    for (int64_t target = 0;;) {
      ASSIGN_OR_RETURN(target,
                       Next(connection, "target_id", "workload_id = ? AND ", {workload}, target));
      if (target == 0) break;
      ASSIGN_OR_RETURN(SqliteQuery query,
                       connection.Query("SELECT w.sha256, t.text FROM workload w, target t "
                                        "WHERE w.id=? AND t.id=?"));
      RETURN_IF_ERROR(query.Int(workload).Int(target).Step().status());
      tasks.push_back({.workload_id = query.BytesAt(0), .target = query.BytesAt(1)});
    }
  }
  std::sort(tasks.begin(), tasks.end());
  return tasks;
}

}  // namespace burnish
