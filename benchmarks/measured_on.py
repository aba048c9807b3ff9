"""The line under each measured table: with what command, where and when its numbers were made."""

import datetime
import os
import platform

import closerthan


def measured_on(command: str) -> str:
    today = datetime.date.today()
    return (
        f"*Made by `{command}` with closerthan {closerthan.__version__} on {os.cpu_count()} cores ({_processor()}, "
        f"{platform.system()}, Python {platform.python_version()}), {today.day} {today:%B %Y}.*"
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
