#include "tracker/fair_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace burnish {
namespace {

template <typename Clients>
auto FindClient(Clients& clients, const QueuedJob& job) {
  return std::find_if(clients.begin(), clients.end(),
                      [&](const auto& client) { return client.id == job.client; });
}

template <typename Studies>
auto FindStudy(Studies& studies, const QueuedJob& job) {
  return std::find_if(studies.begin(), studies.end(),
                      [&](const auto& study) { return study.name == job.study; });
}

template <typename Sharers>
void EndTurn(Sharers& sharers) {
  sharers.front().in_turn = false;
  sharers.splice(sharers.end(), sharers, sharers.begin());
}

}  // namespace

FairQueue::FairQueue(int quantum) : quantum_(quantum) { CHECK_GT(quantum, 0); }

void FairQueue::Push(const QueuedJob& job) {
  CHECK_GT(job.cost, 0);
  std::list<Client>& clients = bands_[job.priority].clients;
  // At the end of the turns and with no deficit: who empties and comes again gets nothing ahead of
  // others.
  auto client = FindClient(clients, job);
  if (client == clients.end()) {
    client = clients.emplace(clients.end());
    client->id = job.client;
  }
  auto study = FindStudy(client->studies, job);
  if (study == client->studies.end()) {
    study = client->studies.emplace(client->studies.end());
    study->name = job.study;
  }
  const bool is_new = study->jobs.emplace(job.order, job).second;
  CHECK(is_new) << "order " << job.order << " is taken, for " << job.id;
  ++size_;
}

bool FairQueue::Remove(const QueuedJob& job) {
  const auto band = bands_.find(job.priority);
  if (band == bands_.end()) return false;
  std::list<Client>& clients = band->second.clients;
  const auto client = FindClient(clients, job);
  if (client == clients.end()) return false;
  const auto study = FindStudy(client->studies, job);
  if (study == client->studies.end() || study->jobs.erase(job.order) == 0) return false;
  --size_;
  // Nothing that is empty stays, since the first one is taken for one with work.
  if (study->jobs.empty()) client->studies.erase(study);
  if (client->studies.empty()) clients.erase(client);
  if (clients.empty()) bands_.erase(band);
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

void FairQueue::BeginTurn(Sharer& sharer) const {
  // A job may cost more than a quantum. Who has it then saves up over turns until it can pay, so
  // that every job comes in the end.
  if (!std::exchange(sharer.in_turn, true)) sharer.deficit += quantum_;
}

const QueuedJob& FairQueue::NextOf(Client& client) const {
  while (true) {
    Study& study = client.studies.front();
    BeginTurn(study);
    const QueuedJob& job = study.jobs.begin()->second;
    if (job.cost <= study.deficit) return job;
    EndTurn(client.studies);
  }
}

QueuedJob FairQueue::Pop() {
  CHECK(!empty());
  const auto band = NextBand();
  std::list<Client>& clients = band->second.clients;
  BeginTurn(clients.front());
  while (NextOf(clients.front()).cost > clients.front().deficit) {
    EndTurn(clients);
    BeginTurn(clients.front());
  }
  Client& client = clients.front();
  Study& study = client.studies.front();
  QueuedJob job = std::move(study.jobs.begin()->second);
  study.jobs.erase(study.jobs.begin());
  study.deficit -= job.cost;
  client.deficit -= job.cost;
  --size_;
  // What is left of a turn is lost with its last job: nobody saves up while idle.
  if (study.jobs.empty()) client.studies.pop_front();
  if (client.studies.empty()) clients.pop_front();
  if (clients.empty()) bands_.erase(band);
  return job;
}

int32_t FairQueue::top_priority() const {
  CHECK(!empty());
  return bands_.begin()->first;
}

QueueClient* FairQueue::top_client() const {
  CHECK(!empty());
  return bands_.begin()->second.clients.front().id;
}

}  // namespace burnish
