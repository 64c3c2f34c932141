"""``toolfold serve``: HTTP on this machine, answered as on Lambda. Not in the gateway's layer."""
