"""Calls a handler in this process: python handler_alone.py GIVEN TOLD, two JSON files.

GIVEN names the handler, how often each method is called, and its events in turn; TOLD gets the milliseconds of each
call by method. Imports nothing that the handler does not bring: it runs in the stand-in for the managed runtime.
"""

import importlib
import json
import sys
import time


class Context:
    function_name = "benchmark"
    memory_limit_in_mb = 1024
    invoked_function_arn = "arn:aws:lambda:eu-central-1:123456789012:function:benchmark"
    aws_request_id = "0"

    def get_remaining_time_in_millis(self):
        return 29_000


def main(given, told):
    with open(given) as file:
        asked = json.load(file)
    module, name = asked["handler"].split(".")
    handler, context = getattr(importlib.import_module(module), name), Context()
    taken = {}
    for method, events in asked["events"].items():
        taken[method] = []
        for number in range(-3, asked["invocations"]):  # the first three import and open what is needed
            event = events[number % len(events)]
            started = time.perf_counter()
            handler(event, context)
            if number >= 0:
                taken[method].append((time.perf_counter() - started) * 1000)
    with open(told, "w") as file:
        json.dump(taken, file)


main(*sys.argv[1:])
