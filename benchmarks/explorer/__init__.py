"""What the JSON resources of the explorer cost."""
