#include "compiler/runtime/wait_policy.h"

#include <algorithm>

#include "base/check.h"

namespace burnish {

bool RegionLoans::MayLackCpu(int number, uint32_t phase, int64_t now_ns, int64_t waited_ns) const {
  const Thread& thread = threads_[number];
  const int64_t asleep_in = thread.asleep_in.load(std::memory_order_relaxed);
  if (asleep_in == phase || SharesCpu(number) || now_ns < UntilNs(number)) return false;
  // One that slept in a phase before was woken since, and waits for a CPU if it is not here yet.
  const bool is_up = asleep_in == kAwake && thread.arrived_in.load(std::memory_order_relaxed) ==
                                                region_.load(std::memory_order_relaxed);
  return is_up || waited_ns >= kWakingNs;
}

void RegionLoans::Lend(int victim, int helper, int64_t now_ns) {
  int& count = threads_[victim].loan_count;
  const int64_t until_ns = now_ns + std::min(kFirstLoanNs << count, kLongestLoanNs);
  count = std::min(count + 1, 32);
  for (int number : {victim, helper}) {
    threads_[number].until_ns.store(until_ns, std::memory_order_relaxed);
    threads_[number].shares_cpu.store(true, std::memory_order_relaxed);
  }
  loans_.push_back({.victim = victim, .helper = helper});
  is_clear_ = false;
}

void RegionLoans::Refuse(int victim, int64_t now_ns) {
  TakeBack(victim, now_ns, /*has_run=*/false);
  --threads_[victim].loan_count;
}

void RegionLoans::NoteHelpless(const Loan& loan) {
  const auto is_known = [&](const Loan& each) { return each.victim == loan.victim; };
  if (std::none_of(helpless_.begin(), helpless_.end(), is_known)) helpless_.push_back(loan);
}

const RegionLoans::Loan& RegionLoans::LoanOf(int number) const {
  const auto found = std::find_if(loans_.begin(), loans_.end(), [number](const Loan& each) {
    return each.victim == number || each.helper == number;
  });
  CHECK(found != loans_.end());
  return *found;
}

RegionLoans::Loan RegionLoans::TakeBack(int number, int64_t now_ns, bool has_run) {
  const Loan loan = LoanOf(number);
  for (int each : {loan.victim, loan.helper}) {
    threads_[each].until_ns.store(now_ns + kWakingNs, std::memory_order_relaxed);
    threads_[each].shares_cpu.store(false, std::memory_order_relaxed);
  }
  std::erase_if(loans_, [&](const Loan& each) { return each.victim == loan.victim; });
  if (!has_run) NoteHelpless(loan);
  return loan;
}

void RegionLoans::Clear() {
  is_clear_ = true;
  loans_.clear();
  helpless_.clear();
  for (Thread& thread : threads_) {
    thread.shares_cpu.store(false, std::memory_order_relaxed);
    thread.until_ns.store(0, std::memory_order_relaxed);
    thread.loan_count = 0;
  }
}

Wait::Action Wait::Next(const Evidence& evidence) {
  if (after_ == After::kPause) return BeginRound(evidence);
  if (after_ == After::kTakeBack) {
    if (!evidence.shares_cpu) nap_count_ = 0;
    return Pause(evidence);
  }
  if (evidence.shares_cpu) return Pause(evidence);
  // Who looks has spun all the time. Where its clock stands still it says nothing (it is coarse, or
  // there is none); where it is behind, this thread was the one that did not run.
  is_blind_ = evidence.ran_ns[self_] <= 0;
  if (is_blind_) return Pause(evidence);
  if (evidence.ran_ns[self_] < evidence.looked_ns / 2) {
    others_run_ = false;
    return Pause(evidence);
  }
  while (looked_at_ < static_cast<int>(evidence.ran_ns.size())) {
    const int number = looked_at_++;
    const int64_t ran_ns = evidence.ran_ns[number];
    if (number == self_ || ran_ns < 0 || ran_ns > evidence.looked_ns / 8) continue;
    others_run_ = false;
    return {.what = Do::kLend, .victim = number};
  }
  return Pause(evidence);
}

Wait::Action Wait::BeginRound(const Evidence& evidence) {
  // Another thread that looks at the same time does so for all.
  others_run_ = true;
  looked_at_ = 0;
  if (!evidence.has_turn) return Pause(evidence);
  if (!evidence.shares_cpu) {
    after_ = After::kLook;
    return {.what = Do::kLook, .ns = kLookNs};
  }
  if (evidence.now_ns < evidence.until_ns) return Pause(evidence);
  after_ = After::kTakeBack;
  return {.what = Do::kTakeBack};
}

Wait::Action Wait::Pause(const Evidence& evidence) {
  after_ = After::kPause;
  if (!evidence.shares_cpu && others_run_ &&
      evidence.now_ns - began_ns_ < (is_blind_ ? kSpinBlindNs : kSpinOnNs)) {
    return {.what = Do::kSpin, .ns = kLookAgainNs};
  }
  // What is left of a CPU that two share is for the one that works. Not shorter than a nap: another
  // thread may be looking, so that this one could not.
  if (evidence.shares_cpu) {
    ++nap_count_;
    return {.what = Do::kSleep, .ns = std::max(evidence.until_ns - evidence.now_ns, kFirstNapNs)};
  }
  const int doublings = std::min(nap_count_++, 16);  // Beyond the longest nap.
  return {.what = Do::kSleep, .ns = std::min(kFirstNapNs << doublings, kLongestNapNs)};
}

}  // namespace burnish
