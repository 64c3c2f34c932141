"""How well words find tools: a set of requests, rankers to compare, and what is counted. docs/reference/retrieval.md explains.

``requests.yaml`` → :class:`request_set.Request` → a ranker's names → ``metrics`` → ``report``. The set is read here and
nowhere else: nothing that ranks may know it.
"""
