"""Helpers that several tests share: requests and events, the SAM translator, servers, a Lambda execution environment.

No module here decides what toolfold should do: the tests do.
"""
