"""The local server under load, with clients that stall (``make load``)."""
