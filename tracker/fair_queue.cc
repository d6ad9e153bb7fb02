#include "tracker/fair_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace burnish {

FairQueue::FairQueue(int quantum) : quantum_(quantum) { CHECK_GT(quantum, 0); }

void FairQueue::Push(const QueuedJob& job) {
  CHECK_GT(job.cost, 0);
  Band& band = bands_[job.priority];
  auto study = std::find_if(band.begin(), band.end(),
                            [&](const Study& entry) { return entry.name == job.study; });
  if (study == band.end()) {
    // At the end of the turns and with no deficit: a study that empties and comes again gets
    // nothing ahead of others.
    study = band.insert(band.end(), Study{.name = job.study, .jobs = {}});
  }
  const bool is_new = study->jobs.emplace(job.order, job).second;
  CHECK(is_new) << "order " << job.order << " is taken, for " << job.id;
  ++size_;
}

bool FairQueue::Remove(const QueuedJob& job) {
  const auto band = bands_.find(job.priority);
  if (band == bands_.end()) return false;
  const auto study = std::find_if(band->second.begin(), band->second.end(),
                                  [&](const Study& entry) { return entry.name == job.study; });
  if (study == band->second.end() || study->jobs.erase(job.order) == 0) return false;
  --size_;
  if (study->jobs.empty()) band->second.erase(study);
  // No empty band stays, since the first band is taken for the one with work.
  if (band->second.empty()) bands_.erase(band);
  return true;
}

QueuedJob FairQueue::Pop() {
  CHECK(!empty());
  const auto top = bands_.begin();
  Band& band = top->second;
  while (true) {
    Study& study = band.front();
    if (!study.in_turn) {
      study.in_turn = true;
      // A job may cost more than a quantum. Its study then saves up over turns until it can pay, so
      // that every job comes in the end.
      study.deficit += quantum_;
    }
    const auto first = study.jobs.begin();
    if (first->second.cost <= study.deficit) {
      QueuedJob job = std::move(first->second);
      study.deficit -= job.cost;
      study.jobs.erase(first);
      --size_;
      // What is left of its turn is lost with its last job: nobody saves up while idle.
      if (study.jobs.empty()) band.pop_front();
      if (band.empty()) bands_.erase(top);
      return job;
    }
    study.in_turn = false;
    band.splice(band.end(), band, band.begin());
  }
}

int32_t FairQueue::top_priority() const {
  CHECK(!empty());
  return bands_.begin()->first;
}

}  // namespace burnish
