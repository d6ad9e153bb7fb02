#include "compiler/runtime/wait_simulation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <random>

#include "compiler/runtime/team_policy.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/runtime/wait_policy.h"

namespace burnish {
namespace {

constexpr int64_t kNeverNs = int64_t{1} << 60, kIdleSpinNs = 50'000;
// Timers of the system are late by so much.
constexpr int64_t kTimerSlackNs = 50'000;

class Simulation {
 public:
  Simulation(const WaitHost& host, const WaitWork& work, int thread_count, uint64_t seed,
             WaitBug bug);
  WaitOutcome Run(int64_t horizon_ns);

 private:
  enum class State {
    kIdle,   // Between regions: spins until `until_ns`, then sleeps.
    kWork,   // `left_ns` of a step.
    kSpin,   // At a barrier, before anything is decided.
    kPause,  // As the wait decided, until `until_ns`.
    kAsleep,
    kGap,  // The caller, between regions.
  };
  struct Thread {
    int task;
    State state = State::kIdle;
    int number = 0;  // In the region; 0: none but the caller's.
    size_t step = 0;
    int64_t left_ns = 0, until_ns = 0;
    uint32_t phase = 0, call = 0, called = 0;
    std::optional<Wait> wait;
    Wait::Action action{};
    Wait::Evidence evidence;
    int64_t wait_cpu_ns = 0;  // The task's CPU clock when the wait began.
    std::vector<int64_t> clocks;
    bool lends = false;  // Has moved its victim, and has not said so.
    // Of a victim: where it was moved to, in which wait, when, and its CPU clock then.
    int lent_cpu = 0;
    uint32_t lent_in = 0;
    int64_t lent_at_ns = 0, lent_at_ran_ns = 0;
  };

  bool IsWatched() const { return thread_count_ <= host_.cpu_count; }
  int64_t SpinNs() const { return IsWatched() ? UsualBarrierSpinNs(thread_count_) : 0; }
  double Exponential(double mean) {
    return std::exponential_distribution<double>(1 / mean)(random_);
  }
  int64_t WakeNs() {
    return host_.wake_ns +
           (host_.wake_mean_ns > 0 ? static_cast<int64_t>(Exponential(host_.wake_mean_ns)) : 0);
  }
  int64_t now_ns() const { return cpus_.now_ns(); }
  int64_t ClockOf(const Thread& thread) const {
    if (!host_.has_clocks) return -1;
    return cpus_.CpuNs(thread.task) / host_.clock_step_ns * host_.clock_step_ns;
  }
  int NumberInPool(int number) const;
  Thread& Numbered(int number) { return threads_[NumberInPool(number)]; }

  void AddTaken(int64_t ns) {
    if (threads_[0].state != State::kGap) outcome_.taken_ns += ns;
  }
  void Disturb();
  void BeginRegion();
  void EndRegion();
  void Step(Thread& thread);
  void BeginStep(Thread& thread);
  void Arrive(Thread& thread);
  void Leave(Thread& thread);
  void Decide(Thread& thread);
  void Alter(Thread& thread, Wait::Action& action) const;
  void BeginLook(Thread& thread);
  void EndLook(Thread& thread);
  void Lend(Thread& thread);
  void FinishLending(Thread& thread);
  bool HasRun(const Thread& thread);
  void MoveBack(const RegionLoans::Loan& loan);

