// The system calls of each profile (sandbox.h), and why each is there. What is in no list is
// refused, whatever a later kernel adds. Numbers are those of this machine.
#ifndef BASE_SANDBOX_CALLS_H_
#define BASE_SANDBOX_CALLS_H_

#include <sys/syscall.h>

namespace burnish {

// Of both profiles, whatever the arguments. Each acts on the process itself, or on what is open.
inline constexpr int kAllowedCalls[] = {
    // Pipes and files that are open: requests, answers, outputs, locks of devices, counters.
    SYS_read, SYS_pread64, SYS_readv, SYS_write, SYS_writev, SYS_close, SYS_lseek, SYS_fstat,
    SYS_flock,
    // Memory of its own. What may become code is a question of arguments.
    SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk,
    // Locks and waits of threads, and where they run.
    SYS_futex, SYS_membarrier, SYS_set_robust_list, SYS_rseq, SYS_sched_yield,
    SYS_sched_getaffinity, SYS_getcpu, SYS_getpid, SYS_gettid,
    // Clocks, and what it has used.
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
    SYS_getrusage,
    // Seeds of hash tables.
    SYS_getrandom,
    // Its own signals: a crash is reported, and ends it.
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall,
    // Its end.
    SYS_exit, SYS_exit_group};

// Of kCompile beside those: a compiler, and an interpreter that loads modules.
inline constexpr int kAllowedCallsOfCompilers[] = {
    // Files by name: Landlock says which. What it does not guard (modes, owners, times, attributes)
    // is not here.
    SYS_openat,
    SYS_newfstatat,
    SYS_statx,
    SYS_statfs,
    SYS_fstatfs,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_getcwd,
    SYS_mkdirat,
    SYS_unlinkat,
    SYS_renameat,
    SYS_renameat2,
    // What is in files that are open, and copies of descriptors.
    SYS_pwrite64,
    SYS_preadv,
    SYS_pwritev,
    SYS_preadv2,
    SYS_pwritev2,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fsync,
    SYS_fdatasync,
    SYS_sendfile,
    SYS_copy_file_range,
    SYS_fadvise64,
    SYS_dup,
    SYS_dup3,
    SYS_close_range,
    SYS_pipe2,
    SYS_memfd_create,
    // Waits for them.
    SYS_ppoll,
    SYS_pselect6,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_eventfd2,
    // Memory: an interpreter makes code.
    SYS_mmap,
    SYS_mprotect,
    SYS_msync,
    SYS_mincore,
    // Who and where it is.
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getresuid,
    SYS_getresgid,
    SYS_getgroups,
    SYS_getppid,
    SYS_getpgid,
    SYS_getsid,
    SYS_uname,
    SYS_sysinfo,
    SYS_times,
    SYS_umask,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_getpriority,
    // Limits and children of its own; it has none of the latter.
    SYS_getrlimit,
    SYS_setrlimit,
    SYS_wait4,
    SYS_waitid,
    // A thread begins, and waits for a signal.
    SYS_set_tid_address,
    SYS_rt_sigpending,
    SYS_rt_sigtimedwait,
    SYS_rt_sigsuspend,
#if defined(__x86_64__)
    // Registers of its own, tiles among them; older spellings of the above.
    SYS_arch_prctl,
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_getdents,
    SYS_mkdir,
    SYS_rmdir,
    SYS_unlink,
    SYS_rename,
    SYS_dup2,
    SYS_pipe,
    SYS_poll,
    SYS_select,
    SYS_epoll_create,
    SYS_epoll_wait,
    SYS_eventfd,
    SYS_getpgrp,
    SYS_time,
#endif
};

// Of kCompile: allowed, or refused with EPERM, by their arguments (sandbox.cc). kRun ends over
// them.
inline constexpr int kCallsByArgumentOfCompilers[] = {
    SYS_tgkill, SYS_kill, SYS_sched_setaffinity, SYS_prlimit64, SYS_fcntl, SYS_ioctl,
    SYS_prctl,  SYS_clone};

// Nobody who compiles or runs a candidate calls these, in any build: they end the process.
inline constexpr int kDeniedCalls[] = {
    // The network. Sockets that are open stay: a compiler's child answers through one.
    SYS_socket, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4,
    // Other programs and processes, and their memory.
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
    SYS_pidfd_open, SYS_pidfd_getfd, SYS_pidfd_send_signal,
    // The kernel's own doors: where its holes were found.
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_bpf, SYS_perf_event_open,
    SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_init_module, SYS_finit_module,
    SYS_delete_module, SYS_kexec_load, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot,
    SYS_setns, SYS_unshare, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_settimeofday,
    SYS_clock_settime, SYS_sethostname};

}  // namespace burnish

#endif  // BASE_SANDBOX_CALLS_H_
