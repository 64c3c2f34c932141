"""Clients that others wrote, run against ``toolfold serve`` and ``toolfold stdio`` (``make clients``).

``helpers`` finds and runs them, ``conftest`` starts what they talk to, ``three_steps.*`` are scripts around SDKs.
Toolfold itself is only reached from outside, as a process.
"""
