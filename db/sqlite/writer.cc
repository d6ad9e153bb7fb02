#include "db/sqlite/writer.h"

#include "base/status_macros.h"

namespace burnish {
namespace {

// Bounds how long the first of a group waits for the last. One fsync is shared by as many callers
// as there are threads, so that the limit is seldom met. Not tuned.
constexpr size_t kGroupMax = 256;

// One change inside the group's transaction. OK: the transaction goes on; `status` is the change's.
absl::Status MakeChange(SqliteConnection& connection, SqliteWriter::Change change,
                        absl::Status& status) {
  // A savepoint for each: a change that fails is undone by itself, and its neighbours are
  // committed.
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
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
}

absl::Status SqliteWriter::Write(Change change) {
  // On the caller's stack, as the change itself: the caller waits until it is done.
  Request request = {.change = change};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&request);
  work_.notify_one();
  done_.wait(lock, [&request] { return request.done; });
  return request.status;
}

void SqliteWriter::Run() {
  while (true) {
    std::vector<Request*> group;
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      // Stopping, but only when all that was handed in is on the disk.
      if (waiting_.empty()) return;
      while (!waiting_.empty() && group.size() < kGroupMax) {
        group.push_back(waiting_.front());
        waiting_.pop_front();
      }
    }
    const absl::Status committed = Commit(group);
    const std::lock_guard lock(mutex_);
    for (Request* request : group) {
      // Also to those whose change had been fine: it is not on the disk.
      if (!committed.ok()) request->status = committed;
      request->done = true;
    }
    // Under the lock: a caller that is done may end this writer's life.
    done_.notify_all();
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
