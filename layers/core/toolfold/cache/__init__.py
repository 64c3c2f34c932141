"""What is stored: cached responses and counters, in memory, SQLite or DynamoDB, and records that must not get lost.

``stores`` has their interface, and opens them.
"""
