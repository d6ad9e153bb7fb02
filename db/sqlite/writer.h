// All changes of a SQLite file by this process: one thread that makes them, many that wait.
#ifndef DB_SQLITE_WRITER_H_
#define DB_SQLITE_WRITER_H_

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "db/sqlite/connection.h"

namespace burnish {

// Group commit: changes that wait while a commit is on its way to the disk go into the next
// transaction together, so that many callers share one fsync.
class SqliteWriter {
 public:
  using Change = absl::FunctionRef<absl::Status(SqliteConnection&)>;

  explicit SqliteWriter(std::unique_ptr<SqliteConnection> connection);
  // Waits for the changes that are under way. No Write may begin any more.
  ~SqliteWriter();

  // Makes the change and returns when it is on the disk. A change that returns an error is undone
  // and takes no other along; if the transaction itself fails, all in it are undone and hear why.
  // `change` runs on the writer's thread, once, and must not call Write.
  absl::Status Write(Change change);

 private:
  struct Request {
    Change change;
    absl::Status status;
    bool done = false;
  };

  void Run();
  absl::Status Commit(const std::vector<Request*>& group);

  const std::unique_ptr<SqliteConnection> connection_;
  std::mutex mutex_;              // Guards waiting_, stopping_ and `done` of all requests.
  std::condition_variable work_;  // There is a request, or no more to come.
  std::condition_variable done_;  // A group was committed.
  std::deque<Request*> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace burnish

#endif  // DB_SQLITE_WRITER_H_
