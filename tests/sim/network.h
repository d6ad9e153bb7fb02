// The network between the tracker and everybody else: a message comes late, twice, or never.
#ifndef TESTS_SIM_NETWORK_H_
#define TESTS_SIM_NETWORK_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/rng.h"
#include "tests/sim/event_loop.h"

namespace burnish::sim {

// Of one node, by how many faults of each kind are in force.
struct LinkState {
  int cut_to_node = 0;
  int cut_from_node = 0;
  double loss = 0;
  double repeat = 0;
  double delay = 0;
};

class Network {
 public:
  Network(EventLoop* loop, uint64_t seed, int node_count)
      : loop_(loop), rng_(RngStream{.seed = seed, .purpose = "network"}), links_(node_count) {}

  LinkState& link(int node) { return links_[node]; }
  bool IsCut(int node) const {
    return links_[node].cut_to_node > 0 || links_[node].cut_from_node > 0;
  }

  void ToTracker(int node, std::function<void()> deliver) {
    if (links_[node].cut_from_node > 0) return;
    // Requests only: a transport that repeats an answer has nobody who waits for the second.
    if (Chance(links_[node].repeat)) {
      const int64_t late_ms = rng_.Between(0, 1) == 0 ? 100 : 20000;
      loop_->At(absl::Milliseconds(rng_.Between(0, late_ms)), deliver);
    }
    Deliver(node, std::move(deliver));
  }

  void ToNode(int node, std::function<void()> deliver) {
    if (links_[node].cut_to_node > 0) return;
    Deliver(node, std::move(deliver));
  }

 private:
  bool Chance(double probability) { return probability > 0 && rng_.Uniform() < probability; }

  void Deliver(int node, std::function<void()> deliver) {
    if (Chance(links_[node].loss)) return;
    int64_t delay_ms = rng_.Between(0, 10);
    if (Chance(links_[node].delay)) delay_ms = rng_.Between(0, 12000);
    loop_->At(absl::Milliseconds(delay_ms), std::move(deliver));
  }

  EventLoop* const loop_;
  Rng rng_;
  std::vector<LinkState> links_;
};

}  // namespace burnish::sim

#endif  // TESTS_SIM_NETWORK_H_
