"""What is stored: cached responses and counters, in memory, SQLite or DynamoDB, and records that must not get lost.

``base`` has the interface of the stores, and ``records`` opens them.
"""
