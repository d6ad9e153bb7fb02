#include "tracker/fair_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace burnish {

FairQueue::FairQueue(int quantum) : quantum_(quantum) { CHECK_GT(quantum, 0); }

void FairQueue::Push(const QueuedJob& job) {
  CHECK_GT(job.cost, 0);
  std::list<Study>& studies = bands_[job.priority].studies;
  auto study = std::find_if(studies.begin(), studies.end(),
                            [&](const Study& entry) { return entry.name == job.study; });
  if (study == studies.end()) {
    // At the end of the turns and with no deficit: a study that empties and comes again gets
    // nothing ahead of others.
    study = studies.insert(studies.end(), Study{.name = job.study, .jobs = {}});
  }
  const bool is_new = study->jobs.emplace(job.order, job).second;
  CHECK(is_new) << "order " << job.order << " is taken, for " << job.id;
  ++size_;
}

bool FairQueue::Remove(const QueuedJob& job) {
  const auto band = bands_.find(job.priority);
  if (band == bands_.end()) return false;
  std::list<Study>& studies = band->second.studies;
  const auto study = std::find_if(studies.begin(), studies.end(),
                                  [&](const Study& entry) { return entry.name == job.study; });
  if (study == studies.end() || study->jobs.erase(job.order) == 0) return false;
  --size_;
  if (study->jobs.empty()) studies.erase(study);
  // No empty band stays, since the first band is taken for the one with work.
  if (studies.empty()) bands_.erase(band);
  return true;
}

FairQueue::Bands::iterator FairQueue::NextBand() {
  auto next = bands_.begin();
  for (auto band = bands_.begin(); band != bands_.end(); ++band) {
    const int passed_over = band->second.passed_over;
    if (passed_over >= kPassedOverMax && passed_over > next->second.passed_over) next = band;
  }
  for (auto& [priority, band] : bands_) ++band.passed_over;
  next->second.passed_over = 0;
  return next;
}

QueuedJob FairQueue::Pop() {
  CHECK(!empty());
  const auto band = NextBand();
  std::list<Study>& studies = band->second.studies;
  while (true) {
    Study& study = studies.front();
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
      if (study.jobs.empty()) studies.pop_front();
      if (studies.empty()) bands_.erase(band);
      return job;
    }
    study.in_turn = false;
    studies.splice(studies.end(), studies, studies.begin());
  }
}

int32_t FairQueue::top_priority() const {
  CHECK(!empty());
  return bands_.begin()->first;
}

}  // namespace burnish
