"""What a time belongs to: machine, commit, date; and how much else the machine did meanwhile."""

import datetime
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


def cpu_flags():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return set(value.split())
    return set()


def cpu_brand():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def feature_class(flags):
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags:
        return "AVX-512"
    if {"avx2", "fma"} <= flags:
        return "AVX2+FMA"
    return "SSE4.2" if "sse4_2" in flags else "baseline"


def pick_cpus(count):
    """`count` usable CPUs, as many physical cores as there are. ValueError if too few."""
    usable = sorted(os.sched_getaffinity(0))
    first, others, seen = [], [], set()
    for cpu in usable:
        path = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        core = path.read_text().strip() if path.exists() else str(cpu)
        (others if core in seen else first).append(cpu)
        seen.add(core)
    cpus = (first + others)[:count]
    if len(cpus) < count:
        raise ValueError(f"got {count} threads, want at most {len(usable)}: that many CPUs there are")
    return cpus


def git(*arguments):
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def describe():
    """A dictionary for --json; `headline` makes text of it."""
    flags = cpu_flags()
    return {
        "cpu": cpu_brand(),
        "features": feature_class(flags),
        "cpu_count": os.cpu_count(),
        "virtual": "hypervisor" in flags,
        "kernel": platform.release(),
        "commit": git("rev-parse", "--short=12", "HEAD") or "unknown",
        "dirty": bool(git("status", "--porcelain", "--untracked-files=no")),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="minutes"),
        "load_average": os.getloadavg()[0],
    }


def headline(machine):
    return (f"{machine['cpu']}, {machine['cpu_count']} CPUs, {machine['features']}"
            f"{', virtual machine' if machine['virtual'] else ''}, Linux {machine['kernel']}\n"
            f"commit {machine['commit']}{' with changes' if machine['dirty'] else ''}, "
            f"{machine['date']}, load average {machine['load_average']:.1f}")


def cpu_seconds():
    """(Seconds of CPU that all processes took, seconds stolen by the hypervisor), since the boot."""
    fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _, _, irq, softirq, steal = (int(field) for field in fields[:8])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / tick, steal / tick


def output(target):
    """The file of a Bazel target that `build` made."""
    return ROOT / "bazel-bin" / target.removeprefix("//").replace(":", "/")


def build(*targets):
    """Builds Bazel targets; its talk goes to stderr, and on a failure this process ends."""
    done = subprocess.run(["bazel", "build", "--noshow_progress", *targets], cwd=ROOT,
                          stdout=sys.stderr)
    if done.returncode != 0:
        sys.exit(f"bench: building {' '.join(targets)} failed")
