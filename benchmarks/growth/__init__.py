"""Time and memory of shaping an answer, by its shape and size."""
