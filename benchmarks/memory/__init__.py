"""Which memory size: what each costs in time and in money, with the CPU that Lambda gives with it.

May import the benchmark of cold starts (``benchmarks.cold``): its package, services and events are measured.
"""
