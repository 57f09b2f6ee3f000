# What fio says of itself in json; its output may have messages of tracers around it.
# SPDX-License-Identifier: BSD-3-Clause
import json

from cells import Failed


def report(text):
    begin = text.find("{\n")
    if begin < 0:
        raise Failed("fio: no json in its output")
    try:
        found, _ = json.JSONDecoder().raw_decode(text[begin:])
    except ValueError as error:
        raise Failed(f"fio: its json is damaged: {error}") from error
    return found


def throughput_mib_s(text):
    """MiB written in a second, of all jobs together."""
    rate = sum(job["write"]["bw_bytes"] for job in report(text)["jobs"]) / (1 << 20)
    if rate <= 0:
        raise Failed("fio: wrote nothing")
    return rate
