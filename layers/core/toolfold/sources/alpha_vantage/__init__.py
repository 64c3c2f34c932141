"""What only Alpha Vantage does: how long its data stays fresh.

May import ``catalog.model``.
"""
