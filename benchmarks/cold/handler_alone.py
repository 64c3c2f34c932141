"""Call a handler in this process: python handler_alone.py INPUT OUTPUT, two JSON files.

INPUT has the handler, the number of calls of each method, and its events; OUTPUT gets the milliseconds of each call by
method. Imports only the standard library, because it runs in the stand-in for the managed runtime.
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


def main(input_path, output_path):
    with open(input_path) as file:
        task = json.load(file)
    module, name = task["handler"].split(".")
    handler, context = getattr(importlib.import_module(module), name), Context()
    taken = {}
    for method, events in task["events"].items():
        taken[method] = []
        for number in range(-3, task["invocations"]):  # the first three import modules and open the catalog
            event = events[number % len(events)]
            started = time.perf_counter()
            handler(event, context)
            if number >= 0:
                taken[method].append((time.perf_counter() - started) * 1000)
    with open(output_path, "w") as file:
        json.dump(taken, file)


main(*sys.argv[1:])
