"""The line under each measured table: with what command, where and when its numbers were made."""

import datetime

from reproduction.machine import machine

import closerthan


def measured_on(command: str) -> str:
    today = datetime.date.today()
    return f"*Made by `{command}` with closerthan {closerthan.__version__} on {machine()}, {today.day} {today:%B %Y}.*"
