"""Runs commands, several at a time, and says what came of each."""
import concurrent.futures
import os
import subprocess


def run_all(commands, at_once=None):
    """Yields (index, passed, output) as each ends. A command is (arguments, what it reads from its input or None)."""
    def run(index):
        command, given = commands[index]
        done = subprocess.run(command, input=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)
        return index, done.returncode == 0, done.stdout

    with concurrent.futures.ThreadPoolExecutor(at_once or len(os.sched_getaffinity(0))) as pool:
        try:
            for future in concurrent.futures.as_completed([pool.submit(run, index) for index in range(len(commands))]):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # an interrupt begins nothing further
