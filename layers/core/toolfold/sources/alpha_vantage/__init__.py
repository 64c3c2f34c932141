"""Alpha Vantage: freshness by market hours, plans and entitlement, the reset of quotas, the wording of its refusals.

``adapter`` extends the one of ``http_api`` and computes how long responses stay fresh.
May import ``sources.http_api``, ``sources.base`` and what those may.
"""
