// How threads of a parallel region wait for each other: a pure core, which makes no call of the
// system and reads no clock. StallWatch runs it on a machine, wait_simulation_test on a made-up
// one. ADR 14.
#ifndef COMPILER_RUNTIME_WAIT_POLICY_H_
#define COMPILER_RUNTIME_WAIT_POLICY_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace burnish {

// What the threads of a region know of each other. Threads have their numbers in the region. Each
// says of itself when it arrives and sleeps; lending and taking back is done by one at a time.
class RegionLoans {
 public:
  // The thread `victim` did not run while others waited, and got the CPU of `helper`.
  struct Loan {
    int victim, helper;
  };
  // So long a thread that slept may take to wake up: an idle CPU of a virtual machine comes back
  // within 100 µs or two.
  static constexpr int64_t kWakingNs = 200'000;
  static constexpr int64_t kAwake = -1;
  // What a loan lasts, doubled with each of one region. All threads of a region go at half their
  // speed meanwhile, so that the first one is short beside the 3 ms that Linux gives to who
  // competes for a CPU: most of those who take one do so for less, and where all CPUs of a machine
  // run a region there is always one. Beside somebody who stays, the looks between the loans of the
  // first turn cost 0.2 ms.
  static constexpr int64_t kFirstLoanNs = 500'000, kLongestLoanNs = 128'000'000;

  explicit RegionLoans(int thread_count) : threads_(thread_count) {
    // So that a loan takes no memory.
    loans_.reserve(thread_count);
    helpless_.reserve(thread_count);
  }

  // By one thread, before the others of a region start. `region`: differs from the one before.
  void BeginRegion(uint32_t region) {
    region_.store(region, std::memory_order_relaxed);
    if (!is_clear_) Clear();
  }
  void Arrive(int number, uint32_t region) {
    threads_[number].arrived_in.store(region, std::memory_order_relaxed);
  }
  // In the wait for the end of `phase`; kAwake: it is not.
  void SetAsleep(int number, int64_t phase) {
    threads_[number].asleep_in.store(phase, std::memory_order_relaxed);
  }

  bool SharesCpu(int number) const {
    return threads_[number].shares_cpu.load(std::memory_order_relaxed);
  }
  // When the loan may be taken back; afterwards, until when this thread may be waking up.
  int64_t UntilNs(int number) const {
    return threads_[number].until_ns.load(std::memory_order_relaxed);
  }
  // Whether a clock that stands still would say that this thread lacks a CPU, to one that waits for
  // the end of `phase` since `waited_ns`.
  bool MayLackCpu(int number, uint32_t phase, int64_t now_ns, int64_t waited_ns) const;

  void Lend(int victim, int helper, int64_t now_ns);
  // In which `number` takes part.
  const Loan& LoanOf(int number) const;
  // Ends that loan. `has_run`: its victim has, or came to another barrier.
  Loan TakeBack(int number, int64_t now_ns, bool has_run);
  const std::vector<Loan>& loans() const { return loans_; }
  // The system has refused the loan that this thread was to get.
  void Refuse(int victim, int64_t now_ns);
  // Threads that lacked a CPU in this region and that loans did not help: who may not be moved, is
  // under a debugger, or has used up a quota. Each with its last helper.
  const std::vector<Loan>& helpless() const { return helpless_; }
  // Nobody lacked a CPU in this region.
  bool is_clear() const { return is_clear_; }
  void Clear();

 private:
  struct alignas(64) Thread {
    std::atomic<uint32_t> arrived_in{0};
    // Who sleeps in the phase of the one that asks need not run. In one before, it was woken since.
    std::atomic<int64_t> asleep_in{kAwake};
    std::atomic<bool> shares_cpu{false};  // Has lent or got a CPU.
    std::atomic<int64_t> until_ns{0};
    int loan_count = 0;  // Of this region, as a victim.
  };

  std::deque<Thread> threads_;  // Cannot be moved.
  std::atomic<uint32_t> region_{0};
  void NoteHelpless(const Loan& loan);

  bool is_clear_ = true;
  std::vector<Loan> loans_, helpless_;
};

// One wait of one thread, after it has spun as long as a barrier usually takes.
class Wait {
 public:
  enum class Do {
    kSpin,      // For `ns`, unless the wait ends before, as the next two do.
    kSleep,     // For at most `ns`.
    kLook,      // Spin for `ns`, and read the CPU clocks before and after.
    kLend,      // This thread's CPU to `victim`.
    kTakeBack,  // End the loan of which this thread is a part.
  };
  struct Action {
    Do what;
    int64_t ns = 0;
    int victim = -1;
  };
  struct Evidence {
    int64_t now_ns = 0;
    // No other thread of the region looks, lends or takes back now. Kept from kLook until the next
    // kSpin or kSleep.
    bool has_turn = false;
    bool shares_cpu = false;  // By a loan,
    int64_t until_ns = 0;     // which may be taken back from then on.
    // After kLook: how long it took, and by how much the threads' CPU clocks went on meanwhile.
    // Negative: of a thread that need not run, or cannot be asked.
    int64_t looked_ns = 0;
    std::span<const int64_t> ran_ns;
  };

  // How long a look lasts. Long beside what it takes to read a clock (0.3 µs, EPYC Zen 5), short
  // beside the 3 ms for which Linux lets a thread run that shares its CPU.
  static constexpr int64_t kLookNs = 25'000;
  // Where all others run nobody lacks this CPU, and a sleep costs more than the wait: the sleeper
  // comes back after 40 µs on a quiet virtual machine and after 0.2 to 0.6 ms on a busy host, late
  // for the next barrier, at which the others sleep in their turn. So who waits spins on for so
  // long, four times that, and looks again as often as others could lose their CPUs. Longer waits
  // are for steps that few threads work at.
  static constexpr int64_t kSpinOnNs = 2'000'000, kLookAgainNs = 50'000;
  // Without evidence: as long as a sleep costs on a busy host.
  static constexpr int64_t kSpinBlindNs = 400'000;
  // Between looks after that, doubled each time.
  static constexpr int64_t kFirstNapNs = 150'000, kLongestNapNs = 5'000'000;

  Wait(int self, int64_t began_ns) : self_(self), began_ns_(began_ns) {}

  int64_t began_ns() const { return began_ns_; }
  Action Next(const Evidence& evidence);

 private:
  enum class After { kPause, kLook, kTakeBack };

  Action BeginRound(const Evidence& evidence);
  Action Pause(const Evidence& evidence);

  const int self_;
  const int64_t began_ns_;
  After after_ = After::kPause;
  bool is_blind_ = false;
  bool others_run_ = true;  // None lacks a CPU, and this thread has one to itself.
  int looked_at_ = 0;       // Threads before this one lack none, or could not be lent one.
  int nap_count_ = 0;       // In a row.
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_WAIT_POLICY_H_
