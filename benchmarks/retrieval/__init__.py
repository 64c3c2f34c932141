"""How well words find tools: requests, rankers to compare, and metrics. docs/reference/retrieval.md explains them.

``requests.yaml`` → :class:`request_set.Request` → a ranker's names → ``metrics`` → ``report``. Rankers must not use it.
"""
