"""Everything that can go wrong, made to go wrong: what the model sees, what the operator sees, and that nobody else is
harmed. Each row of the table in docs/reference/faults.md is walked by a test."""
