import logging
import time


def greet(name="world", times=1):
    for _ in range(times):
        logging.info("Hello, %s", name)
    return f"Hello, {name}"


def broken():
    raise ValueError("no such table")


def endless():
    while True:
        time.sleep(0.1)
