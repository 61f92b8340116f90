"""Exit codes and outputs after usage errors, closed pipes, Ctrl-C, signals and full disks."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli_process import CODEC, CODEC_FILE, COMMAND, DAMAGED, MODERN, run, run_on_terminal, start
from logsegment.cli.app import VERBS as ALL_VERBS

VERBS = ["batches", "cat", "verify"]


@pytest.mark.parametrize("verb", VERBS)
def test_data_and_messages_are_kept_apart(verb: str):
    done = run(verb, DAMAGED)
    assert done.code == 1
    assert done.out
    assert b"logsegment:" not in done.out
    assert all(line.startswith("logsegment: ") for line in done.err.splitlines())


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing argument"),
        (("no/such/file",), "logsegment: no/such/file: No such file or directory"),
        (("--no-such-option", str(CODEC)), "No such option"),
        ((str(CODEC.parent.parent / "truth/consumer"),), "no log segments"),
    ],
)
def test_usage_and_unreadable_input_are_2(verb: str, arguments: tuple[str, ...], said: str):
    done = run(verb, *arguments)
    assert (done.code, done.out) == (2, b"")
    assert said in done.err
    assert "Traceback" not in done.err


def test_help_and_version_are_on_stdout():
    assert b"Exit codes: 0 clean" in run("--help").out
    for verb in VERBS:
        shown = run(verb, "--help", COLUMNS="80").text
        assert shown.startswith(f"Usage: logsegment {verb}")
        assert f"\nExamples:\n  logsegment {verb} " in shown.replace("\n  Examples:\n    ", "\nExamples:\n  ")
    version = run("--version")
    assert re.fullmatch(rb"logsegment, version \d+\.\d+\.\d+\S*\n", version.out)
    assert run().code == 2


def test_a_mistyped_verb_or_option_names_what_was_meant():
    verb = run("verfy", CODEC)
    assert (verb.code, "Did you mean verify?" in verb.err) == (2, True)
    option = run("cat", CODEC, "--columms", "offset")
    assert (option.code, "--columns" in option.err) == (2, True)
    assert run("-V").out == run("--version").out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_verbs_and_options(shell: str):
    script = run("completion", shell)
    assert script.code == 0
    assert "_LOGSEGMENT_COMPLETE" in script.text
    assert run("completion", "tcsh").code == 2


def test_the_script_for_bash_completes():
    # The Makefile needs bash too.
    script = run("completion", "bash").text
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = 'COMP_WORDS=(logsegment ver) COMP_CWORD=1; _logsegment_completion logsegment ver logsegment; echo "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{words}"], capture_output=True, text=True, timeout=60, check=False, env=os.environ | {"PATH": path}
    )
    assert "verify" in done.stdout


def test_the_installed_script_is_the_same_program():
    script = Path(sys.executable).parent / "logsegment"
    done = subprocess.run([script, "cat", CODEC], capture_output=True, check=True, timeout=60)
    assert done.stdout == run("cat", CODEC).out


def test_missing_pyarrow_is_named_and_needed_for_files_only(tmp_path: Path):
    code = "import sys; sys.modules['pyarrow'] = None; from logsegment.cli import main; sys.exit(main(sys.argv[1:]))"

    def without(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    done = without("cat", CODEC, "--parquet", tmp_path / "out")
    assert done.returncode == 2
    assert "--parquet needs pyarrow: pip install pyarrow" in done.stderr
    assert not list(tmp_path.iterdir())
    assert without("cat", CODEC, "--key", "user-24", "--since", "0").returncode == 0
    assert without("batches", CODEC).returncode == without("verify", CODEC).returncode == 0


@pytest.mark.parametrize("verb", VERBS)
def test_a_reader_that_has_enough_is_no_error(verb: str):
    flags = ["--json"] if verb != "cat" else []
    process = start(verb, *flags, *[MODERN] * 20, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr:
        said = process.stderr.read()
    assert process.wait(timeout=60) == 0
    assert said == b""


def test_a_full_disk_is_reported():
    with open("/dev/full", "wb") as full:
        process = start("cat", MODERN, stdout=full, stderr=subprocess.PIPE)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 2
    assert said == b"logsegment: No space left on device\n"


def test_closed_outputs_are_not_written_into_something_else():
    command = " ".join([*COMMAND, "cat", str(CODEC_FILE)])
    closed = subprocess.run(f"{command} >&-", shell=True, capture_output=True, timeout=60, check=False)
    assert closed.returncode == 2
    assert closed.stderr == b"logsegment: standard output is closed\n"
    command = " ".join([*COMMAND, "cat", str(DAMAGED), "--columns", "offset"])
    mute = subprocess.run(f"{command} 2>&-", shell=True, capture_output=True, timeout=60, check=False)
    assert (mute.returncode, mute.stdout) == (1, b'{"offset":0}\n{"offset":1}\n{"offset":2}\n')


ENDS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.mark.parametrize(("number", "code"), ENDS, ids=lambda value: str(value))
@pytest.mark.parametrize("verb", VERBS)
def test_signals_end_a_wait_for_input_without_a_traceback(verb: str, number: signal.Signals, code: int):
    process = start(verb, "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until_reading(process)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (code, b"")


@pytest.mark.parametrize(("number", "code"), ENDS, ids=lambda value: str(value))
@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_an_interrupted_output_leaves_no_file(kind: str, number: signal.Signals, code: int, tmp_path: Path):
    output = tmp_path / "out"
    output.write_text("what was there before")
    process = start("cat", "-", f"--{kind}", output, "--overwrite", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    wait_until_reading(process)
    process.stdin.write(CODEC_FILE.read_bytes() * 3)
    process.stdin.flush()
    until(lambda: len(list(tmp_path.iterdir())) == 2)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (code, b"")
    assert [file.name for file in tmp_path.iterdir()] == ["out"]
    assert output.read_text() == "what was there before"


def test_signals_end_native_work(tmp_path: Path):
    path = tmp_path / "big.log"
    data = (MODERN / "codec-gzip-0" / CODEC_FILE.name).read_bytes()
    with path.open("wb") as file:
        for _ in range(60):
            file.write(data * (2_000_000 // len(data)))
    process = start("verify", path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # In the middle of the work: the file was opened by the core.
    until(lambda: str(path) in opened_files(process.pid) or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert (process.returncode, out, said) == (130, b"", b"")


@pytest.mark.parametrize("verb", ["batches", "cat"])
def test_damage_leaves_no_file(verb: str, tmp_path: Path):
    damaged = DAMAGED if verb == "cat" else DAMAGED.parent / "v2-garbage-prefix.log"
    done = run(verb, damaged, "--parquet", tmp_path / "out")
    assert done.code == 1
    assert not list(tmp_path.iterdir())
    done = run(verb, damaged, "--parquet", tmp_path / "out", "--on-error", "skip")
    assert done.code == 1
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_inputs_are_never_overwritten(tmp_path: Path):
    directory = tmp_path / "t-0"
    directory.mkdir()
    segment = directory / CODEC_FILE.name
    segment.write_bytes(CODEC_FILE.read_bytes())
    (tmp_path / "symbolic").symlink_to(segment)
    (tmp_path / "hard").hardlink_to(segment)
    for source in (segment, directory, tmp_path):
        for output in (segment, tmp_path / "symbolic", tmp_path / "hard"):
            done = run("cat", source, "--arrow", output)
            assert (done.code, done.out) == (2, b"")
            assert "inputs are never overwritten" in done.err
    assert segment.read_bytes() == CODEC_FILE.read_bytes()


def test_an_output_must_be_a_file_in_a_directory_that_exists(tmp_path: Path):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
    for output in (tmp_path / "socket", tmp_path, tmp_path / "no/such/out"):
        done = run("cat", CODEC, "--arrow", output)
        assert (done.code, str(output) in done.err) == (2, True)
    assert run("cat", CODEC, "--arrow", tmp_path / "a", "--parquet", tmp_path / "b").code == 2
    assert run("batches", CODEC, "--json", "--arrow", tmp_path / "a").code == 2
    assert run("cat", CODEC, "--arrow", tmp_path / "a", "--bytes", "hex").code == 2
    assert [file.name for file in tmp_path.iterdir()] == ["socket"]


def test_an_output_replaces_a_file_when_that_is_allowed_and_follows_a_link(tmp_path: Path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    refused = run("cat", CODEC, "--parquet", tmp_path / "link")
    assert (refused.code, "--overwrite" in refused.err) == (2, True)
    assert (tmp_path / "real").read_text() == "old"
    assert run("cat", CODEC, "--parquet", tmp_path / "link", "--overwrite").code == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes()[:4] == b"PAR1"


@pytest.mark.parametrize("verb", VERBS)
def test_progress_is_shown_on_a_terminal_only_and_never_in_the_data(verb: str):
    flags = ["--json"] if verb != "cat" else []
    shown = run_on_terminal(verb, *flags, CODEC, out=False, err=True)
    assert shown.code == 0
    assert "\x1b[" in shown.err
    assert CODEC_FILE.name in shown.err
    assert shown.out == run(verb, *flags, CODEC).out
    assert run_on_terminal(verb, *flags, CODEC, out=False, err=True, TERM="dumb").out == shown.out
    assert run_on_terminal(verb, *flags, "--quiet", CODEC, out=False, err=True).err == ""


def test_a_conversion_shows_progress_on_a_terminal_and_leaves_none_in_a_pipe(tmp_path: Path):
    shown = run_on_terminal("convert", CODEC, "-o", tmp_path / "shown", "--compression", "zstd", out=False, err=True)
    assert (shown.code, shown.out) == (0, b"")
    assert "\x1b[" in shown.err
    assert CODEC_FILE.name in shown.err
    quiet = run_on_terminal("convert", CODEC, "-o", tmp_path / "quiet", "--compression", "zstd", "--quiet", out=False, err=True)
    piped = run("convert", CODEC, "-o", tmp_path / "piped", "--compression", "zstd")
    assert (quiet.code, quiet.err) == (0, "")
    assert piped.code == 0
    assert re.fullmatch(r"logsegment: wrote 1 segment to .*piped: [1-9][0-9,]+ bytes before, [1-9][0-9,]+ bytes after\n", piped.err)
    assert len({(tmp_path / name / CODEC.name / CODEC_FILE.name).read_bytes() for name in ("shown", "quiet", "piped")}) == 1


def test_verdicts_have_colour_on_a_terminal_unless_it_is_unwanted():
    coloured = run_on_terminal("verify", CODEC, DAMAGED, out=True, err=False).out
    assert re.search(rb"\x1b\[1;31m[^\n]*DAMAGED", coloured)
    assert re.search(rb"\x1b\[31m *error", coloured)
    plain = run_on_terminal("verify", CODEC, DAMAGED, out=True, err=False, NO_COLOR="1").out
    assert b"DAMAGED" in plain
    assert not re.search(rb"\x1b\[[0-9;]*[39][0-9]", plain)


def test_a_terminal_for_both_ends_clean():
    shown = run_on_terminal("verify", CODEC, DAMAGED, out=True, err=True).out
    assert shown.endswith(b"1 error\r\n")
    assert shown.count(b"clean. 15 batches") == 1


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("logsegment ver", {"verify"}),
        ("logsegment ", set(ALL_VERBS)),
        ("logsegment cat --isolation read_", {"read_committed", "read_uncommitted"}),
        ("logsegment cat --columns offset,key,val", {"offset,key,value", "offset,key,valueRecord", "offset,key,valueSchemaId"}),
        ("logsegment verify --fail", {"--fail-on"}),
    ],
)
def test_shells_complete_verbs_options_and_columns(line: str, expected: set[str]):
    words = line.split(" ")
    asked = {"_LOGSEGMENT_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = run(**asked)
    assert {row.partition(",")[2] for row in done.text.splitlines()} == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_given(shell: str):
    done = run(_LOGSEGMENT_COMPLETE=f"{shell}_source")
    assert "_LOGSEGMENT_COMPLETE" in done.text


def wait_until_reading(process: subprocess.Popen[bytes]) -> None:
    """Until it sleeps in a read of its empty standard input."""
    until(lambda: Path(f"/proc/{process.pid}/syscall").read_text().startswith("0 0x0 "))


def opened_files(pid: int) -> set[str]:
    links = Path(f"/proc/{pid}/fd").glob("*")
    return {target for link in links if (target := read_link(link))}


def read_link(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


def until(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
