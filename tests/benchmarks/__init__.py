"""Measurements that a person starts, and the fast tests that keep them honest."""
