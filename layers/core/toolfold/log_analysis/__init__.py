"""What a log says, for ``toolfold stats`` and the explorer; the gateway's layer leaves it out."""
