"""What several calls in one cost: batches, pipes and scripts."""
