"""What processes cost, read from /proc: CPU of a tree of them, peak memory of one. Linux only."""

import os
import resource
import subprocess
import time

# A parent above this could hide the peak of a child that is asked to stay below 200 MiB.
SMALL_PARENT_MIB = 64
TICKS = os.sysconf("SC_CLK_TCK")


def tree_cpu_seconds(root):
    """{pid: user and system seconds} of `root` and its living descendants."""
    stats = _all_stats()
    chosen = {root}
    while True:
        more = {pid for pid, (parent, _) in stats.items() if parent in chosen} - chosen
        if not more:
            return {pid: stats[pid][1] for pid in chosen if pid in stats}
        chosen |= more


def spent_between(before, after):
    """CPU seconds between two results of `tree_cpu_seconds`.

    Process by process: PySpark ends workers that have been idle for a minute, and a plain difference of sums would
    count their whole life as negative.
    """
    return sum(seconds - before.get(pid, 0.0) for pid, seconds in after.items())


def timed(run, root, beside=None):
    """Call `run`; returns {"seconds", "cpu_seconds", "others_busy"}: CPU of the tree below `root`, and by how many cores others were busy.

    A process `beside` that serves it is neither: its CPU is "beside_cpu_seconds".
    """
    roots = [root] if beside is None else [root, beside]
    before, busy, start = [tree_cpu_seconds(pid) for pid in roots], machine_busy_seconds(), time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    spent = [spent_between(cpu, tree_cpu_seconds(pid)) for pid, cpu in zip(roots, before, strict=True)]
    others = max(0.0, machine_busy_seconds() - busy - sum(spent))
    more = {} if beside is None else {"beside_cpu_seconds": spent[1]}
    return {"seconds": seconds, "cpu_seconds": spent[0], "others_busy": others / seconds, **more}


def _all_stats():
    """{pid: (parent, CPU seconds)}"""
    stats = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                # The command in parentheses may hold spaces.
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        stats[int(name)] = (int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS)
    return stats


def machine_busy_seconds():
    """CPU seconds that the machine's cores have been busy since it started."""
    with open("/proc/stat") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    idle, iowait = ticks[3], ticks[4]
    return (sum(ticks) - idle - iowait) / TICKS


def run_measured(command, stdout=subprocess.DEVNULL, **options):
    """Run `command`; returns {"seconds", "cpu_seconds", "peak_rss_mib", "exit_code"}.

    Linux starts a child's peak at the peak of the parent that started it, so a large caller is refused.
    """
    own_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if own_peak > SMALL_PARENT_MIB:
        raise RuntimeError(f"this process has held {own_peak:.0f} MiB itself, which would hide its child's peak")
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=stdout, **options)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_rss_mib": usage.ru_maxrss / 1024,
        "exit_code": process.returncode,
    }
