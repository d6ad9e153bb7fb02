#include "db/sqlite/writer.h"

#include "base/status_macros.h"

namespace burnish {
namespace {

constexpr size_t kGroupMax = 256;

// One change inside the group's transaction. OK: the transaction goes on; `status` is the change's.
absl::Status MakeChange(SqliteConnection& connection, SqliteWriter::Change change,
                        absl::Status& status) {
  RETURN_IF_ERROR(connection.Execute("SAVEPOINT change"));
  status = change(connection);
  if (status.ok()) return connection.Execute("RELEASE change");
  // A full disk or an I/O error ended the whole transaction.
  if (!connection.in_transaction()) return status;
  return connection.Execute("ROLLBACK TO change; RELEASE change");
}

}  // namespace

SqliteWriter::SqliteWriter(std::unique_ptr<SqliteConnection> connection)
    : connection_(std::move(connection)), thread_([this] { Run(); }) {}

SqliteWriter::~SqliteWriter() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

absl::Status SqliteWriter::Write(Change change) {
  Request request = {.change = change};
  absl::MutexLock lock(&mutex_);
  waiting_.push_back(&request);
  mutex_.Await(absl::Condition(&request.done));
  return request.status;
}

void SqliteWriter::Run() {
  while (true) {
    std::vector<Request*> group;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &SqliteWriter::HasWork));
      if (waiting_.empty()) return;
      while (!waiting_.empty() && group.size() < kGroupMax) {
        group.push_back(waiting_.front());
        waiting_.pop_front();
      }
    }
    const absl::Status committed = Commit(group);
    absl::MutexLock lock(&mutex_);
    for (Request* request : group) {
      if (!committed.ok()) request->status = committed;
      request->done = true;  // From here on the request may be gone.
    }
  }
}

absl::Status SqliteWriter::Commit(const std::vector<Request*>& group) {
  // IMMEDIATE: waits for other processes here and not at the first change, where it could not.
  RETURN_IF_ERROR(connection_->Execute("BEGIN IMMEDIATE"));
  absl::Status status;
  for (Request* request : group) {
    status = MakeChange(*connection_, request->change, request->status);
    if (!status.ok()) break;
  }
  if (status.ok()) status = connection_->Execute("COMMIT");
  if (!status.ok() && connection_->in_transaction()) {
    // The first error is what the callers should hear of.
    (void)connection_->Execute("ROLLBACK");
  }
  return status;
}

}  // namespace burnish
