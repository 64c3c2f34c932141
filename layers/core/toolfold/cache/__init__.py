"""What is stored: cached responses, counters, and records that must not get lost. ``stores`` has their interface."""
