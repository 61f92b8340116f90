"""One cell of the table: a contestant over a corpus, in its own process, with a note of how busy the machine was."""
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time

# A contestant with two threads uses the whole of a two-core machine, so the least company disturbs it.
THREADED_QUIET_THRESHOLD = 0.12
TIMEOUT_SECONDS = 900
# A slow contestant's later rounds are shorter, and one that is this many times slower than the fastest stays at two.
LATER_ROUND_SECONDS = 0.6
HOPELESS = 5


def measure(args, contestants, corpus, lock):
    """Each contestant over `corpus` in `args.rounds` rounds; returns {id: cell}, the seconds of all rounds pooled.

    `lock()` is held around each run, so that others who take it keep quiet meanwhile.
    """
    runs = {c["id"]: [] for c in contestants}
    for number in range(args.rounds):
        for contestant in contestants:
            found = runs[contestant["id"]]
            if number < contestant.get("rounds", args.rounds) and not is_settled(found, runs.values()):
                found.append(quietest(args, contestant, corpus, lock, found))
    cells = {identity: pooled(corpus, found) for identity, found in runs.items()}
    for identity, cell in cells.items():
        print(f"{corpus['name']:18} {identity:20} {describe(cell)}", flush=True)
    return cells


def is_settled(found, others):
    """Whether another round of a contestant could tell nothing: it failed, or lost by far twice."""
    if any("error" in run for run in found):
        return True
    return len(found) > 1 and best_of(found) > HOPELESS * min(best_of(runs) for runs in others)


def best_of(runs):
    """The least seconds of some runs; for none without an error, so many that nothing is slower."""
    return min((second for run in runs for second in run.get("seconds", [])), default=math.inf)


def quietest(args, contestant, corpus, lock, earlier):
    """Run until the machine was quiet enough, at most `args.retries` more times; the quietest run counts."""
    threshold = THREADED_QUIET_THRESHOLD if contestant.get("threads", 1) > 1 else args.quiet_threshold
    repeat = min(args.repeat, contestant.get("repeat", args.repeat))
    if earlier:
        repeat = min(repeat, max(1, round(LATER_ROUND_SECONDS / best_of(earlier))))
    best = None
    for _ in range(args.retries + 1):
        with lock():
            run = run_once(contestant, corpus, repeat, later_round=bool(earlier))
        if "error" in run:
            return run
        if best is None or run["other_cores_busy"] < best["other_cores_busy"]:
            best = run
        if best["other_cores_busy"] <= threshold:
            break
    return best


def run_once(contestant, corpus, repeat, later_round):
    path = f"corpus/{corpus['name']}/00000000000000000000.log"
    warm_page_cache(path)
    env = dict(os.environ, **contestant.get("env", {}))
    if later_round:
        env["PEERS_LATER_ROUND"] = "1"
    before, own_before, start = busy_seconds(), children_seconds(), time.time()
    done = subprocess.run([*command(contestant, corpus), path, str(repeat)], env=env, capture_output=True, text=True,
                          timeout=TIMEOUT_SECONDS)
    elapsed = time.time() - start
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        return {"error": lines[-1][-300:] if lines else f"exit code {done.returncode}"}
    run = json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])
    own = children_seconds() - own_before
    run["other_cores_busy"] = round(max(0, (busy_seconds() - before - own) / elapsed), 2)
    return run


def command(contestant, corpus):
    words = contestant["cmd"]
    if corpus["kind"] == "headers":
        words = contestant.get("cmd_headers", words)
    python = os.environ.get("PEERS_PYTHON", sys.executable)
    return [word.replace("{python}", python) for word in words]


def warm_page_cache(path):
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass


def busy_seconds():
    """CPU seconds that all cores of the machine were busy since it started."""
    with open("/proc/stat") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    idle, iowait = ticks[3], ticks[4]
    return (sum(ticks) - idle - iowait) / os.sysconf("SC_CLK_TCK")


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def pooled(corpus, runs):
    last = runs[-1]
    if "error" in last:
        return last
    if len({run["checksum"] for run in runs if run["checksum"]}) > 1:
        return {"error": "the checksum changes from run to run"}
    seconds = [second for run in runs for second in run["seconds"]]
    best = min(seconds)
    return {
        "records": last["records"], "checksum": runs[0]["checksum"], "light": last["light"],
        "seconds": seconds, "min": best, "median": statistics.median(seconds),
        "other_cores_busy": max(run["other_cores_busy"] for run in runs),
        "mb_s": corpus["uncompressed_bytes"] / best / 1e6, "mrec_s": last["records"] / best / 1e6,
    }


def describe(cell):
    if "error" in cell:
        return f"ERROR {cell['error']}"
    return (f"min {cell['min'] * 1e3:8.1f} ms  med {cell['median'] * 1e3:8.1f} ms  {cell['mb_s']:8.0f} MB/s "
            f"{cell['mrec_s']:7.2f} Mrec/s  other {cell['other_cores_busy']}")
