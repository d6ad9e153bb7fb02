// Makes a program's threads feel what a busy host does to a virtual machine, which no counter of
// the guest shows. Preloaded (LD_PRELOAD); `./dev bench neighbour --host` does so.
//
// BUSY_HOST_STOLEN=RATE:MEAN  each thread's CPU does somebody else's work, RATE times a second for
// MEAN
//                             microseconds: the thread's CPU clock goes on and its work does not,
//                             as where a hypervisor runs another guest. By a signal whose handler
//                             spins.
// BUSY_HOST_WOKEN=MEAN        who slept in a futex comes back MEAN microseconds later: its idle CPU
// was
//                             given away, and has to be had back first.
// Both times are exponential, from a stream of random numbers of each thread's own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Far from those that libraries take from the lower end.
#define STEAL_SIGNAL (SIGRTMAX - 3)

static double stolen_rate, stolen_us, woken_us;
static __thread timer_t steal_timer;
static __thread uint64_t random_state;

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): 53 bits of it, never 0.
static int64_t exponential_ns(double mean_ns) {
  uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  z ^= z >> 31;
  return 1 + (int64_t)(-mean_ns * log((double)((z >> 11) + 1) * 0x1p-53));
}

static struct timespec as_timespec(int64_t ns) {
  return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static void arm(void) {
  const struct itimerspec next = {.it_value = as_timespec(exponential_ns(1e9 / stolen_rate))};
  timer_settime(steal_timer, 0, &next, NULL);
}

static void steal(int number) {
  (void)number;
  const int error = errno;
  const int64_t end_ns = now_ns() + exponential_ns(stolen_us * 1000);
  while (now_ns() < end_ns) {
  }
  arm();
  errno = error;
}

static void begin_thread(void) {
  const pid_t thread = (pid_t)syscall(SYS_gettid);
  random_state = (uint64_t)thread;
  if (stolen_rate <= 0) return;
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = STEAL_SIGNAL};
  event._sigev_un._tid = thread;
  if (timer_create(CLOCK_MONOTONIC, &event, &steal_timer) == 0) arm();
}

// The runtime's futex calls go through syscall(3).
long syscall(long number, ...) {
  static long (*next)(long, ...);
  if (next == NULL) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  const long result = next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  const int slept = number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT && result == 0;
  if (woken_us > 0 && slept) {
    const struct timespec late = as_timespec(exponential_ns(woken_us * 1000));
    nanosleep(&late, NULL);
  }
  return result;
}

struct start {
  void* (*run)(void*);
  void* argument;
};

static void* run_thread(void* argument) {
  const struct start start = *(struct start*)argument;
  free(argument);
  begin_thread();
  return start.run(start.argument);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) {
  static int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (next == NULL) {
    next = (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))dlsym(
        RTLD_NEXT, "pthread_create");
  }
  struct start* const start = malloc(sizeof(*start));
  if (start == NULL) return EAGAIN;
  *start = (struct start){.run = run, .argument = argument};
  const int error = next(thread, attributes, run_thread, start);
  if (error != 0) free(start);
  return error;
}

__attribute__((constructor)) static void set_up(void) {
  const char* const stolen = getenv("BUSY_HOST_STOLEN");
  const char* const woken = getenv("BUSY_HOST_WOKEN");
  if (stolen != NULL && sscanf(stolen, "%lf:%lf", &stolen_rate, &stolen_us) != 2) {
    fprintf(stderr, "busy_host: got BUSY_HOST_STOLEN=%s, want RATE:MEAN\n", stolen);
    _exit(64);
  }
  if (woken != NULL) woken_us = atof(woken);
  const struct sigaction action = {.sa_handler = steal, .sa_flags = SA_RESTART};
  sigaction(STEAL_SIGNAL, &action, NULL);
  begin_thread();
}
