// Waiting jobs of one kind and device: by priority, but for a share of the lower ones, and within a
// priority fair between clients, and between the studies of each, by deficit round robin, so that
// who has many jobs, studies or names does not keep out who has few. Source: Shreedhar and
// Varghese, "Efficient fair queueing using deficit round robin", 1995.
#ifndef TRACKER_FAIR_QUEUE_H_
#define TRACKER_FAIR_QUEUE_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>

namespace burnish {

// Who shares with others. It outlives its jobs here.
struct QueueClient {
  // By kind of slot: what it gets of others costs it no turn here. Counts as JobQueues does.
  std::map<uint64_t, uint64_t> served_at;
};

struct QueuedJob {
  uint64_t order = 0;  // Within its study, lower first; unique. A job that comes back keeps it.
  std::string id = "";
  std::string study = "";
  int32_t priority = 0;  // Higher first, until a lower one was passed over kPassedOverMax times.
  int32_t cost = 1;      // Clients share cost evenly, and so do the studies of each; > 0.
  QueueClient* client = nullptr;

  bool operator==(const QueuedJob&) const = default;
};

// A priority ages by jobs that go before it: who was passed over so often is next. Of any eight
// jobs seven go by priority, so that what is urgent hardly notices, and nobody can lock others out
// with jobs of top priority, however many. Counted in jobs and not in seconds, because how long a
// farm takes over a job differs by a factor of a thousand. Not tuned.
inline constexpr int kPassedOverMax = 7;

class FairQueue {
 public:
  // `quantum`: the cost that a study, or a client, may use up in one turn; > 0. Of two clients that
  // both have jobs waiting all the time, none gets ahead by more than quantum + 2 * (highest cost
  // of a job), and so of two studies of a client.
  explicit FairQueue(int quantum);

  void Push(const QueuedJob& job);
  // False: no such job.
  bool Remove(const QueuedJob& job);
  // The next job. The queue is not empty. With jobs of n priorities waiting, one of each is among
  // any kPassedOverMax + n.
  QueuedJob Pop();

  bool empty() const { return size_ == 0; }
  int64_t size() const { return size_; }
  // Of the next job. The queue is not empty.
  int32_t top_priority() const;
  // Whose turn it is in that priority. The queue is not empty.
  QueueClient* top_client() const;

 private:
  struct Sharer {
    int64_t deficit = 0;   // Cost that it may use up now.
    bool in_turn = false;  // Got its quantum for this turn.
  };
  struct Study : Sharer {
    std::string name;
    std::map<uint64_t, QueuedJob> jobs;  // By order; never empty.
  };
  // Lists are in the order of their turns; the first one's turn it is.
  struct Client : Sharer {
    QueueClient* id = nullptr;
    std::list<Study> studies;  // Never empty.
  };
  struct Band {
    std::list<Client> clients;
    int passed_over = 0;  // Jobs of other bands since the last one of this.
  };
  using Bands = std::map<int32_t, Band, std::greater<>>;

  Bands::iterator NextBand();
  void BeginTurn(Sharer& sharer) const;
  // The client's next job, which is its first study's, and which that study can pay.
  const QueuedJob& NextOf(Client& client) const;

  int64_t quantum_;
  int64_t size_ = 0;
  Bands bands_;  // By priority; none is empty.
};

}  // namespace burnish

#endif  // TRACKER_FAIR_QUEUE_H_