  const WaitHost& host_;
  const WaitWork& work_;
  const int thread_count_;
  const WaitBug bug_;
  std::mt19937_64 random_;
  SimulatedCpus cpus_;
  std::vector<int> neighbours_;
  std::vector<int64_t> steals_ns_;
  std::deque<Thread> threads_;
  RegionLoans loans_;
  std::vector<CpuMask> masks_, victims_masks_;  // As they are without loans; of victims, by number.
  TeamPolicy policy_;
  int team_count_ = 0, arrived_ = 0, turn_ = -1;  // Who looks.
  uint32_t phase_ = 0, region_ = 0;
  int64_t began_ns_ = 0;
  WaitOutcome outcome_;
};

Simulation::Simulation(const WaitHost& host, const WaitWork& work, int thread_count, uint64_t seed,
                       WaitBug bug)
    : host_(host),
      work_(work),
      thread_count_(thread_count),
      bug_(bug),
      random_(seed),
      cpus_(host.cpu_count, host.balance_ns),
      loans_(thread_count),
      victims_masks_(thread_count),
      policy_(thread_count) {
  for (int t = 0; t < thread_count; ++t) {
    masks_.push_back(host.is_pinned ? 1U << (t % host.cpu_count) : (1U << host.cpu_count) - 1);
    threads_.push_back({.task = cpus_.AddTask(masks_.back())});
    cpus_.Wake(threads_.back().task, 0);
  }
  for (const WaitHost::Neighbour& each : host.neighbours) {
    neighbours_.push_back(cpus_.AddTask(each.mask, each.is_first));
  }
  for (int c = 0; c < host.cpu_count; ++c) {
    steals_ns_.push_back(host.steals_per_s > 0
                             ? static_cast<int64_t>(Exponential(1e9 / host.steals_per_s))
                             : kNeverNs);
  }
  threads_[0].state = State::kGap;
}

int Simulation::NumberInPool(int number) const {
  for (int t = 1; t < thread_count_; ++t) {
    if (threads_[t].number == number && number != 0) return t;
  }
  return 0;
}

// Whatever else happens on the host.
void Simulation::Disturb() {
  const int64_t now = now_ns();
  for (size_t n = 0; n < neighbours_.size(); ++n) {
    const WaitHost::Neighbour& each = host_.neighbours[n];
    const bool is_there = now >= each.from_ns && now < each.until_ns;
    const bool is_busy =
        is_there && (now - each.from_ns) % (each.busy_ns + each.idle_ns) < each.busy_ns;
    if (is_busy) {
      cpus_.Wake(neighbours_[n], 0);
    } else {
      cpus_.Sleep(neighbours_[n]);
    }
  }
  for (int c = 0; c < host_.cpu_count; ++c) {
    if (now < steals_ns_[c]) continue;
    const auto length_ns = static_cast<int64_t>(Exponential(host_.steal_mean_ns));
    cpus_.Steal(c, now + length_ns);
    AddTaken(length_ns);
    steals_ns_[c] = now + length_ns + static_cast<int64_t>(Exponential(1e9 / host_.steals_per_s));
  }
  const auto happens = [&](int what, int64_t at_ns) {
    return what >= 0 && now >= at_ns && now < at_ns + SimulatedCpus::kTickNs;
  };
  if (happens(host_.offline_cpu, host_.offline_ns)) cpus_.TakeOffline(host_.offline_cpu);
  if (host_.offline_cpu >= 0 && now >= host_.offline_ns) AddTaken(SimulatedCpus::kTickNs);
  if (host_.stopped_thread < thread_count_ && happens(host_.stopped_thread, host_.stopped_ns)) {
    cpus_.Stop(threads_[host_.stopped_thread].task, now + host_.stopped_for_ns);
    AddTaken(host_.stopped_for_ns);
  }
}

void Simulation::BeginRegion() {
  began_ns_ = now_ns();
  if (bug_ != WaitBug::kNeverBringsBack) policy_.BringBack(now_ns(), region_);
  loans_.BeginRegion(++region_);
  team_count_ = 1;
  for (int t = 0; t < thread_count_; ++t) {
    Thread& thread = threads_[t];
    if (t > 0) {
      thread.number = policy_.IsOut(t) ? 0 : team_count_++;
      if (thread.number == 0) continue;
      ++thread.called;
      if (thread.state == State::kAsleep) {
        thread.state = State::kIdle;
        cpus_.Wake(thread.task, WakeNs());
      }
    }
  }
  threads_[0].step = 0;
  loans_.Arrive(0, region_);
  BeginStep(threads_[0]);
}

// As ThreadPool::EndStalls.
void Simulation::EndRegion() {
  outcome_.time_ns += now_ns() - began_ns_;
  for (const RegionLoans::Loan& loan : loans_.loans()) {
    const int victim = NumberInPool(loan.victim), helper = NumberInPool(loan.helper);
    if (victim == 0 && host_.is_pinned) {
      std::swap(masks_[0], masks_[helper]);
      cpus_.Move(threads_[0].task, masks_[0]);
      cpus_.Move(threads_[helper].task, masks_[helper]);
    } else if (bug_ != WaitBug::kKeepsMasks) {
      MoveBack(loan);
    }
  }
  for (const RegionLoans::Loan& stall : loans_.helpless()) {
    const int victim = NumberInPool(stall.victim), helper = NumberInPool(stall.helper);
    if (bug_ == WaitBug::kNeverLeavesOut) break;
    policy_.OnStall(victim == 0 ? helper : victim, now_ns(), region_);
  }
  const bool may_differ = host_.offline_cpu >= 0 && now_ns() >= host_.offline_ns;
  for (int t = 0; t < thread_count_; ++t) {
    outcome_.masks_are_kept &= may_differ || cpus_.MaskOf(threads_[t].task) == masks_[t];
  }
  Thread& caller = threads_[0];
  caller.state = State::kGap;
  caller.until_ns = now_ns() + work_.gap_ns;
  if (work_.gap_ns == 0) return;
  cpus_.Sleep(caller.task);
  cpus_.Wake(caller.task, work_.gap_ns + WakeNs());
}

void Simulation::BeginStep(Thread& thread) {
  thread.state = State::kWork;
  if (thread.step == work_.steps.size()) {
    thread.left_ns = 0;
    return;
  }
  const WaitWork::Step& step = work_.steps[thread.step];
  if (!step.is_shared) {
    thread.left_ns = thread.number == 0 ? step.work_ns : 0;
    return;
  }
  // All together as much as on one thread.
  const double shares = team_count_ + (team_count_ > 1 ? step.uneven : 0);
  const double own = 1 + (thread.number == 0 && team_count_ > 1 ? step.uneven : 0);
  thread.left_ns = static_cast<int64_t>(static_cast<double>(step.work_ns) * own / shares);
}

void Simulation::Arrive(Thread& thread) {
  thread.phase = phase_;
  if (++arrived_ < team_count_) {
    thread.state = State::kSpin;
    thread.wait_cpu_ns = cpus_.CpuNs(thread.task);
    const bool shares = loans_.SharesCpu(thread.number);
    thread.until_ns = now_ns() + (shares ? 0 : SpinNs());
    return;
  }
  arrived_ = 0;
  ++phase_;
  for (Thread& each : threads_) {
    if (each.state != State::kAsleep || !each.wait.has_value()) continue;
    // One that a timer wakes already has not to be woken.
    cpus_.Wake(each.task, WakeNs());
  }
  Leave(thread);
}

void Simulation::Leave(Thread& thread) {
  if (turn_ == thread.number && thread.evidence.has_turn) turn_ = -1;
  if (thread.wait.has_value()) loans_.SetAsleep(thread.number, RegionLoans::kAwake);
  thread.wait.reset();
  thread.evidence = {};
  if (thread.step++ < work_.steps.size()) {
    BeginStep(thread);
  } else if (&thread == &threads_[0]) {
    EndRegion();
  } else {
    thread.state = State::kIdle;
    thread.until_ns =
        now_ns() + (loans_.SharesCpu(thread.number) || !IsWatched() ? 0 : kIdleSpinNs);
  }
}

// One tick in which the thread worked.
void Simulation::Step(Thread& thread) {
  const bool is_over = thread.phase != phase_;
  const bool is_time = now_ns() >= thread.until_ns;
  switch (thread.state) {
    case State::kIdle:
      if (thread.call != thread.called) {
        ++thread.call;
        thread.step = 0;
        loans_.Arrive(thread.number, region_);
        BeginStep(thread);
      } else if (is_time) {
        thread.state = State::kAsleep;
        cpus_.Sleep(thread.task);
      }
      break;
    case State::kGap:
      if (is_time) BeginRegion();
      break;
    case State::kWork:
      thread.left_ns -= SimulatedCpus::kTickNs;
      if (thread.left_ns <= 0) Arrive(thread);
      break;
    case State::kSpin:
    case State::kPause:
    case State::kAsleep:
      if (thread.lends) FinishLending(thread);
      if (is_over) {
        outcome_.longest_spin_ns =
            std::max(outcome_.longest_spin_ns, cpus_.CpuNs(thread.task) - thread.wait_cpu_ns);
        outcome_.waited_cpu_ns += cpus_.CpuNs(thread.task) - thread.wait_cpu_ns;
        Leave(thread);
      } else if (is_time || thread.state == State::kAsleep) {
        Decide(thread);
      }
      break;
  }
}

void Simulation::BeginLook(Thread& thread) {
  thread.evidence.looked_ns = now_ns();
  thread.clocks.clear();
  for (int i = 0; i < team_count_; ++i) {
    const bool is_asked =
        i == thread.number ||
        (loans_.MayLackCpu(i, thread.phase, now_ns(), now_ns() - thread.wait->began_ns()) &&
         !(bug_ == WaitBug::kWokenLooksAsleep && Numbered(i).state == State::kAsleep));
    thread.clocks.push_back(is_asked ? ClockOf(Numbered(i)) : -1);
  }
}

void Simulation::EndLook(Thread& thread) {
  thread.evidence.looked_ns = now_ns() - thread.evidence.looked_ns;
  for (int i = 0; i < team_count_; ++i) {
    int64_t& clock_ns = thread.clocks[i];
    if (clock_ns >= 0) clock_ns = ClockOf(Numbered(i)) - clock_ns;
  }
  if (bug_ == WaitBug::kSleepsWithoutEvidence && thread.clocks[thread.number] <= 0) {
    thread.clocks[thread.number] = 1;
  }
  if (bug_ == WaitBug::kLendsWhatItHasNot) {
    thread.clocks[thread.number] = thread.evidence.looked_ns;
  }
  thread.evidence.ran_ns = thread.clocks;
}

void Simulation::Lend(Thread& thread) {
  Thread& victim = Numbered(thread.action.victim);
  if (loans_.SharesCpu(victim.number)) return;
  const bool is_late = bug_ == WaitBug::kMarksLoansLate;
  if (!is_late) loans_.Lend(victim.number, thread.number, now_ns());
  victims_masks_[victim.number] = cpus_.MaskOf(victim.task);
  victim.lent_cpu = cpus_.CpuOf(thread.task);
  victim.lent_in = thread.phase;
  victim.lent_at_ns = now_ns();
  victim.lent_at_ran_ns = ClockOf(victim);
  if (!host_.may_move || !cpus_.Move(victim.task, 1U << victim.lent_cpu)) {
    if (!is_late) loans_.Refuse(victim.number, now_ns());
    return;
  }
  ++outcome_.loan_count;
  thread.lends = is_late;
}

void Simulation::FinishLending(Thread& thread) {
  thread.lends = false;
  loans_.Lend(thread.action.victim, thread.number, now_ns());
}

bool Simulation::HasRun(const Thread& thread) {
  const Thread& victim = Numbered(loans_.LoanOf(thread.number).victim);
  return thread.phase != victim.lent_in ||
         8 * (ClockOf(victim) - victim.lent_at_ran_ns) > now_ns() - victim.lent_at_ns;
}

// As StallWatch::MoveBack.
void Simulation::MoveBack(const RegionLoans::Loan& loan) {
  const Thread& victim = Numbered(loan.victim);
  const CpuMask mask = victims_masks_[loan.victim];
  const CpuMask elsewhere = mask & ~(1U << victim.lent_cpu);
  if (elsewhere != 0 && bug_ != WaitBug::kWidensMasksAlone) cpus_.Move(victim.task, elsewhere);
  cpus_.Move(victim.task, mask);
}

// What a core with the bug would do.
void Simulation::Alter(Thread& thread, Wait::Action& action) const {
  using enum Wait::Do;
  const bool sleeps = action.what == kSleep, shares = thread.evidence.shares_cpu;
  switch (bug_) {
    case WaitBug::kNeverLends:
      if (action.what == kLend) action = {.what = kSleep, .ns = Wait::kFirstNapNs};
      break;
    case WaitBug::kLendsWithoutLooking:
      if (action.what == kLook && team_count_ > 1) {
        action = {.what = kLend, .victim = (thread.number + 1) % team_count_};
        thread.evidence.looked_ns = 0;
        thread.clocks.assign(team_count_, 0);
        thread.evidence.ran_ns = thread.clocks;
      }
      break;
    case WaitBug::kSpinsBesideItsVictim:
      if (sleeps && shares) action.what = kSpin;
      break;
    case WaitBug::kNeverTakesBack:
      if (action.what == kTakeBack) action = {.what = kSleep, .ns = Wait::kLongestNapNs};
      break;
    case WaitBug::kSleepsAtOnce:
      if (action.what == kSpin) action = {.what = kSleep, .ns = Wait::kFirstNapNs};
      break;
    case WaitBug::kSpinsForEver:
      if (sleeps && !shares) action = {.what = kSpin, .ns = Wait::kLookAgainNs};
      break;
    case WaitBug::kNapsHaveNoEnd:
      if (sleeps) action.ns = kNeverNs / 2;
      break;
    default:
      break;
  }
}

// As StallWatch::WaitWhile.
void Simulation::Decide(Thread& thread) {
  if (!IsWatched()) {
    thread.wait.emplace(thread.number, now_ns());
    thread.state = State::kAsleep;
    ++outcome_.sleep_count;
    cpus_.Sleep(thread.task);
    return;
  }
  if (thread.state == State::kSpin) thread.wait.emplace(thread.number, now_ns());
  if (thread.state == State::kAsleep) loans_.SetAsleep(thread.number, RegionLoans::kAwake);
  if (thread.state == State::kPause && thread.action.what == Wait::Do::kLook) EndLook(thread);
  for (;;) {
    Wait::Evidence& evidence = thread.evidence;
    if (!evidence.has_turn && turn_ < 0) {
      turn_ = thread.number;
      evidence.has_turn = true;
    }
    evidence.now_ns = now_ns();
    evidence.shares_cpu = loans_.SharesCpu(thread.number);
    evidence.until_ns = loans_.UntilNs(thread.number);
    thread.action = thread.wait->Next(evidence);
    Alter(thread, thread.action);
    const Wait::Do what = thread.action.what;
    if ((what == Wait::Do::kSpin || what == Wait::Do::kSleep) && evidence.has_turn) {
      evidence.has_turn = false;
      turn_ = -1;
    }
    if (what == Wait::Do::kLend) {
      Lend(thread);
      if (!thread.lends) continue;
      thread.state = State::kPause;
      thread.until_ns = now_ns();
      return;
    }
    if (what == Wait::Do::kTakeBack) {
      MoveBack(loans_.TakeBack(thread.number, now_ns(), HasRun(thread)));
      continue;
    }
    thread.state = State::kPause;
    thread.until_ns = now_ns() + thread.action.ns;
    if (what == Wait::Do::kLook) BeginLook(thread);
    if (what == Wait::Do::kSleep) {
      thread.state = State::kAsleep;
      ++outcome_.sleep_count;
      loans_.SetAsleep(thread.number, thread.phase);
      cpus_.Sleep(thread.task);
      cpus_.Wake(thread.task, thread.action.ns + kTimerSlackNs + WakeNs());
    }
    return;
  }
}

WaitOutcome Simulation::Run(int64_t horizon_ns) {
  while (now_ns() < horizon_ns) {
    Disturb();
    cpus_.Tick();
    for (const int task : neighbours_) AddTaken(cpus_.Ran(task) ? SimulatedCpus::kTickNs : 0);
    for (Thread& thread : threads_) {
      if (cpus_.Worked(thread.task)) Step(thread);
    }
    const bool is_done =
        static_cast<int>(region_) == work_.region_count && threads_[0].state == State::kGap;
    if (is_done) {
      outcome_.ended = true;
      break;
    }
  }
  return outcome_;
}

}  // namespace

WaitOutcome SimulateWaits(const WaitHost& host, const WaitWork& work, int thread_count,
                          uint64_t seed, int64_t horizon_ns, WaitBug bug) {
  return Simulation(host, work, thread_count, seed, bug).Run(horizon_ns);
}

}  // namespace burnish
